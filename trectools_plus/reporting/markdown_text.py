"""Small pieces of Markdown: tables, and text from outside made harmless."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MOST_QUERIES = 50
"""How many queries a list in the Markdown names; the JSON names all."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; line breaks and bars in cells are made harmless."""
    lines = [_line([_cell(text) for text in header]), _line(["---"] * len(header))]
    return "\n".join([*lines, *(_line([_cell(text) for text in row]) for row in rows)])


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
