"""Ranks and grades of judged documents: all that a standard measure depends on.

A ranked measure depends only on the grade at each rank, the number of retrieved documents, and the
grades in the qrels. :class:`JudgedRun` contains these in flat arrays with one entry per judged
document. Document ids are needed only to make it: :class:`JudgedQueries` looks them up by a join;
:class:`Judgments` looks them up in a table of hashes, for run files that are read in chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.ranking import rank_documents
from trectools_plus.validation.id_matching import folded, folds_to_itself
from trectools_plus.validation.views.order import KeyTable, find_blocks, keys_of

IntArray = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint32]

MEMBERSHIP_LEVEL = 1
"""The grade that a query must contain to be scored: the same for all measures."""

_N_SEEDS = 8


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """The scored queries, and their judgments.

    Attributes:
        query_ids: Queries with a document of grade 1 or more, in the order of the qrels.
        without_relevant: The other queries of the qrels, which are not scored.
        judged: ``query_id, doc_id, relevance``: all judgments, no pair twice.
    """

    query_ids: list[str]
    without_relevant: list[str]
    judged: pl.LazyFrame

    @classmethod
    def from_qrels(cls, qrels: Qrels) -> JudgedQueries:
        """Split the queries by whether they have a relevant document.

        Repeated judgments of a pair count once; conflicting ones were refused before.
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
        """``query`` (its position), ``doc_id``, ``relevance``: the judgments, sorted by query."""
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
        """Return the canonical ranking of these queries: ``query, doc_id, rank, score``."""
        frame = run.frame.select("query_id", "doc_id", "score")
        ranked = rank_documents(frame.join(self.numbers, on="query_id", maintain_order="left"))
        return ranked.select("query", "doc_id", "rank", "score")


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The rank of each judged document in a run.

    The last three arrays have one entry per judged document. They are sorted by query; within a
    query, retrieved documents come first, by rank.

    Attributes:
        retrieved: The number of documents that the run returned per query; 0 without results.
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
            ranked: ``query, doc_id, rank``; the ranks of a query count from 1 without gaps.
        """
        lengths = ranked.group_by("query").agg(pl.len())
        retrieved = np.zeros(len(queries.query_ids), np.int64)
        retrieved[lengths["query"].to_numpy()] = lengths["len"].to_numpy()
        # The inner join comes first because it hashes the judgments, not the longer ranking.
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
        """Sort judged documents, given in any order."""
        return cls(retrieved, query, rank, grade)._sorted()

    def cut(self, depth: int | None) -> JudgedRun:
        """Return the same run without documents below rank ``depth``."""
        if depth is None:
            return self
        rank = np.where(self.rank > depth, 0, self.rank)
        return self.of(np.minimum(self.retrieved, depth), self.query, rank, self.grade)

    def unjudged(self, cutoff: int | None) -> tuple[IntArray, IntArray]:
        """Return query and rank of every unjudged document at ``cutoff`` or above.

        Args:
            cutoff: The deepest rank; ``None`` is the whole ranking.

        Returns:
            Two arrays of the same length, sorted by query, then rank.
        """
        seen = self.retrieved if cutoff is None else np.minimum(self.retrieved, cutoff)
        starts = np.cumsum(seen) - seen
        query = np.repeat(np.arange(len(seen)), seen)
        rank = np.arange(len(query)) - starts[query] + 1
        found = self.within(cutoff)
        is_judged = np.zeros(len(query), bool)
        is_judged[starts[self.query[found]] + self.rank[found] - 1] = True
        return query[~is_judged], rank[~is_judged]

    def _sorted(self) -> JudgedRun:
        last = np.iinfo(np.int64).max
        order = np.lexsort((np.where(self.rank > 0, self.rank, last), self.query))
        return replace(
            self, query=self.query[order], rank=self.rank[order], grade=self.grade[order]
        )

    def with_judgments(self, query: IntArray, rank: IntArray, grade: IntArray) -> JudgedRun:
        """Return the same run with more judged documents."""
        return replace(
            self,
            query=np.concatenate([self.query, query]),
            rank=np.concatenate([self.rank, rank]),
            grade=np.concatenate([self.grade, grade]),
        )._sorted()

    def within(self, cutoff: int | None) -> npt.NDArray[np.bool_]:
        """Return which judged documents were retrieved, at ``cutoff`` or above."""
        found = self.rank > 0
        return found if cutoff is None else found & (self.rank <= cutoff)

    def count(self, which: npt.NDArray[np.bool_]) -> IntArray:
        """Return how many of the chosen judged documents each query has."""
        return np.bincount(self.query[which], minlength=len(self.retrieved))


@dataclass(frozen=True, eq=False)
class RankedRun:
    """The input of measures.

    Attributes:
        query_ids: The scored queries.
        judged: The ranks of judged documents, down to the deepest cutoff of the measures that
            depend on grades only.
        documents: The judgments and the complete canonical ranking (``query, doc_id, rank``);
            ``None`` if no measure depends on document ids.
    """

    query_ids: Sequence[str]
    judged: JudgedRun
    documents: tuple[JudgedQueries, pl.DataFrame] | None = None


@dataclass(frozen=True, eq=False)
class Judgments:
    """Qrels in which documents can be looked up without a join over all retrieved documents.

    Attributes:
        query_ids: The judged queries, in the order of the qrels.
        query: The query of each judgment, as a position in ``query_ids``.
        doc_ids: The document of each judgment.
        relevance: The grade of each judgment.
        starts: The first judgment of each query, followed by the number of judgments.
        counts: For each query, whether it has a relevant document and is therefore scored.
    """

    query_ids: list[str]
    query: Numbers
    doc_ids: pl.Series
    relevance: IntArray
    starts: IntArray
    counts: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, qrels: Qrels) -> Judgments:
        """Number the queries, and group the judgments by query.

        Args:
            qrels: Judgments, no pair twice.
        """
        frame = qrels.frame
        blocks = find_blocks(frame["query_id"])
        query = blocks.query
        if blocks.interleaved:
            order = np.argsort(query, kind="stable")
            frame, query = frame[order], query[order]
        starts = np.r_[0, np.cumsum(blocks.sizes)]
        relevance = frame["relevance"].to_numpy()
        counts = np.maximum.reduceat(relevance, starts[:-1]) >= MEMBERSHIP_LEVEL
        ids = blocks.query_ids.to_list()
        return cls(ids, query, frame["doc_id"], relevance, starts, counts)

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {query_id: number for number, query_id in enumerate(self.query_ids)}

    @cached_property
    def _seed(self) -> int | None:
        """A seed with which no two judgments have the same key; ``None`` if none was found."""
        for seed in range(_N_SEEDS):
            keys = np.sort(keys_of(self.query, self.doc_ids, seed))
            if not (keys[1:] == keys[:-1]).any():
                return seed
        return None

    @cached_property
    def can_be_found(self) -> bool:
        """Return whether :meth:`find` finds every judgment."""
        return self._seed is not None

    @cached_property
    def _table(self) -> KeyTable:
        return KeyTable.of(keys_of(self.query, self.doc_ids, self._seed or 0))

    @cached_property
    def _folds(self) -> KeyTable | None:
        """The ids in the form in which spellings are compared; ``None`` if none changes in it."""
        if folds_to_itself(self.doc_ids):
            return None
        return KeyTable.of(keys_of(self.query, folded(self.doc_ids), self._seed or 0))

    def numbers(self, query_ids: Sequence[str]) -> IntArray:
        """Return positions of queries in ``query_ids``; -1 for queries that are not judged."""
        return np.array([self._number_of.get(one, -1) for one in query_ids], np.int64)

    def of_queries(self, numbers: IntArray) -> IntArray:
        """Return all judgments of some queries, grouped by query."""
        starts, ends = self.starts[numbers], self.starts[numbers + 1]
        lengths = ends - starts
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        places: IntArray = np.repeat(starts, lengths) + within
        return places

    def find(self, query: Numbers, doc_ids: pl.Series) -> tuple[IntArray, IntArray]:
        """Find the judged pairs of query number and document.

        Returns:
            Positions of judged pairs, ascending, and the judgment of each.
        """
        rows, judgments = self._table.find(keys_of(query, doc_ids, self._seed or 0))
        # Keys are hashes, so equal keys may belong to different pairs.
        same = (doc_ids.gather(rows) == self.doc_ids.gather(judgments)).to_numpy()
        same &= query[rows] == self.query[judgments]
        return rows[same], judgments[same]

    def can_only_be_equal(self, doc_ids: pl.Series) -> bool:
        """Return whether no document can be a judged one in another spelling."""
        return self._folds is None and folds_to_itself(doc_ids)

    def count_near(self, query: Numbers, doc_ids: pl.Series, judged: IntArray) -> int:
        """Count unjudged documents that are judged in another spelling.

        Args:
            query: Query numbers.
            doc_ids: Documents.
            judged: Positions of the judged pairs.
        """
        if self.can_only_be_equal(doc_ids):
            return 0
        rows, _ = (self._folds or self._table).find(
            keys_of(query, folded(doc_ids), self._seed or 0)
        )
        return int(np.isin(rows, judged, invert=True).sum())


def ordinals(groups: IntArray) -> IntArray:
    """Return 1, 2, 3, … within each run of equal entries of a sorted array."""
    position = np.arange(len(groups))
    starts = np.r_[True, groups[1:] != groups[:-1]] if len(groups) else np.empty(0, bool)
    return position - np.maximum.accumulate(np.where(starts, position, 0)) + 1
