"""Tables as Markdown, and text from outside made harmless."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from trectools_plus.reporting.table import Cell, Table

MOST_QUERIES = 50
"""How many queries a list in the Markdown names; the JSON names all."""


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; line breaks and bars in cells are made harmless."""
    lines = [_line([_cell(text) for text in header]), _line(["---"] * len(header))]
    return "\n".join([*lines, *(_line([_cell(text) for text in row]) for row in rows)])


def render_table(table: Table, show: Callable[[Cell], str] | None = None) -> str:
    """Return a table as Markdown.

    Args:
        table: The table.
        show: Renders a cell; by default its text as it is, so that it may hold Markdown.
    """
    render = show or (lambda cell: cell.text)
    header = [render(column.heading) for column in table.columns]
    return markdown_table(header, ([render(cell) for cell in row.cells] for row in table.rows))


def show_cell(cell: Cell) -> str:
    """Return a cell with everything in it: the best bold, count and marks behind."""
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
    """A table's cell: a line break or a bar would end it."""
    return " ".join(text.split()).replace("|", "\\|")


def escape(text: str) -> str:
    """Text from outside must not turn into tags."""
    return text.replace("<", "&lt;")


def plain(text: str) -> str:
    """Text whose asterisks are no emphasis and no bullet."""
    return text.replace("*", "\\*")


def shorten(text: str, longest: int = 120) -> str:
    """A long text on one line, cut with an ellipsis."""
    text = escape(" ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def harmless(text: str) -> str:
    """Text from outside as plain text: no tags, no emphasis."""
    return plain(escape(text))
