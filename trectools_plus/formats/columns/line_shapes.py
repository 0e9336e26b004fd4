"""Positions of fields, blanks and line ends in a chunk of lines, as NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.facts import LONG_LINE_BYTES

LF, CR, TAB, SPACE, HASH = 10, 13, 9, 32, 35
_DATA, _BLANK, _END = 0, 1, 2
_KIND = np.full(256, _DATA, np.uint8)
_KIND[[TAB, 11, 12, SPACE]] = _BLANK
_KIND[LF] = _END

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]
Lines = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class LineShapes:
    """Lines and kinds of bytes in a chunk: boolean arrays are over bytes, others over lines."""

    bounds: Counts  # the start of each line, and the end of the chunk
    lengths: Counts  # without LF or CR LF
    n_crlf: int
    n_fields: Counts
    data: Flags
    blanks: Flags
    ends: Flags  # LF only, without the CR before it
    inner: Flags  # the last of the blanks between two fields

    @classmethod
    def of(cls, text: Bytes) -> LineShapes:
        """Find the lines and kinds of bytes of a chunk of complete lines, at least one byte."""
        kind = _KIND[text]
        ends = kind == _END
        stops = np.flatnonzero(ends)
        bounds = np.concatenate(([0], stops + 1))
        if not ends[-1]:
            stops, bounds = np.append(stops, len(text)), np.append(bounds, len(text))
        starts, before = bounds[:-1], stops - 1
        crlf = (stops > starts) & (text[before] == CR)
        crlf[-1] &= ends[-1]
        kind[before[crlf]] = _END
        data = kind == _DATA
        field_starts = data.copy()
        field_starts[1:] &= ~data[:-1]
        fields = np.flatnonzero(field_starts)
        first_field = np.searchsorted(fields, bounds)
        follows_field = np.ones(len(fields), np.bool_)
        follows_field[first_field[:-1][np.diff(first_field) > 0]] = False
        inner = np.zeros(len(text), np.bool_)
        inner[fields[follows_field] - 1] = True
        return cls(
            bounds=bounds,
            lengths=stops - starts - crlf,
            n_crlf=int(crlf.sum()),
            n_fields=np.diff(first_field),
            data=data,
            blanks=kind == _BLANK,
            ends=ends,
            inner=inner,
        )

    def total(self, flags: Flags) -> Counts:
        """Count the flagged bytes of each line."""
        totals: Counts = np.diff(np.searchsorted(np.flatnonzero(flags), self.bounds))
        return totals

    def has(self, flags: Flags) -> Flags:
        """Flag the lines that have a flagged byte."""
        return self.total(flags) > 0

    def bytes_of(self, which: Flags) -> Flags:
        """Flag the bytes of the flagged lines."""
        return np.repeat(which, np.diff(self.bounds))

    def texts(self, text: Bytes, which: Flags) -> bytes:
        """Return the flagged lines, joined by LF."""
        selected = self.bytes_of(which) & (self.data | self.blanks | self.ends)
        return text[selected].tobytes().removesuffix(b"\n")


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
