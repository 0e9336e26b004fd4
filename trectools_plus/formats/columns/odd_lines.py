"""Lines that are not rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

Lines = npt.NDArray[np.uint32]


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
    def of_frame(cls, frame: pl.DataFrame | None) -> OddLines:
        """Return the lines of a table: ``line, text`` and, if known, ``n_fields``."""
        if frame is None:
            return cls.of()
        n_fields = frame["n_fields"] if "n_fields" in frame.columns else [0] * frame.height
        return cls.of(zip(frame["line"], n_fields, frame["text"], strict=True))

    def __len__(self) -> int:
        return len(self.line)

    def filter(self, kept: npt.NDArray[np.bool_] | Sequence[bool]) -> OddLines:
        """Return some of the lines."""
        rows = np.flatnonzero(np.asarray(kept, np.bool_))
        if len(rows) == len(self):
            return self
        return OddLines(
            self.line[rows], self.n_fields[rows], [self.text[row] for row in rows.tolist()]
        )

    def where(self, test: Callable[[str], object]) -> OddLines:
        """Return the lines whose text passes a test."""
        return self.filter([bool(test(text)) for text in self.text])

    def without(self, line: int) -> OddLines:
        """Return all lines but one."""
        return self.filter(self.line != line)

    def __add__(self, other: OddLines) -> OddLines:
        """Return the lines of both, in file order."""
        lines = np.concatenate([self.line, other.line])
        order = np.argsort(lines, kind="stable")
        texts = [*self.text, *other.text]
        n_fields = np.concatenate([self.n_fields, other.n_fields])
        return OddLines(lines[order], n_fields[order], [texts[at] for at in order.tolist()])

    @classmethod
    def joined(cls, parts: Sequence[OddLines], lines_before: Sequence[int]) -> OddLines:
        """Return the lines in some parts of a file, each with the lines before it."""
        moved = [part.line + np.uint32(n) for part, n in zip(parts, lines_before, strict=True)]
        n_fields = np.concatenate([part.n_fields for part in parts])
        return cls(np.concatenate(moved), n_fields, [text for part in parts for text in part.text])

    def rows(self) -> list[tuple[int, int, str]]:
        """Return the number, number of fields and text of each line."""
        return list(zip(self.line.tolist(), self.n_fields.tolist(), self.text, strict=True))

    @property
    def frame(self) -> pl.DataFrame:
        """``line, text`` as a table, for fixes."""
        import polars as pl

        return pl.DataFrame(
            {"line": self.line, "text": list(self.text)},
            schema={"line": pl.UInt32, "text": pl.String},
        )
