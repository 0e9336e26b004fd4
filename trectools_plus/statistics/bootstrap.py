"""Bootstrap intervals of means, medians and geometric means, and the BCa method.

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
    FloatArray,
    IntArray,
    as_table,
    check_choice,
    check_level,
    check_resamples,
)
from trectools_plus.statistics.resamples import draw_counts, draw_rows, map_chunks

METHODS = ("percentile", "bca")
GEOMETRIC_FLOOR = 1e-5
"""The lower bound of values in a geometric mean, as ``MIN_GEO_MEAN`` in ``trec_eval.h``."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Intervals(Displayed):
    """One interval per column.

    Attributes:
        estimate: The statistic of each column's defined values; ``nan`` where none is defined.
        low: Lower ends, not above ``high``; ``nan`` without an interval.
        high: Upper ends.
        n: The number of defined values in each column.
        level: The confidence level, between 0 and 1.
        resamples: The number of resamples drawn.
        seed: The seed of the draws.
        method: The requested method.
        statistic: ``mean``, ``median``, ``geometric_mean`` or ``variance_of_means``.
        methods: The method of each column, a key of ``METHOD_NAMES``.
        notes: A note for each column where the interval is less reliable than its level; else
            ``None``.
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
    methods: tuple[str, ...] = ()
    notes: tuple[str | None, ...] = ()


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

    A single row and a column of equal values have no interval (``nan``), because all resamples are
    the same.

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
    low, high = np.full(columns, np.nan), np.full(columns, np.nan)
    varying = np.flatnonzero((table != table[0]).any(axis=0))
    if len(varying):
        chosen = table[:, varying]
        drawn = location.resample(chosen, resamples, seed)
        tail = (1.0 - confidence) / 2.0
        probabilities = np.tile([[tail], [1.0 - tail]], len(varying))
        if method == "bca":
            leave_one_out = location.leave_one_out(chosen)
            probabilities = bca_probabilities(
                _share_below(drawn, estimate[varying]),
                acceleration_of(leave_one_out.mean(axis=0) - leave_one_out),
                tail,
            )
        for position, column in enumerate(varying):
            low[column], high[column] = np.quantile(drawn[:, position], probabilities[:, position])
    # A mean is never outside the values, but its rounding error may be.
    bounds = [location.estimate(end[None]) for end in (table.min(axis=0), table.max(axis=0))]
    low, high = (np.clip(ends, *bounds) for ends in (low, high))
    n = np.full(columns, rows)
    return Intervals(
        estimate, low, high, n, confidence, resamples, seed, method, statistic, (method,) * columns
    )


def bca_probabilities(share_below: FloatArray, acceleration: FloatArray, tail: float) -> FloatArray:
    """Return the probabilities of the two quantiles that are the ends of each BCa interval.

    Without bias and acceleration they are ``tail`` and ``1 - tail``, as in a percentile interval.
    Efron, Better Bootstrap Confidence Intervals, JASA 82 (1987); Efron and Tibshirani (1993), 14.3.

    The shape is (2, columns).

    Args:
        share_below: The share of resamples below the estimate, shape (columns,), from 0 to 1.
        acceleration: From :func:`acceleration_of`, shape (columns,).
        tail: The probability below the lower and above the upper end, between 0 and 0.5.
    """
    from scipy.special import ndtr, ndtri

    bias = ndtri(share_below)
    shifted = bias + ndtri(np.array([[tail], [1.0 - tail]]))
    denominator = 1.0 - acceleration * shifted
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


def acceleration_of(deviations: FloatArray) -> FloatArray:
    """Return the BCa acceleration: a sixth of the jackknife skewness; 0 if no row has an effect.

    Args:
        deviations: The mean of the leave-one-out statistics minus each of them, or numbers in
            proportion to that, shape (rows, columns).
    """
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
