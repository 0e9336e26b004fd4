"""What the lexer comes upon that is no tidy row, while it is being collected."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.formats.facts import Occurrences
from trectools_plus.formats.line_shapes import Counts, Flags, Lines


@dataclass(slots=True)
class Marks:
    """Occurrences while they are being collected."""

    count: int = 0
    lines: list[Lines] = field(default_factory=list)

    def add(self, per_line: npt.NDArray[np.integer | np.bool_], first_line: int) -> None:
        """Add a chunk's occurrences: how many on each of its lines."""
        count = int(per_line.sum())
        if count:
            self.count += count
            self.lines.append((np.flatnonzero(per_line) + first_line).astype(np.uint32))

    def done(self) -> Occurrences:
        """The collected occurrences."""
        return Occurrences(self.count, join_lines(self.lines)) if self.count else Occurrences()


@dataclass(slots=True)
class OddLines:
    """Lines that are no rows, with their text, while they are being collected."""

    lines: list[Lines] = field(default_factory=list)
    n_fields: list[Counts] = field(default_factory=list)
    texts: list[pl.Series] = field(default_factory=list)

    def add(self, which: Flags, n_fields: Counts, text: bytes, first_line: int) -> None:
        """Add a chunk's odd lines; ``text`` has an LF between any two of them."""
        at = np.flatnonzero(which)
        self.lines.append((at + first_line).astype(np.uint32))
        self.n_fields.append(n_fields[at].astype(np.uint32))
        # Polars cuts the lines apart: millions of them are too many for objects of Python's.
        self.texts.append(pl.Series([text.decode()]).str.split("\n").explode())


def join_lines(arrays: list[Lines]) -> Lines:
    """Line numbers of several chunks as one array."""
    return np.concatenate(arrays) if arrays else np.zeros(0, np.uint32)
