"""The lexer of :func:`scan_columns`, which processes chunks of complete lines.

A chunk of tidy rows (see :func:`count_if_tidy`) is recognised by the order of its blanks and line
ends and is used unchanged. Any other chunk is split with NumPy, without a loop over rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.facts import (
    LONG_LINE_BYTES,
    BadByte,
    FileFacts,
    Occurrences,
    OddLines,
    guess_encoding,
)
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.content import BOM
from trectools_plus.formats.files.limits import Overlong

LF, CR, TAB, VT, FF, SPACE, HASH = 10, 13, 9, 11, 12, 32, 35
_IS_BREAK = np.zeros(256, np.bool_)
_IS_BREAK[[TAB, VT, FF, SPACE, LF]] = True

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]
Lines = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class LineShapes:
    """Lines and fields of a chunk; a break is a blank or a line end.

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
    """

    text: Bytes
    breaks: Counts
    marks: Bytes
    starts: Counts
    ends: Counts
    fields: Counts
    line: Counts
    n_fields: Counts
    n_breaks: Counts
    is_comment: Flags
    has_controls: bool

    @classmethod
    def of(cls, chunk: bytes) -> LineShapes:
        """Find the lines and fields of a chunk of complete lines, at least one byte.

        Args:
            chunk: The lines, which end in LF alone; the last line end may be missing.
        """
        text: Bytes = np.frombuffer(chunk if chunk.endswith(b"\n") else chunk + b"\n", np.uint8)
        breaks = np.flatnonzero(text <= SPACE)
        marks = text[breaks]
        is_break = _IS_BREAK[marks]
        has_controls = False
        if not is_break.all():
            others = marks[~is_break]
            has_controls = bool(((others != 0) & (others != CR)).any())
            breaks, marks = breaks[is_break], marks[is_break]
        last = np.flatnonzero(marks == LF)  # of each line
        ends = breaks[last]
        starts = np.concatenate([[0], ends[:-1] + 1])
        fields = np.flatnonzero(np.diff(breaks, prepend=-1) > 1)
        n_fields = np.diff(np.searchsorted(fields, last, "right"), prepend=0)
        return cls(
            text=text,
            breaks=breaks,
            marks=marks,
            starts=starts,
            ends=ends,
            fields=fields,
            line=np.repeat(np.arange(len(ends)), n_fields),
            n_fields=n_fields,
            n_breaks=np.diff(last, prepend=-1),
            is_comment=text[starts] == HASH,
            has_controls=has_controls,
        )

    @property
    def lengths(self) -> Counts:
        """The number of bytes of each line without its end."""
        return self.ends - self.starts

    def has(self, *marks: int) -> Flags:
        """Flag the lines with one of some blanks."""
        flags = np.zeros(len(self.ends), np.bool_)
        for mark in marks:
            places = self.breaks[self.marks == mark]
            if len(places):
                flags[np.searchsorted(self.ends, places)] = True
        return flags

    def count_with_between(self, which: Flags, *marks: int) -> list[int]:
        """Count the flagged lines with each of ``marks`` right before a field, except the first."""
        is_later = self.line[1:] == self.line[:-1]
        blanks = self.marks[self.fields[1:] - 1][is_later]
        line = self.line[1:][is_later]
        counts = []
        for mark in marks:
            flags = np.zeros(len(self.ends), np.bool_)
            flags[line[blanks == mark]] = True
            counts.append(int(np.count_nonzero(flags & which)))
        return counts

    def count(self, byte: int) -> Counts:
        """Count the occurrences of a byte on each line."""
        places = np.flatnonzero(self.text == byte)
        return np.bincount(np.searchsorted(self.ends, places), minlength=len(self.ends))

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


def count_if_tidy(text: Bytes, n_fields: int, separator: bytes) -> int | None:
    """Count the rows of a chunk if all its lines are tidy rows; return ``None`` otherwise.

    A tidy row has ``n_fields`` fields with a single separator between them, an LF at the end, no
    other byte up to 0x20, and is not long. ``#`` at the start of a line and invalid UTF-8 are not
    checked.

    Args:
        text: The chunk, which consists of complete lines.
        n_fields: The number of fields of a row.
        separator: The byte between two fields.
    """
    breaks = np.flatnonzero(text <= SPACE)
    if len(breaks) == 0 or len(breaks) % n_fields or breaks[0] == 0 or breaks[-1] != len(text) - 1:
        return None
    if (breaks[1:] - breaks[:-1]).min() < 2:
        return None
    rows = breaks.reshape(-1, n_fields)
    pattern = np.frombuffer(separator * (n_fields - 1) + b"\n", np.uint8)
    if not (text.take(rows) == pattern).all():
        return None
    if np.diff(rows[:, -1], prepend=-1).max() > LONG_LINE_BYTES:
        return None
    return len(rows)


CHUNK_BYTES = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class LexedChunk:
    """A chunk of complete lines that was lexed; lines are numbered from 1.

    Attributes:
        rows: The rows as tidy rows, in valid UTF-8.
        facts: Facts about the chunk.
        row_lines: The line of each row.
        misshapen: Lines with another number of fields.
        comments: Lines that start with ``#``.
    """

    rows: bytes | memoryview = b""
    facts: FileFacts = field(default_factory=FileFacts)
    row_lines: Lines = field(default_factory=lambda: np.zeros(0, np.uint32))
    misshapen: OddLines = field(default_factory=OddLines.of)
    comments: OddLines = field(default_factory=OddLines.of)


class Lexer:
    """One pass over the bytes of a file; its attributes are the result.

    Attributes:
        body: The rows as tidy rows, in valid UTF-8.
        separator: Space or tab, whichever occurs first in the file.
        n_rows: The number of rows in ``body``.
        row_lines: The line number of each row; ``None`` if they are 1, 2, 3, …
        misshapen: Lines with another number of fields.
        comments: Lines that start with ``#``.
        facts: Facts about the whole file.

    Args:
        data: The content of the file, or the part before ``overlong``.
        n_fields: The number of fields of a row.
        overlong: The line at which reading stopped, if any.
    """

    def __init__(self, data: bytes, n_fields: int, overlong: Overlong | None = None) -> None:
        self.separator = _first_separator(data)
        self._n_fields = n_fields
        self._is_ascii = data.isascii()
        self._has_hash = b"#" in data
        start = len(BOM) if data.startswith(BOM) else 0
        lexed, n_lines, is_tidy = [LexedChunk()], 0, True
        for begin, end in _line_chunks(data, start, len(data), CHUNK_BYTES):
            n_rows = self._count_tidy_rows(data, begin, end)
            if n_rows is None:
                is_tidy = False
                lexed.append(self._lex(data[begin:end], begin))
            else:
                lexed.append(self._tidy_chunk(memoryview(data)[begin:end], n_rows))
            n_lines += lexed[-1].facts.n_lines
        if overlong is not None:
            lexed.append(LexedChunk(facts=_facts_of_overlong(overlong, is_first=not n_lines)))
        before = [0, *accumulate(one.facts.n_lines for one in lexed[:-1])]
        self.n_rows = sum(len(one.row_lines) for one in lexed)
        self.row_lines: Lines | None = None
        if self.n_rows < n_lines:
            moved = zip(lexed, before, strict=True)
            self.row_lines = np.concatenate([one.row_lines + np.uint32(n) for one, n in moved])
        self.misshapen = OddLines.joined([one.misshapen for one in lexed], before)
        self.comments = OddLines.joined([one.comments for one in lexed], before)
        self.body = data[start:] if is_tidy else b"".join([one.rows for one in lexed])
        facts = FileFacts.joined([one.facts for one in lexed])
        has_final_newline = len(data) == start or data.endswith(b"\n")
        head = data or (overlong.head if overlong else b"")
        self.facts = replace(
            facts,
            has_bom=start > 0,
            n_lf=n_lines - (not has_final_newline) - facts.n_crlf,
            final_newline=has_final_newline,
            encoding_guess=guess_encoding(head, facts.bad_utf8 is not None),
            is_ascii=self._is_ascii,
        )

    def _count_tidy_rows(self, data: bytes, begin: int, end: int) -> int | None:
        """Count the rows of a chunk if all its lines are tidy rows in UTF-8; else ``None``."""
        if self._has_hash and (data[begin] == HASH or data.find(b"\n#", begin, end) >= 0):
            return None
        if not self._is_ascii:
            try:
                data[begin:end].decode()
            except UnicodeDecodeError:
                return None
        text: Bytes = np.frombuffer(data, np.uint8)[begin:end]
        return count_if_tidy(text, self._n_fields, self.separator)

    def _tidy_chunk(self, rows: bytes | memoryview, n_rows: int, **facts: Any) -> LexedChunk:
        """Return a chunk of tidy rows."""
        n_tabbed = n_rows if self.separator == b"\t" else 0
        found = FileFacts(
            n_lines=n_rows, tabbed_rows=n_tabbed, spaced_rows=n_rows - n_tabbed, **facts
        )
        return LexedChunk(rows, found, np.arange(1, n_rows + 1, dtype=np.uint32))

    def _lex(self, chunk: bytes, begin: int) -> LexedChunk:
        """Split a chunk with arrays into its rows, as tidy rows, and everything else."""
        bad = None
        try:
            chunk.decode()
        except UnicodeDecodeError as error:
            line_start = chunk.rfind(b"\n", 0, error.start) + 1
            bad = BadByte(
                offset=begin + error.start,
                line=chunk.count(b"\n", 0, error.start) + 1,
                column=len(chunk[line_start : error.start].decode()) + 1,
                value=chunk[error.start],
            )
            chunk = chunk.decode("utf-8", "replace").encode()
        n_crlf = chunk.count(b"\r\n") if b"\r" in chunk else 0  # a single byte is found fast
        if n_crlf:
            chunk = chunk.replace(b"\r\n", b"\n")
            n_rows = self._count_tidy_rows(chunk, 0, len(chunk))
            if n_rows is not None:
                return self._tidy_chunk(chunk, n_rows, n_crlf=n_crlf, bad_utf8=bad)
        lines = LineShapes.of(chunk)
        blank = (lines.n_fields == 0) & ~lines.is_comment
        row = (lines.n_fields == self._n_fields) & ~lines.is_comment
        n_spaced, n_tabbed = lines.count_with_between(row, SPACE, TAB)
        longest = int(lines.lengths.max())
        is_long = longest > LONG_LINE_BYTES
        facts = FileFacts(
            n_lines=len(row),
            n_crlf=n_crlf,
            bare_cr=Occurrences.of(lines.count(CR)) if CR in chunk else Occurrences(),
            nul=Occurrences.of(lines.count(0)) if 0 in chunk else Occurrences(),
            bad_utf8=bad,
            blank_lines=Occurrences.of(blank),
            loose_rows=Occurrences.of(row & (lines.n_breaks != self._n_fields)),
            spaced_rows=n_spaced,
            tabbed_rows=n_tabbed,
            form_feed_lines=Occurrences.of(lines.has(VT, FF) & ~lines.is_comment),
            long_lines=Occurrences.of(lines.lengths > LONG_LINE_BYTES),
            longest_line=longest if is_long else 0,
            longest_line_at=int(lines.lengths.argmax()) + 1 if is_long else None,
            has_controls=lines.has_controls,
        )
        return LexedChunk(
            lines.tidy_rows(row, self.separator),
            facts,
            (np.flatnonzero(row) + 1).astype(np.uint32),
            lines.odd_lines(~(row | blank | lines.is_comment)),
            lines.odd_lines(lines.is_comment),
        )


def _facts_of_overlong(overlong: Overlong, *, is_first: bool) -> FileFacts:
    """Return the facts about a line at which reading stopped."""
    n_cr = overlong.head.count(b"\r") if is_first else 0  # CR may be the line end of this file
    return FileFacts(
        bare_cr=Occurrences.of(np.array([n_cr])),
        long_lines=Occurrences.of(np.ones(1, np.bool_)),
        longest_line=limits.MAX_LINE_BYTES + 1,
        longest_line_at=1,
        stopped_at=1,
    )


def _line_chunks(data: bytes, start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of chunks of complete lines: about ``size`` bytes, or one longer line."""
    while start < stop:
        end = data.rfind(b"\n", start, min(start + size, stop)) + 1
        if not end:
            end = data.find(b"\n", start + size, stop) + 1 or stop
        yield start, end
        start = end


def _first_separator(data: bytes) -> bytes:
    tab, space = data.find(b"\t"), data.find(b" ")
    return b"\t" if tab >= 0 and (space < 0 or tab < space) else b" "
