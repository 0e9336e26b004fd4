"""The shape of a chunk of lines: where fields, blanks and line ends are, as NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.facts import LONG_LINE_BYTES

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
    """A chunk's bytes by line and by kind: boolean arrays over its bytes, others over lines."""

    bounds: Counts  # where each line starts, and the chunk's end
    lengths: Counts  # without LF, CR LF
    n_crlf: int
    n_fields: Counts
    data: Flags
    blanks: Flags
    ends: Flags  # LF alone, so without the CR before it
    inner: Flags  # one blank, the last, of each run between two fields

    @classmethod
    def of(cls, text: Bytes) -> LineShapes:
        """Look at a chunk of whole lines, at least one byte long."""
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
        """How many of a chunk's bytes have a flag, by line."""
        totals: Counts = np.diff(np.searchsorted(np.flatnonzero(flags), self.bounds))
        return totals

    def has(self, flags: Flags) -> Flags:
        """Which lines have a byte with a flag."""
        return self.total(flags) > 0

    def bytes_of(self, which: Flags) -> Flags:
        """Flag the bytes of some of the lines."""
        return np.repeat(which, np.diff(self.bounds))

    def texts(self, text: Bytes, which: Flags) -> list[bytes]:
        """Cut out some of the lines, without their ends."""
        kept = self.bytes_of(which) & (self.data | self.blanks | self.ends)
        return text[kept].tobytes().removesuffix(b"\n").split(b"\n")


def count_if_clean(chunk: bytes, n_fields: int, separator: bytes) -> int | None:
    """Count a chunk's rows if it is nothing but tidy rows of valid UTF-8; ``None`` if not.

    Tidy: of all bytes up to 0x20, none touch each other, and they come as ``n_fields - 1``
    separators and an LF, over and over.
    """
    if not chunk.endswith(b"\n"):
        return None
    text = np.frombuffer(chunk, np.uint8)
    low = text <= SPACE
    if low[0] or (low[1:] & low[:-1]).any():
        return None
    n_rows = int(np.count_nonzero(text == LF))
    if np.count_nonzero(text == separator[0]) != n_rows * (n_fields - 1):
        return None
    at = np.flatnonzero(low)
    stops = at[n_fields - 1 :: n_fields]
    if len(at) != n_rows * n_fields or not (text[stops] == LF).all():
        return None
    if np.diff(stops, prepend=-1).max() > LONG_LINE_BYTES:
        return None
    if b"#" in chunk and (chunk.startswith(b"#") or b"\n#" in chunk):
        return None
    if not chunk.isascii():
        try:
            chunk.decode()
        except UnicodeDecodeError:
            return None
    return n_rows
