"""The tables of this package: runs, qrels, topics and corpora, each stored in a Polars frame.

Column names are those of ``ir_measures`` and ``ir_datasets``. Ids are always strings: ``"01"`` and
``"1"`` are different queries. Tables are immutable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import polars as pl

from trectools_plus.display import MAX_TABLE_ROWS, Displayed, TextTable, as_cell
from trectools_plus.errors import InputError
from trectools_plus.formats.columns.rows import RunRows
from trectools_plus.formats.hashing import ROWS_PER_STEP, sha256_rows
from trectools_plus.formats.interchange.frames import frame_of, to_pandas
from trectools_plus.formats.interchange.names import CORPUS, QRELS, RUN, TOPICS, Kind
from trectools_plus.text import plural

if TYPE_CHECKING:
    import pandas as pd

Schema = dict[str, type[pl.DataType]]
"""Columns of a table with their types."""

RUN_SCHEMA: Schema = {
    "query_id": pl.String,
    "doc_id": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
}
QRELS_SCHEMA: Schema = {
    "query_id": pl.String,
    "iteration": pl.String,
    "doc_id": pl.String,
    "relevance": pl.Int64,
}
TOPICS_SCHEMA: Schema = {"query_id": pl.String, "text": pl.String}
CORPUS_SCHEMA: Schema = {
    "doc_id": pl.String,
    "title": pl.String,
    "text": pl.String,
}
PARTS_SCHEMA: Schema = {
    "doc_id": pl.String,
    "kind": pl.String,
    "text": pl.String,
}

_SCHEMAS = {
    "run": RUN_SCHEMA,
    "qrels": QRELS_SCHEMA,
    "topics": TOPICS_SCHEMA,
    "corpus": CORPUS_SCHEMA,
}
"""The columns of each kind of table."""
_NOUNS = {"run": "result", "qrels": "judgment", "corpus": "document"}
"""The names of rows that are not queries."""


class CorpusDocument(NamedTuple):
    """One document; ``title`` is empty if there is none."""

    doc_id: str
    title: str
    text: str


class _Table(Displayed):
    """A table stored in a frame."""

    _kind: ClassVar[Kind]
    _defaults: ClassVar[Mapping[str, str]] = {"iteration": "0", "title": ""}
    frame: pl.DataFrame
    path: str | None

    def __post_init__(self) -> None:
        frame, schema = frame_of(self.frame, self._kind), _SCHEMAS[self._kind.name]
        missing = schema.keys() & self._defaults.keys() - frame.columns
        frame = frame.with_columns(**{name: pl.lit(self._defaults[name]) for name in missing})
        frame = conform(frame, schema, self._kind.name, keep_others=self._kind is TOPICS)
        object.__setattr__(self, "frame", frame)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Create qrels from ``{query_id: {doc_id: relevance}}``, topics or a corpus from texts.

        Raises:
            InputError: If an id is not a string or an integer, or a grade is not an integer.
        """
        return cls(frame_of(values, cls._kind))  # type: ignore[call-arg]

    @classmethod
    def from_pandas(cls, table: pd.DataFrame) -> Self:
        """Create a table from the columns of ``frame``, and any other columns of topics."""
        return cls(frame_of(table, cls._kind))  # type: ignore[call-arg]

    def _text(self) -> str:
        """The kind, the size and the file, without the rows, which ``frame`` shows."""
        frame, noun = self.frame, _NOUNS.get(self._kind.name)
        sizes = [plural(frame.height, noun)] if noun else []
        if self._kind is not CORPUS:
            sizes = [plural(frame["query_id"].n_unique(), "query", "queries"), *sizes]
        place = f" of {self.path}" if self.path else ""
        title = f"{type(self).__name__} {getattr(self, 'name', '')}".strip()
        return f"<{title}: {', '.join(sizes)}{place}>"

    def _content(self) -> TextTable:
        rows = [list(map(as_cell, row)) for row in self.frame.head(MAX_TABLE_ROWS).iter_rows()]
        return TextTable.of(
            list(self.frame.columns),
            rows,
            caption=self._text().strip("<>"),
            total=self.frame.height,
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas table with the columns of ``frame``."""
        return to_pandas(self.frame)


class _QueryTable(_Table):
    """A table with rows for queries."""

    @property
    def query_ids(self) -> list[str]:
        """Query ids in the order in which they first occur."""
        return self.frame["query_id"].unique(maintain_order=True).to_list()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run(_QueryTable):
    """A ranking of documents for each query.

    Attributes:
        frame: ``query_id, doc_id, rank, score`` in the order of the file. ``rank`` is the rank in
            the file; scoring uses ``score`` instead (see :mod:`trectools_plus.formats.ranking`).
        name: The tag of the run, and its name in output.
        path: The file as the user named it.
    """

    frame: pl.DataFrame
    name: str = "run"
    path: str | None = None
    _kind: ClassVar[Kind] = RUN

    @property
    def rows(self) -> RunRows:
        """The rows as arrays."""
        return RunRows.of_frame(self.frame)

    @classmethod
    def from_dict(cls, scores: Mapping[str, Mapping[str, float]], name: str = "run") -> Self:
        """Create a run from ``{query_id: {doc_id: score}}``, with ranks from 1 in the given order.

        Raises:
            InputError: If an id is not a string or an integer, or a score is not a number.
        """
        return cls(frame_of(scores, RUN), name)

    @classmethod
    def from_pandas(cls, table: pd.DataFrame, name: str = "run") -> Self:
        """Create a run from the columns ``query_id, doc_id, score`` and optionally ``rank``."""
        return cls(frame_of(table, RUN), name)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the run as ``{query_id: {doc_id: score}}``."""
        return _to_dict(self.frame, "score")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Qrels(_QueryTable):
    """Relevance judgments: a grade for (query, document) pairs.

    Attributes:
        frame: ``query_id, iteration, doc_id, relevance`` in the order of the file.
        path: The file as the user named it.
    """

    frame: pl.DataFrame
    path: str | None = None
    _kind: ClassVar[Kind] = QRELS

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Return the qrels as ``{query_id: {doc_id: relevance}}``."""
        return _to_dict(self.frame, "relevance")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Topics(_QueryTable):
    """The queries of a test collection.

    Attributes:
        frame: ``query_id, text`` and other fields of the source (category, language …).
        path: The file as the user named it.
        read_as: The format and the fields that were read, if they are not the usual ones.
    """

    frame: pl.DataFrame
    path: str | None = None
    read_as: str | None = None
    _kind: ClassVar[Kind] = TOPICS

    def __len__(self) -> int:
        return self.frame.height

    def to_dict(self) -> dict[str, str]:
        """Return the topics as ``{query_id: text}``."""
        return dict(self.frame.select("query_id", "text").iter_rows())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Corpus(_Table):
    """The documents of a collection, in memory.

    Attributes:
        frame: ``doc_id, title, text``; ``title`` is empty if the source has none.
        path: The file as the user named it.
        parts: ``doc_id, kind, text``: the parts of each document, for example label, synonyms and
            definition of a term; ``None`` if the source does not divide documents into parts.
        find_exact: Returns the ids of the documents that a text names exactly, best first; ``None``
            if documents have no names.
        open_rewording: Returns the source of other texts for queries in a language, or in any; see
            ``retrieval/rerank.py``.
    """

    frame: pl.DataFrame
    path: str | None = None
    parts: pl.DataFrame | None = None
    find_exact: Callable[[str], list[str]] | None = None
    open_rewording: Callable[[Corpus, str], Any] | None = None
    _sha256: str = field(default="", init=False, repr=False)
    _kind: ClassVar[Kind] = CORPUS

    def __post_init__(self) -> None:
        _Table.__post_init__(self)
        if self.parts is not None:
            object.__setattr__(
                self, "parts", conform(self.parts, PARTS_SCHEMA, "parts of documents")
            )

    def __len__(self) -> int:
        return self.frame.height

    def __iter__(self) -> Iterator[CorpusDocument]:
        for part in self.frame.iter_slices(ROWS_PER_STEP):
            yield from map(CorpusDocument._make, part.iter_rows())

    @property
    def doc_ids(self) -> list[str]:
        """Document ids in the order of the collection."""
        return self.frame["doc_id"].to_list()

    def sha256(self) -> str:
        """Return the hash of ids, titles and texts, which does not depend on their order.

        It is computed once and does not include parts; see ``formats.hashing.sha256_rows``.
        """
        if not self._sha256:
            object.__setattr__(self, "_sha256", sha256_rows(self))
        return self._sha256

    def in_index_order(self) -> Self:
        """Return the documents sorted by descending id (as UTF-8 bytes).

        In this order, an index can break ties of scores by position.

        Raises:
            InputError: If there are no documents, or an id occurs twice.
        """
        if not len(self):
            raise InputError("the corpus has no documents", where=self.path)
        ids = self.frame["doc_id"]
        if (ids < ids.shift()).sum() == len(ids) - 1:
            return self
        repeated = ids.filter(ids.is_duplicated())
        if len(repeated):
            raise InputError(
                f"document id '{repeated[0]}' occurs more than once in the corpus",
                where=self.path,
                remedy="keep one document for each id",
            )
        ordered = replace(self, frame=self.frame.sort("doc_id", descending=True))
        object.__setattr__(ordered, "_sha256", self.sha256())
        return ordered

    def find(self, doc_ids: pl.Series) -> pl.DataFrame:
        """Return ``doc_id, title, text`` of those of these documents that exist."""
        return self.frame.filter(pl.col("doc_id").is_in(doc_ids.implode()))

    def searchable_texts(self) -> Iterator[str]:
        """Yield the indexed text of each document: title and text, joined by a space."""
        for part in self.frame.iter_slices(ROWS_PER_STEP):
            yield from (part["title"] + " " + part["text"]).str.strip_chars()

    def to_dict(self) -> dict[str, str]:
        """Return the corpus as ``{doc_id: searchable text}``."""
        return dict(zip(self.doc_ids, self.searchable_texts(), strict=True))


def _to_dict(frame: pl.DataFrame, value: str) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for query_id, doc_id, number in frame.select("query_id", "doc_id", value).iter_rows():
        table.setdefault(query_id, {})[doc_id] = number
    return table


def conform(
    frame: pl.DataFrame, schema: Schema, kind: str, keep_others: bool = False
) -> pl.DataFrame:
    """Select and cast the columns of ``schema``.

    Args:
        frame: Any frame.
        schema: The columns of the table, with their types.
        kind: The kind of table, for error messages.
        keep_others: Keep the other columns, after those of the schema.

    Raises:
        InputError: If a column is missing or has nulls, or a cast would lose information.
    """
    missing = [name for name in schema if name not in frame.columns]
    if missing:
        raise InputError(
            f"expected columns {', '.join(schema)} but {', '.join(missing)} is missing",
            where=kind,
            remedy=f"rename columns; the table has {', '.join(frame.columns) or 'none'}",
        )
    others = [name for name in frame.columns if keep_others and name not in schema]
    columns = [_cast(frame[name], dtype, kind) for name, dtype in schema.items()]
    return pl.DataFrame([*columns, *(frame[name] for name in others)])


def _cast(column: pl.Series, dtype: type[pl.DataType], kind: str) -> pl.Series:
    lossy = column.dtype.is_temporal() or (
        dtype == pl.String
        and not column.dtype.is_integer()
        and column.dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null)
    )
    cast: pl.Series | None = None
    with suppress(pl.exceptions.PolarsError):
        cast = column.cast(dtype)
    if cast is None or lossy or (dtype.is_integer() and (cast != column).any()):
        expected = "text" if dtype == pl.String else "integers" if dtype.is_integer() else "numbers"
        raise InputError(
            f"expected {expected} in column {column.name} but got {column.dtype}",
            where=kind,
            remedy="convert the column, because an automatic conversion would lose information",
        )
    if cast.null_count():
        raise InputError(
            f"{cast.null_count()} missing values in column {column.name}",
            where=kind,
            remedy="fill in the values or remove these rows",
        )
    return cast
