"""Comparison of the means of two independent samples, for example of different queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    ROUNDING,
    FloatArray,
    as_table,
    check_level,
    check_resamples,
)


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
    if max(_range_of(one), _range_of(other)) <= ROUNDING:
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

    if _range_of([*one, *other]) <= ROUNDING:
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

    if max(_range_of(one), _range_of(other)) <= ROUNDING:
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
