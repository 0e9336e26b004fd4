"""Which ontology the ids of a test set are from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology

HPO_PREFIX = "HP:"


def ontology_of(term_ids: Iterable[str], path: str | Path | None = None) -> Ontology | None:
    """The ontology to look ids up in.

    Args:
        term_ids: Ids of expected terms.
        path: An OBO file; ``None`` takes the installed Human Phenotype Ontology for sets that have
            ids of it.

    Returns:
        ``None`` where no file is named and no id is one of the Human Phenotype Ontology.

    Raises:
        MissingExtraError: If that is not installed.
        InputError: If the file cannot be read.
        FormatError: If it is no ontology.
    """
    if path is None and not any(term_id.startswith(HPO_PREFIX) for term_id in term_ids):
        return None
    return load_ontology(path)
