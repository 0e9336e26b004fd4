"""Scoring with pytrec_eval from arrays of ranks and grades, for runs of any size.

The measures of trec_eval depend only on the ranks and grades of documents, so documents are renamed
to their ranks: all queries with n documents share one dictionary ``{"1": -1.0, "2": -2.0, …}``, and
the qrels contain only judged documents. Documents below all requested cutoffs, or below the last
judged document, are left out if no requested measure depends on them. The values are the same as
with the original document ids, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.judged import IntArray, JudgedRun, RankedRun
from trectools_plus.measures.providers import pytrec_eval
from trectools_plus.measures.providers.pytrec_eval import MAX_GAIN, TrecEvalMeasure, join_requests


@dataclass(frozen=True)
class RenamedRun:
    """A run and its qrels with documents renamed to their ranks, for pytrec_eval.

    Attributes:
        qrels: Grades by query position (as a string) and document.
        rankings: Scores by query position and document, for queries with results.
        n_queries: The number of queries.
    """

    qrels: dict[str, dict[str, int]]
    rankings: dict[str, dict[str, float]]
    n_queries: int

    @classmethod
    def of(cls, run: JudgedRun, grades: IntArray, depth: IntArray) -> RenamedRun:
        """Rename documents.

        Args:
            run: The ranks of judged documents.
            grades: The grade of each judged document to pass to trec_eval.
            depth: The number of documents per query to pass to trec_eval; 0 omits the query.
        """
        deepest = int(depth.max(initial=0))
        lengths = np.bincount(run.query, minlength=len(depth))
        starts = np.r_[0, np.cumsum(lengths)]
        # A judged document outside all rankings gets a number after the deepest rank.
        position = np.arange(len(run.query)) - starts[run.query]
        shown = (run.rank > 0) & (run.rank <= depth[run.query])
        keys = np.where(shown, run.rank, deepest + 1 + position)
        names = np.array([str(number) for number in range(int(keys.max(initial=0)) + 1)], object)
        documents, gains = names[keys].tolist(), grades.tolist()
        # Without any grade of 0 or more all values are 0, and trec_eval would crash.
        highest = np.full(len(depth), -1)
        np.maximum.at(highest, run.query, grades)
        scored = np.flatnonzero((depth > 0) & (highest >= 0)).tolist()
        bounds = starts.tolist()
        qrels = {
            str(number): dict(
                zip(
                    documents[bounds[number] : bounds[number + 1]],
                    gains[bounds[number] : bounds[number + 1]],
                    strict=True,
                )
            )
            for number in scored
        }
        shared = _Rankings(deepest)
        return cls(qrels, {str(one): shared[int(depth[one])] for one in scored}, len(depth))

    def score(
        self,
        requests: Iterable[str],
        keys: Sequence[str],
        *,
        level: int,
        judged_only: bool,
    ) -> FloatArray:
        """Score the run with pytrec_eval.

        Args:
            requests: As in :func:`~trectools_plus.measures.providers.pytrec_eval.call_pytrec_eval`.
            keys: Names of values in its result, at least one.
            level: The lowest grade that is relevant.
            judged_only: Whether unjudged documents are removed from the rankings first.

        Returns:
            Shape (queries, keys); 0 for a query without results.
        """
        results = pytrec_eval.call_pytrec_eval(
            requests, self.qrels, self.rankings, level=level, judged_only=judged_only
        )
        pick = itemgetter(*keys)
        rows = [pick(result) for result in results.values()]
        values = np.zeros((self.n_queries, len(keys)))
        scored = np.array([int(number) for number in results], np.int64)
        values[scored] = np.array(rows, np.float64).reshape(len(rows), len(keys))
        return values


class _Rankings(dict[int, dict[str, float]]):
    """Rankings of n renamed documents by n, created on first use."""

    def __init__(self, deepest: int) -> None:
        self._items = [(str(rank), -float(rank)) for rank in range(1, deepest + 1)]

    def __missing__(self, depth: int) -> dict[str, float]:
        ranking = self[depth] = dict(self._items[:depth])
        return ranking


def visible_depths(run: JudgedRun, cutoff: int | None, *, sees_tail: bool) -> IntArray:
    """Return the number of top documents of each query on which measures depend.

    Args:
        run: The run.
        cutoff: The deepest cutoff of the measures; ``None`` for the whole ranking.
        sees_tail: Whether documents below the last judged one can change a measure.

    Returns:
        One number per query, at least 1 if there is any document.
    """
    if sees_tail:
        return run.retrieved
    deepest = np.zeros_like(run.retrieved)
    np.maximum.at(deepest, run.query, run.rank)
    if cutoff is not None:
        deepest = np.minimum(deepest, cutoff)
    return np.minimum(np.maximum(deepest, 1), run.retrieved)


def score_group(
    group: Sequence[TrecEvalMeasure], ranked: RankedRun, *, level: int, judged_only: bool
) -> dict[TrecEvalMeasure, FloatArray]:
    """Score measures that one call can score.

    Raises:
        UsageError: If a gain is too large for trec_eval.
    """
    run, grades = ranked.judged, _gains(group[0], ranked.query_ids, ranked.judged)
    if all(one.standard.sees_relevant_only and not one.judged_only for one in group):
        run, grades = _relevant_only(run, grades)
    depths = [measure.depth for measure in group]
    cutoff = None if None in depths else max(depth or 0 for depth in depths)
    depth = visible_depths(run, cutoff, sees_tail=any(one.standard.sees_tail for one in group))
    requests = join_requests(group)
    keys = list(dict.fromkeys(measure.trec_result for measure in group))
    values = RenamedRun.of(run, grades, depth).score(
        requests, keys, level=level, judged_only=judged_only
    )
    return {one: _cut(one, values[:, keys.index(one.trec_result)]) for one in group}


def _gains(measure: TrecEvalMeasure, query_ids: Sequence[str], run: JudgedRun) -> IntArray:
    """Return the grades for trec_eval."""
    gain_of = measure.gain_of
    if gain_of is None:
        return run.grade
    grades, positions = np.unique(run.grade, return_inverse=True)
    gains = [gain_of(int(grade)) for grade in grades]
    for index, gain in enumerate(gains):
        if gain > MAX_GAIN:
            query = query_ids[run.query[positions == index][0]]
            raise UsageError(
                f"grade {grades[index]} gives a gain of {gain:.3g}, above {MAX_GAIN:,}",
                where=f"{measure.name}, query {query}",
                remedy="rescale the grades",
            )
    return np.array(gains, np.int64)[positions]


def _cut(measure: TrecEvalMeasure, values: FloatArray) -> FloatArray:
    """Apply the cutoff of RR@k: a recip_rank below 1/k means that the first hit is below rank k."""
    if measure.standard.label == "RR" and measure.cutoff is not None:
        return np.where(values >= 1.0 / measure.cutoff, values, 0.0)
    return values


def _relevant_only(run: JudgedRun, grades: IntArray) -> tuple[JudgedRun, IntArray]:
    """Remove judged documents without gain, which do not change the values."""
    kept = grades > 0
    run = replace(run, query=run.query[kept], rank=run.rank[kept], grade=run.grade[kept])
    return run, grades[kept]
