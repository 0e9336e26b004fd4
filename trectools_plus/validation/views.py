"""What rules look at: a run or a set of qrels as arrays, with the way back to the file's lines.

A view is made from a lexed file or from a table. Both look the same to a rule, but a table has
no lines. Shared work (numbering the queries, sorting, parsing numbers) is done once, when the
first rule asks for it; a file without a fault never asks for most of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.formats.columns import Columns
from trectools_plus.formats.numerals import INTEGER, parse_ranks
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.validation.order import (
    Ordered,
    QueryBlocks,
    Ranks,
    Rows,
    find_blocks,
    find_repeats,
)
from trectools_plus.validation.places import LineIndex
from trectools_plus.validation.registry import LINES_KEPT
from trectools_plus.validation.shape import (
    Shape,
    shape_of_qrels,
    shape_of_run,
)

Numbers = npt.NDArray[np.float64]

MAX_TAG_LENGTH = 64
"""Characters that a run tag may have unless the user says otherwise."""


class TableView:
    """What runs and qrels have in common.

    Args:
        path: The file as the user named it, or a name for the table.
        columns: The lexed file; ``None`` for a table that never was one.
        shape: The verdict on the file as a whole.

    Attributes:
        kind: ``run`` or ``qrels``.
        frame: One row per data row: ``query_id``, ``doc_id`` and what else the kind has.
        every_line: Whether rules are to give the lines of all places, not of the first few.
        optional_rules: Whether rules that are off by default are run too.
        is_by_lines: Whether each line is an entry, so that blank and endless ones are odd.
        has_comments: Whether a line that begins with '#' is a comment that is better not there.
    """

    kind: str
    frame: pl.DataFrame
    every_line: bool = False
    optional_rules: bool = False
    is_by_lines: bool = True
    has_comments: bool = True

    def __init__(self, path: str, columns: Columns | None, shape: Shape) -> None:
        self.path = path
        self.columns = columns
        self.shape = shape

    @property
    def name(self) -> str:
        """The file's name without its folders, for the middle of a message."""
        return Path(self.path).name or self.path

    @property
    def n_rows(self) -> int:
        """Number of data rows, without a header line."""
        return self.frame.height

    @property
    def rows_are_missing(self) -> bool:
        """Whether some rows could not be read, so that gaps between the others mean nothing."""
        if self.columns is None:
            return False
        n_misshapen = self.columns.misshapen.height
        n_misshapen -= self.shape.header is not None and not self.shape.header_in_rows
        return n_misshapen > 0 or self.columns.comments.height > 0 or bool(self.columns.facts.nul)

    @cached_property
    def blocks(self) -> QueryBlocks:
        """The rows' queries by number."""
        return find_blocks(self.frame["query_id"])

    @cached_property
    def repeats(self) -> pl.DataFrame:
        """``row, first``: rows whose (query, document) occurred before, and where first."""
        return self.find_repeats()

    def find_repeats(self) -> pl.DataFrame:
        """Look for :attr:`repeats`."""
        if self.columns is not None and self.columns.facts.bad_utf8 is not None:
            return _NO_REPEATS  # every bad byte shows as U+FFFD, which makes ids equal
        starts = None if self.blocks.interleaved else self.blocks.starts
        return find_repeats(self.blocks.query, self.frame["doc_id"], starts)

    @cached_property
    def line_index(self) -> LineIndex | None:
        """Access to the texts of the file's lines; ``None`` for a table."""
        return None if self.columns is None else LineIndex(self.columns.source.data)

    @cached_property
    def line_numbers(self) -> npt.NDArray[np.uint32] | None:
        """The file's own line number of each row; ``None`` for a table."""
        if self.columns is None:
            return None
        lines = self.columns.lines.to_numpy()
        return lines[int(self.shape.header_in_rows) :]

    def lines(self, rows: Iterable[int]) -> Sequence[int]:
        """Line numbers of the first few of ``rows``, or of all; none for a table."""
        if self.line_numbers is None:
            return []
        if self.every_line:
            places = rows if isinstance(rows, np.ndarray) else np.fromiter(rows, np.int64)
            # Millions of places are a matter of course, so not as a list of Python's integers.
            return array("I", self.line_numbers[places].astype(np.uintc).tobytes())
        return [int(self.line_numbers[row]) for row in islice(rows, LINES_KEPT)]

    def query_id(self, row: int) -> str:
        """Query id of a row."""
        return str(self.frame["query_id"][int(row)])

    def doc_id(self, row: int) -> str:
        """Document id of a row."""
        return str(self.frame["doc_id"][int(row)])

    def at_line(self, row: int) -> str:
        """``line 5``, for the middle of a message; the row's number for a table."""
        lines = self.lines([row])
        return f"line {lines[0]}" if lines else f"row {int(row) + 1}"

    @cached_property
    def strings(self) -> pl.DataFrame:
        """The rows as the file spells them, ``c1`` …; empty for a table."""
        if self.columns is None or self.frame.is_empty():
            return pl.DataFrame(schema={f"c{field}": pl.String for field in range(1, 7)})
        return self.columns.rows[int(self.shape.header_in_rows) :]

    def text(self, row: int, field: int) -> str:
        """A field as the file spells it."""
        assert self.line_index is not None
        assert self.line_numbers is not None
        return self.line_index.field(int(self.line_numbers[row]), field)

    def texts(self, field: int, rows: Rows | None = None) -> pl.Series:
        """A field of every row, or of some rows, as the file spells it; empty for a table."""
        if self.columns is None or self.frame.is_empty():
            return pl.Series(dtype=pl.String)
        if rows is not None and len(rows) <= _FEW_ROWS:
            return pl.Series([self.text(row, field) for row in rows.tolist()], dtype=pl.String)
        texts = self.columns.texts(field)[int(self.shape.header_in_rows) :]
        return texts if rows is None else texts.gather(rows)

    def column(self, row: int, field: int) -> int | None:
        """Character column, from 1, at which a field of a row begins; ``None`` for a table."""
        if self.line_index is None or self.line_numbers is None:
            return None
        return self.line_index.column_of_field(int(self.line_numbers[row]), field)


class RunView(TableView):
    """A run as rules see it.

    Attributes:
        rank: Rank of each row: int64, or float64 with NaN where a text is no whole number.
        score: Score of each row (float64), NaN where the text is no number or says NaN.
        max_depth: Results allowed per query; ``None`` for no limit.
        max_tag_length: Characters allowed in the run tag.
    """

    kind = "run"
    max_tag_length: int = MAX_TAG_LENGTH

    def __init__(
        self,
        path: str,
        columns: Columns | None,
        shape: Shape,
        frame: pl.DataFrame,
        max_depth: int | None,
    ) -> None:
        super().__init__(path, columns, shape)
        self.frame = frame
        self.max_depth = max_depth
        self.rank = _ranks(frame["rank"])
        self.score: Numbers = frame["score"].to_numpy()

    @classmethod
    def of_file(cls, columns: Columns, max_depth: int | None = None) -> RunView:
        """A view of a lexed file, whatever is in it."""
        shape = shape_of_run(columns)
        frame = None if shape.header_in_rows else columns.typed(_RUN_TYPES, compact=_RUN_WORDS)
        if frame is None:
            frame = _parse_run(_texts_of(columns, _RUN_TYPES)[int(shape.header_in_rows) :])
        if shape.verdict != "rows":
            frame = frame.clear()
        return cls(columns.source.path, columns, shape, frame, max_depth)

    @classmethod
    def of_table(cls, run: Run, max_depth: int | None = None) -> RunView:
        """A view of a run in memory."""
        return cls(run.path or run.name, None, Shape(), run.frame, max_depth)

    @cached_property
    def grouped(self) -> Ordered:
        """Rows by query, in the file's order within each."""
        if not self.blocks.interleaved:
            return Ordered(None, self.blocks.query, self.rank, self.score)
        order: Rows = np.argsort(self.blocks.query, kind="stable")
        return Ordered(order, self.blocks.query[order], self.rank[order], self.score[order])

    @cached_property
    def ranked(self) -> Ordered:
        """Rows by query and rank; rows without a rank come last in their query."""
        if self.grouped.in_step or bool((self.grouped.rank_steps >= 0).all()):
            return self.grouped
        return self.grouped.sorted_by(self.grouped.rank)

    @cached_property
    def scored(self) -> Ordered:
        """Rows by query and falling score; rows with equal scores are in rank order."""
        ranked = self.ranked
        if ranked.falls:
            return ranked
        falling = (ranked.score[1:] <= ranked.score[:-1]) | ~ranked.same_query
        return ranked if bool(falling.all()) else ranked.sorted_by(-ranked.score)

    @cached_property
    def ties32(self) -> Rows:
        """Places of :attr:`scored` whose score equals the one before in 32 bits."""
        if self.grouped.falls:
            return np.empty(0, np.int64)
        scored = self.scored
        equal = (scored.score32[1:] == scored.score32[:-1]) & scored.same_query
        return np.flatnonzero(equal) + 1

    @cached_property
    def documents_in_column_2(self) -> bool:
        """Whether columns 2 and 3 have changed places: 'Q0', or one value, in column 3."""
        if self.columns is None or self.n_rows == 0:
            return False
        second, third = self.frame["q0"], self.frame["doc_id"]
        if third[0] != third[min(1, self.n_rows - 1)] or bool((third != third[0]).any()):
            return False
        if third[0].upper() == "Q0":
            return bool((second.cast(pl.String).str.to_uppercase() != "Q0").any())
        pairs = self.frame.select("query_id", "q0")
        # One document again and again is another fault, unless column 2 tells the rows apart.
        return pairs.height > pairs["query_id"].n_unique() and not bool(pairs.is_duplicated().any())

    @cached_property
    def repeats(self) -> pl.DataFrame:
        """As for any table; none where column 3 does not hold the documents."""
        return _NO_REPEATS if self.documents_in_column_2 else self.find_repeats()

    @cached_property
    def swapped_columns(self) -> bool:
        """Whether rank and score have changed places: decimals in column 4, 1, 2, 3 in column 5."""
        if self.columns is None or self.n_rows < 2 or self.rank.dtype == np.int64:
            return False
        if not np.isnan(self.rank).any():
            return False
        decimals = self.texts(4).cast(pl.Float64, strict=False).to_numpy()
        if not np.isfinite(decimals).all():
            return False
        group = self.grouped
        if group.row is not None:
            decimals = decimals[group.row]
        falling = (decimals[1:] <= decimals[:-1])[group.same_query]
        counting = (group.score[1:] == group.score[:-1] + 1)[group.same_query]
        return bool(len(falling)) and bool(falling.all()) and bool(counting.all())


class QrelsView(TableView):
    """Qrels as rules see them.

    Attributes:
        grade: Grade of each row (float64), NaN where the text is no whole number. Numbers past
            53 bits are rounded, which changes no verdict.
    """

    kind = "qrels"

    def __init__(
        self, path: str, columns: Columns | None, shape: Shape, frame: pl.DataFrame
    ) -> None:
        super().__init__(path, columns, shape)
        self.frame = frame
        self.grade: Numbers = frame["relevance"].cast(pl.Float64).to_numpy()

    @classmethod
    def of_file(cls, columns: Columns) -> QrelsView:
        """A view of a lexed file, whatever is in it."""
        shape = shape_of_qrels(columns)
        frame = None if shape.header_in_rows else columns.typed(_QRELS_TYPES)
        if frame is None:
            frame = _parse_qrels(_texts_of(columns, _QRELS_TYPES)[int(shape.header_in_rows) :])
        if shape.verdict != "rows":
            frame = frame.clear()
        return cls(columns.source.path, columns, shape, frame)

    @classmethod
    def of_table(cls, qrels: Qrels) -> QrelsView:
        """A view of qrels in memory."""
        return cls(qrels.path or "qrels", None, Shape(), qrels.frame)

    @cached_property
    def highest(self) -> Numbers:
        """Highest grade of each query, by query number; NaN where some grade cannot be read."""
        highest = np.full(self.blocks.query_ids.len(), -np.inf)
        with np.errstate(invalid="ignore"):
            np.maximum.at(highest, self.blocks.query, self.grade)
        return highest


_FAR = 1 << 53
_FEW_ROWS = 1000
_NO_REPEATS = pl.DataFrame(schema={"row": pl.Int64, "first": pl.Int64})
_RUN_TYPES: dict[str, type[pl.DataType]] = {
    "query_id": pl.String,
    "q0": pl.String,
    "doc_id": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "tag": pl.String,
}
_RUN_WORDS = ("q0", "tag")
_QRELS_TYPES: dict[str, type[pl.DataType]] = {
    "query_id": pl.String,
    "iteration": pl.String,
    "doc_id": pl.String,
    "relevance": pl.Int64,
}


def _ranks(ranks: pl.Series) -> Ranks:
    """Ranks to compute with: as float64 where some are unknown, or too far apart for int64."""
    if ranks.dtype == pl.Int64 and ranks.is_between(-_FAR, _FAR).all():
        return ranks.to_numpy()
    return ranks.cast(pl.Float64).to_numpy()


def _texts_of(columns: Columns, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """The rows as texts under the names of ``schema``."""
    texts = columns.typed(dict.fromkeys(schema, pl.String), compact=_RUN_WORDS)
    if texts is None:
        texts = columns.rows.drop("line").rename(
            dict(zip(columns.rows.columns[1:], schema, strict=True))
        )
    return texts


def _parse_run(strings: pl.DataFrame) -> pl.DataFrame:
    """Columns of a run from their texts; what is no number becomes NaN.

    Polars casts exactly the decimal numbers, and the words for NaN and infinity.
    """
    return pl.DataFrame(
        {
            "query_id": strings["query_id"],
            "q0": strings["q0"],
            "doc_id": strings["doc_id"],
            "rank": _parse_ranks(strings["rank"]),
            "score": strings["score"].cast(pl.Float64, strict=False).fill_null(np.nan),
            "tag": strings["tag"],
        }
    )


def _parse_ranks(texts: pl.Series) -> pl.Series:
    """Ranks as float64, NaN where the text is no whole number; ``1.0`` is one."""
    ranks = texts.cast(pl.Int64, strict=False)
    odd = ranks.is_null().arg_true()
    numbers = ranks.cast(pl.Float64)
    if odd.len():
        numbers = numbers.scatter(odd, parse_ranks(texts.gather(odd)).cast(pl.Float64))
    return numbers.fill_null(np.nan)


def _parse_qrels(strings: pl.DataFrame) -> pl.DataFrame:
    """Columns of qrels from their texts; a grade that is no whole number becomes NaN."""
    grade = strings["relevance"].cast(pl.Float64, strict=False)
    whole = strings["relevance"].str.contains(INTEGER)
    return pl.DataFrame(
        {
            "query_id": strings["query_id"],
            "iteration": strings["iteration"],
            "doc_id": strings["doc_id"],
            "relevance": grade.set(~whole, None).fill_null(np.nan),
        }
    )
