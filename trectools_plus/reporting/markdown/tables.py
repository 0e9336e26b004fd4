"""Tables as Markdown, and escaping of text from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from trectools_plus.display import Cell, TextTable
from trectools_plus.reporting.wording import numeric_columns

MOST_QUERIES = 50
"""Maximum number of queries in a list; the JSON report has all."""


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; line breaks and bars in cells are escaped.

    Columns of numbers, except the first column, are aligned on the right.
    """
    cells = [[_cell(text) for text in row] for row in rows]
    right = numeric_columns(cells) or [False] * len(header)
    rule = _line(["---:" if aligned else "---" for aligned in right])
    return "\n".join([_line([_cell(text) for text in header]), rule, *map(_line, cells)])


def render_table(table: TextTable, show: Callable[[Cell], str] | None = None) -> str:
    """Return a table as Markdown.

    Args:
        table: The table.
        show: Renders a cell; by default its text, which may contain Markdown.
    """
    render = show or (lambda cell: cell.text)
    header = [render(column.heading) for column in table.columns]
    return markdown_table(header, ([render(cell) for cell in row.cells] for row in table.rows))


def show_cell(cell: Cell) -> str:
    """Return a cell with text, detail, count and marks; the best is bold."""
    text = _emphasise(cell, (cell.text, cell.detail))
    return " ".join(filter(None, (text, cell.bracketed_count, harmless(cell.marks))))


def show_superscript(cell: Cell) -> str:
    """Return a cell with its marks as superscripts."""
    text = _emphasise(cell, (cell.text, cell.detail, cell.bracketed_count))
    return f"{text}<sup>{cell.marks}</sup>" if cell.marks else text


def _emphasise(cell: Cell, parts: Sequence[str]) -> str:
    text = harmless(" ".join(filter(None, parts)))
    return f"**{text}**" if cell.best else text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Escape a cell: a line break or a bar would end it."""
    return " ".join(text.split()).replace("|", "\\|")


def escape(text: str) -> str:
    """Return text from outside without tags."""
    return text.replace("<", "&lt;")


def plain(text: str) -> str:
    """Return text with escaped asterisks, so that they are not emphasis or a bullet."""
    return text.replace("*", "\\*")


def shorten(text: str, longest: int = 120) -> str:
    """Return a text on one line without tags; a long one is cut with an ellipsis."""
    text = escape(" ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def harmless(text: str) -> str:
    """Return text from outside as plain text, without tags and emphasis."""
    return plain(escape(text))
