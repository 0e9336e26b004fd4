"""Tables of text, results that show themselves as such tables, and the progress of operations.

A class that derives from :class:`Displayed` shows itself in consoles and notebooks: by default its
fields, or the entries of one of its attributes as a table. Progress is shown on stderr, as bars.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any, ClassVar, Protocol, Self

from trectools_plus.lazy_names import render
from trectools_plus.text import MAX_WIDTH, printable, show, visible

MAX_BYTES = 1_900
"""The greatest length of a text form, in bytes of UTF-8."""

_MAX_ROWS = 8
"""Rows of a table as text."""
_MAX_CELL = 32
"""Characters of a cell as text."""
MAX_TABLE_ROWS = 30
"""The greatest number of rows in a table for notebooks."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text in a table.

    Attributes:
        text: The text.
        detail: Text shown below or after it, for example an interval.
        count: Number of values behind it in brackets, if that differs from other cells.
        marks: Letters or signs after it.
        best: Whether it is emphasised as the best of its row or column.
    """

    text: str
    detail: str = ""
    count: str = ""
    marks: str = ""
    best: bool = False

    @property
    def marked(self) -> str:
        """The text with its marks."""
        return f"{self.text} {self.marks}" if self.marks else self.text


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table.

    Attributes:
        heading: The cell above it.
        right: Whether its cells are aligned on the right.
        whole: Whether its lines are never broken.
        widest: Maximum width in the terminal, in characters.
    """

    heading: Cell
    right: bool = False
    whole: bool = False
    widest: int | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table.

    Attributes:
        cells: One per column.
    """

    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class TextTable:
    """The model of every table of text.

    :meth:`lines` prints it as plain text; :mod:`trectools_plus.reporting` prints it with Rich, and
    writes HTML, Markdown and LaTeX.

    Attributes:
        columns: The columns from left to right.
        rows: The rows from top to bottom; rows after ``total`` or after those that fit may be
            missing.
        caption: The line above it; may be empty.
        total: The number of rows, if some are missing.
    """

    columns: tuple[TableColumn, ...]
    rows: tuple[TableRow, ...]
    caption: str = ""
    total: int | None = None

    @classmethod
    def of(
        cls,
        header: Iterable[str | TableColumn],
        rows: Iterable[TableRow | Sequence[str | Cell]],
        *,
        right: Collection[str] = (),
        caption: str = "",
        total: int | None = None,
    ) -> Self:
        """Make a table of texts, cells, columns and rows.

        Args:
            header: The columns, or their names.
            rows: The rows, or the cells of each.
            right: Names of columns that are aligned on the right.
            caption: The line above the table.
            total: The number of rows, if some are missing.
        """
        columns = (
            name if isinstance(name, TableColumn) else TableColumn(Cell(name), right=name in right)
            for name in header
        )
        made = (
            row
            if isinstance(row, TableRow)
            else TableRow(tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row))
            for row in rows
        )
        return cls(tuple(columns), tuple(made), caption, total)

    def transposed(self, corner: str) -> TextTable:
        """Return the table with rows as columns, and ``corner`` as its first heading."""
        heads, *others = zip(*(row.cells for row in self.rows), strict=True)
        columns = (TableColumn(Cell(corner)), *map(TableColumn, heads))
        rows = (
            TableRow((column.heading, *cells))
            for column, cells in zip(self.columns[1:], others, strict=True)
        )
        return TextTable(columns, tuple(rows))

    def blocks(self, fits: Callable[[TextTable], bool], first: int = 1) -> Iterator[TextTable]:
        """Yield tables that fit, each with the first columns and as many of the others as possible.

        Args:
            fits: Whether a table is narrow enough; a table with one further column is yielded even
                if it is not.
            first: The number of columns at the left of every table.
        """
        start, last = first, len(self.columns)
        while start < last:
            end = last
            while end > start + 1 and not fits(self._part(first, start, end)):
                end -= 1
            yield self._part(first, start, end)
            start = end

    def _part(self, first: int, start: int, end: int) -> TextTable:
        """Return the table with the first columns and those from ``start`` to before ``end``."""
        rows = (
            replace(row, cells=(*row.cells[:first], *row.cells[start:end])) for row in self.rows
        )
        return replace(
            self, columns=(*self.columns[:first], *self.columns[start:end]), rows=tuple(rows)
        )

    def lines(self) -> Iterator[str]:
        """Yield the header and the rows as plain text, without the caption.

        Columns that exceed 100 characters follow in further blocks, each with the first column.
        Rich, which prints tables on terminals, would need most of the time of a short command.
        """
        texts = [[printable(column.heading.text) for column in self.columns]]
        texts += [[printable(cell.text) for cell in row.cells] for row in self.rows]
        widths = [max(map(len, column_texts)) for column_texts in zip(*texts, strict=True)]
        blocks, used = [[0]], widths[0]
        for at, size in enumerate(widths[1:], 1):
            if len(blocks[-1]) > 1 and used + 2 + size > MAX_WIDTH:
                blocks, used = [*blocks, [0]], widths[0]
            blocks[-1].append(at)
            used += 2 + size
        aligns = [str.rjust if column.right else str.ljust for column in self.columns]
        for number, block in enumerate(blocks):
            yield from [""] * bool(number)
            for row in texts:
                yield "  ".join(aligns[at](row[at], widths[at]) for at in block)


class Displayed:
    """A result with a text form of less than 2 kB and an HTML form for notebooks.

    Attributes:
        _entries: The attribute whose entries are the rows of the table; empty if the rows are the
            fields of the result.
        _columns: The attributes of an entry that are shown; all fields if empty.
    """

    __slots__ = ()
    _entries: ClassVar[str] = ""
    _columns: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        """The content as text of less than 2 kB."""
        shown = self._text().encode(errors="replace")
        cut = shown[: MAX_BYTES - len("…".encode())].decode(errors="ignore")
        return shown.decode() if len(shown) <= MAX_BYTES else f"{cut}…"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        """The content as an HTML table, for notebooks."""
        return str(render("html_table", self._content()))

    def _text(self) -> str:
        """Return the text form, which ``repr`` cuts if it is long."""
        if self._entries or type(self)._content is not Displayed._content:
            return _text_table(self._content())
        named = (f"{name}={show(value)}" for name, value in _fields(self).items())
        return f"{type(self).__name__}({', '.join(named)})"

    def _content(self) -> TextTable:
        """Return the content of the HTML form, and of the text form of a result with entries."""
        name = type(self).__name__
        if not self._entries:
            rows = [[field, as_cell(value)] for field, value in _fields(self).items()]
            return TextTable.of(["Field", "Value"], rows, caption=name)
        entries = getattr(self, self._entries)
        caption = f"{name}: {len(entries):,} {self._entries.replace('_', ' ')}"
        names = self._columns or [name for entry in entries[:1] for name in _fields(entry)]
        rows = [[as_cell(getattr(entry, name)) for name in names] for entry in entries]
        header = [name.replace("_", " ") for name in names] or ["Entry"]
        return TextTable.of(header, rows, caption=caption)


def as_cell(value: object) -> str:
    """Return a value as the text of a table's cell: numbers with four decimals or separators."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4f}"
    if isinstance(value, str):
        return str(value.value) if isinstance(value, Enum) else value
    return show(value)


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass or a Pydantic model that its constructor's repr shows."""
    named = getattr(type(value), "model_fields", {})
    if is_dataclass(value):
        named = {field.name: field for field in fields(value)}
    return {name: getattr(value, name) for name, field in named.items() if field.repr}


def _text_table(table: TextTable) -> str:
    """Return the caption and the first rows, with aligned columns."""
    rows = [[visible(cell.text, _MAX_CELL) for cell in row.cells] for row in table.rows[:_MAX_ROWS]]
    header = [visible(column.heading.text, _MAX_CELL) for column in table.columns]
    lines = [f"  {line}".rstrip() for line in TextTable.of(header, rows).lines()]
    total = len(table.rows) if table.total is None else table.total
    more = [f"  … and {total - len(rows):,} more"] if total > len(rows) else []
    return "\n".join([table.caption, *(lines if rows else []), *more])


class Progress(Protocol):
    """A function that is called as work proceeds."""

    def __call__(self, description: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` steps are finished."""


def no_progress(description: str, done: int, total: int) -> None:
    """Report nothing."""


@contextmanager
def progress_bar(*, shown: bool = True) -> Iterator[Progress]:
    """Yield a function ``progress(description, done, total)`` that shows progress on stderr.

    Inside the context, ``print`` writes to stderr, also in user code (for example a retriever),
    because stdout is for the result.

    Args:
        shown: Whether to draw a bar for each description if stderr is a terminal; it disappears at
            the end.
    """
    with redirect_stdout(sys.stderr):
        if shown and sys.stderr.isatty():
            with _bars() as progress:
                yield progress
        else:
            yield no_progress


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import Progress as Display
    from rich.progress import TaskID

    tasks: dict[str, TaskID] = {}
    with Display(console=Console(stderr=True), transient=True) as display:

        def draw(description: str, done: int, total: int) -> None:
            if description not in tasks:
                tasks[description] = display.add_task(description)
            display.update(tasks[description], completed=done, total=total)

        yield draw
