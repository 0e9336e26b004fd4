"""The fields of tidy rows, as places in a text; columns are made from them with arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trectools_plus.formats.columns.words import MARGIN, Ids, Rows, Text

CHUNK_BYTES = 1 << 20
"""The approximate size of the parts in which rows are split, which fit the caches."""

_SPACE = ord(" ")


@dataclass(frozen=True, eq=False)
class Fields:
    """The places of fields in rows with one separator between two fields, and LF at the end.

    Attributes:
        text: The rows.
        ends: The byte after each field, of shape (fields, rows).
        first: The first byte of the first row.
    """

    text: Text
    ends: Rows
    first: int = 0

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.ends[0])

    def without_first(self) -> Fields:
        """Return all rows but the first."""
        return Fields(self.text, self.ends[:, 1:], int(self.ends[-1, 0]) + 1)

    def starts(self, number: int) -> Rows:
        """Return the first byte of a field, by its number from 1."""
        starts: Rows
        if number > 1:
            starts = self.ends[number - 2] + 1
            return starts
        starts = np.empty_like(self.ends[0])
        starts[:1] = self.first
        np.add(self.ends[-1, :-1], 1, out=starts[1:])
        return starts

    def bounds(self, number: int) -> tuple[Rows, Rows]:
        """Return the first byte of a field, and the byte after its last one."""
        return self.starts(number), self.ends[number - 1]

    def ids(self, number: int) -> Ids:
        """Return a field of all rows."""
        return Ids.of(self.text, *self.bounds(number))

    def words(self, number: int) -> Ids:
        """Return a field that often has the same text in all rows."""
        starts, ends = self.bounds(number)
        if not self.n_rows:
            return Ids.constant("", 0)
        first = self.text.cut(int(starts[0]), int(ends[0]))
        after = self.text.cut(int(ends[0]), int(ends[0]) + 1)
        if len(first) < MARGIN and self.text.has_everywhere(starts, first + after):
            return Ids.constant(first.replace(b"\xff", b"\0").decode(), self.n_rows)
        return Ids.of(self.text, starts, ends)

    def texts(self, number: int, rows: Rows) -> list[str]:
        """Return a field of some rows."""
        starts, ends = self.bounds(number)
        return Ids.of(self.text, starts[rows], ends[rows]).texts()


def iter_fields(body: bytes, n_fields: int, separator: bytes) -> Iterator[Fields]:
    """Split tidy rows into fields, a part at a time.

    Args:
        body: The rows: valid UTF-8, with ``separator`` between two fields and LF at the end.
        n_fields: The number of fields of a row.
        separator: A blank or a tab.
    """
    start = 0
    while start < len(body):
        end = body.find(b"\n", min(start + CHUNK_BYTES, len(body)) - 1) + 1 or len(body)
        text = Text.of(body[start:end].replace(b"\0", b"\xff"))
        breaks = np.flatnonzero(text.data <= _SPACE)
        marks = text.data[breaks]
        is_end = (marks == separator[0]) | (marks == ord("\n"))
        if not is_end.all():  # control characters are part of fields
            breaks = breaks[is_end]
        yield Fields(text, np.ascontiguousarray(breaks.reshape(-1, n_fields).T))
        start = end
