"""Texts for people: plurals, lists of ids, visible characters, consoles, tables in notebooks."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 100
"""The greatest width of a line for people, unless a single word is longer."""

LONGEST_ID = 48
"""The greatest length of an id in a message; longer ids are cut."""

IDS_NAMED = 5
"""The number of ids that a message lists before "… (3 more)"."""


def visible(text: str, longest: int = LONGEST_ID, *, marks: bool = False) -> str:
    r"""Return a text with invisible characters as escapes, cut if it is very long.

    Args:
        text: An id or a field.
        longest: Characters shown before it is cut.
        marks: Write combining marks as escapes too, which shows the difference between two ids
            that look the same and differ in their Unicode normal form.

    >>> visible("d\u00a002")
    'd\\u00a002'
    """
    shown = "".join(_visible_character(character, marks) for character in text[: longest + 1])
    return shown[: longest - 1] + "…" if len(text) > longest else shown


def _visible_character(character: str, marks: bool) -> str:
    if character.isprintable() and not (marks and unicodedata.combining(character)):
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def quoted(text: str) -> str:
    """Return :func:`visible` text in single quotes: for contents of fields that are not ids."""
    return f"'{visible(text)}'"


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Return a count with its noun: ``1 row``, ``2 rows``, ``1,400 rows``."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def on(count: int, noun: str = "row") -> str:
    """Return `` (on 3 rows)``, to append to a message on the first one; nothing for one."""
    return f" (on {plural(count, noun)})" if count > 1 else ""


def in_all(count: int, noun: str) -> str:
    """Return `` (3 gaps in all)``, to append to a message on the first one; nothing for one."""
    return f" ({plural(count, noun)} in all)" if count > 1 else ""


def listed(ids: Sequence[str], limit: int = IDS_NAMED) -> str:
    """List the first few ids, made visible, and the number of the others."""
    shown = ", ".join(visible(text, 24) for text in ids[:limit])
    return f"{shown}, … ({len(ids) - limit:,} more)" if len(ids) > limit else shown


def number(value: float) -> str:
    """Return the shortest text that reads back as exactly this number, without ``.0``."""
    value = float(value)  # NumPy's floats have a different repr
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)


def one_line(text: str) -> str:
    """Replace line breaks by spaces."""
    return " ".join(text.split("\n"))


def sentences(*parts: str) -> str:
    """Join clauses to sentences, adding a full stop to those without a final mark."""
    return " ".join(part if part.endswith(("?", ".", "!")) else f"{part}." for part in parts)


def split_list(text: str) -> list[str]:
    """Split at commas that are outside parentheses and quotes: ``AP(rel=2)@100,RBP(p=0.8,rel=1)``.

    Spaces around parts and empty parts are dropped.
    """
    parts, depth, start, quote = [], 0, 0, ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif character == "," and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def make_console(stream: TextIO, width: int | None = None) -> Console:
    """Return a console that does not interpret markup and is at most :data:`WIDEST` columns wide.

    Args:
        stream: The output; colours and bold are used if it is a terminal.
        width: Its width in columns. By default that of the terminal, at most :data:`WIDEST`, or
            :data:`WIDEST` if the stream is not a terminal.
    """
    from rich.console import Console

    console = Console(file=stream, highlight=False, markup=False, emoji=False, width=width)
    if width is None:  # without a terminal, Rich would use 80 columns or COLUMNS
        console.width = min(console.width, WIDEST) if console.is_terminal else WIDEST
    return console


MAX_SHOWN = 100
"""The greatest length of a text that :func:`shortened` leaves as it is."""


def shortened(text: str) -> str:
    """Return a text, cut if it is too long for a message; characters stay as they are."""
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


MOST_ROWS = 30


def html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML without styles, so that those of the notebook apply.

    Args:
        caption: The line above the table.
        header: The names of the columns; the first column has the names of the rows.
        rows: Cells as plain text, which is escaped; at most :data:`MOST_ROWS` are shown.
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
