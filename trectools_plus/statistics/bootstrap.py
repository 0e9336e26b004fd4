"""Percentile and BCa bootstrap intervals, with the same resamples for all columns.

Sources: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13 (percentile
method) and chapter 14 (bias-corrected and accelerated method, BCa). A resample of n rows is stored
as n counts (how often each row was drawn). The means of all columns over many resamples are then
one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    BoolArray,
    FloatArray,
    IntArray,
    as_table,
    check_choice,
    check_level,
    check_resamples,
)
from trectools_plus.statistics.resamples import draw_counts, draw_rows, map_chunks

METHODS = ("percentile", "bca")
MIN_VALUES = 2
"""The minimum number of values for an interval: all resamples of a single value are the same."""
GEOMETRIC_FLOOR = 1e-5
"""The lower bound of values in a geometric mean, as ``MIN_GEO_MEAN`` in ``trec_eval.h``."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Intervals(Displayed):
    """One interval per column.

    Attributes:
        estimate: The statistic of each column's defined values; ``nan`` where none is defined.
        low: Lower ends, not above ``high``; ``nan`` for fewer than :data:`MIN_VALUES` values.
        high: Upper ends.
        n: The number of defined values in each column.
        level: The confidence level, between 0 and 1.
        resamples: The number of resamples drawn.
        seed: The seed of the draws.
        method: ``percentile`` or ``bca``.
        statistic: ``mean``, ``median`` or ``geometric_mean``.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    n: IntArray
    level: float
    resamples: int
    seed: int
    method: str = "percentile"
    statistic: str = "mean"


def bootstrap_intervals(
    values: npt.ArrayLike,
    *,
    statistic: str = "mean",
    method: str = "percentile",
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Intervals:
    """Return intervals of each column's mean, median or geometric mean.

    A column of equal values has an interval of width 0, because all its resamples are the same. A
    single row has no interval.

    Args:
        values: Shape (rows, columns) or (rows,), all defined.
        statistic: ``mean``, ``median`` or ``geometric_mean``. A geometric mean takes values of at
            least 0 and counts those below 0.00001 as 0.00001, as trec_eval's ``gm_map`` does.
        method: ``percentile``, or ``bca`` (bias-corrected and accelerated).
        resamples: The number of resamples, at least 1.
        seed: The same seed and number of rows give the same resamples, for any columns.
        confidence: The level of the intervals, between 0 and 1.

    Returns:
        One interval per column. A percentile interval of few values need not contain their median
        or geometric mean. The ends are not outside the range of the data.

    Raises:
        UsageError: If a value is NaN or infinite, there is no row, or an option is out of range.
    """
    table = as_table(values, "bootstrap")
    check_choice(statistic, LOCATIONS, "statistic")
    check_choice(method, METHODS, "interval method")
    check_resamples(resamples, "bootstrap")
    check_level(confidence, "bootstrap")
    location = LOCATIONS[statistic]
    estimate = location.estimate(table)
    rows, columns = table.shape
    low, high = estimate.copy(), estimate.copy()
    varying = np.flatnonzero((table != table[0]).any(axis=0))
    if len(varying):
        chosen = table[:, varying]
        drawn = location.resample(chosen, resamples, seed)
        tail = (1.0 - confidence) / 2.0
        probabilities = np.tile([[tail], [1.0 - tail]], len(varying))
        if method == "bca":
            probabilities = _bca_probabilities(
                drawn, estimate[varying], location.leave_one_out(chosen), tail
            )
        for position, column in enumerate(varying):
            low[column], high[column] = np.quantile(drawn[:, position], probabilities[:, position])
    # A mean is never outside the values, but its rounding error may be.
    bounds = [location.estimate(end[None]) for end in (table.min(axis=0), table.max(axis=0))]
    low, high = (np.clip(ends, *bounds) for ends in (low, high))
    if rows < MIN_VALUES:
        low, high = np.full(columns, np.nan), np.full(columns, np.nan)
    n = np.full(columns, rows)
    return Intervals(estimate, low, high, n, confidence, resamples, seed, method, statistic)


def bootstrap_means(
    values: npt.ArrayLike,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Intervals:
    """Return percentile intervals of each column's mean, leaving out undefined values.

    Args:
        values: Shape (rows, columns) or (rows,); ``nan`` is undefined, and left out of the means of
            its column in the data and in every resample.
        resamples: The number of resamples, at least 1.
        seed: The same seed and number of rows give the same resamples, for any columns.
        confidence: The level of the intervals, between 0 and 1.

    Returns:
        One interval per column; ``nan`` for a column with a single defined value. A resample
        without a defined value of a column is left out for that column.

    Raises:
        UsageError: If there is no row, a value is infinite, or an option is out of range.
    """
    table = as_table(values, "bootstrap", undefined=True)
    check_resamples(resamples, "bootstrap")
    check_level(confidence, "bootstrap")
    defined = ~np.isnan(table)
    n = defined.sum(axis=0)
    if not table.shape[1]:
        empty = np.empty(0)
        return Intervals(empty, empty, empty, n, confidence, resamples, seed)
    # With distances from the first defined value, the means of a constant column are exact.
    first = table[defined.argmax(axis=0), np.arange(table.shape[1])]
    offsets = np.where(defined, table - first, 0.0)
    means = _resampled_means(offsets, defined, resamples, seed)
    tail = (1.0 - confidence) / 2.0
    low, high = _quantiles(means, [tail, 1.0 - tail])
    with np.errstate(invalid="ignore"):
        mean = offsets.sum(axis=0) / n
    # A mean is never outside the values, but its rounding error may be.
    lowest = np.where(defined, table, np.inf).min(axis=0)
    highest = np.where(defined, table, -np.inf).max(axis=0)
    mean, low, high = (np.clip(first + ends, lowest, highest) for ends in (mean, low, high))
    low, high = (np.where(n < MIN_VALUES, np.nan, ends) for ends in (low, high))
    return Intervals(mean, low, high, n, confidence, resamples, seed)


def _resampled_means(
    offsets: FloatArray, defined: BoolArray, resamples: int, seed: int
) -> FloatArray:
    """Return means of shape (resamples, columns); ``nan`` for a resample without defined values."""
    rows = offsets.shape[0]
    all_defined = bool(defined.all())
    mask = defined.astype(np.float64)

    def means_of(size: int, generator: np.random.Generator) -> FloatArray:
        counts = draw_counts(rows, size, generator)
        n_drawn = float(rows) if all_defined else counts @ mask
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(counts @ offsets / n_drawn)

    return np.concatenate(map_chunks(means_of, rows, resamples, seed))


def _quantiles(means: FloatArray, probabilities: list[float]) -> FloatArray:
    """Return each column's quantiles over its defined means; ``nan`` for a column without any."""
    undefined = np.isnan(means)
    if not undefined.any():
        return np.asarray(np.quantile(means, probabilities, axis=0))
    result = np.full((len(probabilities), means.shape[1]), np.nan)
    for column in np.flatnonzero(~undefined.all(axis=0)):
        result[:, column] = np.quantile(means[~undefined[:, column], column], probabilities)
    return result


def _bca_probabilities(
    resampled: FloatArray, estimate: FloatArray, leave_one_out: FloatArray, tail: float
) -> FloatArray:
    """Return the probabilities of the two quantiles that are the ends of each BCa interval.

    Without bias and acceleration they are ``tail`` and ``1 - tail``, as in a percentile interval.
    Efron, Better Bootstrap Confidence Intervals, JASA 82 (1987); Efron and Tibshirani (1993), 14.3.

    The shape is (2, columns).

    Args:
        resampled: The statistic of each resample, shape (resamples, columns).
        estimate: The statistic of the data, shape (columns,).
        leave_one_out: The statistic without each row, shape (rows, columns).
        tail: The probability below the lower and above the upper end, between 0 and 0.5.
    """
    from scipy.special import ndtr, ndtri

    bias = ndtri(_share_below(resampled, estimate))
    shifted = bias + ndtri(np.array([[tail], [1.0 - tail]]))
    denominator = 1.0 - _acceleration(leave_one_out) * shifted
    with np.errstate(divide="ignore", invalid="ignore"):
        adjusted = bias + shifted / denominator
    # Where the denominator is not positive, the interval ends at the outermost resample.
    adjusted = np.where(denominator > 0, adjusted, np.copysign(np.inf, shifted))
    return np.asarray(ndtr(adjusted))


def _share_below(resampled: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return the share of resamples below the estimate; those equal to it count half.

    The share is limited to half a resample above 0 and below 1, where the bias would be infinite.
    """
    below = (resampled < estimate).mean(axis=0)
    up_to = (resampled <= estimate).mean(axis=0)
    margin = 0.5 / len(resampled)
    return np.asarray(np.clip((below + up_to) / 2.0, margin, 1.0 - margin))


def _acceleration(leave_one_out: FloatArray) -> FloatArray:
    """Return the BCa acceleration: a sixth of the jackknife skewness; 0 if no row has an effect."""
    deviations = leave_one_out.mean(axis=0) - leave_one_out
    squares = (deviations**2).sum(axis=0)
    cubes = (deviations**3).sum(axis=0)
    constant = squares <= 0
    return np.asarray(
        np.where(constant, 0.0, cubes / (6.0 * np.where(constant, 1.0, squares) ** 1.5))
    )


@dataclass(frozen=True, slots=True)
class Location:
    """The functions of a statistic (mean, median or geometric mean) that a bootstrap needs.

    Attributes:
        estimate: Takes a table of shape (rows, columns); returns shape (columns,).
        resample: Takes a table, a number of resamples and a seed; returns shape (resamples,
            columns).
        leave_one_out: Takes a table of at least two rows; returns the statistic without each row,
            shape (rows, columns), in any order of rows.
    """

    estimate: Callable[[FloatArray], FloatArray]
    resample: Callable[[FloatArray, int, int], FloatArray]
    leave_one_out: Callable[[FloatArray], FloatArray]


def _mean(table: FloatArray) -> FloatArray:
    # With distances from the first row, the mean of equal values is exact.
    return np.asarray(table[0] + (table - table[0]).mean(axis=0))


def _resample_mean(table: FloatArray, resamples: int, seed: int) -> FloatArray:
    rows = len(table)
    offsets = table - table[0]

    def means(size: int, generator: np.random.Generator) -> FloatArray:
        return np.asarray(draw_counts(rows, size, generator) @ offsets / rows)

    return np.asarray(table[0] + np.concatenate(map_chunks(means, rows, resamples, seed)))


def _leave_one_out_mean(table: FloatArray) -> FloatArray:
    mean = _mean(table)
    return np.asarray(mean + (mean - table) / (len(table) - 1))


def _median(table: FloatArray) -> FloatArray:
    return np.asarray(np.median(table, axis=0))


def _resample_median(table: FloatArray, resamples: int, seed: int) -> FloatArray:
    columns = np.ascontiguousarray(table.T)
    rows = len(table)

    def medians(size: int, generator: np.random.Generator) -> FloatArray:
        drawn = draw_rows(rows, size, generator)
        found = np.empty((size, len(columns)))
        for index, column in enumerate(columns):
            found[:, index] = np.median(column[drawn], axis=1, overwrite_input=True)
        return found

    return np.concatenate(map_chunks(medians, rows, resamples, seed))


def _leave_one_out_median(table: FloatArray) -> FloatArray:
    """Return the median without each row, for rows in ascending order.

    It depends only on whether the row is in the lower half, the middle or the upper half.
    """
    ordered = np.sort(table, axis=0)
    rows = len(table)
    middle = rows // 2
    result = np.empty_like(ordered)
    if rows % 2 == 0:
        result[:middle] = ordered[middle]
        result[middle:] = ordered[middle - 1]
        return result
    result[:middle] = (ordered[middle] + ordered[middle + 1]) / 2
    result[middle] = (ordered[middle - 1] + ordered[middle + 1]) / 2
    result[middle + 1 :] = (ordered[middle - 1] + ordered[middle]) / 2
    return result


def _logarithms(table: FloatArray) -> FloatArray:
    if (table < 0).any():
        raise UsageError(
            f"expected values of at least 0 but got {table.min():g}",
            where="geometric mean",
            remedy="use the mean or the median for values that may be negative",
        )
    return np.asarray(np.log(np.maximum(table, GEOMETRIC_FLOOR)))


LOCATIONS = {
    "mean": Location(_mean, _resample_mean, _leave_one_out_mean),
    "median": Location(_median, _resample_median, _leave_one_out_median),
    "geometric_mean": Location(
        lambda table: np.exp(_mean(_logarithms(table))),
        lambda table, resamples, seed: np.exp(_resample_mean(_logarithms(table), resamples, seed)),
        lambda table: np.exp(_leave_one_out_mean(_logarithms(table))),
    ),
}
"""The statistics by name. The geometric mean raises small values as trec_eval does (Robertson, On
GMAP, 2006)."""
