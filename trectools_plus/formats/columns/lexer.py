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
    guess_encoding,
)
from trectools_plus.formats.columns.line_shapes import (
    CR,
    FF,
    HASH,
    SPACE,
    TAB,
    VT,
    Bytes,
    Counts,
    Flags,
    Lines,
    LineShapes,
    count_if_tidy,
)
from trectools_plus.formats.columns.odd_lines import OddLines
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.content import BOM
from trectools_plus.formats.files.limits import Overlong

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
