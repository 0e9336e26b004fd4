"""Judged documents of a clean run, found in a hash table of clean qrels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trectools_plus.formats.clean.qrels import CleanQrels
from trectools_plus.formats.clean.run import CleanRun
from trectools_plus.formats.clean.words import Flags, Ids, Rows, Word

_SLOTS_PER_JUDGMENT = 16
_MAX_SLOT_BITS = 26


@dataclass(frozen=True, eq=False)
class Found:
    """The judged documents of a chunk of a run.

    Attributes:
        rows: Rows of the run whose document is judged for its query, ascending.
        judgments: Their judgments, as positions in the qrels.
        n_other_spellings: The number of other rows whose document is judged for its query if upper
            and lower case are the same.
    """

    rows: Rows
    judgments: Rows
    n_other_spellings: int = 0


@dataclass(frozen=True, eq=False)
class JudgedIds:
    """Clean qrels with a hash table of their pairs of query and document.

    Attributes:
        qrels: The judgments.
    """

    qrels: CleanQrels

    @classmethod
    def of(cls, qrels: CleanQrels) -> JudgedIds:
        """Return the table of some qrels; it is built on first use."""
        return cls(qrels)

    def numbers(self, query_ids: Sequence[str]) -> Rows:
        """Return the positions of queries in the qrels; -1 for queries that are not judged."""
        return np.array([self._numbers.get(one, -1) for one in query_ids], np.int64)

    def find(self, run: CleanRun, numbers: Rows, depth: int | None = None) -> Found:
        """Find the judged documents of a chunk of a run.

        Args:
            run: The chunk.
            numbers: The position of each of its queries in the qrels, from :meth:`numbers`.
            depth: The deepest rank that is needed; ``None`` for all. More can be found.
        """
        if self._has_upper or run.doc_ids.has_upper:
            return self._find_in_any_case(run, _rows_of(run, numbers, None), numbers)
        rows = _rows_of(run, numbers, depth)
        at, judgments = self._exact.find(run.doc_ids.take(rows), numbers[run.query[rows]])
        return Found(rows[at], judgments)

    def has_any(self, run: CleanRun) -> bool:
        """Return whether a document of a chunk is judged for any query."""
        known = self.qrels.doc_ids
        hashes = known.hashes()
        order = np.argsort(hashes)
        at = np.searchsorted(hashes[order], run.doc_ids.hashes())
        same = known.take(order.take(at, mode="clip")).equal(run.doc_ids)
        return bool(same.any())

    def _find_in_any_case(self, run: CleanRun, rows: Rows, numbers: Rows) -> Found:
        """Find the documents that are judged if upper and lower case are the same."""
        near, _ = self._folded.find(run.doc_ids.take(rows).lower(), numbers[run.query[rows]])
        rows = rows[near]
        at, judgments = self._exact.find(run.doc_ids.take(rows), numbers[run.query[rows]])
        return Found(rows[at], judgments, len(rows) - len(at))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {one: number for number, one in enumerate(self.qrels.query_ids)}

    @cached_property
    def _has_upper(self) -> bool:
        return self.qrels.doc_ids.has_upper

    @cached_property
    def _exact(self) -> _Table:
        return _Table.of(self.qrels.doc_ids, self.qrels.starts)

    @cached_property
    def _folded(self) -> _Table:
        return _Table.of(self.qrels.doc_ids.lower(), self.qrels.starts)


def _rows_of(run: CleanRun, numbers: Rows, depth: int | None) -> Rows:
    """Return the rows of judged queries whose rank may be at most ``depth``."""
    known = np.flatnonzero(numbers >= 0)
    starts, ends = run.starts[known], run.starts[known + 1]
    if depth is not None:
        ends = np.minimum(ends, run.ends_of_ties(starts + depth))
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    rows: Rows = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return rows


@dataclass(frozen=True, eq=False)
class _Table:
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
    def of(cls, ids: Ids, starts: Rows) -> _Table:
        """Return a table of the documents of each query; equal pairs count once."""
        n_queries = len(starts) - 1
        query = np.repeat(np.arange(n_queries), np.diff(starts))
        n_bits = n_queries.bit_length()
        keys = _keys(ids, query, n_bits)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        heads = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1], [True]]))
        n_slots = _SLOTS_PER_JUDGMENT * len(query) // n_queries
        n_slot_bits = min(n_bits + n_slots.bit_length(), _MAX_SLOT_BITS)
        is_used = np.zeros(1 << n_slot_bits, np.bool_)
        table = cls(ids, query, keys, order, is_used, n_bits, int(np.diff(heads).max()))
        is_used[table._slots(keys)] = True
        return table

    def find(self, ids: Ids, query: Rows) -> tuple[Rows, Rows]:
        """Find pairs of document and query number.

        Returns:
            The positions of the pairs that are in the table, ascending, and their pairs in it.
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

    def _slots(self, keys: Word) -> Rows:
        n_slot_bits = len(self.is_used).bit_length() - 1
        return (keys >> np.uint64(64 - n_slot_bits)).view(np.int64)


def _keys(ids: Ids, query: Rows, n_bits: int) -> Word:
    keys = ids.hashes() >> np.uint64(n_bits)
    keys |= query.astype(np.uint64) << np.uint64(64 - n_bits)
    return keys
