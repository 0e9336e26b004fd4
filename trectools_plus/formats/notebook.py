"""A small HTML table for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

MOST_ROWS = 30


def html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as HTML without styles, so that the notebook's own apply.

    Args:
        caption: A line above it.
        header: The columns' names; the first column names the rows.
        rows: Cells as plain text: everything is escaped. Of very many only the first are shown.
    """
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows[:MOST_ROWS]
    )
    if len(rows) > MOST_ROWS:
        more = f"… and {len(rows) - MOST_ROWS} more"
        body += f'<tr><td colspan="{len(header)}">{more}</td></tr>'
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
