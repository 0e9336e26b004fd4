"""Incomplete judgments: bounds, and scores without the judgments that only one mode contributes."""

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
from trectools_plus.measures.scoring.scores import depend_on_grades_only, score_judged
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.method import EQUAL
from trectools_plus.statistics.rankings import kendall_tau

_DEPTH = 100
"""The depth of a contribution if the measure has no cutoff."""
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
        depth: The depth of a mode's contribution.
    """

    measure: Measure
    query_ids: Sequence[str]
    counted: BoolArray
    runs: dict[str, JudgedRun]
    depth: int

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

    To leave out a mode, the judgments of documents that only this mode has in its first k results
    are removed, whatever their grade, and all modes are scored again (Zobel, SIGIR 1998; Buckley,
    Dimmick, Soboroff and Voorhees, Information Retrieval 10, 2007). k is the cutoff of the measure,
    or 100. A mode whose score or rank falls would have been treated unfairly if it had not
    contributed to the judgments, and so may any new mode.

    Args:
        qrels: The judgments.
        runs: The run of each mode.
        evaluation: The scores of the modes.
        measure: The measure, as requested.
        judged: The share of judged documents among the first ten, by mode.
        queries: The judgments for scoring; by default made from ``qrels``.

    Returns:
        ``None`` if no document is judged not relevant, because then the qrels list only relevant
        documents, or if the measure is a sum. Without bounds, and without leaving out modes, if the
        measure depends on more than grades and ranks.
    """
    one = next(each for each in evaluation.measures if each.requested_name == measure)
    if one.aggregate == "sum" or not (qrels.frame["relevance"] <= 0).any():
        return None
    scores = {name: none_if_nan(evaluation.mean(name, measure)) for name in runs}
    ranked = not evaluation.is_over_different_queries(measure)
    ranks = _rank_by(scores, one) if ranked else {}
    bounds: dict[str, tuple[float | None, float | None]] = {}
    without: dict[str, tuple[int, dict[str, float | None]]] = {}
    if depend_on_grades_only([one]):
        modes = _rank_judged(queries or JudgedQueries.from_qrels(qrels), runs, evaluation, one)
        bounds = _find_bounds(modes, int(qrels.frame["relevance"].max() or 1))  # type: ignore[arg-type]
        without = _leave_out(modes) if len(runs) > 1 else {}
    found = {}
    for name in runs:
        low, high = bounds.get(name, (None, None))
        removed, rest = without.get(name, (None, {}))
        found[name] = PoolMode(
            judged=judged[name],
            score=scores[name],
            low=low,
            high=high,
            rank=ranks.get(name),
            removed=removed,
            score_without=rest.get(name),
            rank_without=_rank_by(rest, one).get(name) if ranked else None,
        )
    depth = one.cutoff or _DEPTH
    return Pool(measure=measure, depth=depth, modes=found, tau=_correlate(judged, scores))


def _rank_judged(
    queries: JudgedQueries, runs: Mapping[str, Run], evaluation: Evaluation, measure: Measure
) -> _Modes:
    """Find the ranks of the judged documents in every run, in one order for all runs."""
    scored = set(evaluation.query_ids[next(iter(runs))])
    found = {name: queries.find(run).cut(measure.depth) for name, run in runs.items()}
    counted = np.array([query_id in scored for query_id in queries.query_ids], bool)
    return _Modes(measure, queries.query_ids, counted, found, measure.cutoff or _DEPTH)


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


def _leave_out(modes: _Modes) -> dict[str, tuple[int, dict[str, float | None]]]:
    """Return for each mode the number of its own judgments, and all means without these."""
    within = np.array([run.within(modes.depth) for run in modes.runs.values()])
    contributors = within.sum(axis=0)
    nothing = np.zeros(within.shape[1], bool)
    every_query = np.full(len(modes.query_ids), True)
    whole = {name: _score(modes, run, nothing, every_query) for name, run in modes.runs.items()}
    found = {}
    for place, name in enumerate(modes.runs):
        removed = within[place] & (contributors == 1)
        means = {}
        for other, run in modes.runs.items():
            affected = run.count(removed) > 0
            values = whole[other].copy()
            values[affected] = _score(modes, run, removed, affected)
            means[other] = modes.mean(values)
        found[name] = int(removed.sum()), means
    return found


def _score(modes: _Modes, run: JudgedRun, removed: BoolArray, chosen: BoolArray) -> FloatArray:
    """Score the chosen queries of a run with the remaining judgments."""
    if not chosen.any():
        return np.empty(0)
    left = ~removed & chosen[run.query]
    places = np.cumsum(chosen) - 1
    rest = JudgedRun.of(
        run.retrieved[chosen], places[run.query[left]], run.rank[left], run.grade[left]
    )
    ids = [modes.query_ids[place] for place in np.flatnonzero(chosen).tolist()]
    return score_judged([modes.measure], ids, rest)[:, 0]


def _rank_by(scores: Mapping[str, float | None], measure: Measure) -> dict[str, int | None]:
    """Rank modes by their means; equal ones have the same rank, those without a mean have none."""
    sign = 1.0 if measure.higher_is_better else -1.0
    return {
        name: None
        if score is None
        else 1
        + sum(sign * (other - score) > EQUAL for other in scores.values() if other is not None)
        for name, score in scores.items()
    }


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
