"""The table model of all renderings: columns, and rows of cells.

:mod:`trectools_plus.reporting.terminal` prints a table.
:mod:`trectools_plus.reporting.markdown.tables` and :mod:`trectools_plus.reporting.export` write it
as Markdown and LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from trectools_plus.statistics.comparison import ConfidenceInterval

_NUMBER = re.compile(r"[*\[<>≥≤+−-]* ?(\d[\d,.]*%?(?![\w:])|∞)")
_NOTHING = ("–", "")


@dataclass(frozen=True, slots=True)
class Cell:
    """A text in a table.

    Attributes:
        text: The text.
        detail: Text shown below or after it, for example an interval.
        count: Number of values behind it, if that differs from other cells.
        marks: Letters or signs after it.
        best: Whether it is emphasised as the best of its row or column.
        value: The number that it shows; ``None`` for other texts.
    """

    text: str
    detail: str = ""
    count: str = ""
    marks: str = ""
    best: bool = False
    value: float | None = None

    @property
    def marked(self) -> str:
        """The text with its marks."""
        return f"{self.text} {self.marks}" if self.marks else self.text

    @property
    def bracketed_count(self) -> str:
        """The count in brackets; empty where there is none."""
        return f"({self.count})" if self.count else ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        heading: The cell above it.
        short: The heading in the terminal, where that is shorter.
        right: Whether its cells are aligned on the right.
        whole: Whether its lines are never broken.
        widest: Maximum width in the terminal, in characters.
        fills: Whether it takes the remaining width of the terminal; longer texts are cut.
    """

    heading: Cell
    short: str | None = None
    right: bool = False
    whole: bool = False
    widest: int | None = None
    fills: bool = False

    @property
    def name(self) -> str:
        """The text above the column."""
        return self.heading.text


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        cells: One per column.
        alarming: Whether the whole row is emphasised as a failure.
        ends_section: Whether a blank line follows in the terminal.
    """

    cells: tuple[Cell, ...]
    alarming: bool = False
    ends_section: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows.

    Attributes:
        columns: The columns from left to right.
        rows: The rows from top to bottom.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(
        cls,
        header: Iterable[str | Column],
        rows: Iterable[Row | Sequence[str | Cell]],
        *,
        right: Collection[str] = (),
    ) -> Self:
        """Make a table of texts, cells, columns and rows.

        Args:
            header: The columns, or their names.
            rows: The rows, or the cells of each.
            right: Names of columns that are aligned on the right.
        """
        columns = (
            name if isinstance(name, Column) else Column(Cell(name), right=name in right)
            for name in header
        )
        made = (row if isinstance(row, Row) else make_row(row) for row in rows)
        return cls(tuple(columns), tuple(made))

    def transposed(self, corner: str) -> Table:
        """Return the table with rows as columns, and ``corner`` as its first heading."""
        heads, *others = zip(*(row.cells for row in self.rows), strict=True)
        columns = (Column(Cell(corner)), *map(Column, heads))
        rows = (
            Row((column.heading, *cells))
            for column, cells in zip(self.columns[1:], others, strict=True)
        )
        return Table(columns, tuple(rows))


def make_row(
    cells: Iterable[str | Cell], *, alarming: bool = False, ends_section: bool = False
) -> Row:
    """Make a row of texts and cells."""
    made = (cell if isinstance(cell, Cell) else Cell(cell) for cell in cells)
    return Row(tuple(made), alarming, ends_section)


def numeric_columns(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Return whether each column has numbers only, and is therefore aligned on the right.

    The first column has the names of the rows, so it is never aligned on the right.

    Args:
        rows: The cells: numbers with or without signs, intervals and emphasis, dashes, or texts.
    """
    return [
        place > 0
        and any(cell not in _NOTHING for cell in column)
        and all(cell in _NOTHING or _NUMBER.match(cell) is not None for cell in column)
        for place, column in enumerate(zip(*rows, strict=True))
    ]


def show(value: float | None, sign: str = "", *, decimals: int = 4) -> str:
    """Return a figure with four decimals, or a dash if undefined; ``sign="+"`` adds plus signs."""
    return "–" if value is None else f"{value:{sign},.{decimals}f}"


def show_interval(
    low: float | None, high: float | None, sign: str = "", *, decimals: int = 3
) -> str:
    """Return an interval in square brackets; empty if undefined. ``sign="+"`` adds plus signs."""
    if low is None or high is None:
        return ""
    return f"[{low:{sign}.{decimals}f}, {high:{sign}.{decimals}f}]"


NARROW = "†"
"""Marks an interval that may be too narrow, because it has a note."""


def show_ci(ci: ConfidenceInterval | None, sign: str = "", *, decimals: int = 3) -> str:
    """Return an interval as :func:`show_interval` does, with :data:`NARROW` if it has a note."""
    if ci is None:
        return ""
    mark = NARROW if ci.note else ""
    return show_interval(ci.low, ci.high, sign, decimals=decimals) + mark
