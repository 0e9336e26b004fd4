"""Comparison of two systems over queries: mean difference, interval, effect size, wins, tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    DEFAULT_CONFIDENCE,
    ROUNDING,
    FloatArray,
    IntervalOptions,
    as_pair,
    as_table,
    check_choice,
)
from trectools_plus.statistics.intervals import mean_intervals
from trectools_plus.statistics.paired_tests import PAIRED_TESTS, PairedTest


@dataclass(frozen=True, slots=True, repr=False)
class PairedComparison(Displayed):
    """A summary of paired differences.

    Attributes:
        n: The number of defined pairs.
        difference: The mean difference; ``None`` without pairs.
        low: Lower end of its interval; ``None`` for fewer than two pairs, or equal differences.
        high: Upper end.
        level: The interval's confidence level, between 0 and 1.
        method: The interval's method, a key of ``METHOD_NAMES``; empty without an interval.
        spread: Standard deviation of the differences (ddof = 1); ``None`` for fewer than two pairs.
        effect_size: Cohen's d_z: mean difference over standard deviation of the differences
            (ddof = 1; Cohen 1988, 2.3.5); ``None`` for fewer than two differences, or equal ones.
        wins: Pairs with a difference above 1e-12 (smaller differences are rounding errors).
        ties: Pairs with a difference of 0, or within rounding.
        losses: Pairs with a difference below -1e-12.
        tests: The tests by name, in the order requested; empty without pairs.
        note: A note if the interval is less reliable than its level.
        borderline: True if a family was compared, and even with the greatest number of resamples
            the 99% Monte Carlo interval of the adjusted p-value contains the level. The difference
            then counts as not significant.
        resamples: The number of resamples behind a simultaneous interval; 0 for other intervals.
    """

    n: int
    difference: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    spread: float | None
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    tests: Mapping[str, PairedTest]
    note: str | None = None
    borderline: bool = False
    resamples: int = 0


def paired_difference(
    contrast: npt.ArrayLike,
    baseline: npt.ArrayLike,
    *,
    tests: Sequence[str] = tuple(PAIRED_TESTS),
    **options: Unpack[IntervalOptions],
) -> PairedComparison:
    """Compare two systems' scores of the same queries.

    Args:
        contrast: Shape (queries,), all defined; larger is better.
        baseline: The same queries in the same order.
        tests: Names of ``PAIRED_TESTS``; all five by default.
        options: ``interval``, the method of the mean difference's interval: ``percentile``,
            ``bca`` or ``t``. The default, ``auto``, is ``bca``, and so is ``wilson``, because a
            difference is not a share. Also ``confidence`` (0.95), ``resamples`` (10,000) and
            ``seed`` (42).

    Returns:
        The comparison of contrast minus baseline. Its p-values do not depend on the order of
            the queries.

    Raises:
        UsageError: If the shapes differ, a value is NaN or infinite, or an option is unknown.
    """
    first, second = as_pair(contrast, baseline, "paired comparison")
    return compare_columns(first - second, tests=tests, **options)[0]


def compare_columns(
    differences: npt.ArrayLike,
    *,
    tests: Sequence[str] = tuple(PAIRED_TESTS),
    **options: Unpack[IntervalOptions],
) -> list[PairedComparison]:
    """Compare many pairs of systems, or measures, with the same resamples.

    Args:
        differences: Shape (rows, columns) or (rows,); ``nan`` for an undefined pair, which is
            ignored in its column and not counted in ``n``.
        tests: Names of ``PAIRED_TESTS``; all five by default.
        options: As in :func:`paired_difference`; columns with the same number of defined rows get
            the same draws.

    Returns:
        One comparison per column.

    Raises:
        UsageError: If there is no row, a value is infinite, or an option is unknown.
    """
    table = as_table(differences, "paired comparison", undefined=True)
    for name in tests:
        check_choice(name, PAIRED_TESTS, "paired test")
    # A difference within rounding would otherwise count as a win and get a rank.
    table = np.where(np.abs(table) <= ROUNDING, 0.0, table)
    defined = ~np.isnan(table)
    results: dict[int, PairedComparison] = {}
    for pattern in np.unique(defined, axis=1).T:
        columns = np.flatnonzero((defined == pattern[:, None]).all(axis=0))
        block = table[np.ix_(pattern, columns)]
        if len(block):
            found = _compare(block, tests, options)
        else:
            level = options.get("confidence", DEFAULT_CONFIDENCE)
            empty = PairedComparison(0, None, None, None, level, "", None, None, 0, 0, 0, {})
            found = [empty] * len(columns)
        results |= zip(columns.tolist(), found, strict=True)
    return [results[column] for column in range(table.shape[1])]


@dataclass(frozen=True, slots=True, repr=False)
class BayesianComparison(Displayed):
    """Probabilities about the true mean difference of two systems; their sum is 1.

    Attributes:
        better: The difference is above ``rope``.
        equivalent: The difference is between ``-rope`` and ``rope``: practically equivalent.
        worse: The difference is below ``-rope``.
        rope: Half the width of the region of practical equivalence, at least 0.
    """

    better: float
    equivalent: float
    worse: float
    rope: float


def bayesian_comparison(
    contrast: npt.ArrayLike, baseline: npt.ArrayLike, *, rope: float = 0.0
) -> BayesianComparison | None:
    """Return the probability that one system is better than another by more than ``rope``.

    The posterior of the mean difference, with the uninformative prior p(μ, σ) ∝ 1/σ, is Student's t
    with n − 1 degrees of freedom, centred at the observed mean with the scale s / √n (Box and Tiao,
    Bayesian Inference in Statistical Analysis, 1973): the Bayesian t-test with a region of
    practical equivalence (ROPE) of Benavoli, Corani, Demšar and Zaffalon, JMLR 18 (2017), for
    uncorrelated differences. If all differences are equal, the true difference is that number.

    Args:
        contrast: Shape (queries,), all defined; larger is better.
        baseline: The same queries in the same order.
        rope: Differences of at most this size are practically equivalent, in the unit of the
            scores. With 0, ``equivalent`` is 0 unless all differences are 0.

    Returns:
        The probabilities for contrast minus baseline; ``None`` for fewer than two queries.

    Raises:
        UsageError: If the shapes differ, a value is NaN or infinite, or ``rope`` is out of range.
    """
    first, second = as_pair(contrast, baseline, "Bayesian comparison")
    return probabilities_of(compare_columns(first - second, tests=(), interval="t")[0], rope)


def probabilities_of(found: PairedComparison, rope: float) -> BayesianComparison | None:
    """Return the probabilities of :func:`bayesian_comparison` from a paired comparison.

    Args:
        found: Contrast minus baseline.
        rope: As in :func:`bayesian_comparison`.

    Returns:
        ``None`` for fewer than two pairs.

    Raises:
        UsageError: If ``rope`` is negative, infinite or NaN.
    """
    from scipy.special import stdtr

    check_rope(rope)
    if found.difference is None or found.spread is None:
        return None
    if found.spread == 0:
        above, below = found.difference > rope + ROUNDING, found.difference < -rope - ROUNDING
        return BayesianComparison(float(above), float(not (above or below)), float(below), rope)
    scale = found.spread / np.sqrt(found.n)
    better, worse = (
        float(stdtr(found.n - 1, (difference - rope) / scale))
        for difference in (found.difference, -found.difference)
    )
    return BayesianComparison(better, max(0.0, 1.0 - better - worse) if rope else 0.0, worse, rope)


def check_rope(rope: float) -> None:
    """Check the half-width of a region of practical equivalence.

    Raises:
        UsageError: If it is negative, infinite or NaN.
    """
    if not 0 <= rope < np.inf:
        raise UsageError(
            f"expected a region of practical equivalence of at least 0 but got {rope:g}",
            where="Bayesian comparison",
            remedy="pass the largest difference that does not matter in practice, for example 0.01",
        )


def _compare(
    table: FloatArray, tests: Sequence[str], options: IntervalOptions
) -> list[PairedComparison]:
    """Compare the columns of a table of defined differences."""
    intervals = mean_intervals(table, proportions=False, **options)
    tested = {
        name: PAIRED_TESTS[name](table, intervals.resamples, intervals.seed) for name in tests
    }
    wins, losses = (table > 0).sum(axis=0).tolist(), (table < 0).sum(axis=0).tolist()
    comparisons = []
    for column in range(table.shape[1]):
        ascending = np.sort(table[:, column])
        difference, spread = float(ascending.mean()), _standard_deviation(ascending)
        comparisons.append(
            PairedComparison(
                n=len(table),
                difference=difference,
                low=none_if_nan(intervals.low[column]),
                high=none_if_nan(intervals.high[column]),
                level=intervals.level,
                method=intervals.methods[column],
                spread=spread,
                effect_size=difference / spread if spread else None,
                wins=wins[column],
                ties=len(table) - wins[column] - losses[column],
                losses=losses[column],
                tests={
                    name: PairedTest(
                        name, float(result.statistic[column]), float(result.p_value[column])
                    )
                    for name, result in tested.items()
                },
                note=intervals.notes[column],
            )
        )
    return comparisons


def none_if_nan(value: float) -> float | None:
    """Return a plain float, or ``None`` for NaN."""
    return None if np.isnan(value) else float(value)


def _standard_deviation(values: FloatArray) -> float | None:
    """Return the standard deviation (ddof = 1); ``None`` for fewer than two values.

    A standard deviation of at most 1e-12 is a rounding error and becomes 0.
    """
    if len(values) < 2:
        return None
    deviation = float(values.std(ddof=1))
    return 0.0 if deviation <= ROUNDING else deviation
