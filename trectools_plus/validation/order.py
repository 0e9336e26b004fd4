"""Positions of a run's rows: which query, which neighbours, in file, rank and score order.

All arrays here are numpy arrays over rows. A run as it should be is grouped by query and sorted
by rank and score already; then every order below is the file's own and nothing is sorted. Only
what is out of order pays for a sort.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.validation import sweep
from trectools_plus.validation.keys import KeyTable, keys_of

Ranks = npt.NDArray[np.int64 | np.float64]
Rows = npt.NDArray[np.int64]
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
        """Whether some query comes back after another one."""
        return len(self.starts) > self.query_ids.len()

    @cached_property
    def returns(self) -> Rows:
        """First rows of blocks whose query had a block before."""
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
        rank: Rank at each place: int64, or float64 with NaN where a text is no whole number.
        score: Score at each place (float64, NaN where the text is no number).
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
        """Scores as trec_eval 9 holds them; beyond 3.4e38 they are infinite."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self.score.astype(np.float32)

    @cached_property
    def in_step(self) -> bool:
        """Whether every rank is one above the rank before, where that is of the same query."""

        def test(begin: int, end: int) -> bool:
            query, rank = self.query[max(0, begin - 1) : end], self.rank[max(0, begin - 1) : end]
            return bool(((rank[1:] - rank[:-1] == 1) | (query[1:] != query[:-1])).all())

        return sweep.holds(test, sweep.pieces(len(self.query)))

    @cached_property
    def rank_steps(self) -> Ranks:
        """For places 1, 2, …: rank minus the rank before; 1 where another query begins."""
        if self.in_step:
            return np.broadcast_to(np.int64(1), max(0, len(self.query) - 1))
        return np.where(self.same_query, np.diff(self.rank), self.rank.dtype.type(1))

    @cached_property
    def falls(self) -> bool:
        """Whether every score is below the one before, even in 32 bits."""

        def test(begin: int, end: int) -> bool:
            query = self.query[max(0, begin - 1) : end]
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                score = self.score[max(0, begin - 1) : end].astype(np.float32)
            return bool(((score[1:] < score[:-1]) | (query[1:] != query[:-1])).all())

        return sweep.holds(test, sweep.pieces(len(self.query)))

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
        """The same rows by query and then ``key``, lowest first; ties keep their order.

        Only queries that are out of order are sorted, and the rest stays where it is.
        """
        in_order = (key[1:] >= key[:-1]) | ~self.same_query
        unsorted = np.zeros(int(self.query.max(initial=0)) + 1, np.bool_)
        unsorted[self.query[1:][~in_order]] = True
        places = np.flatnonzero(unsorted.take(self.query))
        moved = places[np.lexsort((key[places], self.query[places]))]
        row = np.arange(len(key)) if self.row is None else self.row.copy()
        rank, score = self.rank.copy(), self.score.copy()
        row[places], rank[places], score[places] = row[moved], rank[moved], score[moved]
        # Queries stand one after another, so that only their own rows change places.
        return Ordered(row, self.query, rank, score)


def find_repeats(
    query: npt.NDArray[np.uint32], doc_ids: pl.Series, starts: Rows | None = None
) -> pl.DataFrame:
    """Rows whose (query, document) has occurred before.

    Args:
        query: The number of each row's query.
        doc_ids: Its document.
        starts: The first rows of the queries, if all rows of each are together. Then equal pairs
            are near each other, and rows are looked at in pieces.

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
    found = sweep.over(suspects, whole if starts is None else sweep.pieces(n_rows, starts))
    rows = np.concatenate([np.empty(0, np.int64), *found])
    pairs = pl.DataFrame({"row": rows, "query": query[rows], "doc_id": doc_ids.gather(rows)})
    with_first = pairs.with_columns(first=pl.col("row").min().over("query", "doc_id"))
    return with_first.filter(pl.col("row") > pl.col("first")).select("row", "first")
