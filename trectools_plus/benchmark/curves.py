"""Measures along recall or rank: the figures of precision–recall and hit-rate plots.

Interpolated precision at recall r is the highest precision at any rank where recall is r or more
(trec_eval's ``iprec_at_recall``). The curve of a mode is the mean over its queries at each level,
by default at eleven levels, as in Manning, Raghavan and Schütze, Introduction to Information
Retrieval (2008), section 8.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from trectools_plus.benchmark.compare.compare import refuse_different_queries
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.display import Displayed, TextTable, as_cell
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import Averaging, Missing, NoRelevant, score_runs
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.parser import parse_measures
from trectools_plus.statistics import mean_intervals
from trectools_plus.statistics.arrays import FloatArray, IntervalOptions
from trectools_plus.text import plural

RECALL_LEVELS = tuple(step / 10 for step in range(11))
"""The eleven standard levels."""
RANKS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""The ranks of hit rates, up to the depth of the runs."""

ScoredCurves = dict[str, tuple[Sequence[float], dict[str, FloatArray]]]
"""By measure, ``IPrec`` and ``HitRate``: recall levels or ranks, and the scores of each run there,
shape (queries, points)."""


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

    def _content(self) -> TextTable:
        rows = [[mode, *map(as_cell, mean.tolist())] for mode, mean in self.mean.items()]
        caption = f"{self.measure}: means over {plural(self.n, 'query', 'queries')}"
        return TextTable.of(
            ["Mode", *(f"{point:g}" for point in self.at.tolist())], rows, caption=caption
        )


def precision_recall_curves(
    qrels: Qrels,
    runs: Mapping[str, Run],
    *,
    levels: Iterable[float] = RECALL_LEVELS,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    **resampling: Unpack[IntervalOptions],
) -> Curves:
    """Compute the interpolated precision of every run at recall levels.

    Args:
        qrels: The judgments.
        runs: The runs by mode, from ``load_run`` or a benchmark; they are not checked.
        levels: Recall levels in [0, 1], to two decimals.
        missing: ``zero`` counts a query without results as 0, ``drop`` leaves it out.
        no_relevant: The same for a query without a relevant document.
        **resampling: ``interval``, the method (``auto``); ``confidence`` between 0 and 1 (0.95),
            number of ``resamples`` (10,000), and ``seed`` (42); the seed of a report gives the
            resamples of its means.

    Returns:
        Means and interval ends per mode, arrays of shape (levels,), all in [0, 1].

    Raises:
        UsageError: If there is no run, or a level or option is out of range.
        IncomparableError: If ``missing`` is ``drop`` and the runs answer different queries, or
            none.
    """
    points = sorted(set(levels))
    scores = _score("IPrec", points, qrels, runs, Averaging(missing, no_relevant))
    return resample_curves("IPrec", points, scores, resampling_of(resampling))


def hit_rate_curves(
    qrels: Qrels,
    runs: Mapping[str, Run],
    *,
    ranks: Iterable[int] | None = None,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    **resampling: Unpack[IntervalOptions],
) -> Curves:
    """Compute the share of queries with a relevant document in the first k results.

    Args:
        qrels: The judgments.
        runs: The runs, by mode.
        ranks: The values of k, from 1; by default :data:`RANKS` up to the longest ranking.
        missing: As in :func:`precision_recall_curves`.
        no_relevant: As in :func:`precision_recall_curves`.
        **resampling: As in :func:`precision_recall_curves`.

    Returns:
        Means and interval ends per mode, arrays of shape (ranks,), all in [0, 1].

    Raises:
        UsageError: As :func:`precision_recall_curves`.
        IncomparableError: As :func:`precision_recall_curves`.
    """
    points = sorted(set(_default_ranks(runs) if ranks is None else ranks))
    scores = _score("HitRate", points, qrels, runs, Averaging(missing, no_relevant))
    return resample_curves("HitRate", points, scores, resampling_of(resampling))


def score_curves(
    qrels: Qrels | JudgedQueries, runs: Mapping[str, Run], averaging: Averaging
) -> ScoredCurves:
    """Score the points of both curves, for :func:`resample_curves`.

    Args:
        qrels: The judgments.
        runs: The runs, by mode.
        averaging: The treatment of queries without results and without a relevant document.

    Raises:
        UsageError: If there is no run.
        IncomparableError: As :func:`precision_recall_curves`.
    """
    points = {"IPrec": RECALL_LEVELS, "HitRate": _default_ranks(runs)}
    return {
        measure: (at, _score(measure, at, qrels, runs, averaging)) for measure, at in points.items()
    }


def _score(
    measure: str,
    points: Sequence[float],
    qrels: Qrels | JudgedQueries,
    runs: Mapping[str, Run],
    averaging: Averaging,
) -> dict[str, FloatArray]:
    if not runs or not points:
        raise UsageError("expected at least one run, and one recall level or rank", where=measure)
    measures = parse_measures([f"{measure}@{point:g}" for point in points])
    # evaluate() would refuse a mode that found nothing.
    evaluation = score_runs(qrels, runs, measures, averaging)
    refuse_different_queries(evaluation)
    if not evaluation.query_ids[evaluation.run_names[0]]:
        raise IncomparableError("no query to average over", where=measure)
    return dict(evaluation.tables)


def resample_curves(
    measure: str,
    points: Sequence[float],
    scores: Mapping[str, FloatArray],
    resampling: IntervalOptions,
) -> Curves:
    """Compute means and intervals of scored points.

    Args:
        measure: ``IPrec`` or ``HitRate``.
        points: Recall levels or ranks.
        scores: The scores of each run there, shape (queries, points).
        resampling: As for :func:`precision_recall_curves`.
    """
    modes = list(scores)
    values = np.concatenate(list(scores.values()), axis=1)
    intervals = mean_intervals(values, **resampling)

    def by_mode(row: FloatArray) -> dict[str, FloatArray]:
        return dict(zip(modes, np.split(row, len(modes)), strict=True))

    return Curves(
        measure,
        np.array(points, np.float64),
        mean=by_mode(intervals.estimate),
        low=by_mode(intervals.low),
        high=by_mode(intervals.high),
        n=len(values),
        level=resampling["confidence"],
    )


def _default_ranks(runs: Mapping[str, Run]) -> list[int]:
    """Return :data:`RANKS` up to the length of the longest ranking."""
    lengths = [int(run.rows.blocks.sizes.max(initial=1)) for run in runs.values()]
    deepest = max(lengths, default=1)
    return [rank for rank in RANKS if rank <= deepest] or [1]
