"""Queries and neighbours of rows, in file, rank and score order.

All arrays are NumPy arrays over rows. A valid run is already grouped by query and sorted by rank
and score; then every order is the order of the file, and nothing is sorted. Otherwise only the
affected queries are sorted.

Millions of rows are processed in stretches that fit into the cache of the processor, because
allocating an array over all rows takes longer than the computation. Tests of a condition on all
rows, and searches for a few rows, need no such array.

Pairs of query and document are compared by keys: the number of the query and part of a hash of the
document id. Pairs with different keys differ. Pairs with one key are compared with their real ids,
so a collision costs time but does not change the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

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
    """Return a key for each pair.

    Different pairs with equal keys have different keys with another ``seed``.
    """
    key = query.astype(np.uint64)
    key <<= _HASH_BITS
    key |= doc_ids.hash(seed).to_numpy() >> _UNUSED_BITS
    return key


@dataclass(frozen=True, eq=False)
class KeyTable:
    """Keys that are searched among many others, a stretch at a time.

    Attributes:
        keys: The sorted keys.
        order: The place of each key before sorting.
        marks: Flags of the keys that may exist, by their last bits, for a quick test.
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
        """Find the keys that are in the table.

        Returns:
            Places among ``asked``, ascending, and the original place of each in the table (of the
            first, if several are equal).
        """
        # Marks exclude nearly all keys; the others are searched.
        places = np.flatnonzero(self.marks.take(_mark(asked, self.marks)))
        at = np.searchsorted(self.keys, asked[places])
        found = self.keys.take(at, mode="clip") == asked[places]
        return places[found], self.order[at[found]]


def _mark(keys: Keys, marks: npt.NDArray[np.bool_]) -> Rows:
    return (keys & np.uint64(len(marks) - 1)).view(np.int64)


STRETCH_ROWS = 1 << 16
_WORTH_THREADS = 8
_T = TypeVar("_T")


Stretch = tuple[int, int]


def stretches(n_rows: int, starts: npt.NDArray[np.int64] | None = None) -> list[Stretch]:
    """Cut rows into stretches of about ``STRETCH_ROWS``.

    Args:
        n_rows: Number of rows.
        starts: Rows at which a stretch may begin, ascending from 0, for example the first rows of
            queries. Any row if not given.

    Returns:
        The first row and the end of each stretch.
    """
    cuts = np.arange(0, n_rows, STRETCH_ROWS)
    if starts is not None and n_rows:
        cuts = np.unique(starts[np.searchsorted(starts, cuts, "right") - 1])
    ends = [*cuts[1:].tolist(), n_rows]
    return list(zip(cuts.tolist(), ends, strict=True)) if n_rows else []


def map_stretches(work: Callable[[int, int], _T], cuts: Sequence[Stretch]) -> list[_T]:
    """Apply a function to every stretch, in threads, because NumPy and Polars release the GIL."""
    if len(cuts) < _WORTH_THREADS:
        return [work(begin, end) for begin, end in cuts]
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda cut: work(*cut), cuts))


def find_rows(work: Callable[[int, int], Rows], cuts: Sequence[Stretch]) -> Rows:
    """Concatenate the rows that a function finds in each stretch."""
    return np.concatenate([np.empty(0, np.int64), *map_stretches(work, cuts)])


def places_in_query(query: npt.NDArray[np.uint32]) -> Rows:
    """0, 1, 2, … within each block of rows of one query."""
    places = np.arange(len(query))
    heads = np.concatenate([[True], query[1:] != query[:-1]])
    return places - np.maximum.accumulate(np.where(heads, places, 0))


def holds_everywhere(test: Callable[[int, int], bool], cuts: Sequence[Stretch]) -> bool:
    """Return whether a test holds on every stretch; the first failure ends the search."""
    failed = False

    def unless_failed(begin: int, end: int) -> bool:
        nonlocal failed
        if not failed and not test(begin, end):
            failed = True
        return not failed

    return all(map_stretches(unless_failed, cuts))


Ranks = npt.NDArray[np.int64 | np.float64]


Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class QueryBlocks:
    """Runs of neighbouring rows with the same query id.

    Attributes:
        query: For each row, the number of its query, by first appearance (uint32).
        starts: Row of each block's first row.
        query_ids: The distinct ids, by first appearance; ``query`` counts into them.
        block_query: For each block, the number of its query.
    """

    query: npt.NDArray[np.uint32]
    starts: Rows
    query_ids: pl.Series
    block_query: npt.NDArray[np.uint32]

    @property
    def interleaved(self) -> bool:
        """Return whether a query has rows after those of another query."""
        return len(self.starts) > self.query_ids.len()

    @cached_property
    def returns(self) -> Rows:
        """First rows of blocks whose query already has an earlier block."""
        _, first = np.unique(self.block_query, return_index=True)
        again = np.ones(len(self.starts), np.bool_)
        again[first] = False
        rows: Rows = self.starts[again]
        return rows

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of rows of each query."""
        if not self.interleaved:
            return np.diff(self.starts, append=len(self.query))
        return np.bincount(self.query, minlength=self.query_ids.len())

    @cached_property
    def first_rows(self) -> Rows:
        """First row of each query."""
        if not self.interleaved:
            return self.starts
        _, first = np.unique(self.block_query, return_index=True)
        rows: Rows = self.starts[first]
        return rows


def find_blocks(query_ids: pl.Series) -> QueryBlocks:
    """Number the queries of a column of ids; only the first id of each block is hashed."""
    block = query_ids.rle_id().to_numpy()
    n_blocks = int(block[-1]) + 1 if len(block) else 0
    starts: Rows = np.searchsorted(block, np.arange(n_blocks, dtype=block.dtype))
    heads = query_ids.gather(starts)
    distinct = heads.unique(maintain_order=True)
    if distinct.len() == heads.len():
        return QueryBlocks(block, starts, distinct, np.arange(len(starts), dtype=np.uint32))
    numbers = pl.DataFrame({"id": distinct}).with_row_index("number")
    of_block = pl.DataFrame({"id": heads}).join(numbers, on="id", how="left", maintain_order="left")
    block_query = of_block["number"].to_numpy()
    return QueryBlocks(block_query[block], starts, distinct, block_query)


@dataclass(frozen=True)
class Ordered:
    """Rows in some order, grouped by query.

    Attributes:
        row: Positions in the file's rows, or ``None`` when the order is the file's own.
        query: Query number at each place.
        rank: Rank at each place: int64, or float64 with NaN for a text that is not a whole number.
        score: Score at each place (float64, NaN for a text that is not a number).
    """

    row: Rows | None
    query: npt.NDArray[np.uint32]
    rank: Ranks
    score: npt.NDArray[np.float64]

    @cached_property
    def same_query(self) -> Flags:
        """For places 1, 2, …: whether the place before has the same query."""
        same: Flags = self.query[1:] == self.query[:-1]
        return same

    @cached_property
    def score32(self) -> npt.NDArray[np.float32]:
        """Scores in 32 bits, as in trec_eval 9; infinite beyond 3.4e38."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self.score.astype(np.float32)

    @cached_property
    def in_step(self) -> bool:
        """Return whether every rank is one above the rank before in the same query."""

        def test(begin: int, end: int) -> bool:
            query, rank = self.query[max(0, begin - 1) : end], self.rank[max(0, begin - 1) : end]
            return bool(((rank[1:] - rank[:-1] == 1) | (query[1:] != query[:-1])).all())

        return holds_everywhere(test, stretches(len(self.query)))

    @cached_property
    def rank_steps(self) -> Ranks:
        """For places 1, 2, …: rank minus the rank before; 1 where another query begins."""
        if self.in_step:
            return np.broadcast_to(np.int64(1), max(0, len(self.query) - 1))
        return np.where(self.same_query, np.diff(self.rank), self.rank.dtype.type(1))

    @cached_property
    def falls(self) -> bool:
        """Return whether every score is below the one before, even in 32 bits."""

        def test(begin: int, end: int) -> bool:
            query = self.query[max(0, begin - 1) : end]
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                score = self.score[max(0, begin - 1) : end].astype(np.float32)
            return bool(((score[1:] < score[:-1]) | (query[1:] != query[:-1])).all())

        return holds_everywhere(test, stretches(len(self.query)))

    @cached_property
    def heads(self) -> Rows:
        """First place of each query."""
        changes: Rows = np.flatnonzero(self.query[1:] != self.query[:-1]) + 1
        return np.concatenate([np.zeros(min(1, len(self.query)), np.int64), changes])

    def firsts(self, n: int) -> Rows:
        """The first ``n`` places of each query, or as many as it has, in order."""
        sizes = np.diff(self.heads, append=len(self.query))
        numbers = np.arange(n)
        places: Rows = (self.heads[:, None] + numbers)[numbers < sizes[:, None]]
        return places

    def rows(self, places: npt.NDArray[np.int64]) -> Rows:
        """File rows of ``places``."""
        return places if self.row is None else self.row[places]

    def sorted_by(self, key: npt.NDArray[np.int64 | np.float64]) -> Ordered:
        """Sort the rows by query and then ``key``, lowest first; ties keep their order.

        Only the queries that are out of order are sorted.
        """
        in_order = (key[1:] >= key[:-1]) | ~self.same_query
        unsorted = np.zeros(int(self.query.max(initial=0)) + 1, np.bool_)
        unsorted[self.query[1:][~in_order]] = True
        places = np.flatnonzero(unsorted.take(self.query))
        moved = places[np.lexsort((key[places], self.query[places]))]
        row = np.arange(len(key)) if self.row is None else self.row.copy()
        rank, score = self.rank.copy(), self.score.copy()
        row[places], rank[places], score[places] = row[moved], rank[moved], score[moved]
        # The rows are grouped by query, so rows change places only within a query.
        return Ordered(row, self.query, rank, score)


def find_repeats(
    query: npt.NDArray[np.uint32], doc_ids: pl.Series, starts: Rows | None = None
) -> pl.DataFrame:
    """Find rows whose (query, document) has occurred before.

    Args:
        query: The number of each row's query.
        doc_ids: Its document.
        starts: The first rows of the queries, if the rows are grouped by query. Then rows are
            compared only within stretches.

    Returns:
        ``row``, ``first``: a row, and the first row with the same pair, in file order.
    """

    def suspects(begin: int, end: int) -> Rows:
        key = keys_of(query[begin:end], doc_ids.slice(begin, end - begin))
        ordered = np.sort(key)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        return KeyTable.of(twice).find(key)[0] + begin

    n_rows = len(query)
    whole = [(0, n_rows)] if n_rows else []
    rows = find_rows(suspects, whole if starts is None else stretches(n_rows, starts))
    pairs = pl.DataFrame({"row": rows, "query": query[rows], "doc_id": doc_ids.gather(rows)})
    with_first = pairs.with_columns(first=pl.col("row").min().over("query", "doc_id"))
    return with_first.filter(pl.col("row") > pl.col("first")).select("row", "first")
