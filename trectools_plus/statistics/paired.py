"""Comparison of two systems: mean difference, interval, effect size, wins, tests.

The values of two systems are paired if they are of the same queries; otherwise they are two
independent samples.
"""

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
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    FloatArray,
    IntervalOptions,
    as_pair,
    as_table,
    check_choice,
    check_level,
    check_resamples,
    none_if_nan,
)
from trectools_plus.statistics.comparison import BayesianComparison
from trectools_plus.statistics.intervals import mean_intervals
from trectools_plus.statistics.method import EQUAL
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
    table = np.where(np.abs(table) <= EQUAL, 0.0, table)
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


def probabilities_of(
    found: PairedComparison, rope: float, *, higher_is_better: bool = True
) -> BayesianComparison | None:
    """Return the probabilities of :func:`bayesian_comparison` from a paired comparison.

    Args:
        found: Contrast minus baseline.
        rope: As in :func:`bayesian_comparison`.
        higher_is_better: The direction, which decides between better and worse.

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
        above = float(found.difference > rope + EQUAL)
        below = float(found.difference < -rope - EQUAL)
        equivalent = 1.0 - above - below
    else:
        scale = found.spread / np.sqrt(found.n)
        above, below = (
            float(stdtr(found.n - 1, (difference - rope) / scale))
            for difference in (found.difference, -found.difference)
        )
        equivalent = max(0.0, 1.0 - above - below) if rope else 0.0
    better, worse = (above, below) if higher_is_better else (below, above)
    return BayesianComparison(better=better, equivalent=equivalent, worse=worse, rope=rope)


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
        difference, spread = float(ascending.mean()), standard_deviation(ascending)
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


def standard_deviation(values: FloatArray) -> float | None:
    """Return the standard deviation (ddof = 1); ``None`` for fewer than two values.

    A standard deviation of at most 1e-12 is a rounding error and becomes 0.
    """
    if len(values) < 2:
        return None
    deviation = float(values.std(ddof=1))
    return 0.0 if deviation <= EQUAL else deviation


@dataclass(frozen=True, slots=True, repr=False)
class UnpairedComparison(Displayed):
    """A comparison of the means of two independent samples.

    Attributes:
        first: Mean of the first sample.
        second: Mean of the second.
        difference: ``first`` minus ``second``.
        low: Lower end of Welch's interval of the difference; the difference itself if all values of
            each sample are equal.
        high: Upper end.
        p_permutation: Two-sided p-value of the permutation test.
        p_welch: Two-sided p-value of Welch's t-test; ``nan`` if each sample has only equal values.
        n_first: The number of values in the first sample.
        n_second: The number of values in the second sample.
        level: The interval's confidence level, between 0 and 1.
        resamples: The maximum number of permutations. They are drawn at random if there are more,
            else enumerated.
        seed: The seed of the draws.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_permutation: float
    p_welch: float
    n_first: int
    n_second: int
    level: float
    resamples: int
    seed: int


def unpaired_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    confidence: float = DEFAULT_CONFIDENCE,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> UnpairedComparison:
    """Compare the means of two independent samples.

    The null hypothesis of the permutation test is that the values were assigned to the samples at
    random (``scipy.stats.permutation_test``; p is twice that of the smaller tail). The interval is
    Welch's, for samples of unequal size and variance (Biometrika 34, 1947; the same as
    ``scipy.stats.ttest_ind``, but without a warning for a sample of equal values).

    Args:
        first: At least 2 values, shape (n,), all defined, in any order.
        second: At least 2 values, shape (m,), all defined, in any order.
        confidence: The interval's level, between 0 and 1.
        resamples: The maximum number of permutations, at least 1. They are drawn at random if there
            are more, else enumerated.
        seed: The seed of the permutations.

    Returns:
        Both means, their difference with its interval, and the p-value.

    Raises:
        UsageError: If a sample has fewer than 2 values or one that is NaN or infinite, or an option
            is out of range.
    """
    check_level(confidence, "two-sample test")
    check_resamples(resamples, "two-sample test")
    one, other = (np.sort(_as_sample(values)) for values in (first, second))
    low, high, p_welch = _welch(one, other, confidence)
    return UnpairedComparison(
        first=float(one.mean()),
        second=float(other.mean()),
        difference=float(one.mean() - other.mean()),
        low=low,
        high=high,
        p_permutation=_permute(one, other, resamples, seed),
        p_welch=p_welch,
        n_first=len(one),
        n_second=len(other),
        level=confidence,
        resamples=resamples,
        seed=seed,
    )


def unpaired_t_test(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the p-value of Student's t-test for two independent samples of equal variance.

    The same as ``scipy.stats.ttest_ind`` with its defaults, which ``repro_eval`` uses for
    replications. :func:`unpaired_difference` has Welch's test, which does not assume equal
    variances.

    Args:
        first: At least 2 values, shape (n,), all defined.
        second: At least 2 values, shape (m,), all defined.

    Returns:
        Two-sided p-value; ``nan`` if each sample has only equal values.

    Raises:
        UsageError: As :func:`unpaired_difference`.
    """
    from scipy import stats

    one, other = _as_sample(first), _as_sample(second)
    if max(_range_of(one), _range_of(other)) <= EQUAL:
        return np.nan
    # Not scipy.stats.ttest_ind, which warns of a sample of equal values.
    degrees_of_freedom = len(one) + len(other) - 2
    squares = sum(((each - each.mean()) ** 2).sum() for each in (one, other))
    error = np.sqrt(squares / degrees_of_freedom * (1 / len(one) + 1 / len(other)))
    statistic = abs(one.mean() - other.mean()) / error
    return 2.0 * float(stats.t.sf(statistic, degrees_of_freedom))


def _as_sample(values: npt.ArrayLike) -> FloatArray:
    table = as_table(values, "two-sample test")
    if table.shape[1] != 1 or len(table) < 2:
        raise UsageError(
            f"expected an array of shape (n,), n at least 2, but got shape {np.shape(values)}",
            where="two-sample test",
            remedy="pass the values of at least 2 queries per sample",
        )
    return table[:, 0]


def _permute(one: FloatArray, other: FloatArray, resamples: int, seed: int) -> float:
    from scipy import stats

    if _range_of([*one, *other]) <= EQUAL:
        return 1.0  # every permutation is the same
    result = stats.permutation_test(
        (one, other),
        _difference,
        permutation_type="independent",
        vectorized=True,
        n_resamples=resamples,
        batch=1000,
        random_state=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def _difference(one: FloatArray, other: FloatArray, axis: int) -> FloatArray:
    return np.asarray(one.mean(axis=axis) - other.mean(axis=axis))


def _welch(one: FloatArray, other: FloatArray, confidence: float) -> tuple[float, float, float]:
    """Return the ends of the interval, and the p-value."""
    from scipy import stats

    if max(_range_of(one), _range_of(other)) <= EQUAL:
        difference = float(one.mean() - other.mean())
        return difference, difference, np.nan
    samples = (one, other)
    variances = [values.var(ddof=1) / len(values) for values in samples]
    variance = sum(variances)
    degrees_of_freedom = variance**2 / sum(  # Welch and Satterthwaite's formula
        part**2 / (len(values) - 1) for part, values in zip(variances, samples, strict=True)
    )
    difference, error = float(one.mean() - other.mean()), float(np.sqrt(variance))
    margin = float(stats.t.ppf((1.0 + confidence) / 2.0, degrees_of_freedom)) * error
    p_value = 2.0 * float(stats.t.sf(abs(difference) / error, degrees_of_freedom))
    return difference - margin, difference + margin, p_value


def _range_of(values: npt.ArrayLike) -> float:
    return float(np.ptp(np.asarray(values)))
