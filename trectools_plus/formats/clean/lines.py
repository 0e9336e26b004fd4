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
    """Lines of printable ASCII characters and blanks, each with an LF.

    Attributes:
        data: The lines.
        line_end: The line end in the file: ``\\n`` or ``\\r\\n``.
        final_newline: Whether the last line in the file has a line end.
    """

    data: bytes
    line_end: str
    final_newline: bool


def as_lines(data: bytes) -> Lines | None:
    """Return some lines of a file with LF as line end.

    Args:
        data: Whole lines. The last line end may be missing.

    Returns:
        ``None`` if line ends differ, a character is not ASCII, or the file may be a table with a
        header or JSON. Control characters are not excluded.
    """
    crlf = data[: data.find(b"\n")].endswith(b"\r")
    final_newline = data.endswith(b"\n")
    if not final_newline:
        data += b"\r\n" if crlf else b"\n"
    if crlf:
        n_bytes = len(data)
        data = data.replace(b"\r\n", b"\n")
        if n_bytes - len(data) != data.count(b"\n"):
            return None
    if not data.isascii() or b"\x7f" in data or not _is_row(data[: data.find(b"\n")].decode()):
        return None
    return Lines(data, "\r\n" if crlf else "\n", final_newline)


def _is_row(line: str) -> bool:
    """Return whether a line is certainly not the header of a table or the start of JSON."""
    if line.startswith(("{", "[", '"')) or any(line.count(mark) > 1 for mark in ",;|"):
        return False
    return _QUERY_NAMES.isdisjoint(map(normalize, re.split(r"[ \t,;|]", line)))


def find_breaks(text: Text, n_fields: int) -> Rows | None:
    """Find the blanks, line ends and control characters of a text.

    Returns:
        Their places, of shape (fields, lines); ``None`` if their number is not a multiple of
        ``n_fields``, or the last byte is not one of them.
    """
    breaks = np.flatnonzero(text.data <= _SPACE)
    if len(breaks) == 0 or len(breaks) % n_fields or breaks[-1] != text.n_bytes - 1:
        return None
    return np.ascontiguousarray(breaks.reshape(-1, n_fields).T)


def line_starts(ends: Rows) -> Rows:
    """Return the first byte of each line, given the ends of its fields."""
    starts = np.empty_like(ends[-1])
    starts[0] = 0
    np.add(ends[-1, :-1], 1, out=starts[1:])
    return starts
