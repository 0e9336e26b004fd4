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
        return np.bincount(self.query, minlength=self.query_ids.len())

    @cached_property
    def first_rows(self) -> Rows:
        """First row of each query."""
        _, first = np.unique(self.block_query, return_index=True)
        rows: Rows = self.starts[first]
        return rows


def find_blocks(query_ids: pl.Series) -> QueryBlocks:
    """Number the queries of a column of ids; only the first id of each block is hashed."""
    block = query_ids.rle_id().to_numpy()
    changes = np.flatnonzero(block[1:] != block[:-1]) + 1
    starts = np.concatenate([np.zeros(min(1, len(block)), np.int64), changes])
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
        rank: Rank at each place (float64, NaN where the text is no whole number).
        score: Score at each place (float64, NaN where the text is no number).
    """

    row: Rows | None
    query: npt.NDArray[np.uint32]
    rank: npt.NDArray[np.float64]
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
    def rank_steps(self) -> npt.NDArray[np.float64]:
        """For places 1, 2, …: rank minus the rank before; 1 where another query begins."""
        return np.where(self.same_query, np.diff(self.rank), 1.0)

    @cached_property
    def falls(self) -> bool:
        """Whether every score is below the one before, even in 32 bits."""
        lower = self.score32[1:] < self.score32[:-1]
        return bool((lower | ~self.same_query).all())

    def rows(self, places: npt.NDArray[np.int64]) -> Rows:
        """File rows of ``places``."""
        return places if self.row is None else self.row[places]

    def sorted_by(self, key: npt.NDArray[np.float64]) -> Ordered:
        """The same rows by query and then ``key``, lowest first; ties keep their order.

        Only queries that are out of order are sorted, and the rest stays where it is.
        """
        in_order = (key[1:] >= key[:-1]) | ~self.same_query
        unsorted = np.zeros(int(self.query.max(initial=0)) + 1, np.bool_)
        unsorted[self.query[1:][~in_order]] = True
        places = np.flatnonzero(unsorted[self.query])
        order = np.arange(len(key))
        order[places] = places[np.lexsort((key[places], self.query[places]))]
        row = order if self.row is None else self.row[order]
        return Ordered(row, self.query[order], self.rank[order], self.score[order])


def find_repeats(query: npt.NDArray[np.uint32], doc_ids: pl.Series) -> pl.DataFrame:
    """Rows whose (query, document) has occurred before.

    Every pair gets a 64-bit key of query number and part of a hash of the id. Sorting the keys
    shows whether any two are equal; only rows with such a key are looked at with their real ids,
    so a chance collision costs time and changes nothing.

    Returns:
        ``row``, ``first``: a row, and the first row with the same pair, in file order.
    """
    key = (query.astype(np.uint64) << np.uint64(40)) ^ (doc_ids.hash().to_numpy() >> np.uint64(24))
    ordered = np.sort(key)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    rows = np.flatnonzero(np.isin(key, twice)) if len(twice) else np.empty(0, np.int64)
    suspects = pl.DataFrame({"row": rows, "query": query[rows], "doc_id": doc_ids.gather(rows)})
    with_first = suspects.with_columns(first=pl.col("row").min().over("query", "doc_id"))
    return with_first.filter(pl.col("row") > pl.col("first")).select("row", "first")
