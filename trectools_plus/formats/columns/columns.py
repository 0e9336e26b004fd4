"""Column files as tables: the rows as strings, all other lines, and facts about the file.

Readers and validators both use this module, so it refuses no file: any bytes can be split into
columns. Only LF ends a line; a CR before it belongs to the line end. As in trec_eval in the C
locale, fields are separated by spaces, tabs, form feeds and vertical tabs; the last two are
reported as facts. These four characters are called blanks. Every other character is part of a
field, including NUL, bare CR, U+0085, U+00A0 and U+2028.

A chunk of tidy rows is recognised by the order of its blanks and line ends and is used unchanged.
Any other chunk is split with NumPy, without a loop over rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.ids import Bytes, Flags, Ids, Rows, Text
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.content import BOM, FileContent

if TYPE_CHECKING:
    import polars as pl

Lines = npt.NDArray[np.uint32]
LONG_LINE_BYTES = 64 * 1024
"""Longer lines are reported as facts."""


NO_LINES: Lines = np.zeros(0, np.uint32)


def flagged_lines(flags: npt.NDArray[np.bool_]) -> Lines:
    """Return the numbers of lines, from 1, given a flag for each line."""
    return (np.flatnonzero(flags) + 1).astype(np.uint32)


@dataclass(frozen=True, slots=True)
class BadByte:
    """The first byte that is not UTF-8.

    Attributes:
        line: Its line, from 1.
        column: Its column in characters, from 1.
        value: The byte, 0 to 255.
    """

    line: int
    column: int
    value: int


def guess_encoding(data: bytes, bad_utf8: bool) -> str | None:
    """Guess the encoding of bytes from a byte order mark or the pattern of NULs.

    Returns:
        ``None`` for UTF-8; else a name that Python accepts: ``latin-1``; ``utf-16`` or ``utf-32``
        with a byte order mark; ``utf-16le``, ``utf-16be``, ``utf-32le`` or ``utf-32be`` without.
    """
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    start = data[:4096]
    tenths = start.count(0) * 10 // len(start) if len(start) >= 8 else 0
    if 4 <= tenths <= 7:  # half or three quarters of the bytes of a wide encoding are 0
        width, name = (4, "utf-32") if tenths == 7 else (2, "utf-16")
        # The high bytes of ASCII characters are 0: the first or the last ones.
        first, last = start[::width].count(0), start[width - 1 :: width].count(0)
        return name + ("be" if first > last else "le")
    return "latin-1" if bad_utf8 else None


@dataclass(frozen=True, eq=False)
class OddLines:
    """Lines that are not rows, in file order.

    Attributes:
        line: Their numbers, from 1.
        n_fields: Their numbers of fields.
        text: Their texts, without line ends; U+FFFD replaces bytes that are not UTF-8.
    """

    line: Lines
    n_fields: Lines
    text: Sequence[str]

    @classmethod
    def of(cls, lines: Iterable[tuple[int, int, str]] = ()) -> OddLines:
        """Return some lines, each with its number, number of fields and text."""
        numbers, n_fields, texts = zip(*lines, strict=True) if (lines := list(lines)) else ((),) * 3
        return cls(np.array(numbers, np.uint32), np.array(n_fields, np.uint32), texts)

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> OddLines:
        """Return the lines of a table: ``line, text`` and, if known, ``n_fields``."""
        n_fields = frame["n_fields"] if "n_fields" in frame.columns else [0] * frame.height
        return cls.of(zip(frame["line"], n_fields, frame["text"], strict=True))

    def __len__(self) -> int:
        return len(self.line)

    def filter(self, kept: npt.NDArray[np.bool_] | Sequence[bool]) -> OddLines:
        """Return some of the lines."""
        if not len(self):
            return self
        flags = np.asarray(kept, np.bool_)
        return OddLines(self.line[flags], self.n_fields[flags], [*compress(self.text, flags)])

    def longer(self, n_fields: int) -> OddLines:
        """Return the lines with more fields."""
        return self.filter(self.n_fields > n_fields)

    def __add__(self, other: OddLines) -> OddLines:
        """Return the lines of both, in file order."""
        return OddLines.of(sorted([*self.rows(), *other.rows()]))

    @classmethod
    def joined(cls, parts: Sequence[OddLines], lines_before: Sequence[int]) -> OddLines:
        """Return the lines in some parts of a file, each with the lines before it."""
        moved = [part.line + np.uint32(n) for part, n in zip(parts, lines_before, strict=True)]
        n_fields = np.concatenate([part.n_fields for part in parts])
        return cls(np.concatenate(moved), n_fields, [text for part in parts for text in part.text])

    def rows(self) -> list[tuple[int, int, str]]:
        """Return the number, number of fields and text of each line."""
        return list(zip(self.line.tolist(), self.n_fields.tolist(), self.text, strict=True))


NO_ODD_LINES = OddLines.of()

CHUNK_BYTES = 1 << 20
"""The approximate size of the parts in which rows are split, which fit the caches."""


def iter_fields(body: bytes, n_fields: int, separator: bytes, start: int = 0) -> Iterator[Text]:
    """Split tidy rows into fields, a part at a time; without rows, there is one part.

    Args:
        body: The rows: valid UTF-8, with ``separator`` between two fields and LF at the end.
        n_fields: The number of fields of a row.
        separator: A blank or a tab.
        start: The first byte of the first row.
    """
    end = -1
    while end < len(body):
        end = body.find(b"\n", min(start + CHUNK_BYTES, len(body)) - 1) + 1 or len(body)
        rows = body[start:end].replace(b"\0", b"\xff")
        data = np.frombuffer(rows, np.uint8)
        breaks = np.flatnonzero(data <= ord(" "))
        marks = data[breaks]
        is_end = (marks == separator[0]) | (marks == ord("\n"))
        if not is_end.all():  # control characters are part of fields
            breaks = breaks[is_end]
        yield Text(rows, np.ascontiguousarray(breaks.reshape(-1, n_fields).T))
        start = end


_FIELD = re.compile(r"[^ \t\v\f]+")


@dataclass(frozen=True, slots=True)
class Origin:
    """The layout of a file whose values were arranged as the columns of a run or of qrels.

    Attributes:
        required: The names of the values that each row must have, as in the file.
        notes: What the arrangement added, one clause each.
        left_out: The names of the columns that are not used.
        columns: The column of each field, as the option ``--columns`` names it.
        repeated: The name of a column of which there are several, so that a field is not clear.
        has_lines: False if the lines of the rows are unknown.
        note: The note on figures if documents or queries without judgments were left out.
        systems: The column that may name the system of each row, or in qrels the type of judgment,
            with its values, if there are several.
    """

    required: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    repeated: str = ""
    note: str = ""
    has_lines: bool = True
    systems: str | None = None


@dataclass(frozen=True, eq=False)
class Columns:
    """A file split into columns by :func:`scan_columns`, which accepts any bytes; its shape,
    and facts about its lines.

    Every line has exactly one kind: a row (``n_fields`` fields), misshapen (another number of
    fields), a comment (its first byte is ``#``; an indented ``#`` is data), or blank. Line numbers
    count all lines of the file from 1, including comments and blank lines.

    Attributes:
        source: The content of the file.
        n_fields: The number of fields of a row.
        separator: Space or tab, whichever occurs first in the file.
        n_rows: The number of rows.
        body: The rows, tidy and in valid UTF-8; see :func:`iter_fields`.
        row_lines: The line number of each row; ``None`` if they are 1, 2, 3, …
        misshapen: Lines with another number of fields.
        comments: Lines that begin with ``#``.
        origin: The layout of a file in another form; ``None`` for a file in TREC form.
        verdict: ``rows`` is the expected kind; ``arranged`` too, in another format that is read,
            for example CSV with a header. Any other verdict explains all misshapen rows
            (``not-text``: UTF-16, UTF-32, or only CR as line end).
        format: The name of a format other than that of TREC, for example "JSON".
        header: Line number and text of a header line, if there is one.
        header_in_rows: True if that line has as many fields as a row.
        first_line: Line number of the first line with data.
        n_lines: The number of lines, including a last one without LF.
        n_lf: The number of lines that end in LF alone.
        n_crlf: The number of lines that end in CR LF.
        final_newline: The last byte is LF; true for an empty file.
        bare_cr: The lines of CRs that are not followed by LF; a line may occur several times.
        nul: The lines of bytes of value 0; a line may occur several times.
        bad_utf8: The first byte that is not UTF-8, if any.
        encoding_guess: The probable encoding if it is not UTF-8; see :func:`guess_encoding`. ASCII
            text in UTF-16 or UTF-32 is also valid UTF-8, with NULs.
        blank_lines: Lines without fields.
        n_loose: The number of rows with leading, trailing or repeated blanks.
        has_spaces: A row has a space before a field.
        has_tabs: A row has a tab before a field.
        form_feed_lines: Lines, except comments, with a form feed or vertical tab, which separates
            fields as in trec_eval.
        long_lines: Lines of more than ``LONG_LINE_BYTES`` bytes, including the one at which reading
            stopped.
        longest_line: The length in bytes of the longest of the ``long_lines``, 0 without any; if
            reading stopped at a line, a lower bound of its length.
        longest_line_at: The number of that line, from 1; ``None`` without any.
        is_ascii: No byte is greater than 0x7F.
        has_controls: A line contains a byte from 1 to 31 that is not a blank, CR or LF.
    """

    source: FileContent
    n_fields: int
    separator: bytes = field(default=b" ", repr=False)
    n_rows: int = 0
    body: bytes | memoryview = field(default=b"", repr=False)
    row_lines: Lines | None = field(default=None, repr=False)
    misshapen: OddLines = NO_ODD_LINES
    comments: OddLines = NO_ODD_LINES
    origin: Origin | None = None
    verdict: Literal["rows", "not-text", "other-format", "wrong-kind", "arranged"] = "rows"
    format: str | None = None
    header: tuple[int, str] | None = None
    header_in_rows: bool = False
    first_line: int | None = None
    n_lines: int = 0
    n_lf: int = 0
    n_crlf: int = 0
    final_newline: bool = True
    bare_cr: Lines = field(default_factory=NO_LINES.copy)
    nul: Lines = field(default_factory=NO_LINES.copy)
    bad_utf8: BadByte | None = None
    encoding_guess: str | None = None
    blank_lines: Lines = field(default_factory=NO_LINES.copy)
    n_loose: int = 0
    has_spaces: bool = False
    has_tabs: bool = False
    form_feed_lines: Lines = field(default_factory=NO_LINES.copy)
    long_lines: Lines = field(default_factory=NO_LINES.copy)
    longest_line: int = 0
    longest_line_at: int | None = None
    is_ascii: bool = False
    has_controls: bool = False

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """Return the columns of some parts of a file, without the fields of the rows.

        The content is that of the first part, with which the file begins.
        """
        lines_before = list(accumulate((part.n_lines for part in parts[:-1]), initial=0))
        numbered = list(zip(parts, lines_before, strict=True))
        counts: dict[str, Any] = {
            name: sum(getattr(part, name) for part in parts)
            for name in ("n_rows", "n_lines", "n_lf", "n_crlf", "n_loose")
        }
        lines: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) + np.uint32(n) for part, n in numbered])
            for name in ("bare_cr", "nul", "blank_lines", "form_feed_lines", "long_lines")
        }
        signs: dict[str, Any] = {
            name: any(getattr(part, name) for part in parts)
            for name in ("has_spaces", "has_tabs", "has_controls")
        }
        bad = [
            replace(part.bad_utf8, line=part.bad_utf8.line + before)
            for part, before in numbered
            if part.bad_utf8 is not None
        ]
        longest = max(range(len(parts)), key=lambda at: parts[at].longest_line)
        at, row_lines = parts[longest].longest_line_at, None
        if counts["n_rows"] < counts["n_lines"]:
            row_lines = np.concatenate([part.lines + np.uint32(n) for part, n in numbered])
        return replace(
            parts[0],
            **counts,
            **lines,
            **signs,
            row_lines=row_lines,
            misshapen=OddLines.joined([part.misshapen for part in parts], lines_before),
            comments=OddLines.joined([part.comments for part in parts], lines_before),
            final_newline=parts[-1].final_newline,
            bad_utf8=bad[0] if bad else None,
            encoding_guess=parts[0].encoding_guess or ("latin-1" if bad else None),
            longest_line=parts[longest].longest_line,
            longest_line_at=None if at is None else at + lines_before[longest],
            is_ascii=all(part.is_ascii for part in parts),
        )

    @property
    def has_rows(self) -> bool:
        """Return whether the file has the expected kind, so that rules on rows apply."""
        return self.verdict in ("rows", "arranged")

    @property
    def stopped_at(self) -> int | None:
        """The line before which reading stopped, as it is too long; ``None`` if all was read."""
        return self.longest_line_at if self.longest_line > limits.MAX_LINE_BYTES else None

    @cached_property
    def lines(self) -> Lines:
        """The line number of each row."""
        numbers = self.row_lines
        return np.arange(1, self.n_rows + 1, dtype=np.uint32) if numbers is None else numbers

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The rows in file order: ``line`` (UInt32), then Strings ``c1`` … ``c<n_fields>``.

        No field is empty or null. U+FFFD replaces bytes that are not UTF-8.
        """
        import polars as pl

        parts = list(self.fields())
        texts = {
            f"c{number}": Ids.joined([part.ids(number) for part in parts]).series()
            for number in range(1, self.n_fields + 1)
        }
        return pl.DataFrame({"line": self.lines, **texts})

    def texts(self, number: int, rows: Rows) -> list[str]:
        """Return one field (from 1) of some rows, in any order."""
        return Ids.joined([part.ids(number) for part in self.fields()]).texts(rows)

    def fields(self, *, has_header: bool = False) -> Iterator[Text]:
        """Yield the places of the fields of all rows but a header, some rows at a time."""
        body = bytes(self.body)
        start = body.find(b"\n") + 1 if has_header else 0
        return iter_fields(body, self.n_fields, self.separator, start)

    @cached_property
    def line_starts(self) -> Rows:
        """The start of the file, and the byte after each LF."""
        data = np.frombuffer(self.source.data, np.uint8)
        blocks = range(0, len(data), CHUNK_BYTES)
        ends = [np.flatnonzero(data[at : at + CHUNK_BYTES] == ord("\n")) + at for at in blocks]
        return np.concatenate([np.full(1, -1), *ends]) + 1

    def line_text(self, line: int) -> str:
        """Return a line (from 1) without its end; bytes that are not UTF-8 become U+FFFD."""
        data, starts = self.source.data, self.line_starts
        begin = int(starts[line - 1]) or len(BOM) * data.startswith(BOM)
        if line >= len(starts):  # without an LF, a CR at the end of the file is part of the line
            return data[begin:].decode("utf-8", "replace")
        return data[begin : int(starts[line]) - 1].removesuffix(b"\r").decode("utf-8", "replace")

    def field_of_line(self, line: int, field: int) -> str:
        """Return a field (from 1) of a line (from 1), which must exist."""
        return str(_FIELD.findall(self.line_text(line))[field - 1])

    def column_of_field(self, line: int, number: int) -> int | None:
        """Return the column in characters, from 1, at which a field of a line starts.

        Args:
            line: The number of the line, from 1.
            number: The number of the field, from 1.

        Returns:
            The column; ``None`` if it is unknown, in a file in another form.
        """
        if self.origin:
            return None
        text = self.line_text(line)
        starts = [match.start() + 1 for match in _FIELD.finditer(text)]
        return starts[number - 1] if number <= len(starts) else max(1, len(text))


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


SPLIT_BYTES = 1 << 19
"""The approximate size of the chunks in which a file is split into lines."""


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
        end = data.rfind(b"\n", begin, begin + SPLIT_BYTES) + 1
        end = end or data.find(b"\n", begin + SPLIT_BYTES) + 1 or len(data)
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
