"""Split a file into columns, in chunks of complete lines.

A chunk of tidy rows is recognised by the order of its blanks and line
ends and is used unchanged. Any other chunk is split with NumPy, without a loop over rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trectools_plus.formats.columns.columns import (
    LONG_LINE_BYTES,
    NO_LINES,
    BadByte,
    Columns,
    Lines,
    OddLines,
    flagged_lines,
    guess_encoding,
)
from trectools_plus.formats.columns.ids import Bytes, Flags
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.content import BOM, FileContent

LF, CR, TAB, VT, FF, SPACE, HASH = 10, 13, 9, 11, 12, 32, 35
_IS_BREAK = np.zeros(256, np.bool_)
_IS_BREAK[[TAB, VT, FF, SPACE, LF]] = True


class LineShapes:
    """Lines and fields of a chunk of complete lines; a break is a blank or a line end.

    Args:
        chunk: The lines, at least one byte, which end in LF alone; the last LF may be missing.

    Attributes:
        text: The chunk, with LF at the end of each line.
        breaks: The places of all breaks.
        marks: The breaks.
        starts: The first byte of each line.
        ends: The LF of each line.
        fields: The breaks after a field, as positions in ``breaks``.
        line: The line of each field, from 0.
        n_fields: The number of fields of each line.
        n_breaks: The number of breaks of each line, with its end.
        is_comment: Whether each line begins with ``#``.
        has_controls: Whether there are control characters, except NUL and CR.
        lengths: The number of bytes of each line without its end.
    """

    def __init__(self, chunk: bytes) -> None:
        self.text: Bytes = np.frombuffer(chunk + b"\n" * (chunk[-1] != LF), np.uint8)
        breaks = np.flatnonzero(self.text <= SPACE)
        marks = self.text[breaks]
        is_break = _IS_BREAK[marks]
        self.breaks, self.marks = breaks[is_break], marks[is_break]
        self.has_controls = bool((~is_break & (marks != 0) & (marks != CR)).any())
        last = np.flatnonzero(self.marks == LF)  # of each line
        self.ends = self.breaks[last]
        self.starts = np.concatenate([[0], self.ends[:-1] + 1])
        self.lengths = self.ends - self.starts
        self.fields = np.flatnonzero(np.diff(self.breaks, prepend=-1) > 1)
        self.n_fields = np.diff(np.searchsorted(self.fields, last, "right"), prepend=0)
        self.line = np.repeat(np.arange(len(self.ends)), self.n_fields)
        self.n_breaks = np.diff(last, prepend=-1)
        self.is_comment = self.text[self.starts] == HASH

    def has_between(self, which: Flags, mark: int) -> bool:
        """Return whether a flagged line has a mark right before a field, except the first."""
        is_later = (self.line[1:] == self.line[:-1]) & which[self.line[1:]]
        return bool((self.marks[self.fields[1:] - 1][is_later] == mark).any())

    def lines_of(self, *values: int) -> Lines:
        """Return the line of each occurrence of some bytes."""
        places = np.flatnonzero(np.isin(self.text, values))
        return (np.searchsorted(self.ends, places) + 1).astype(np.uint32)

    def odd_lines(self, which: Flags) -> OddLines:
        """Return the flagged lines with their texts."""
        at = np.flatnonzero(which)
        bounds = zip(self.starts[at].tolist(), self.ends[at].tolist(), strict=True)
        texts = [self.text[start:end].tobytes().decode() for start, end in bounds]
        return OddLines((at + 1).astype(np.uint32), self.n_fields[at].astype(np.uint32), texts)

    def tidy_rows(self, row: Flags, separator: bytes) -> bytes:
        """Return the flagged lines with one separator after each field and LF at the end."""
        fields, line = self.fields, self.line
        kept = np.ones(len(self.text), np.bool_)
        kept[self.breaks] = False
        if not row.all():
            kept &= np.repeat(row, self.lengths + 1)
            is_kept = row[line]
            fields, line = fields[is_kept], line[is_kept]
        ends = self.breaks[fields]
        is_last = np.ones(len(fields), np.bool_)
        is_last[:-1] = line[1:] > line[:-1]
        tidy = self.text.copy()
        tidy[ends] = np.where(is_last, np.uint8(LF), np.uint8(separator[0]))
        kept[ends] = True
        return tidy[kept].tobytes()


CHUNK_BYTES = 1 << 19


def scan_columns(source: FileContent, n_fields: int) -> Columns:
    """Split a file into rows of ``n_fields`` fields (at least 2) and all other lines."""
    data, overlong = source.data, source.overlong
    tab, space = data.find(b"\t"), data.find(b" ")
    separator = b"\t" if tab >= 0 and (space < 0 or tab < space) else b" "
    no_rows = Columns(source, n_fields, separator, is_ascii=data.isascii())
    start = len(BOM) if data.startswith(BOM) else 0
    parts, is_tidy = list[Columns](), True
    begin = start
    while begin < len(data):  # complete lines: about a chunk, or one longer line
        end = data.rfind(b"\n", begin, begin + CHUNK_BYTES) + 1
        end = end or data.find(b"\n", begin + CHUNK_BYTES) + 1 or len(data)
        n_rows = _count_tidy_rows(no_rows, data, begin, end)
        is_tidy &= n_rows is not None
        if n_rows is None:
            parts.append(_lex(no_rows, data[begin:end]))
        else:
            parts.append(_tidy_part(no_rows, memoryview(data)[begin:end], n_rows))
        begin = end
    if overlong is not None:
        # In the first line, CR may be the line end of this file.
        n_cr = 0 if parts else overlong.head.count(b"\r")
        overlong_line = replace(
            no_rows,
            bare_cr=np.ones(n_cr, np.uint32),
            long_lines=np.ones(1, np.uint32),
            longest_line=limits.MAX_LINE_BYTES + 1,
            longest_line_at=1,
        )
        parts.append(overlong_line)
    columns = Columns.joined(parts) if len(parts) > 1 else [*parts, no_rows][0]
    has_final_newline = len(data) == start or data.endswith(b"\n")
    return replace(
        columns,
        n_lf=columns.n_lines - (not has_final_newline) - columns.n_crlf,
        final_newline=has_final_newline,
        encoding_guess=guess_encoding(source.head, columns.bad_utf8 is not None),
        body=data[start:] if is_tidy else b"".join([part.body for part in parts]),
    )


def _count_tidy_rows(no_rows: Columns, data: bytes, begin: int, end: int) -> int | None:
    """Count the rows of a chunk if all its lines are tidy rows in UTF-8; else ``None``.

    A tidy row has the fields of a row with a single separator between them, an LF at the end, no
    other byte up to 0x20, and no comment sign at its start, and is not long.
    """
    has_hash = data.find(b"#", begin, end) >= 0  # a single byte is found fast
    if has_hash and (data[begin] == HASH or data.find(b"\n#", begin, end) >= 0):
        return None
    if not no_rows.is_ascii:
        try:
            data[begin:end].decode()
        except UnicodeDecodeError:
            return None
    text: Bytes = np.frombuffer(data, np.uint8)[begin:end]
    breaks, n_fields = np.flatnonzero(text <= SPACE), no_rows.n_fields
    if len(breaks) == 0 or len(breaks) % n_fields or breaks[0] == 0:
        return None
    if breaks[-1] != len(text) - 1 or (breaks[1:] - breaks[:-1]).min() < 2:
        return None
    rows = breaks.reshape(-1, n_fields)
    pattern = np.frombuffer(no_rows.separator * (n_fields - 1) + b"\n", np.uint8)
    is_long = np.diff(rows[:, -1], prepend=-1).max() > LONG_LINE_BYTES
    return None if is_long or not (text.take(rows) == pattern).all() else len(rows)


def _tidy_part(no_rows: Columns, rows: bytes | memoryview, n_rows: int, **facts: Any) -> Columns:
    """Return a chunk of tidy rows."""
    has_tabs = no_rows.separator == b"\t"
    counts = {"n_rows": n_rows, "n_lines": n_rows, **facts}
    return replace(no_rows, body=rows, has_tabs=has_tabs, has_spaces=not has_tabs, **counts)


def _lex(no_rows: Columns, chunk: bytes) -> Columns:
    """Split a chunk with arrays into its rows, as tidy rows, and everything else."""
    bad, n_fields = None, no_rows.n_fields
    try:
        chunk.decode()
    except UnicodeDecodeError as error:
        line_start = chunk.rfind(b"\n", 0, error.start) + 1
        bad = BadByte(
            line=chunk.count(b"\n", 0, error.start) + 1,
            column=len(chunk[line_start : error.start].decode()) + 1,
            value=chunk[error.start],
        )
        chunk = chunk.decode("utf-8", "replace").encode()
    n_crlf = chunk.count(b"\r\n") if b"\r" in chunk else 0
    if n_crlf:
        chunk = chunk.replace(b"\r\n", b"\n")
        n_rows = _count_tidy_rows(no_rows, chunk, 0, len(chunk))
        if n_rows is not None:
            return _tidy_part(no_rows, chunk, n_rows, n_crlf=n_crlf, bad_utf8=bad)
    lines = LineShapes(chunk)
    blank = (lines.n_fields == 0) & ~lines.is_comment
    row = (lines.n_fields == n_fields) & ~lines.is_comment
    longest = int(lines.lengths.max())
    is_long = longest > LONG_LINE_BYTES
    row_lines = flagged_lines(row)
    return replace(
        no_rows,
        n_rows=len(row_lines),
        body=lines.tidy_rows(row, no_rows.separator),
        row_lines=row_lines,
        misshapen=lines.odd_lines(~(row | blank | lines.is_comment)),
        comments=lines.odd_lines(lines.is_comment),
        n_lines=len(row),
        n_crlf=n_crlf,
        bare_cr=lines.lines_of(CR) if CR in chunk else NO_LINES,
        nul=lines.lines_of(0) if 0 in chunk else NO_LINES,
        bad_utf8=bad,
        blank_lines=flagged_lines(blank),
        n_loose=int((row & (lines.n_breaks != n_fields)).sum()),
        has_spaces=lines.has_between(row, SPACE),
        has_tabs=lines.has_between(row, TAB),
        form_feed_lines=np.setdiff1d(lines.lines_of(VT, FF), flagged_lines(lines.is_comment)),
        long_lines=flagged_lines(lines.lengths > LONG_LINE_BYTES),
        longest_line=longest if is_long else 0,
        longest_line_at=int(lines.lengths.argmax()) + 1 if is_long else None,
        has_controls=lines.has_controls,
    )
