"""Incomplete judgments: bounds of the means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.benchmark.report.figures import Pool, PoolMode
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.measures.judged import JudgedQueries, JudgedRun
from trectools_plus.measures.scoring.bounds import bound_by_unjudged
from trectools_plus.measures.scoring.scores import depend_on_grades_only
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.systems import kendall_tau

_MOST_DOCUMENTS = 1_000_000
"""Without a cutoff, runs with more results have no bounds, which would take long."""
_FEWEST_MODES_TO_CORRELATE = 5

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Modes:
    """The scored modes.

    Attributes:
        measure: The measure.
        query_ids: The queries of the qrels that are scored.
        counted: Whether a query counts in the means.
        runs: The ranks of the judged documents, by mode. All have the same judged documents in the
            same order.
    """

    measure: Measure
    query_ids: Sequence[str]
    counted: BoolArray
    runs: dict[str, JudgedRun]

    def mean(self, values: FloatArray) -> float | None:
        """Return the mean over the counted queries for which a measure is defined."""
        counted = values[self.counted]
        defined = counted[~np.isnan(counted)]
        return math.fsum(defined) / len(defined) if len(defined) else None


def find_pool(
    qrels: Qrels,
    runs: Mapping[str, Run],
    evaluation: Evaluation,
    measure: str,
    judged: Mapping[str, float | None],
    queries: JudgedQueries | None = None,
) -> Pool | None:
    """Examine how much the means of a measure depend on the documents that were judged.

    Args:
        qrels: The judgments.
        runs: The run of each mode.
        evaluation: The scores of the modes.
        measure: The measure, as requested.
        judged: The share of judged documents among the first ten, by mode.
        queries: The judgments for scoring; by default made from ``qrels``.

    Returns:
        ``None`` if no document is judged not relevant, because then the qrels list only relevant
        documents, or if the measure is a sum. Without bounds if the measure depends on more than
        grades and ranks.
    """
    one = next(each for each in evaluation.measures if each.requested_name == measure)
    if one.aggregate == "sum" or not (qrels.frame["relevance"] <= 0).any():
        return None
    scores = {name: none_if_nan(evaluation.mean(name, measure)) for name in runs}
    bounds: dict[str, tuple[float | None, float | None]] = {}
    if depend_on_grades_only([one]):
        modes = _rank_judged(queries or JudgedQueries.from_qrels(qrels), runs, evaluation, one)
        bounds = _find_bounds(modes, int(qrels.frame["relevance"].max() or 1))  # type: ignore[arg-type]
    found = {}
    for name in runs:
        low, high = bounds.get(name, (None, None))
        found[name] = PoolMode(judged=judged[name], score=scores[name], low=low, high=high)
    return Pool(measure=measure, modes=found, tau=_correlate(judged, scores))


def _rank_judged(
    queries: JudgedQueries, runs: Mapping[str, Run], evaluation: Evaluation, measure: Measure
) -> _Modes:
    """Find the ranks of the judged documents in every run, in one order for all runs."""
    scored = set(evaluation.query_ids[next(iter(runs))])
    found = {name: queries.find(run).cut(measure.depth) for name, run in runs.items()}
    counted = np.array([query_id in scored for query_id in queries.query_ids], bool)
    return _Modes(measure, queries.query_ids, counted, found)


def _find_bounds(modes: _Modes, highest_grade: int) -> dict[str, tuple[float | None, float | None]]:
    """Return the bounds of each mode's mean; ``None`` if they would take long."""
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, run in modes.runs.items():
        if run.retrieved.sum() > _MOST_DOCUMENTS:
            found[name] = None, None
            continue
        in_order = JudgedRun.of(run.retrieved, run.query, run.rank, run.grade)
        low, high, _ = bound_by_unjudged([modes.measure], modes.query_ids, in_order, highest_grade)
        without_results = run.retrieved == 0
        values = modes.measure.values_without_results(run.query, run.grade, len(run.retrieved))
        ends = [np.where(without_results, values, end[:, 0]) for end in (low, high)]
        found[name] = modes.mean(ends[0]), modes.mean(ends[1])
    return found


def _correlate(
    judged: Mapping[str, float | None], scores: Mapping[str, float | None]
) -> float | None:
    pairs = [
        (share, score)
        for name, share in judged.items()
        if share is not None and (score := scores[name]) is not None
    ]
    if len(pairs) < _FEWEST_MODES_TO_CORRELATE:
        return None
    shares, means = np.round(np.array(pairs).T, 12)
    return none_if_nan(kendall_tau(shares, means))
