"""Pairs of query and document: a hash table, and numbers for equal ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trectools_plus.formats.columns.words import Flags, Ids, Rows, Word

_SLOTS_PER_PAIR = 16
_MAX_SLOT_BITS = 26


@dataclass(frozen=True, eq=False)
class PairTable:
    """Pairs of query number and document, by keys with the query in the highest bits.

    Attributes:
        ids: The document of each pair.
        query: The query of each pair.
        keys: The sorted keys.
        order: The pair of each key.
        is_used: For the highest bits of a key: whether such a key exists, to exclude most others.
        n_bits: The number of bits for the query.
        n_equal: The greatest number of equal keys, usually 1.
    """

    ids: Ids
    query: Rows
    keys: Word
    order: Rows
    is_used: Flags
    n_bits: int
    n_equal: int

    @classmethod
    def of(cls, ids: Ids, query: Rows) -> PairTable:
        """Return a table of some pairs, which may be repeated."""
        n_queries = int(query.max(initial=0)) + 1
        n_bits = n_queries.bit_length()
        keys = _keys(ids, query, n_bits)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        heads = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1], [True]]))
        n_slots = _SLOTS_PER_PAIR * len(query) // n_queries
        n_slot_bits = min(n_bits + n_slots.bit_length(), _MAX_SLOT_BITS)
        is_used = np.zeros(1 << n_slot_bits, np.bool_)
        n_equal = int(np.diff(heads).max(initial=0))
        table = cls(ids, query, keys, order, is_used, n_bits, n_equal)
        is_used[table._slots(keys)] = True
        return table

    def find(self, ids: Ids, query: Rows) -> tuple[Rows, Rows]:
        """Find pairs of document and query number; a negative number is never found.

        Returns:
            The positions of the pairs that are in the table, ascending, and their pairs in it: the
            first of those that are equal.
        """
        keys = _keys(ids, query, self.n_bits)
        places = np.flatnonzero(self.is_used.take(self._slots(keys)))
        keys = keys[places]
        first = np.searchsorted(self.keys, keys)
        pairs = np.full(len(places), -1)
        for at in range(self.n_equal):
            near = np.flatnonzero((pairs < 0) & (self.keys.take(first + at, mode="clip") == keys))
            pair = self.order.take(first[near] + at, mode="clip")
            same = ids.take(places[near]).equal(self.ids.take(pair))
            same &= query[places[near]] == self.query[pair]
            pairs[near[same]] = pair[same]
        found = np.flatnonzero(pairs >= 0)
        return places[found], pairs[found]

    def has_any(self, ids: Ids) -> bool:
        """Return whether a document is in the table, for any query."""
        if not len(self.query) or not len(ids):
            return False
        known, hashes = self.ids.hashes(), ids.hashes()
        order = np.argsort(known)
        at = order.take(np.searchsorted(known[order], hashes), mode="clip")
        near = np.flatnonzero(known[at] == hashes)
        if self.ids.take(at[near]).equal(ids.take(near)).any():
            return True
        return not set(ids.texts(near)).isdisjoint(self.ids.texts()) if len(near) else False

    def _slots(self, keys: Word) -> Rows:
        n_slot_bits = len(self.is_used).bit_length() - 1
        return (keys >> np.uint64(64 - n_slot_bits)).view(np.int64)


def number_pairs(ids: Ids, query: Rows) -> Rows:
    """Return a number for each pair of document and query, from 0; equal pairs have the same."""
    n_bits = (int(query.max(initial=0)) + 1).bit_length()
    keys = _keys(ids, query, n_bits)
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    head = first[number]
    if (query[head] == query).all() and ids.take(head).equal(ids).all():
        return number
    numbers: dict[tuple[int, str], int] = {}  # different pairs have the same key
    pairs = zip(query.tolist(), ids.texts(), strict=True)
    return np.array([numbers.setdefault(one, len(numbers)) for one in pairs], np.int64)


def _keys(ids: Ids, query: Rows, n_bits: int) -> Word:
    keys = ids.hashes() >> np.uint64(n_bits)
    keys |= query.astype(np.uint64) << np.uint64(64 - n_bits)
    return keys
