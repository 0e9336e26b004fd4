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

MAX_QUERIES = 1 << 24
"""With more queries, their numbers no longer fit into keys in order."""

_HASH_BITS = np.uint64(40)
_UNUSED_BITS = np.uint64(24)
_SLOTS_PER_KEY = 16


def keys_of(query: npt.NDArray[np.uint32], doc_ids: pl.Series, seed: int = 0) -> Keys:
    """A key for each pair; sorted, they are in the order of the queries' numbers.

    Pairs that have one key by chance have two with another ``seed``.
    """
    key = query.astype(np.uint64)
    key <<= _HASH_BITS
    key |= doc_ids.hash(seed).to_numpy() >> _UNUSED_BITS
    return key


def among(keys: Keys, wanted: Keys) -> Rows:
    """Places of ``keys`` that are one of ``wanted``, of which there should be fewer."""
    if not len(wanted):
        return np.empty(0, np.int64)
    n_slots = 1 << min(24, (len(wanted) * _SLOTS_PER_KEY).bit_length())
    slots = np.zeros(n_slots, np.bool_)
    mask = np.uint64(n_slots - 1)
    slots[(wanted & mask).view(np.int64)] = True
    # A look into a small table rules out nearly all; a search decides about the others.
    places = np.flatnonzero(slots.take((keys & mask).view(np.int64)))
    return places[np.isin(keys[places], wanted)]


@dataclass(frozen=True, eq=False)
class KeyTable:
    """The keys of some pairs, in order, to be looked up piece by piece.

    Attributes:
        keys: Sorted.
        ordered: Whether that is the order of the queries too.
    """

    keys: Keys
    ordered: bool

    @classmethod
    def of(cls, query: npt.NDArray[np.uint32], doc_ids: pl.Series) -> KeyTable:
        """The keys of pairs, given as for :func:`keys_of`."""
        ordered = len(query) == 0 or int(query.max()) < MAX_QUERIES
        return cls(np.sort(keys_of(query, doc_ids)), ordered)

    def find(self, query: npt.NDArray[np.uint32], doc_ids: pl.Series) -> Rows:
        """Which of a piece's pairs may be in the table: all that are, and hardly any other."""
        wanted = self.keys
        if self.ordered and len(query):
            bounds = np.array([query.min(), query.max()], np.uint64) + np.array([0, 1], np.uint64)
            begin, end = np.searchsorted(wanted, bounds << _HASH_BITS)
            wanted = wanted[begin:] if bounds[1] >= MAX_QUERIES else wanted[begin:end]
        return among(keys_of(query, doc_ids), wanted) if len(wanted) else np.empty(0, np.int64)
