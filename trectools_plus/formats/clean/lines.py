"""Lines and fields of clean text: printable ASCII, single separators, one kind of line end."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from trectools_plus.formats.clean.words import Rows, Text
from trectools_plus.formats.interchange.names import QUERY_IDS, normalize

_SPACE = ord(" ")
_QUERY_NAMES = frozenset(map(normalize, QUERY_IDS))


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of ASCII characters that end like the first one.

    Attributes:
        text: The lines, each with a line end.
        line_end: The line end: ``\n`` or ``\r\n``.
        final_newline: Whether the last line in the file has a line end.
    """

    text: Text
    line_end: bytes
    final_newline: bool


def as_lines(data: bytes) -> Lines | None:
    """Return some lines of a file.

    Args:
        data: Whole lines. The last line end may be missing.

    Returns:
        ``None`` if a character is not ASCII, or the file may be a table with a header or JSON.
        Control characters and other line ends are not excluded.
    """
    line_end = b"\r\n" if data[: data.find(b"\n")].endswith(b"\r") else b"\n"
    final_newline = data.endswith(b"\n")
    if not final_newline:
        data += line_end
    if not data.isascii() or b"\x7f" in data or not _is_row(data[: data.find(b"\n")].decode()):
        return None
    return Lines(Text.of(data), line_end, final_newline)


def _is_row(line: str) -> bool:
    """Return whether a line is certainly not the header of a table or the start of JSON."""
    if line.startswith(("{", "[", '"')) or any(line.count(mark) > 1 for mark in ",;|"):
        return False
    return _QUERY_NAMES.isdisjoint(map(normalize, re.split(r"[ \t,;|]", line)))


def find_ends(lines: Lines, n_fields: int) -> Rows | None:
    """Find the ends of all fields, if every line has ``n_fields`` fields and nothing else.

    Returns:
        The places of blanks, line ends and control characters, of shape (fields, lines), without
        the LF of CRLF; ``None`` if their number does not fit. Callers check the characters.
    """
    text = lines.text
    breaks = np.flatnonzero(text.data <= _SPACE)
    width = n_fields + len(lines.line_end) - 1
    if len(breaks) == 0 or len(breaks) % width or breaks[-1] != text.n_bytes - 1:
        return None
    return np.ascontiguousarray(breaks.reshape(-1, width)[:, :n_fields].T)


def line_starts(lines: Lines, ends: Rows) -> Rows:
    """Return the first byte of each line, given the ends of its fields."""
    starts: Rows = np.empty_like(ends[-1])
    starts[0] = 0
    np.add(ends[-1, :-1], len(lines.line_end), out=starts[1:])
    return starts
