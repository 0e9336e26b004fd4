"""Positions of fields, blanks and line ends in a chunk of lines, as NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.facts import LONG_LINE_BYTES

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
