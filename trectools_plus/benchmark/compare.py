"""Paired differences between runs, with intervals from the resamples of their means."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trectools_plus.benchmark.report import Comparison, ConfidenceInterval
from trectools_plus.errors import IncomparableError, UsageError

if TYPE_CHECKING:
    from trectools_plus.measures.evaluation import Evaluation
    from trectools_plus.statistics.bootstrap import Intervals

FloatArray = npt.NDArray[np.float64]

DEFAULT_SEED = 42
INTERVAL_METHOD = "percentile bootstrap"

_LOWER_IS_BETTER = frozenset({"MeanRank", "MinRank"})
EQUAL = 1e-12
"""Two values nearer than this are the same: the last bits differ with the order of a sum."""


def compare(
    evaluation: Evaluation,
    baseline: str | None = None,
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = DEFAULT_SEED,
) -> list[Comparison]:
    """Compare the runs of an evaluation, query by query, on every measure.

    The effect size is Cohen's d_z: the mean of the differences by their standard deviation
    (ddof = 1). A difference is called significant when its interval excludes 0; nothing is
    corrected for the number of comparisons made.

    Args:
        evaluation: At least one run; all over the same queries.
        baseline: Compare each other run with this one; ``None`` compares every pair.
        confidence: Level of the intervals, between 0 and 1.
        resamples: Bootstrap resamples.
        seed: Seed of the resamples; the same seed gives the resamples of the runs' means.

    Returns:
        One entry per pair and measure: pairs in the order of the runs, then measures.

    Raises:
        UsageError: If the baseline is none of the runs, or an option is out of range.
        IncomparableError: If the runs are averaged over different queries (``missing="drop"``).
    """
    names = list(evaluation.run_names)
    if baseline is not None and baseline not in names:
        raise UsageError(
            f"unknown baseline '{baseline}'", remedy=f"the runs are {', '.join(names)}"
        )
    pairs = (
        list(combinations(names, 2))
        if baseline is None
        else [(baseline, name) for name in names if name != baseline]
    )
    return compare_pairs(evaluation, pairs, confidence=confidence, resamples=resamples, seed=seed)


def compare_pairs(
    evaluation: Evaluation,
    pairs: Sequence[tuple[str, str]],
    *,
    confidence: float,
    resamples: int,
    seed: int,
) -> list[Comparison]:
    """As :func:`compare`, for the given pairs of (baseline, contrast)."""
    from trectools_plus.statistics.bootstrap import bootstrap_means

    refuse_different_queries(evaluation)
    cases = [
        (baseline, contrast, measure.name)
        for baseline, contrast in pairs
        for measure in evaluation.measures
    ]
    if not cases:
        return []
    differences = np.column_stack(
        [
            evaluation.values(contrast, measure) - evaluation.values(baseline, measure)
            for baseline, contrast, measure in cases
        ]
    )
    intervals = bootstrap_means(differences, resamples=resamples, seed=seed, confidence=confidence)
    return [
        _comparison(
            *case,
            differences[:, column],
            interval_of(intervals, column),
        )
        for column, case in enumerate(cases)
    ]


def refuse_different_queries(evaluation: Evaluation) -> None:
    """See that all runs of an evaluation are averaged over the same queries.

    Raises:
        IncomparableError: If not; it names two runs and a query that only one of them has.
    """
    names = evaluation.run_names
    for name in names[1:]:
        first, other = (evaluation.query_ids[run] for run in (names[0], name))
        if first != other:
            differing = sorted(set(first) ^ set(other))
            raise IncomparableError(
                f"{names[0]} is averaged over {len(first)} queries and {name} over {len(other)}: "
                f"{len(differing)} are in one of them only, such as {differing[0]}",
                remedy="use missing=zero, which counts a query without results as 0",
            )


def is_lower_better(measure: str) -> bool:
    """Whether a smaller value of the measure (canonical name) is the better one: ranks."""
    return measure.partition("@")[0].partition("(")[0] in _LOWER_IS_BETTER


def interval_of(intervals: Intervals, column: int) -> ConfidenceInterval:
    """One column's interval for a report.

    Ends nearer to 0 than 1e-12 are 0: the last bits of a sum must not decide significance.
    """
    low, high = (
        0.0 if abs(end) < EQUAL else float(end)
        for end in (intervals.low[column], intervals.high[column])
    )
    return ConfidenceInterval(
        low=none_if_nan(low),
        high=none_if_nan(high),
        level=intervals.level,
        method=INTERVAL_METHOD,
        resamples=intervals.resamples,
    )


def none_if_nan(value: float) -> float | None:
    """A plain float, ``None`` for NaN: reports hold no NaN."""
    return None if np.isnan(value) else float(value)


def _comparison(
    baseline: str,
    contrast: str,
    measure: str,
    differences: FloatArray,
    ci: ConfidenceInterval,
) -> Comparison:
    """Summarise differences (contrast minus baseline, one per query, NaN where undefined)."""
    defined = differences[~np.isnan(differences)]
    gains = -defined if is_lower_better(measure) else defined
    wins = int((gains > EQUAL).sum())
    losses = int((gains < -EQUAL).sum())
    return Comparison(
        baseline=baseline,
        contrast=contrast,
        measure=measure,
        n=len(defined),
        difference=float(defined.mean()) if len(defined) else None,
        ci=ci,
        # One difference resampled is always itself: an interval of no width that says nothing.
        significant=len(defined) > 1 and _excludes_zero(ci),
        effect_size=_effect_size(defined),
        wins=wins,
        ties=len(defined) - wins - losses,
        losses=losses,
    )


def _excludes_zero(ci: ConfidenceInterval) -> bool:
    return ci.low is not None and ci.high is not None and (ci.low > 0 or ci.high < 0)


def _effect_size(differences: FloatArray) -> float | None:
    """Cohen's d_z; ``None`` for fewer than two differences, or when all are equal."""
    if len(differences) < 2:
        return None
    spread = float(differences.std(ddof=1))
    # Rounding leaves a tiny spread where all differences are the same number.
    if spread <= EQUAL:
        return None
    return float(differences.mean()) / spread
