"""Rows grouped by query, and sorted by rank or by score.

All arrays are NumPy arrays with one element per row. A valid run is already grouped by query and
sorted by rank and score, so nothing is sorted. Otherwise only the affected queries are sorted.

Pairs of query and document are compared by 64-bit keys: the number of the query and part of a hash
of the document id. Pairs with equal keys are then compared by their ids, so a collision costs time
but does not change the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.columns.ids import Flags, Ids, Rows

NO_ROWS: Rows = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Rows, each with another one that it is compared with, for example the first of a document."""

    rows: Rows
    others: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def filter(self, kept: Flags | Rows) -> Pairs:
        """Return some of the rows."""
        return Pairs(self.rows[kept], self.others[kept])


NO_PAIRS = Pairs(NO_ROWS, NO_ROWS)


def places_in_query(query: npt.NDArray[np.integer]) -> Rows:
    """Number the rows of each block of one query: 0, 1, 2, …."""
    places = np.arange(len(query))
    heads = np.concatenate([np.ones(min(1, len(query)), np.bool_), query[1:] != query[:-1]])
    return places - np.maximum.accumulate(np.where(heads, places, 0))


Ranks = npt.NDArray[np.int64 | np.float64]

COMPARED_ROWS = 1000
"""The number of first rows of a query in which the orders by rank and by score are compared."""


@dataclass(frozen=True)
class Ordered:
    """Rows in some order, always grouped by query; a place is a position in this order.

    Attributes:
        row: The row of the file at each place; ``None`` for the order of the file.
        query: Query number at each place.
        rank: Rank at each place: int64, or float64 with NaN for what is not a whole number.
        score: Score at each place (float64, NaN for what is not a number).
    """

    row: Rows | None
    query: npt.NDArray[np.uint32]
    rank: Ranks
    score: npt.NDArray[np.float64]

    @cached_property
    def same_query(self) -> Flags:
        """For places 1, 2, …: whether the previous place has the same query."""
        same: Flags = self.query[1:] == self.query[:-1]
        return same

    @cached_property
    def score32(self) -> npt.NDArray[np.float32]:
        """Scores as float32, as in trec_eval 9; infinite beyond 3.4e38."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self.score.astype(np.float32)

    @cached_property
    def rank_steps(self) -> Ranks:
        """For places 1, 2, …: rank minus the previous rank; 1 where another query begins."""
        return np.where(self.same_query, np.diff(self.rank), self.rank.dtype.type(1))

    @cached_property
    def scores_fall(self) -> bool:
        """Return whether every score is below the previous one of the query, even in 32 bits."""
        return bool(((self.score32[1:] < self.score32[:-1]) | ~self.same_query).all())

    def ties(self, precision: Literal[32, 64]) -> Rows:
        """Return the places with the score of the previous one, compared in 32 or 64 bits."""
        score = self.score32 if precision == 32 else self.score
        return np.flatnonzero((score[1:] == score[:-1]) & self.same_query) + 1

    @cached_property
    def rises(self) -> Rows:
        """Places with a higher rank number and a higher score than the previous one."""
        higher = (self.score[1:] > self.score[:-1]) & (self.rank_steps > 0) & self.same_query
        return np.flatnonzero(higher) + 1

    @cached_property
    def taus(self) -> npt.NDArray[np.float64]:
        """For each query number, Kendall's tau of the orders by rank and by falling score.

        It is computed from the pairs of rows with different ranks and scores (Goodman and Kruskal's
        gamma), so that it is -1 for a reversed ranking with ties. The rows must be in the order of
        their ranks, of which the first :data:`COMPARED_ROWS` are compared. It is not computed (1)
        without :attr:`rises`.
        """
        taus = np.ones(int(self.query.max(initial=0)) + 1)
        for query in np.flatnonzero(np.bincount(self.query[self.rises])):
            start, end = np.searchsorted(self.query, [query, query + 1])
            rank, score = self.rank[start:end], self.score[start:end]
            kept = np.flatnonzero(np.isfinite(rank) & ~np.isnan(score))[:COMPARED_ROWS]
            rank, score = rank[kept], score[kept]
            is_later = rank[:, None] < rank
            n_rising = int((is_later & (score[:, None] < score)).sum())
            n_falling = int((is_later & (score[:, None] > score)).sum())
            taus[query] = (n_falling - n_rising) / max(n_falling + n_rising, 1)
        return taus

    @cached_property
    def heads(self) -> Rows:
        """First place of each query."""
        changes: Rows = np.flatnonzero(self.query[1:] != self.query[:-1]) + 1
        return np.concatenate([np.zeros(min(1, len(self.query)), np.int64), changes])

    def first_places(self, n: int) -> Rows:
        """Return the first ``n`` places of each query (all of a shorter query)."""
        sizes = np.diff(self.heads, append=len(self.query))
        numbers = np.arange(n)
        places: Rows = (self.heads[:, None] + numbers)[numbers < sizes[:, None]]
        return places

    @property
    def all_rows(self) -> Rows:
        """The row of the file at each place."""
        return np.arange(len(self.query)) if self.row is None else self.row

    def rows(self, places: npt.NDArray[np.int64]) -> Rows:
        """Return the rows of the file at ``places``."""
        return places if self.row is None else self.row[places]

    def pairs(self, places: Rows) -> Pairs:
        """Return the rows at some places, each with the previous one."""
        return Pairs(self.rows(places), self.rows(places - 1))

    def sorted_by(self, key: npt.NDArray[np.int64 | np.float64]) -> Ordered:
        """Sort the rows of each query by ``key``, lowest first; ties keep their order.

        Only the queries that are out of order are sorted.
        """
        in_order = (key[1:] >= key[:-1]) | ~self.same_query
        unsorted = np.zeros(int(self.query.max(initial=0)) + 1, np.bool_)
        unsorted[self.query[1:][~in_order]] = True
        places = np.flatnonzero(unsorted.take(self.query))
        moved = places[np.lexsort((key[places], self.query[places]))]
        row, rank, score = self.all_rows.copy(), self.rank.copy(), self.score.copy()
        row[places], rank[places], score[places] = row[moved], rank[moved], score[moved]
        # Rows move only within their query, so ``query`` does not change.
        return Ordered(row, self.query, rank, score)


def find_repeats(query: npt.NDArray[np.uint32], doc_ids: Ids) -> Pairs:
    """Return the rows whose query and document occurred before, each with the first such row.

    Args:
        query: The number of each row's query.
        doc_ids: Its document.
    """
    n_bits = max(1, int(query.max(initial=0)).bit_length())
    keys = doc_ids.hashes() >> np.uint64(n_bits)
    keys |= query.astype(np.uint64) << np.uint64(64 - n_bits)
    ordered = np.sort(keys)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return NO_PAIRS
    # By default, NumPy 2.0 fails on some uint64 values.
    rows = np.flatnonzero(np.isin(keys, twice, kind="sort"))
    found = doc_ids.take(rows)
    order = np.lexsort([*found.words, query[rows].astype(np.uint64)])  # stable: the first row first
    found, of_query, rows = found.take(order), query[rows][order], rows[order]
    heads = np.concatenate([[True], found.changes() | (of_query[1:] != of_query[:-1])])
    first = rows[np.maximum.accumulate(np.where(heads, np.arange(len(rows)), 0))]
    again = np.argsort(rows[~heads])
    return Pairs(rows[~heads][again], first[~heads][again])
