"""Tables of text, and results that show themselves as such tables in consoles and notebooks.

A class that derives from :class:`Displayed` has both. By default they show its fields, or the
entries of one of its attributes as a table.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from enum import Enum
from html import escape
from typing import Any, ClassVar, Self

from trectools_plus.text import one_line, printable, shortened, visible

MAX_BYTES = 1_900
"""The greatest length of a text form, in bytes of UTF-8."""

_MAX_ROWS = 8
"""Rows of a table as text."""
_MAX_CELL = 32
"""Characters of a cell as text."""
MAX_TABLE_ROWS = 30
"""The greatest number of rows in a table for notebooks."""
MAX_CELL = 200
"""The greatest number of characters in a cell of a table for notebooks."""
MAX_CAPTION = 500
"""The greatest number of characters in its caption."""


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
        ends: The ends of the number's interval.
    """

    text: str
    detail: str = ""
    count: str = ""
    marks: str = ""
    best: bool = False
    value: float | None = None
    ends: tuple[float | None, float | None] = (None, None)

    @property
    def marked(self) -> str:
        """The text with its marks."""
        return f"{self.text} {self.marks}" if self.marks else self.text

    @property
    def bracketed_count(self) -> str:
        """The count in brackets; empty where there is none."""
        return f"({self.count})" if self.count else ""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table.

    Attributes:
        heading: The cell above it.
        short: The heading in the terminal, where that is shorter.
        right: Whether its cells are aligned on the right.
        whole: Whether its lines are never broken.
        least: Minimum width in plain text, in characters.
        widest: Maximum width in the terminal, in characters.
    """

    heading: Cell
    short: str | None = None
    right: bool = False
    whole: bool = False
    least: int = 0
    widest: int | None = None

    @property
    def name(self) -> str:
        """The text above the column."""
        return self.heading.text


@dataclass(frozen=True, slots=True)
class TableRow:
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
class TextTable:
    """The model of every table of text.

    :meth:`lines` prints it as plain text, :func:`html_table` as HTML;
    :mod:`trectools_plus.reporting` prints it with Rich, and writes Markdown and LaTeX.

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
        made = (row if isinstance(row, TableRow) else make_row(row) for row in rows)
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

    def lines(self, width: int | None = None, *, ruled: bool = False) -> Iterator[str]:
        """Yield the header and the rows as plain text, without the caption.

        Rich, which prints tables on terminals, would need most of the time of a short command.

        Args:
            width: Columns that exceed it follow in further blocks, each with the first column.
            ruled: Draw a line below the header, and below a row that ends a section.
        """
        texts = [[printable(column.name) for column in self.columns]]
        texts += [[printable(cell.text) for cell in row.cells] for row in self.rows]
        cells = zip(self.columns, zip(*texts, strict=True), strict=True)
        widths = [max(column.least, *map(len, column_texts)) for column, column_texts in cells]
        rules = {0, *(at for at, row in enumerate(self.rows, 1) if row.ends_section)}
        blocks, used = [[0]], [widths[0]]
        for at, size in enumerate(widths[1:], 1):
            if width is not None and len(blocks[-1]) > 1 and used[-1] + 2 + size > width:
                blocks, used = [*blocks, [0]], [*used, widths[0]]
            blocks[-1].append(at)
            used[-1] += 2 + size
        for number, block in enumerate(blocks):
            yield from [""] * bool(number)
            for at, row in enumerate(texts):
                yield "  ".join(_aligned(row[i], widths[i], self.columns[i]) for i in block)
                if ruled and at in rules and self.rows:
                    yield "-" * used[number]


def _aligned(text: str, width: int, column: TableColumn) -> str:
    return text.rjust(width) if column.right else text.ljust(width)


def make_row(
    cells: Iterable[str | Cell], *, alarming: bool = False, ends_section: bool = False
) -> TableRow:
    """Make a row of texts and cells."""
    made = (cell if isinstance(cell, Cell) else Cell(cell) for cell in cells)
    return TableRow(tuple(made), alarming, ends_section)


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
        shown = self._text()
        if len(shown.encode(errors="replace")) <= MAX_BYTES:
            return shown
        kept = shown.encode(errors="replace")[: MAX_BYTES - len("…".encode())]
        return f"{kept.decode(errors='ignore')}…"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        """The content as an HTML table, for notebooks."""
        return html_table(self._content())

    def _text(self) -> str:
        """Return the text form, which ``repr`` cuts if it is long."""
        if self._entries or type(self)._content is not Displayed._content:
            return text_table(self._content())
        named = (f"{name}={_short.repr(value)}" for name, value in _fields(self))
        return f"{type(self).__name__}({', '.join(named)})"

    def _content(self) -> TextTable:
        """Return the content of the HTML form, and of the text form of a result with entries."""
        name = type(self).__name__
        if not self._entries:
            rows = [[field, as_cell(value)] for field, value in _fields(self)]
            return TextTable.of(["Field", "Value"], rows, caption=name)
        entries = getattr(self, self._entries)
        caption = f"{name}: {len(entries):,} {self._entries.replace('_', ' ')}"
        keyed = isinstance(entries, Mapping)
        listed = list(entries.items()) if keyed else [("", entry) for entry in entries]
        header: dict[str, None] = {"": None} if keyed else {}
        rows = []
        for key, entry in listed:
            named = _named(entry, self._columns)
            header |= dict.fromkeys(column.replace("_", " ") for column in named)
            cells = [as_cell(value) for value in named.values()]
            rows.append([str(key), *cells] if keyed else cells)
        return TextTable.of(list(header) or ["Entry"], rows, caption=caption)


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
    return _short.repr(value)


def _named(entry: object, columns: tuple[str, ...]) -> dict[str, object]:
    """Return the values of an entry by column."""
    if columns:
        return {column: getattr(entry, column) for column in columns}
    return dict(_fields(entry)) or {"entry": entry}


def _fields(value: object) -> Iterator[tuple[str, object]]:
    """Yield the fields of a dataclass or a Pydantic model that its constructor's repr shows."""
    kind = type(value)
    fields = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "model_fields", {})
    for name, field in fields.items():
        is_variable = "ClassVar" in str(getattr(field, "type", ""))
        if field.repr and not is_variable and not name.startswith("_"):
            yield name, getattr(value, name)


def text_table(table: TextTable, most: int = _MAX_ROWS) -> str:
    """Return the caption and the first rows, with aligned columns."""
    rows = [[_cut(cell.text) for cell in row.cells] for row in table.rows[:most]]
    lines = [table.caption]
    if rows:
        numeric = [all(map(_is_number, column)) for column in zip(*rows, strict=True)]
        columns = (
            TableColumn(Cell(_cut(column.name)), right=right)
            for column, right in zip(table.columns, numeric, strict=True)
        )
        lines += [f"  {line}".rstrip() for line in TextTable.of(columns, rows).lines()]
    total = len(table.rows) if table.total is None else table.total
    if total > len(rows):
        lines.append(f"  … and {total - len(rows):,} more")
    return "\n".join(lines)


def html_table(table: TextTable, *, whole: bool = False) -> str:
    """Return a table as HTML without styles, so that the styles of a notebook or page apply.

    The first column contains the names of the rows. The best cells are bold, and marks are
    superscripts.

    Args:
        table: The table.
        whole: Show all rows and the whole text of each cell, instead of at most
            :data:`MAX_TABLE_ROWS` rows and short texts.
    """

    def shown(text: str, longest: int = MAX_CELL) -> str:
        return escape(text if whole else visible(one_line(text), longest))

    def filled(cell: Cell) -> str:
        text = shown(cell.text)
        text = f"<strong>{text}</strong>" if cell.best else text
        text += f"<sup>{shown(cell.marks)}</sup>" if cell.marks else ""
        below = shown(" ".join(filter(None, (cell.detail, cell.bracketed_count))))
        return f"{text}<br/><small>{below}</small>" if below else text

    caption = shown(table.caption, MAX_CAPTION)
    above = f"<caption>{caption}</caption>\n" if caption else ""
    head = "".join(f'<th scope="col">{filled(one.heading)}</th>' for one in table.columns)
    rows = table.rows if whole else table.rows[:MAX_TABLE_ROWS]
    body = "".join(
        f'<tr><th scope="row">{filled(row.cells[0])}</th>'
        + "".join(f"<td>{filled(cell)}</td>" for cell in row.cells[1:])
        + "</tr>\n"
        for row in rows
    )
    further = (len(table.rows) if table.total is None else table.total) - len(rows)
    if further > 0:
        body += f'<tr><td colspan="{len(table.columns)}">… and {further:,} more</td></tr>\n'
    return f"<table>\n{above}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"


def _cut(cell: str) -> str:
    return visible(one_line(cell), _MAX_CELL)


def _is_number(cell: str) -> bool:
    return cell == "–" or cell.lstrip("+−-")[:1].isdigit()


class _Short(reprlib.Repr):
    """Shortens the values of fields: few items, short texts, sizes of frames and arrays."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxstring, self.maxother = 3, 3, 80, 90
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = 4

    def repr_instance(self, x: Any, level: int) -> str:
        if isinstance(x, Enum):
            return str(x.value)
        if isinstance(x, Displayed):
            return shortened(one_line(repr(x)))
        if hasattr(x, "shape"):
            return f"<{type(x).__name__}: {' × '.join(map(str, x.shape))}>"
        if isinstance(x, Sized) and isinstance(x, Iterable):
            return f"<{type(x).__name__}: {len(x):,} entries>"
        return shortened(one_line(super().repr_instance(x, level)))


_short = _Short()
