"""Curves of runs: interpolated precision over recall, and hit rates over ranks.

Interpolated precision at recall r is the highest precision at any rank where recall is r or more
(trec_eval's ``iprec_at_recall``). The curve of a mode is the mean over its queries at each level,
by default at eleven levels, as in Manning, Raghavan and Schütze, Introduction to Information
Retrieval (2008), section 8.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trectools_plus.benchmark.compare.compare import refuse_different_queries
from trectools_plus.display import Displayed
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import Averaging, score_runs
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.parser import parse_measures
from trectools_plus.statistics import mean_intervals
from trectools_plus.statistics.arrays import FloatArray, IntervalOptions

RECALL_LEVELS = tuple(step / 10 for step in range(11))
"""The eleven standard levels."""
RANKS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""The ranks of hit rates, up to the depth of the runs."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Curves(Displayed):
    """One measure at several points, by mode.

    Attributes:
        measure: ``IPrec`` or ``HitRate``.
        at: Recall levels in [0, 1], or ranks from 1; shape (points,).
        mean: Mean over the queries by mode; shape (points,).
        low: Lower ends of its intervals; ``nan`` where all values are equal and the measure has no
            other valid interval.
        high: Upper ends.
        n: Number of queries in the means.
        level: Confidence level, between 0 and 1.
    """

    measure: str
    at: FloatArray
    mean: dict[str, FloatArray]
    low: dict[str, FloatArray]
    high: dict[str, FloatArray]
    n: int
    level: float


def measure_curves(
    qrels: Qrels | JudgedQueries,
    runs: Mapping[str, Run],
    averaging: Averaging,
    resampling: IntervalOptions,
) -> list[Curves]:
    """Compute interpolated precision at :data:`RECALL_LEVELS`, and hit rates at :data:`RANKS`.

    The hit rate at k is the share of queries with a relevant document in the first k results.

    Args:
        qrels: The judgments.
        runs: The runs by mode, at least one; they are not checked.
        averaging: The treatment of queries without results and without a relevant document.
        resampling: The settings of the intervals; the seed of a report gives the resamples of its
            means.

    Returns:
        The curves of ``IPrec`` and ``HitRate``, with means and ends of intervals in [0, 1].

    Raises:
        IncomparableError: If ``missing`` is ``drop`` and the runs answer different queries, or
            none.
    """
    deepest = max(int(run.rows.blocks.sizes.max(initial=1)) for run in runs.values())
    ranks = [rank for rank in RANKS if rank <= deepest]
    curves = []
    for measure, points in (("IPrec", RECALL_LEVELS), ("HitRate", ranks)):
        measures = parse_measures([f"{measure}@{point:g}" for point in points])
        # evaluate() would refuse a mode that found nothing.
        scores = score_runs(qrels, runs, measures, averaging)
        refuse_different_queries(scores)
        values = np.concatenate(list(scores.tables.values()), axis=1)
        intervals = mean_intervals(values, **resampling)
        mean, low, high = (
            dict(zip(scores.tables, np.split(row, len(runs)), strict=True))
            for row in (intervals.estimate, intervals.low, intervals.high)
        )
        at, level = np.array(points, np.float64), resampling["confidence"]
        curves.append(Curves(measure, at, mean, low, high, len(values), level))
    return curves
