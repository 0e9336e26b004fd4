"""Pairs of query and document as numbers, for finding equal ones among millions.

A pair's key is the number of its query and part of a hash of its document id. Pairs with
different keys differ. Pairs with one key are looked at with their real ids, so that a chance
collision costs time and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Keys = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

_HASH_BITS = np.uint64(40)
_UNUSED_BITS = np.uint64(24)
_MARKS_PER_KEY = 16
_MAX_MARK_BITS = 24


def keys_of(query: npt.NDArray[np.uint32], doc_ids: pl.Series, seed: int = 0) -> Keys:
    """A key for each pair.

    Pairs that have one key by chance have two with another ``seed``.
    """
    key = query.astype(np.uint64)
    key <<= _HASH_BITS
    key |= doc_ids.hash(seed).to_numpy() >> _UNUSED_BITS
    return key


@dataclass(frozen=True, eq=False)
class KeyTable:
    """Keys to be looked up among many others, piece by piece.

    Attributes:
        keys: Sorted.
        order: The place that each had before.
        marks: Which keys there may be, by their last bits: a first, quick look.
    """

    keys: Keys
    order: Rows
    marks: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, keys: Keys) -> KeyTable:
        """A table of these keys, in any order."""
        order = np.argsort(keys, kind="stable")
        n_bits = min(_MAX_MARK_BITS, (len(keys) * _MARKS_PER_KEY).bit_length())
        marks = np.zeros(1 << n_bits, np.bool_)
        marks[_mark(keys, marks)] = True
        return cls(keys[order], order, marks)

    def find(self, asked: Keys) -> tuple[Rows, Rows]:
        """Find keys that are in the table.

        Returns:
            Places among those asked for, ascending, and the place that each (the first of equal
            ones) had when the table was made.
        """
        # Nearly all are ruled out by a mark; a search decides about the others.
        places = np.flatnonzero(self.marks.take(_mark(asked, self.marks)))
        at = np.searchsorted(self.keys, asked[places])
        found = self.keys.take(at, mode="clip") == asked[places]
        return places[found], self.order[at[found]]


def _mark(keys: Keys, marks: npt.NDArray[np.bool_]) -> Rows:
    return (keys & np.uint64(len(marks) - 1)).view(np.int64)
