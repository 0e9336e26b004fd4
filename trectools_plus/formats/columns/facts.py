"""Facts about a column file besides its rows: other lines, line ends, encoding, spacing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.files import limits

if TYPE_CHECKING:
    import polars as pl

Lines = npt.NDArray[np.uint32]
LONG_LINE_BYTES = 64 * 1024
"""Longer lines are reported as facts."""


def no_lines() -> Lines:
    """Return the numbers of no lines."""
    return np.zeros(0, np.uint32)


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


@dataclass(frozen=True, slots=True, eq=False)
class FileFacts:
    """Facts about a whole file.

    Attributes:
        has_bom: It starts with a UTF-8 byte order mark, which is not part of a field.
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

    has_bom: bool = False
    n_lines: int = 0
    n_lf: int = 0
    n_crlf: int = 0
    final_newline: bool = True
    bare_cr: Lines = field(default_factory=no_lines)
    nul: Lines = field(default_factory=no_lines)
    bad_utf8: BadByte | None = None
    encoding_guess: str | None = None
    blank_lines: Lines = field(default_factory=no_lines)
    n_loose: int = 0
    has_spaces: bool = False
    has_tabs: bool = False
    form_feed_lines: Lines = field(default_factory=no_lines)
    long_lines: Lines = field(default_factory=no_lines)
    longest_line: int = 0
    longest_line_at: int | None = None
    is_ascii: bool = False
    has_controls: bool = False

    @classmethod
    def joined(cls, parts: Sequence[FileFacts]) -> FileFacts:
        """Return the facts of a file, given those of its parts, each of whole lines."""
        lines_before = list(accumulate((part.n_lines for part in parts[:-1]), initial=0))
        counts: dict[str, Any] = {
            name: sum(getattr(part, name) for part in parts)
            for name in ("n_lines", "n_lf", "n_crlf", "n_loose")
        }
        numbered = list(zip(parts, lines_before, strict=True))
        lines: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) + np.uint32(n) for part, n in numbered])
            for name in ("bare_cr", "nul", "blank_lines", "form_feed_lines", "long_lines")
        }
        bad = [
            replace(part.bad_utf8, line=part.bad_utf8.line + before)
            for part, before in numbered
            if part.bad_utf8 is not None
        ]
        longest = max(range(len(parts)), key=lambda at: parts[at].longest_line)
        at = parts[longest].longest_line_at
        return replace(
            parts[0],
            **counts,
            **lines,
            final_newline=parts[-1].final_newline,
            bad_utf8=bad[0] if bad else None,
            encoding_guess=parts[0].encoding_guess or ("latin-1" if bad else None),
            longest_line=parts[longest].longest_line,
            longest_line_at=None if at is None else at + lines_before[longest],
            is_ascii=all(part.is_ascii for part in parts),
            has_spaces=any(part.has_spaces for part in parts),
            has_tabs=any(part.has_tabs for part in parts),
            has_controls=any(part.has_controls for part in parts),
        )

    @property
    def stopped_at(self) -> int | None:
        """The line before which reading stopped, as it is too long; ``None`` if all was read."""
        return self.longest_line_at if self.longest_line > limits.MAX_LINE_BYTES else None


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
        flags = np.asarray(kept, np.bool_)
        return OddLines(self.line[flags], self.n_fields[flags], [*compress(self.text, flags)])

    def where(self, test: Callable[[str], object]) -> OddLines:
        """Return the lines whose text passes a test."""
        return self.filter([bool(test(text)) for text in self.text])

    def without(self, line: int) -> OddLines:
        """Return all lines but one."""
        return self.filter(self.line != line)

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
