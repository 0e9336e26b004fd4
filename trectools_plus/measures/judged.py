"""Ranks and grades of judged documents, on which all standard measures depend.

A ranked measure depends only on the grade at each rank, the number of retrieved documents, and the
grades in the qrels. :class:`JudgedRun` contains these in flat arrays with one entry per judged
document. Document ids are needed only to create it: :class:`JudgedQueries`, the one model of
judgments for scoring, finds them in a hash table, for whole runs and for parts of run files. It
decides which of repeated judgments counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trectools_plus.choices import MODEL_JUDGED, RELEVANT
from trectools_plus.formats.columns.ids import Ids
from trectools_plus.text import listed
from trectools_plus.validation.views.kinds import QrelsView, RunView

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.formats.ranking import ScorePrecision
    from trectools_plus.formats.tables import Qrels, Run
    from trectools_plus.statistics.arrays import FloatArray

IntArray = npt.NDArray[np.int64]

_LEAST_JUDGED, _LARGEST_DIFFERENCE = 0.8, 0.1 + 1e-9
_MOST_SHARES = 20


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """The judgments, grouped by query; of repeated judgments of a pair, the first counts.

    Attributes:
        query_ids: The scored queries, in the order of the qrels.
        relevance: The grade of each judgment.
        starts: The first judgment of each query, followed by the number of judgments.
        doc_ids: The document of each judgment.
        view: The qrels as the rules check them.
        of_row: The judgment of each row of the qrels, if it counts.
    """

    query_ids: list[str]
    relevance: IntArray
    starts: IntArray
    doc_ids: Ids
    view: QrelsView
    of_row: IntArray
    _judged: dict[int, tuple[Run, JudgedRun]] = field(default_factory=dict, init=False)
    """The results of :meth:`judge`, by the address of the run."""

    @classmethod
    def of(cls, qrels: Qrels | JudgedQueries) -> JudgedQueries:
        """Return judgments in this form."""
        if isinstance(qrels, JudgedQueries):
            return qrels
        return cls.of_view(QrelsView.of_table(qrels))

    @classmethod
    def of_view(cls, qrels: QrelsView) -> JudgedQueries:
        """Use all queries of the qrels."""
        rows = qrels.rows
        order = np.arange(qrels.n_rows)
        if len(qrels.repeats):
            order = np.setdiff1d(order, qrels.repeats.rows)
        query = rows.query[order]
        if rows.interleaved:
            by_query = np.argsort(query, kind="stable")
            order, query = order[by_query], query[by_query]
        starts = np.r_[0, np.cumsum(np.bincount(query, minlength=len(rows.query_ids)))]
        is_whole = len(order) == qrels.n_rows and not rows.interleaved
        doc_ids = rows.doc_ids if is_whole else rows.doc_ids.take(order)
        grades = rows.grades[order].astype(np.int64)
        of_row = np.zeros(qrels.n_rows, np.int64)
        of_row[order] = np.arange(len(order))
        return cls(rows.query_ids, grades, starts, doc_ids, qrels, of_row)

    @cached_property
    def query(self) -> IntArray:
        """The query of each judgment, as a position in ``query_ids``."""
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.starts))

    @cached_property
    def highest(self) -> list[int]:
        """The highest grade of each query."""
        grades = self.relevance
        return np.maximum.reduceat(grades, self.starts[:-1]).tolist() if len(grades) else []

    def ids_of(self, numbers: IntArray) -> list[str]:
        """Return the ids of some queries."""
        return [self.query_ids[number] for number in numbers.tolist()]

    def judged_run(
        self, numbers: IntArray, retrieved: IntArray, judgments: IntArray, ranks: IntArray
    ) -> JudgedRun:
        """Return the ranks of the judged documents of some queries.

        Args:
            numbers: The queries.
            retrieved: The number of documents that the run returned for each.
            judgments: The judgments of retrieved documents, of these or other queries.
            ranks: The rank of each of these documents.
        """
        lengths = np.diff(self.starts)[numbers]
        query = np.repeat(np.arange(len(numbers)), lengths)
        before = np.cumsum(lengths) - lengths
        positions = np.arange(len(query)) + (self.starts[numbers] - before)[query]
        rank = np.zeros(len(self.relevance), np.int64)
        rank[judgments] = ranks
        return JudgedRun(retrieved, query, rank[positions], self.relevance[positions]).sorted()

    def count_relevant(self, level: int) -> dict[str, int]:
        """Return the number of relevant documents of each query."""
        counts = np.add.reduceat((self.relevance >= level).astype(np.int64), self.starts[:-1])
        return dict(zip(self.query_ids, counts.tolist(), strict=True))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """``query`` (its position), ``doc_id``, ``relevance``: each pair once, sorted by query."""
        import polars as pl

        columns = {
            "query": pl.Series(self.query, dtype=pl.UInt32),
            "doc_id": self.doc_ids.series(),
            "relevance": pl.Series(self.relevance, dtype=pl.Int64),
        }
        return pl.DataFrame(columns)

    @cached_property
    def subtopics(self) -> pl.DataFrame:
        """``query, doc_id, relevance, iteration``: the judgments by subtopic."""
        rows = self.view.frame.join(self._numbers, on="query_id", maintain_order="left")
        return rows.select("query", "doc_id", "relevance", "iteration").unique(maintain_order=True)

    @cached_property
    def _numbers(self) -> pl.DataFrame:
        """``query_id, query``: each query's position."""
        import polars as pl

        schema = {"query_id": pl.String}
        return pl.DataFrame({"query_id": self.query_ids}, schema=schema).with_row_index("query")

    def rank(self, run: Run) -> pl.DataFrame:
        """Return the canonical ranking of these queries: ``query, doc_id, rank, score``."""
        from trectools_plus.formats.ranking import rank_documents

        frame = run.frame.select("query_id", "doc_id", "score")
        ranked = rank_documents(frame.join(self._numbers, on="query_id", maintain_order="left"))
        return ranked.select("query", "doc_id", "rank", "score")

    def judge(self, run: Run) -> JudgedRun:
        """Return the ranks of the judged documents in a run, found once for all callers."""
        if id(run) not in self._judged:
            self._judged[id(run)] = run, self.place([self.look_up(RunView.of_table(run))])
        return self._judged[id(run)][1]

    def place(self, parts: Iterable[JudgedPart]) -> JudgedRun:
        """Return the ranks of the judged documents in a run, given those in its parts."""
        retrieved = np.zeros(len(self.query_ids), np.int64)
        rank = np.zeros(len(self.relevance), np.int64)
        for part in parts:
            is_judged = part.number >= 0
            retrieved[part.number[is_judged]] = part.lengths[is_judged]
            rank[part.judgments] = part.ranks
        return JudgedRun(retrieved, self.query, rank, self.relevance).sorted()

    def look_up(
        self, view: RunView, precision: ScorePrecision = 32, depth: int | None = None
    ) -> JudgedPart:
        """Find the judged documents of a run, or of a part of one.

        Args:
            view: The run, or the part.
            precision: The number of bits in which scores are compared.
            depth: The deepest rank down to which judged documents are needed; ``None`` for all.
        """
        number = self.view.numbers_of(view.query_ids)
        grouped = view.grouped
        is_ranked = grouped.row is None and grouped.scores_fall
        is_cut = depth is not None and is_ranked
        rows = grouped.first_places(depth or 0) if is_cut else np.arange(view.n_rows)
        query = number[view.blocks.query[rows]]
        if (number < 0).any():
            rows, query = rows[query >= 0], query[query >= 0]
        doc_ids = view.doc_ids if len(rows) == view.n_rows else view.doc_ids.take(rows)
        places, judged = self.view.pairs.find(doc_ids, query)
        rows, judgments = rows[places], self.of_row[judged]
        ranks = view.evaluated_ranks(rows, precision)
        return JudgedPart(number, view.blocks.sizes, rows, judgments, ranks)


@dataclass(frozen=True, eq=False)
class JudgedPart:
    """The ranks of judged documents in a run, or in a part of one.

    Attributes:
        number: For each query, its number in the qrels; -1 if it is not judged.
        lengths: For each query, its number of documents.
        rows: The rows of the judged documents.
        judgments: The judgment of each of these documents.
        ranks: The rank of each.
    """

    number: IntArray
    lengths: IntArray
    rows: IntArray
    judgments: IntArray
    ranks: IntArray

    def judged_run(self, qrels: JudgedQueries) -> tuple[IntArray, JudgedRun]:
        """Return the numbers of the judged queries, and the ranks of their judged documents."""
        known = np.flatnonzero(self.number >= 0)
        numbers = self.number[known]
        return numbers, qrels.judged_run(numbers, self.lengths[known], self.judgments, self.ranks)


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The rank of each judged document in a run.

    The last three arrays have one entry per judged document. They are sorted by query; within a
    query, retrieved documents come first, by rank.

    Attributes:
        retrieved: The number of documents that the run returned per query; 0 without results.
        query: The query's position.
        rank: The rank, from 1; 0 if the document was not retrieved.
        grade: The grade.
        documents: The judgments and the complete canonical ranking (``query, doc_id, rank``);
            ``None`` if no measure depends on document ids.
    """

    retrieved: IntArray
    query: IntArray
    rank: IntArray
    grade: IntArray
    documents: tuple[JudgedQueries, pl.DataFrame] | None = None

    def cut(self, depth: int | None) -> JudgedRun:
        """Return the run without documents below rank ``depth``, in the same order."""
        if depth is None:
            return self
        rank = np.where(self.rank > depth, 0, self.rank)
        return replace(self, retrieved=np.minimum(self.retrieved, depth), rank=rank)

    def unjudged(self, cutoff: int | None) -> tuple[IntArray, IntArray]:
        """Return the query and rank of every unjudged document in the first ``cutoff`` ranks.

        Args:
            cutoff: The deepest rank; ``None`` for the whole ranking.

        Returns:
            Two arrays of the same length, sorted by query, then rank.
        """
        seen = self.retrieved if cutoff is None else np.minimum(self.retrieved, cutoff)
        starts = np.cumsum(seen) - seen
        query = np.repeat(np.arange(len(seen)), seen)
        rank = np.arange(len(query)) - starts[query] + 1
        is_within = self.within(cutoff)
        is_judged = np.zeros(len(query), bool)
        is_judged[starts[self.query[is_within]] + self.rank[is_within] - 1] = True
        return query[~is_judged], rank[~is_judged]

    def sorted(self) -> JudgedRun:
        """Return the run with the judged documents in the order that is described above."""
        # The rank 0 becomes the last one.
        order = np.argsort((self.query << 32) | ((self.rank - 1) & 0xFFFFFFFF), kind="stable")
        is_by_query = bool((self.query[1:] >= self.query[:-1]).all())
        query = self.query if is_by_query else self.query[order]
        return replace(self, query=query, rank=self.rank[order], grade=self.grade[order])

    def with_judgments(self, query: IntArray, rank: IntArray, grade: IntArray) -> JudgedRun:
        """Return the run with additional judged documents."""
        return replace(
            self,
            query=np.concatenate([self.query, query]),
            rank=np.concatenate([self.rank, rank]),
            grade=np.concatenate([self.grade, grade]),
        ).sorted()

    def within(self, cutoff: int | None) -> npt.NDArray[np.bool_]:
        """Return a mask of judged documents that were retrieved in the first ``cutoff`` ranks."""
        is_retrieved = self.rank > 0
        return is_retrieved if cutoff is None else is_retrieved & (self.rank <= cutoff)

    def count(self, mask: npt.NDArray[np.bool_]) -> IntArray:
        """Return each query's number of judged documents for which the mask is true."""
        return np.bincount(self.query[mask], minlength=len(self.retrieved))

    def total(self, mask: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> FloatArray:
        """Return each query's sum of values of the judged documents for which the mask is true."""
        sums = np.bincount(self.query[mask], values, len(self.retrieved))
        return sums.astype(np.float64)


def first_documents(run: Run, depth: int) -> pl.DataFrame:
    """Return ``query_id, doc_id, rank`` of the first documents of each query, in canonical order.

    The queries are in the order in which they first occur.
    """
    import polars as pl

    from trectools_plus.formats.ranking import rank_documents

    ranked = rank_documents(run.frame).filter(pl.col("rank") <= depth)
    return ranked.select("query_id", "doc_id", "rank")


def has_nonrelevant(qrels: Qrels | JudgedQueries) -> bool:
    """Return whether a document is judged as not relevant.

    Otherwise the qrels list only relevant documents, and all others are meant to be not relevant.
    """
    return bool((JudgedQueries.of(qrels).relevance < RELEVANT).any())


def notes_on_unjudged(shares: Mapping[str, float]) -> list[str]:
    """Return a note if few of the first documents are judged, or in one run fewer than in another.

    Args:
        shares: The mean share of judged documents among the first ten, by run.
    """
    if not shares or not has_few_judged(shares.values()):
        return []
    lowest = sorted(shares, key=lambda name: shares[name])[:_MOST_SHARES]
    shown = ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if name in lowest)
    more = f", and {len(shares) - len(lowest)} more" if len(shares) > len(lowest) else ""
    return [
        f"judged among the first ten documents: {shown}{more}; an unjudged document counts as not "
        "relevant"
    ]


def has_few_judged(shares: Iterable[float]) -> bool:
    """Return whether a share is below 80%, or two differ by more than ten points."""
    ordered = sorted(shares)
    return bool(ordered) and (
        ordered[0] < _LEAST_JUDGED or ordered[-1] - ordered[0] > _LARGEST_DIFFERENCE
    )


def notes_on_judges(qrels: Qrels | JudgedQueries) -> list[str]:
    """Return a note if the second column of qrels says that a model judged: ``model:NAME``."""
    judges = JudgedQueries.of(qrels).view.rows.iterations
    number, first = judges.numbered()
    names = judges.texts(first)
    by_model = np.array([name.startswith(MODEL_JUDGED) for name in names], bool)[number]
    if not by_model.any():
        return []
    models = [name.removeprefix(MODEL_JUDGED) for name in names if name.startswith(MODEL_JUDGED)]
    return [
        f"{by_model.mean():.0%} of the judgments are of a model ({listed(models)}): no interval "
        "here covers its errors; judge estimate gives intervals that do"
    ]
