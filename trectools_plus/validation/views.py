"""What rules look at: a run or a set of qrels as arrays, with the way back to the file's lines.

A view is made from a lexed file or from a table. Both look the same to a rule, but a table has
no lines. Shared work (numbering the queries, sorting, parsing numbers) is done once, when the
first rule asks for it; a file without a fault never asks for most of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.formats.columns import Columns
from trectools_plus.validation.order import (
    QueryBlocks,
    Rows,
    find_blocks,
    find_repeats,
)
from trectools_plus.validation.places import LineIndex
from trectools_plus.validation.registry import LINES_KEPT
from trectools_plus.validation.shape import (
    Shape,
)

Numbers = npt.NDArray[np.float64]


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
        is_chunk: Whether this is a part of a file, whose line numbers are not the file's.
        lacks_field: The number of a field that rows of this kind have and this file does without.
    """

    kind: str
    frame: pl.DataFrame
    every_line: bool = False
    optional_rules: bool = False
    is_by_lines: bool = True
    has_comments: bool = True
    is_chunk: bool = False
    lacks_field: int | None = None

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
            return NO_REPEATS  # every bad byte shows as U+FFFD, which makes ids equal
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
        if self.is_chunk:
            return "an earlier row"
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
        return self.line_index.field(int(self.line_numbers[row]), self.place_of(field))

    def texts(self, field: int, rows: Rows | None = None) -> pl.Series:
        """A field of every row, or of some rows, as the file spells it; empty for a table."""
        if self.columns is None or self.frame.is_empty():
            return pl.Series(dtype=pl.String)
        if rows is not None and len(rows) <= _FEW_ROWS:
            return pl.Series([self.text(row, field) for row in rows.tolist()], dtype=pl.String)
        texts = self.columns.texts(self.place_of(field))[int(self.shape.header_in_rows) :]
        return texts if rows is None else texts.gather(rows)

    def column(self, row: int, field: int) -> int | None:
        """Character column, from 1, at which a field of a row begins; ``None`` for a table."""
        if self.line_index is None or self.line_numbers is None:
            return None
        line = int(self.line_numbers[row])
        return self.line_index.column_of_field(line, self.place_of(field))

    def place_of(self, field: int) -> int:
        """Where a field of the usual layout stands in this file, both counted from 1."""
        return field - (self.lacks_field is not None and field > self.lacks_field)


_FEW_ROWS = 1000
NO_REPEATS = pl.DataFrame(schema={"row": pl.Int64, "first": pl.Int64})


def texts_of(
    columns: Columns, schema: Mapping[str, type[pl.DataType]], compact: Container[str] = ()
) -> pl.DataFrame:
    """The rows as texts under the names of ``schema``; see ``Columns.typed`` for ``compact``."""
    texts = columns.typed(dict.fromkeys(schema, pl.String), compact=compact)
    if texts is None:
        texts = columns.rows.drop("line").rename(
            dict(zip(columns.rows.columns[1:], schema, strict=True))
        )
    return texts
