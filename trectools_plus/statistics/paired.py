"""Comparison of systems: mean differences, intervals, effect sizes, wins, tests.

The values of two systems are paired if they are of the same queries; otherwise they are two
independent samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Displayed
from trectools_plus.statistics.arrays import (
    EQUAL,
    FloatArray,
    IntArray,
    IntervalOptions,
    Resampling,
    as_pair,
    as_table,
    check_level,
    none_if_nan,
)
from trectools_plus.statistics.comparison import (
    DEFAULT_CORRECTION,
    DEFAULT_TEST,
    alpha_of,
    check_method,
    fewest_changes,
)
from trectools_plus.statistics.intervals import MIN_VALUES
from trectools_plus.statistics.paired_tests import PAIRED_TESTS
from trectools_plus.statistics.systems import adjust_p_values, holm_levels


@dataclass(frozen=True, slots=True, repr=False)
class PairedComparison(Displayed):
    """A paired difference of two systems, as one of a family of comparisons.

    Attributes:
        n: The number of defined pairs.
        difference: The mean difference; ``None`` without pairs.
        low: Lower end of its t-interval; ``None`` without an interval, see ``reason``.
        high: Upper end.
        level: The confidence level of this interval, between 0 and 1: with ``holm``, 1 minus the
            level at which Holm tests this difference.
        spread: Standard deviation of the differences (ddof = 1); ``None`` for fewer than two pairs.
        effect_size: Cohen's d_z: mean difference over standard deviation of the differences
            (ddof = 1; Cohen 1988, 2.3.5); ``None`` for fewer than two differences, or equal ones.
        wins: Pairs with a difference above 0, to 12 decimals.
        ties: Pairs with a difference of 0.
        losses: Pairs with a difference below 0.
        test: The name of the test.
        statistic: The test's statistic, as in :class:`ColumnTests`; ``None`` if it is infinite or
            there are fewer than two pairs.
        p_value: Two-sided; ``None`` for fewer than two pairs.
        p_adjusted: Adjusted for the family; ``None`` for fewer than two pairs.
        significant: True if ``p_adjusted`` is at most 1 minus the confidence.
        reason: The reason why there is no interval: ``few_queries`` (fewer than two),
            ``few_changed`` (fewer differences other than 0 than a sign test needs), ``equal`` (all
            differences are the same number); else ``None``.
    """

    n: int
    difference: float | None
    low: float | None
    high: float | None
    level: float
    spread: float | None
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    test: str
    statistic: float | None
    p_value: float | None
    p_adjusted: float | None
    significant: bool
    reason: str | None


def paired_difference(
    contrast: npt.ArrayLike,
    baseline: npt.ArrayLike,
    *,
    test: str = DEFAULT_TEST,
    **options: Unpack[IntervalOptions],
) -> PairedComparison:
    """Compare two systems' scores of the same queries.

    Args:
        contrast: Shape (queries,), all defined; larger is better.
        baseline: The same queries in the same order.
        test: A name of ``PAIRED_TESTS``.
        options: As in :func:`compare_columns`.

    Returns:
        The comparison of contrast minus baseline. It does not depend on the order of the queries.

    Raises:
        UsageError: If the shapes differ, a value is NaN or infinite, or an option is unknown.
    """
    first, second = as_pair(contrast, baseline, "paired comparison")
    return compare_columns(first - second, test=test, **options)[0]


def compare_columns(
    differences: npt.ArrayLike,
    *,
    test: str = DEFAULT_TEST,
    correction: str = DEFAULT_CORRECTION,
    **options: Unpack[IntervalOptions],
) -> list[PairedComparison]:
    """Compare many pairs of systems as one family.

    Each difference has the t-interval at the level at which Holm tests it. With the t-test and
    ``holm`` it excludes 0 exactly if the difference is significant. With ``bh`` and ``none`` all
    intervals have the level ``confidence``.

    Differences that are 0 to 12 decimals are 0. With fewer other differences than a sign test needs
    for the level (6 at 0.05), p counts as 1 in the family, and there is no interval. If all
    differences are the same number other than 0, the p-value of the t-test is that of their signs.

    Args:
        differences: Shape (queries, pairs) or (queries,); ``nan`` for an undefined value, which is
            left out of its column. A column with fewer than two values is not in the family.
        test: A name of ``PAIRED_TESTS``.
        correction: ``holm``, ``bh`` or ``none``, as in :func:`adjust_p_values`.
        options: ``confidence`` (0.95); for the tests that resample, ``resamples`` (10,000) and
            ``seed`` (42).

    Returns:
        One comparison per column.

    Raises:
        UsageError: If there is no row, a value is infinite, or an option is unknown.
    """
    check_method(test, correction)
    settings = Resampling(**options)
    check_level(settings.confidence, "paired comparison")
    table = as_table(differences, "paired comparison", undefined=True)
    table = np.where(np.round(table, _DECIMALS) == 0, 0.0, table)
    defined = ~np.isnan(table)
    counts = np.zeros((3, table.shape[1]), dtype=np.int64)
    columns = _Columns(*counts, *np.full((4, table.shape[1]), np.nan))
    for pattern in np.unique(defined, axis=1).T:
        chosen = np.flatnonzero((defined == pattern[:, None]).all(axis=0))
        columns.n[chosen] = pattern.sum()
        if pattern.any():
            columns.fill(chosen, table[np.ix_(pattern, chosen)], test, settings)
    return columns.decide(test, correction, settings.confidence)


_DECIMALS = 12


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """The figures of each column of differences; ``nan`` where undefined."""

    n: IntArray
    wins: IntArray
    losses: IntArray
    mean: FloatArray
    spread: FloatArray
    statistic: FloatArray
    p_value: FloatArray

    def fill(self, chosen: IntArray, table: FloatArray, test: str, settings: Resampling) -> None:
        """Compute the figures of columns with the same defined rows."""
        first = np.round(table[0], _DECIMALS)
        equal = (np.round(table, _DECIMALS) == first).all(axis=0) | (table.std(axis=0) <= EQUAL)
        table = np.sort(np.where(equal, first, table), axis=0)
        self.wins[chosen], self.losses[chosen] = (table > 0).sum(axis=0), (table < 0).sum(axis=0)
        self.mean[chosen] = np.where(equal, table[0], table.mean(axis=0))
        if len(table) < MIN_VALUES:
            return
        self.spread[chosen] = np.where(equal, 0.0, table.std(axis=0, ddof=1))
        result = PAIRED_TESTS[test](table, settings.resamples, settings.seed)
        self.statistic[chosen], self.p_value[chosen] = result.statistic, result.p_value

    def decide(self, test: str, correction: str, confidence: float) -> list[PairedComparison]:
        """Return the comparisons of a family."""
        from scipy.special import stdtrit

        alpha = alpha_of(confidence)
        few = self.wins + self.losses < fewest_changes(alpha)
        counted = np.where(few & ~np.isnan(self.p_value), 1.0, self.p_value)
        adjusted = adjust_p_values(counted, correction)
        levels = holm_levels(counted, alpha) if correction == "holm" else np.full(len(few), alpha)
        with np.errstate(invalid="ignore"):
            half = -stdtrit(self.n - 1.0, levels / 2.0) * self.spread / np.sqrt(self.n)
        statistics = np.where(np.isinf(self.statistic), np.nan, self.statistic)
        comparisons = []
        for column, few_changed in enumerate(few.tolist()):
            mean, spread = none_if_nan(self.mean[column]), none_if_nan(self.spread[column])
            reason = "few_changed" if few_changed else None if spread else "equal"
            reason = "few_queries" if spread is None else reason
            p_adjusted = none_if_nan(adjusted[column])
            interval = mean is not None and reason is None
            n, wins, losses = (int(counts[column]) for counts in (self.n, self.wins, self.losses))
            comparisons.append(
                PairedComparison(
                    n=n,
                    difference=mean,
                    low=float(self.mean[column] - half[column]) if interval else None,
                    high=float(self.mean[column] + half[column]) if interval else None,
                    level=round(1.0 - float(levels[column]), 12) if interval else confidence,
                    spread=spread,
                    effect_size=mean / spread if mean is not None and spread else None,
                    wins=wins,
                    ties=n - wins - losses,
                    losses=losses,
                    test=test,
                    statistic=none_if_nan(statistics[column]),
                    p_value=none_if_nan(self.p_value[column]),
                    p_adjusted=p_adjusted,
                    significant=p_adjusted is not None and p_adjusted <= alpha,
                    reason=reason,
                )
            )
        return comparisons


def standard_deviation(values: FloatArray) -> float | None:
    """Return the standard deviation (ddof = 1); ``None`` for fewer than two values.

    A standard deviation of at most 1e-12 is a rounding error and becomes 0.
    """
    if len(values) < 2:
        return None
    deviation = float(values.std(ddof=1))
    return 0.0 if deviation <= EQUAL else deviation
