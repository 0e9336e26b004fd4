"""Texts for people: plurals, lists of ids, visible characters, the console; lists they write."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


WIDEST = 100
"""Columns that no line for people exceeds, unless a single word does."""

LONGEST_ID = 48
"""Ids longer than this are cut in the middle of a message."""

IDS_NAMED = 5
"""How many ids a message lists before it says how many more there are."""


def visible(text: str, longest: int = LONGEST_ID, *, marks: bool = False) -> str:
    r"""``text`` as it is, but with invisible characters as escapes and cut when very long.

    Args:
        text: An id or a field.
        longest: Characters shown before it is cut.
        marks: Whether combining marks are written as escapes too, which tells apart two ids that
            look the same and differ in their Unicode normal form.

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
    """``text`` made visible, in single quotes: for field contents that are not ids."""
    return f"'{visible(text)}'"


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """``1 row``, ``2 rows``, ``1,400 rows``."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def on(count: int, noun: str = "row") -> str:
    """`` (on 3 rows)``, to be appended to what is said of the first; nothing for one."""
    return f" (on {plural(count, noun)})" if count > 1 else ""


def in_all(count: int, noun: str) -> str:
    """`` (3 gaps in all)``, to be appended to what is said of the first; nothing for one."""
    return f" ({plural(count, noun)} in all)" if count > 1 else ""


def listed(ids: Sequence[str], limit: int = IDS_NAMED) -> str:
    """The first few of ``ids``, made visible, and how many more there are."""
    shown = ", ".join(visible(text, 24) for text in ids[:limit])
    return f"{shown}, … ({len(ids) - limit:,} more)" if len(ids) > limit else shown


def number(value: float) -> str:
    """A score as a person would write it: shortest text that reads back exactly, no ``.0``."""
    value = float(value)  # numpy's floats have another repr
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)


def one_line(text: str) -> str:
    """``text`` with any line break as a blank: a message is one line."""
    return " ".join(text.split("\n"))


def sentences(*parts: str) -> str:
    """Join clauses to sentences: each ends in a full stop unless it ends in another mark."""
    return " ".join(part if part.endswith(("?", ".", "!")) else f"{part}." for part in parts)


def split_list(text: str) -> list[str]:
    """Split at commas that are outside parentheses and quotes: ``AP(rel=2)@100,RBP(p=0.8,rel=1)``.

    Blanks around parts and empty parts are dropped.
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
    """Return a console that takes no text as markup, at most :data:`WIDEST` columns wide.

    Args:
        stream: Where it writes; colours and bold are used when it is a terminal.
        width: Columns; the terminal's own up to :data:`WIDEST`, or as many where the stream is no
            terminal, when not given.
    """
    from rich.console import Console

    console = Console(file=stream, highlight=False, markup=False, emoji=False, width=width)
    if width is None:  # without a terminal rich would take 80 columns, or COLUMNS
        console.width = min(console.width, WIDEST) if console.is_terminal else WIDEST
    return console


MAX_SHOWN = 100
"""Characters of an id or field that a message shows."""


def shortened(text: str) -> str:
    """``text``, cut where it is too long for a message."""
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


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
