"""Grades along a ranking: all that a standard measure can see of a run and its qrels.

A ranked measure depends on nothing but which grade stands at which rank, how many documents were
retrieved, and which grades the qrels hold. :class:`JudgedRun` is that, in flat arrays with one
entry per judged document; document ids are needed only to make it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.ranking import rank_documents

IntArray = npt.NDArray[np.int64]

MEMBERSHIP_LEVEL = 1
"""The grade a query needs to be averaged over: one for all measures, so that they share their n."""


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """The queries that count, and their judgments.

    Attributes:
        query_ids: Queries with a document of grade 1 or more, in the order of the qrels.
        without_relevant: The other queries of the qrels; no measure averages over them.
        judged: ``query_id, doc_id, relevance``: all judgments, no pair twice.
    """

    query_ids: list[str]
    without_relevant: list[str]
    judged: pl.LazyFrame

    @classmethod
    def from_qrels(cls, qrels: Qrels) -> JudgedQueries:
        """Split the queries by whether they have a relevant document.

        Equal judgments of one pair count once (conflicting ones are refused before this).
        """
        judged = qrels.frame.lazy().select("query_id", "doc_id", "relevance")
        highest = (
            judged.group_by("query_id", maintain_order=True)
            .agg(pl.col("relevance").max())
            .collect()
        )
        counts = highest["relevance"] >= MEMBERSHIP_LEVEL
        return cls(
            highest["query_id"].filter(counts).to_list(),
            highest["query_id"].filter(~counts).to_list(),
            judged.unique(["query_id", "doc_id"], keep="last", maintain_order=True),
        )

    @cached_property
    def frame(self) -> pl.DataFrame:
        """``query`` (its position), ``doc_id``, ``relevance`` of their judgments, by query."""
        return (
            self.judged.join(self.numbers.lazy(), on="query_id", maintain_order="left")
            .select("query", "doc_id", "relevance")
            .sort("query", maintain_order=True)
            .collect()
        )

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """``query_id, query``: each query's position."""
        return pl.DataFrame(
            {"query_id": self.query_ids}, schema={"query_id": pl.String}
        ).with_row_index("query")

    def rank(self, run: Run) -> pl.DataFrame:
        """The canonical ranking of these queries' documents: ``query, doc_id, rank, score``."""
        frame = run.frame.select("query_id", "doc_id", "score")
        ranked = rank_documents(frame.join(self.numbers, on="query_id", maintain_order="left"))
        return ranked.select("query", "doc_id", "rank", "score")


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """Where a run ranks each judged document.

    The three last arrays have one entry per judged document, sorted by query, then retrieved ones
    by rank, then those not retrieved.

    Attributes:
        retrieved: Documents the run returned, per query; 0 for a query without results.
        query: The query's position.
        rank: The rank, from 1; 0 when the document was not retrieved.
        grade: The grade.
    """

    retrieved: IntArray
    query: IntArray
    rank: IntArray
    grade: IntArray

    @classmethod
    def from_ranking(cls, queries: JudgedQueries, ranked: pl.DataFrame) -> JudgedRun:
        """Look up the judged documents in a ranking made by :meth:`JudgedQueries.rank`.

        Args:
            queries: The queries and judgments.
            ranked: ``query, doc_id, rank``; every query's ranks count from 1 without gaps.
        """
        lengths = ranked.group_by("query").agg(pl.len())
        retrieved = np.zeros(len(queries.query_ids), np.int64)
        retrieved[lengths["query"].to_numpy()] = lengths["len"].to_numpy()
        # The inner join first: it hashes the judgments, not the ranking, which may be far longer.
        places = ranked.select("query", "doc_id", "rank").join(
            queries.frame.select("query", "doc_id"), on=["query", "doc_id"]
        )
        found = queries.frame.join(places, on=["query", "doc_id"], how="left").with_columns(
            pl.col("rank").fill_null(0)
        )
        return cls.of(
            retrieved,
            found["query"].cast(pl.Int64).to_numpy(),
            found["rank"].to_numpy(),
            found["relevance"].to_numpy(),
        )

    @classmethod
    def of(cls, retrieved: IntArray, query: IntArray, rank: IntArray, grade: IntArray) -> JudgedRun:
        """Put judged documents, given in any order, into the order of the attributes."""
        return cls(retrieved, query, rank, grade)._sorted()

    def cut(self, depth: int | None) -> JudgedRun:
        """The same run without what it retrieved below rank ``depth``."""
        if depth is None:
            return self
        rank = np.where(self.rank > depth, 0, self.rank)
        return self.of(np.minimum(self.retrieved, depth), self.query, rank, self.grade)

    def _sorted(self) -> JudgedRun:
        last = np.iinfo(np.int64).max
        order = np.lexsort((np.where(self.rank > 0, self.rank, last), self.query))
        return replace(
            self, query=self.query[order], rank=self.rank[order], grade=self.grade[order]
        )

    def with_judgments(self, query: IntArray, rank: IntArray, grade: IntArray) -> JudgedRun:
        """The same run with more documents judged (see ``residuals``)."""
        return replace(
            self,
            query=np.concatenate([self.query, query]),
            rank=np.concatenate([self.rank, rank]),
            grade=np.concatenate([self.grade, grade]),
        )._sorted()

    def within(self, cutoff: int | None) -> npt.NDArray[np.bool_]:
        """Which judged documents were retrieved, at ``cutoff`` or above."""
        found = self.rank > 0
        return found if cutoff is None else found & (self.rank <= cutoff)

    def count(self, which: npt.NDArray[np.bool_]) -> IntArray:
        """How many of the chosen judged documents each query has."""
        return np.bincount(self.query[which], minlength=len(self.retrieved))
