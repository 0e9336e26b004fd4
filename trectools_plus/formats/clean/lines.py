"""Lines and fields of clean text: printable ASCII with one separator between two fields.

Of lines with other spacing, comments and blank lines, the rows are copied in this form first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from trectools_plus.formats.clean.words import Rows, Text
from trectools_plus.formats.columns.facts import LONG_LINE_BYTES
from trectools_plus.formats.interchange.names import QUERY_IDS, normalize

_TAB, _LF, _SPACE, _HASH = map(ord, "\t\n #")
_T = TypeVar("_T")
_QUERY_NAMES = frozenset(map(normalize, QUERY_IDS))


@dataclass(frozen=True, slots=True)
class Layout:
    """How the lines of a file, or of a part of one, are written; parts can be added.

    Attributes:
        separators: The characters between fields.
        line_ends: The line ends.
        final_newline: Whether the last line has a line end.
        has_loose_rows: Whether rows have leading, trailing or repeated blanks.
        has_comments: Whether there are lines that begin with ``#``.
        has_blank_lines: Whether there are lines without fields.
    """

    separators: frozenset[str] = frozenset()
    line_ends: frozenset[str] = frozenset()
    final_newline: bool = True
    has_loose_rows: bool = False
    has_comments: bool = False
    has_blank_lines: bool = False

    def __add__(self, later: Layout) -> Layout:
        """Return the layout of two parts together."""
        return Layout(
            self.separators | later.separators,
            self.line_ends | later.line_ends,
            self.final_newline and later.final_newline,
            self.has_loose_rows or later.has_loose_rows,
            self.has_comments or later.has_comments,
            self.has_blank_lines or later.has_blank_lines,
        )

    @property
    def every_line_is_a_row(self) -> bool:
        """True if there are neither comments nor blank lines."""
        return not (self.has_comments or self.has_blank_lines)


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows of ASCII characters that end like the first one.

    Attributes:
        text: The rows, each with a line end.
        line_end: The line end: ``\n`` or ``\r\n``.
        layout: How they were written.
    """

    text: Text
    line_end: bytes
    layout: Layout


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
    if not _may_be_rows(data):
        return None
    separator = "\t" if b"\t" in data[: data.find(b"\n")] else " "
    layout = Layout(frozenset({separator}), frozenset({line_end.decode()}), final_newline)
    return Lines(Text.of(data), line_end, layout)


def scan_lines(data: bytes, n_fields: int, scan: Callable[[Lines], _T | None]) -> _T | None:
    """Scan the rows among some lines of a file.

    Args:
        data: As in :func:`as_lines`.
        n_fields: The number of fields of a row.
        scan: Reads the rows; it returns ``None`` if a row is unusual.

    Returns:
        What ``scan`` returns: for the lines as they are, or for their rows with regular separators.
    """
    lines = as_lines(data)
    scanned = None if lines is None else scan(lines)
    if scanned is not None:
        return scanned
    if lines is not None:
        ends = find_ends(lines, n_fields)
        if ends is not None and have_separators(lines, ends):
            return None
    tidy = _tidy_lines(data, n_fields)
    return None if tidy is None else scan(tidy)


def _tidy_lines(data: bytes, n_fields: int) -> Lines | None:
    """Return the rows among some lines of a file, with one separator between two fields.

    Args:
        data: As in :func:`as_lines`.
        n_fields: The number of fields of a row.

    Returns:
        ``None`` if a line is not a row, a comment or blank, or is long, or has other characters
        than :func:`as_lines` accepts, or if a comment may be a row.
    """
    final_newline, n_crlf = data.endswith(b"\n"), data.count(b"\r\n")
    line_ends = {"\n": data.count(b"\n") - n_crlf, "\r\n": n_crlf}
    data = data.replace(b"\r\n", b"\n") if n_crlf else data
    if b"\r" in data:
        return None
    text = np.frombuffer(data if final_newline else data + b"\n", np.uint8)
    breaks = np.flatnonzero(text <= _SPACE)
    marks = text[breaks]
    is_end = marks == _LF
    if not (is_end | (marks == _SPACE) | (marks == _TAB)).all():
        return None
    lengths = np.diff(breaks, prepend=-1) - 1
    fields = np.flatnonzero(lengths > 0)
    line = np.cumsum(is_end) - is_end
    begins = np.concatenate([[0], breaks[is_end] + 1])
    n_found = np.bincount(line[fields], minlength=len(begins) - 1)
    is_comment = text[begins[:-1]] == _HASH
    is_row = (n_found == n_fields) & ~is_comment
    is_blank = (n_found == 0) & ~is_comment
    if not (is_row | is_blank | is_comment).all() or not is_row.any():
        return None
    for at in np.flatnonzero(is_comment & (n_found >= n_fields)).tolist():
        comment = text[begins[at] : begins[at + 1]].tobytes()
        if len(comment.lstrip(b"#").split()) >= n_fields:
            return None
    if np.diff(begins).max() > LONG_LINE_BYTES:
        return None
    kept = text > _SPACE
    if is_comment.any():
        fields = fields[is_row[line[fields]]]
        kept &= ~np.repeat(is_comment, np.diff(begins))
    ends = breaks[fields].reshape(-1, n_fields)
    before = ends[:, 1:] - lengths[fields].reshape(-1, n_fields)[:, 1:] - 1
    separators = {chr(mark): bool((text[before] == mark).any()) for mark in (_SPACE, _TAB)}
    n_breaks = np.bincount(line, minlength=len(begins) - 1)
    tidy = text.copy()
    tidy[ends] = _SPACE if separators[" "] else _TAB
    tidy[ends[:, -1]] = _LF
    kept[ends] = True
    rows = tidy[kept].tobytes()
    if not _may_be_rows(rows):
        return None
    layout = Layout(
        frozenset(mark for mark, found in separators.items() if found),
        frozenset(mark for mark, count in line_ends.items() if count),
        final_newline,
        has_loose_rows=bool((n_breaks[is_row] != n_fields).any()),
        has_comments=bool(is_comment.any()),
        has_blank_lines=bool(is_blank.any()),
    )
    return Lines(Text.of(rows), b"\n", layout)


def _may_be_rows(data: bytes) -> bool:
    """Return whether all characters are ASCII, and the first line is certainly not a header."""
    return data.isascii() and b"\x7f" not in data and _is_row(data[: data.find(b"\n")].decode())


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


def have_separators(lines: Lines, ends: Rows) -> bool:
    """Return whether the same separator ends all fields but the last, and no field is empty."""
    marks = lines.text.data.take(ends[:-1])
    if marks[0, 0] not in b" \t" or not (marks == marks[0, 0]).all():
        return False
    before = line_starts(lines, ends)[np.newaxis] - 1
    if np.diff(ends, axis=0, prepend=before).min() < 2:
        return False
    return lines.text.has_everywhere(ends[-1], lines.line_end)


def line_starts(lines: Lines, ends: Rows) -> Rows:
    """Return the first byte of each line, given the ends of its fields."""
    starts: Rows = np.empty_like(ends[-1])
    starts[0] = 0
    np.add(ends[-1, :-1], len(lines.line_end), out=starts[1:])
    return starts
