"""The rows of runs and qrels as arrays: queries, documents, numbers, and words of other columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.decimals import (
    Floats,
    WholeNumbers,
    parse_decimals,
    parse_whole_numbers,
)
from trectools_plus.formats.columns.ids import Flags, Ids, Rows, Text

if TYPE_CHECKING:
    import polars as pl


RUN_FIELDS = 6
"""The number of fields of a row of a run: ``query_id Q0 doc_id rank score tag``."""

QRELS_FIELDS = 4
"""The number of fields of a row of qrels: ``query_id iteration doc_id grade``."""


@dataclass(frozen=True, eq=False)
class QueryBlocks:
    """The rows of a file, in blocks of adjacent rows with the same query id.

    Attributes:
        starts: First row of each block.
        query_ids: The distinct ids, by first appearance.
        block_query: For each block, the number of its query, a position in ``query_ids``.
        n_rows: The number of rows.
    """

    starts: Rows
    query_ids: list[str]
    block_query: Rows
    n_rows: int

    @cached_property
    def query(self) -> npt.NDArray[np.uint32]:
        """For each row, the number of its query, by first appearance."""
        lengths = np.diff(self.starts, append=self.n_rows)
        return np.repeat(self.block_query.astype(np.uint32), lengths)

    def series(self) -> pl.Series:
        """Return the query id of each row."""
        import polars as pl

        return pl.Series(self.query_ids, dtype=pl.String).gather(self.query)

    @property
    def interleaved(self) -> bool:
        """Return whether a query has several blocks."""
        return len(self.starts) > len(self.query_ids)

    @cached_property
    def sizes(self) -> Rows:
        """Number of rows of each query."""
        lengths = np.diff(self.starts, append=self.n_rows)
        return np.bincount(self.block_query, lengths, len(self.query_ids)).astype(np.int64)

    @cached_property
    def first_rows(self) -> Rows:
        """First row of each query."""
        _, first = np.unique(self.block_query, return_index=True)
        return self.starts.take(first)

    @classmethod
    def of_fields(cls, part: Text) -> Self:
        """Return the rows in a part of a file."""
        return cls(*find_blocks(part.ids(1)))

    @classmethod
    def of(cls, columns: Columns) -> Self:
        """Read the rows of a file without its header."""
        parts = columns.fields(has_header=columns.header_in_rows)
        return cls.joined([cls.of_fields(part) for part in parts])

    @classmethod
    def none(cls) -> Self:
        """Return no rows."""
        return cls.of_fields(Text(b"", np.zeros((RUN_FIELDS, 0), np.int64)))

    def without_columns(self) -> Self:
        """Return only the queries of the rows."""
        return replace(
            self.none(),
            starts=self.starts,
            query_ids=self.query_ids,
            block_query=self.block_query,
            n_rows=self.n_rows,
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of some parts of a file, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        numbers: dict[str, int] = {}
        starts, queries, n_rows = list[Rows](), list[Rows](), 0
        for part in parts:
            of_part = [numbers.setdefault(one, len(numbers)) for one in part.query_ids]
            queries.append(np.array(of_part, np.int64)[part.block_query])
            starts.append(part.starts + n_rows)
            n_rows += part.n_rows
        rows, query = np.concatenate(starts), np.concatenate(queries)
        # A block may continue in the next part.
        begins = np.concatenate([np.ones(min(1, len(query)), np.bool_), query[1:] != query[:-1]])
        blocks = rows[begins], list(numbers), query[begins], n_rows
        columns = (
            [getattr(part, column.name) for part in parts] for column in fields(cls)[len(blocks) :]
        )
        return cls(
            *blocks,
            *(
                Ids.joined(column) if isinstance(column[0], Ids) else np.concatenate(column)
                for column in columns
            ),
        )

    def query_id(self, row: int) -> str:
        """Return the query id of a row."""
        block = int(np.searchsorted(self.starts, row, "right")) - 1
        return self.query_ids[int(self.block_query[block])]


def find_blocks(ids: Ids) -> tuple[Rows, list[str], Rows, int]:
    """Find the blocks in a column of query ids; see :class:`QueryBlocks`."""
    begins = np.concatenate([np.ones(min(1, len(ids)), np.bool_), ids.changes()])
    starts = np.flatnonzero(begins)
    heads = ids.take(starts)
    number, first = heads.numbered()
    return starts, heads.texts(first), number, len(ids)


@dataclass(frozen=True, eq=False)
class RunRows(QueryBlocks):
    """The rows of a run.

    Attributes:
        second: The second column.
        doc_ids: The documents.
        ranks: The ranks.
        has_point: Whether each rank is a whole number that is written with a point.
        scores: The scores; see :func:`parse_decimals`.
        is_short: Whether each score has at most 15 digits.
        tags: The last column.
    """

    second: Ids
    doc_ids: Ids
    ranks: WholeNumbers
    has_point: Flags
    scores: Floats
    is_short: Flags
    tags: Ids

    @classmethod
    def of_fields(cls, part: Text) -> Self:
        """Return the rows in a part of a file."""
        return cls(
            *find_blocks(part.ids(1)),
            part.ids(2),
            part.ids(3),
            *parse_whole_numbers(part, *part.bounds(4)),
            *parse_decimals(part, *part.bounds(5)),
            part.ids(6),
        )

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> RunRows:
        """Return the rows of a table: ``query_id, doc_id, rank, score``."""
        n_rows, none = frame.height, np.zeros(frame.height, np.bool_)
        return cls(
            *find_blocks(Ids.of_series(frame["query_id"])),
            Ids.constant("Q0", n_rows),
            Ids.of_series(frame["doc_id"]),
            frame["rank"].to_numpy().astype(np.int64),
            none,
            frame["score"].to_numpy().astype(np.float64),
            none,
            Ids.constant("", n_rows),
        )


@dataclass(frozen=True, eq=False)
class QrelsRows(QueryBlocks):
    """The rows of qrels.

    Attributes:
        iterations: The second column.
        doc_ids: The documents.
        grades: The grades.
        has_point: Whether each grade is a whole number that is written with a point.
    """

    iterations: Ids
    doc_ids: Ids
    grades: WholeNumbers
    has_point: Flags

    @classmethod
    def of_fields(cls, part: Text) -> Self:
        """Return the rows in a part of a file."""
        return cls(
            *find_blocks(part.ids(1)),
            part.ids(2),
            part.ids(3),
            *parse_whole_numbers(part, *part.bounds(4)),
        )

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> QrelsRows:
        """Return the rows of a table: ``query_id, iteration, doc_id, relevance``.

        A grade that is not a whole number is NaN.
        """
        grade = frame["relevance"].to_numpy()
        are_whole = bool(np.isfinite(grade).all())
        return cls(
            *find_blocks(Ids.of_series(frame["query_id"])),
            Ids.of_series(frame["iteration"]),
            Ids.of_series(frame["doc_id"]),
            grade.astype(np.int64) if are_whole else grade,
            np.zeros(len(grade), np.bool_),
        )
