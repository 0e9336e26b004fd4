"""Show results in consoles and notebooks: a short text, and the same content as an HTML table.

A class that derives from :class:`Displayed` has both. By default they show its fields, or the
entries of one of its attributes as a table.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sized
from enum import Enum
from typing import Any, ClassVar, NamedTuple

from trectools_plus.text import html_table, one_line, shortened, visible

MAX_BYTES = 1_900
"""The greatest length of a text form, in bytes of UTF-8."""

_MAX_ROWS = 8
"""Rows of a table as text."""
_MAX_CELL = 32
"""Characters of a cell as text."""


class Content(NamedTuple):
    """The content of a result as a table.

    Attributes:
        caption: The line above the table.
        header: The names of the columns.
        rows: The cells; rows after ``total`` or after those that fit may be missing.
        total: The number of rows, if some are missing.
    """

    caption: str
    header: list[str]
    rows: list[list[str]]
    total: int | None = None


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
        return html_table(*self._content())

    def _text(self) -> str:
        """Return the text form, which ``repr`` cuts if it is long."""
        if self._entries or type(self)._content is not Displayed._content:
            return text_table(self._content())
        named = (f"{name}={_short.repr(value)}" for name, value in _fields(self))
        return f"{type(self).__name__}({', '.join(named)})"

    def _content(self) -> Content:
        """Return the content of the HTML form, and of the text form of a result with entries."""
        name = type(self).__name__
        if not self._entries:
            rows = [[field, as_cell(value)] for field, value in _fields(self)]
            return Content(name, ["Field", "Value"], rows)
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
        return Content(caption, list(header) or ["Entry"], rows)


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


def text_table(content: Content, most: int = _MAX_ROWS) -> str:
    """Return the caption and the first rows, with aligned columns."""
    rows = [[_cut(cell) for cell in row] for row in content.rows[:most]]
    lines = [content.caption]
    if rows:
        table = [[_cut(name) for name in content.header], *rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        numeric = [all(map(_is_number, column)) for column in zip(*rows, strict=True)]
        for row in table:
            cells = (
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, numeric, strict=True)
            )
            lines.append(f"  {'  '.join(cells)}".rstrip())
    total = len(content.rows) if content.total is None else content.total
    if total > len(rows):
        lines.append(f"  … and {total - len(rows):,} more")
    return "\n".join(lines)


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
            return self._repr_array(x)
        fields = dict(_fields(x))
        if fields and level > 0:
            named = (f"{name}={self.repr1(value, level - 1)}" for name, value in fields.items())
            return shortened(f"{type(x).__name__}({', '.join(named)})")
        if isinstance(x, Sized) and isinstance(x, Iterable):
            return f"<{type(x).__name__}: {len(x):,} entries>"
        return shortened(one_line(super().repr_instance(x, level)))

    def _repr_array(self, x: Any) -> str:
        if getattr(x, "ndim", 2) == 1 and len(x) <= 6:
            return f"[{', '.join(as_cell(one) for one in x.tolist())}]"
        return f"<{type(x).__name__}: {' × '.join(f'{size:,}' for size in x.shape)}>"


_short = _Short()
