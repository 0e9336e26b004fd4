"""The lexer of :func:`scan_columns`, which processes chunks of complete lines.

A chunk of tidy rows (see :func:`count_if_tidy`) is recognised by the order of its blanks and line
ends and is used unchanged. Any other chunk is split with NumPy, without a loop over rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

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

    def texts(self, which: Flags) -> bytes:
        """Return the flagged lines, joined by LF."""
        bounds = zip(self.starts[which].tolist(), self.ends[which].tolist(), strict=True)
        return b"\n".join([self.text[start:end].tobytes() for start, end in bounds])

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
_CHUNKS_WORTH_THREADS = 16
# Line numbers have 32 bits; no real run has as many lines.
MAX_LINES = (1 << 32) - 1


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
        self.n_fields = n_fields
        self._overlong = overlong
        self.n_rows = 0
        self.misshapen = CollectedLines()
        self.comments = CollectedLines()
        self._data = data
        self._start = len(BOM) if data.startswith(BOM) else 0
        self.separator = _first_separator(data)
        self._is_ascii = data.isascii()
        self._has_hash = b"#" in data
        self._controls = False
        self._parts: list[bytes | memoryview] | None = None
        self._row_lines: list[Lines] = []
        self._stopped_at: int | None = None
        self._n_lines = 0
        self._n_crlf = 0
        self._bare_cr = OccurrenceCollector()
        self._nul = OccurrenceCollector()
        self._blank = OccurrenceCollector()
        self._loose = OccurrenceCollector()
        self._form_feeds = OccurrenceCollector()
        self._long = OccurrenceCollector()
        self._longest = self._spaced = self._tabbed = 0
        self._longest_at: int | None = None
        self._bad_utf8: BadByte | None = None
        self._run()

    def _run(self) -> None:
        chunks = list(_line_chunks(self._data, self._start, len(self._data), CHUNK_BYTES))
        for (begin, end), n_rows in zip(chunks, self._check_all(chunks), strict=True):
            if self._n_lines + end - begin > MAX_LINES:
                self._data = self._data[:begin]
                self._stopped_at = self._n_lines + 1
                break
            if n_rows is not None:
                self._add_rows(n_rows)
                if self._parts is not None:
                    self._parts.append(memoryview(self._data)[begin:end])
                continue
            if self._parts is None:
                self._parts = [memoryview(self._data)[self._start : begin]]
                self._row_lines = [np.arange(1, self._n_lines + 1, dtype=np.uint32)]
            self._parts.append(self._tidy(self._data[begin:end], begin))
        self.body = self._join_body()
        self.row_lines = None if self.n_rows == self._n_lines else join_lines(self._row_lines)
        if self._overlong is not None:
            self._record_overlong(self._overlong)
        self.facts = self._facts()

    def _record_overlong(self, overlong: Overlong) -> None:
        self._stopped_at = self._n_lines + 1
        self._long.add(np.ones(1, np.bool_), self._stopped_at)
        self._longest, self._longest_at = limits.MAX_LINE_BYTES + 1, self._stopped_at
        n_cr = overlong.head.count(b"\r")
        if n_cr and self._n_lines == 0:  # CR may be the line end of this file
            self._bare_cr.add(np.array([n_cr]), 1)

    def _facts(self) -> FileFacts:
        head = self._data or (self._overlong.head if self._overlong else b"")
        return FileFacts(
            has_bom=self._start > 0,
            n_lines=self._n_lines,
            n_lf=self._n_lines - (not self._final_newline) - self._n_crlf,
            n_crlf=self._n_crlf,
            final_newline=self._final_newline,
            bare_cr=self._bare_cr.finish(),
            nul=self._nul.finish(),
            bad_utf8=self._bad_utf8,
            encoding_guess=guess_encoding(head, self._bad_utf8 is not None),
            blank_lines=self._blank.finish(),
            loose_rows=self._loose.finish(),
            spaced_rows=self._spaced,
            tabbed_rows=self._tabbed,
            form_feed_lines=self._form_feeds.finish(),
            long_lines=self._long.finish(),
            longest_line=self._longest,
            longest_line_at=self._longest_at,
            stopped_at=self._stopped_at,
            is_ascii=self._is_ascii,
            has_controls=self._controls,
        )

    def _check_all(self, chunks: list[tuple[int, int]]) -> Iterable[int | None]:
        """Check chunks for tidy rows, in threads because NumPy releases the interpreter lock."""
        whole: Bytes = np.frombuffer(self._data, np.uint8)

        def check(chunk: tuple[int, int]) -> int | None:
            begin, end = chunk
            if self._must_be_lexed(begin, end):
                return None
            return count_if_tidy(whole[begin:end], self.n_fields, self.separator)

        if len(chunks) < _CHUNKS_WORTH_THREADS:
            return [check(chunk) for chunk in chunks]
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            return list(pool.map(check, chunks))

    def _must_be_lexed(self, begin: int, end: int) -> bool:
        """Return true if a chunk cannot be tidy: it has comments or is not UTF-8."""
        data = self._data
        if self._has_hash and (data[begin] == HASH or data.find(b"\n#", begin, end) >= 0):
            return True
        if not self._is_ascii:
            try:
                data[begin:end].decode()
            except UnicodeDecodeError:
                return True
        return False

    @property
    def _final_newline(self) -> bool:
        return len(self._data) == self._start or self._data.endswith(b"\n")

    def _join_body(self) -> bytes:
        if self._parts is not None:
            return b"".join(self._parts)
        return self._data[self._start :] if self._start else self._data

    def _add_rows(self, n_rows: int) -> None:
        """Count the rows of a chunk of tidy rows."""
        if self._parts is not None:
            first_line = self._n_lines + 1
            self._row_lines.append(np.arange(first_line, first_line + n_rows, dtype=np.uint32))
        self.n_rows += n_rows
        self._n_lines += n_rows
        if self.separator == b"\t":
            self._tabbed += n_rows
        else:
            self._spaced += n_rows

    def _tidy(self, chunk: bytes, begin: int) -> bytes:
        """Return a chunk's rows as tidy rows, and record everything else."""
        chunk = self._as_utf8(chunk, begin)
        n_crlf = chunk.count(b"\r\n") if b"\r" in chunk else 0  # a single byte is found fast
        if n_crlf:
            self._n_crlf += n_crlf
            chunk = chunk.replace(b"\r\n", b"\n")
            n_rows = self._count_if_tidy(chunk)
            if n_rows is not None:
                self._add_rows(n_rows)
                return chunk
        return self._lex(chunk)

    def _count_if_tidy(self, chunk: bytes) -> int | None:
        if self._has_hash and (chunk.startswith(b"#") or b"\n#" in chunk):
            return None
        text: Bytes = np.frombuffer(chunk, np.uint8)
        return count_if_tidy(text, self.n_fields, self.separator)

    def _as_utf8(self, chunk: bytes, begin: int) -> bytes:
        try:
            chunk.decode()
        except UnicodeDecodeError as error:
            if self._bad_utf8 is None:
                line_start = chunk.rfind(b"\n", 0, error.start) + 1
                self._bad_utf8 = BadByte(
                    offset=begin + error.start,
                    line=self._n_lines + chunk.count(b"\n", 0, error.start) + 1,
                    column=len(chunk[line_start : error.start].decode()) + 1,
                    value=chunk[error.start],
                )
            return chunk.decode("utf-8", "replace").encode()
        return chunk

    def _lex(self, chunk: bytes) -> bytes:
        """Split a chunk with arrays, record facts and lines that are not rows, return its rows."""
        lines = LineShapes.of(chunk)
        first_line = self._n_lines + 1
        self._record_characters(chunk, lines, first_line)
        blank = (lines.n_fields == 0) & ~lines.is_comment
        row = (lines.n_fields == self.n_fields) & ~lines.is_comment
        self._blank.add(blank, first_line)
        self._loose.add(row & (lines.n_breaks != self.n_fields), first_line)
        self._form_feeds.add(lines.has(VT, FF) & ~lines.is_comment, first_line)
        n_spaced, n_tabbed = lines.count_with_between(row, SPACE, TAB)
        self._spaced += n_spaced
        self._tabbed += n_tabbed
        wrong = ~(row | blank | lines.is_comment)
        for collected, which in ((self.misshapen, wrong), (self.comments, lines.is_comment)):
            if which.any():
                collected.add(which, lines.n_fields, lines.texts(which), first_line)
        self._row_lines.append((np.flatnonzero(row) + first_line).astype(np.uint32))
        self.n_rows += int(np.count_nonzero(row))
        self._n_lines += len(row)
        return lines.tidy_rows(row, self.separator)

    def _record_characters(self, chunk: bytes, lines: LineShapes, first_line: int) -> None:
        """Record CRs, NULs, control characters and long lines."""
        for byte, collector in ((CR, self._bare_cr), (0, self._nul)):
            if byte in chunk:
                collector.add(lines.count(byte), first_line)
        self._controls |= lines.has_controls
        longest = int(lines.lengths.max())
        if longest > LONG_LINE_BYTES:
            self._long.add(lines.lengths > LONG_LINE_BYTES, first_line)
        if longest > max(LONG_LINE_BYTES, self._longest):
            self._longest = longest
            self._longest_at = first_line + int(lines.lengths.argmax())


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


@dataclass(slots=True)
class OccurrenceCollector:
    """Collects the occurrences of something."""

    count: int = 0
    lines: list[Lines] = field(default_factory=list)

    def add(self, per_line: npt.NDArray[np.integer | np.bool_], first_line: int) -> None:
        """Add the number of occurrences on each line of a chunk."""
        count = int(per_line.sum())
        if count:
            self.count += count
            self.lines.append((np.flatnonzero(per_line) + first_line).astype(np.uint32))

    def finish(self) -> Occurrences:
        """Return the collected occurrences."""
        return Occurrences(self.count, join_lines(self.lines)) if self.count else Occurrences()


@dataclass(slots=True)
class CollectedLines:
    """Collects lines that are not rows, with their texts."""

    lines: list[Lines] = field(default_factory=list)
    n_fields: list[Lines] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)

    def add(self, which: Flags, n_fields: Counts, text: bytes, first_line: int) -> None:
        """Add a chunk's lines; ``text`` has them joined by LF."""
        at = np.flatnonzero(which)
        self.lines.append((at + first_line).astype(np.uint32))
        self.n_fields.append(n_fields[at].astype(np.uint32))
        self.texts.append(text)

    def finish(self) -> OddLines:
        """Return the collected lines."""
        n_fields = join_lines(self.n_fields)
        texts = [one for text in self.texts for one in text.decode().split("\n")]
        return OddLines(join_lines(self.lines), n_fields, texts)


def join_lines(arrays: list[Lines]) -> Lines:
    """Join the line numbers of several chunks."""
    return np.concatenate(arrays) if arrays else np.zeros(0, np.uint32)
