"""Bootstrap intervals, percentile and BCa, from one set of resamples shared by all columns.

The percentile method of Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13,
and the bias-corrected and accelerated one of its chapter 14. A resample of n rows is kept as n
counts (how often each row was drawn), so that the means of all columns over many resamples are one
matrix product, and columns are compared on equal draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
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


def bca_points(
    resampled: FloatArray, estimate: FloatArray, left_out: FloatArray, tail: float
) -> FloatArray:
    """The two quantiles of each column, shape (2, columns), between 0 and 1.

    Args:
        resampled: The statistic of each resample, shape (resamples, columns).
        estimate: The statistic of the data, shape (columns,).
        left_out: The statistic without each row, shape (rows, columns).
        tail: The probability outside each end, between 0 and 0.5.

    Returns:
        The quantiles to take. With neither bias nor acceleration they are ``tail`` and
        ``1 - tail``: the percentile interval.
    """
    from scipy.special import ndtr, ndtri

    bias = ndtri(_share_below(resampled, estimate))
    acceleration = _acceleration(left_out)
    shifted = bias + ndtri(np.array([[tail], [1.0 - tail]]))
    shrunk = 1.0 - acceleration * shifted
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = bias + shifted / shrunk
    # Past its pole the formula would swing to the other side: the end lies at the very last value.
    moved = np.where(shrunk > 0, moved, np.copysign(np.inf, shifted))
    return np.asarray(ndtr(moved))


def _share_below(resampled: FloatArray, estimate: FloatArray) -> FloatArray:
    """The share of resamples below the estimate, those equal to it counted by half.

    Kept half a resample away from 0 and 1, where the bias would be infinite.
    """
    below = (resampled < estimate).mean(axis=0)
    up_to = (resampled <= estimate).mean(axis=0)
    margin = 0.5 / len(resampled)
    return np.asarray(np.clip((below + up_to) / 2.0, margin, 1.0 - margin))


def _acceleration(left_out: FloatArray) -> FloatArray:
    """A sixth of the skewness of the jackknife; 0 where leaving out a row changes nothing."""
    deviations = left_out.mean(axis=0) - left_out
    squares = (deviations**2).sum(axis=0)
    cubes = (deviations**3).sum(axis=0)
    flat = squares <= 0
    return np.asarray(np.where(flat, 0.0, cubes / (6.0 * np.where(flat, 1.0, squares) ** 1.5)))


GEOMETRIC_FLOOR = 1e-5
"""Smaller values count as this in a geometric mean: ``MIN_GEO_MEAN`` of trec_eval."""


@dataclass(frozen=True, slots=True)
class Location:
    """One statistic of a column, in the three forms that a bootstrap needs.

    Attributes:
        estimate: From a table (rows, columns) to (columns,).
        resample: From a table, a number of resamples and a seed to (resamples, columns).
        leave_one_out: From a table to (rows, columns): the statistic without each row in turn, in
            any order of rows. Needs two rows.
    """

    estimate: Callable[[FloatArray], FloatArray]
    resample: Callable[[FloatArray, int, int], FloatArray]
    leave_one_out: Callable[[FloatArray], FloatArray]


def _mean(table: FloatArray) -> FloatArray:
    # Measured from the first row, so that the mean of equal values is that value.
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
    """Without one of the lower half, the upper half or the middle: two or three values in all."""
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
            remedy="use the mean or the median for values with a sign",
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
"""By name. The geometric mean floors small values as trec_eval does (Robertson, On GMAP, 2006)."""


METHODS = ("percentile", "bca")
FEWEST = 2
"""Values that an interval needs: every resample of a single value is that value."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """One interval per column.

    Attributes:
        estimate: The columns' means (or medians, …) over their defined values; ``nan`` where none
            is defined.
        low: Lower ends, not above ``high``; ``nan`` for fewer than :data:`FEWEST` values.
        high: Upper ends.
        n: How many defined values each column has.
        level: The confidence level, between 0 and 1.
        resamples: How many resamples were drawn.
        seed: The seed they were drawn with.
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
    confidence: float = 0.95,
) -> Intervals:
    """Intervals of each column's mean, median or geometric mean.

    A column of equal values has an interval of no width: a bootstrap knows no more than the data.
    A single row has no interval.

    Args:
        values: Array of shape (rows, columns) or (rows,), all defined.
        statistic: ``mean``, ``median`` or ``geometric_mean`` (values of at least 0; those under
            0.00001 count as that, as in trec_eval's ``gm_map``).
        method: ``percentile``, or ``bca``: bias-corrected and accelerated.
        resamples: How many resamples to draw, at least 1.
        seed: Equal seeds and numbers of rows give equal resamples, whatever the columns.
        confidence: The level of the intervals, between 0 and 1.

    Returns:
        One interval per column. The percentile one need not hold the estimate of a geometric mean
        or median of few values; no end lies outside the data.

    Raises:
        UsageError: If a value is NaN or infinite, there is no row, or an option is out of range.
    """
    table = as_table(values, "bootstrap")
    check_choice(statistic, LOCATIONS, "statistic")
    check_choice(method, METHODS, "interval method")
    _check(resamples, confidence)
    location = LOCATIONS[statistic]
    estimate = location.estimate(table)
    rows, columns = table.shape
    n = np.full(columns, rows)
    low, high = estimate.copy(), estimate.copy()
    moving = np.flatnonzero((table != table[0]).any(axis=0))
    if len(moving):
        chosen = table[:, moving]
        drawn = location.resample(chosen, resamples, seed)
        tail = (1.0 - confidence) / 2.0
        points = np.tile([[tail], [1.0 - tail]], len(moving))
        if method == "bca":
            points = bca_points(drawn, estimate[moving], location.leave_one_out(chosen), tail)
        for column, where in enumerate(moving):
            ends = np.quantile(drawn[:, column], points[:, column])
            low[where], high[where] = ends
    # No mean of values lies outside them; its rounding error may.
    bounds = [location.estimate(end[None]) for end in (table.min(axis=0), table.max(axis=0))]
    low, high = (np.clip(ends, *bounds) for ends in (low, high))
    if rows < FEWEST:
        low, high = np.full(columns, np.nan), np.full(columns, np.nan)
    return Intervals(estimate, low, high, n, confidence, resamples, seed, method, statistic)


def bootstrap_means(
    values: npt.ArrayLike, *, resamples: int = 10_000, seed: int, confidence: float = 0.95
) -> Intervals:
    """Percentile intervals of each column's mean, with undefined values left out.

    Args:
        values: Array of shape (rows, columns) or (rows,); ``nan`` is undefined and left out of the
            means of its column, in the data and in every resample.
        resamples: How many resamples to draw, at least 1.
        seed: Equal seeds and numbers of rows give equal resamples, whatever the columns.
        confidence: The level of the intervals, between 0 and 1.

    Returns:
        One interval per column, none for a single defined value. A resample that drew no defined
        value of a column is left out.

    Raises:
        UsageError: If there is no row, a value is infinite, or an option is out of range.
    """
    table = as_table(values, "bootstrap", undefined=True)
    _check(resamples, confidence)
    defined = ~np.isnan(table)
    n = defined.sum(axis=0)
    if not table.shape[1]:
        empty = np.empty(0)
        return Intervals(empty, empty, empty, n, confidence, resamples, seed)
    # Measured from each column's first defined value, so that a constant column is exact.
    first = table[defined.argmax(axis=0), np.arange(table.shape[1])]
    offsets = np.where(defined, table - first, 0.0)
    means = _resampled_means(offsets, defined, resamples, seed)
    tail = (1.0 - confidence) / 2.0
    low, high = _quantiles(means, [tail, 1.0 - tail])
    with np.errstate(invalid="ignore"):
        mean = offsets.sum(axis=0) / n
    # No mean, of the data or of a resample, lies outside the data; its rounding error may.
    lowest = np.where(defined, table, np.inf).min(axis=0)
    highest = np.where(defined, table, -np.inf).max(axis=0)
    mean, low, high = (np.clip(first + ends, lowest, highest) for ends in (mean, low, high))
    low, high = (np.where(n < FEWEST, np.nan, ends) for ends in (low, high))
    return Intervals(mean, low, high, n, confidence, resamples, seed)


def bootstrap_differences(
    values: npt.ArrayLike,
    pairs: Sequence[tuple[int, int]],
    *,
    resamples: int = 10_000,
    seed: int,
    confidence: float = 0.95,
) -> Intervals:
    """Percentile intervals of mean paired differences, on the resamples of :func:`bootstrap_means`.

    Args:
        values: Array of shape (rows, columns).
        pairs: Column numbers ``(a, b)``; the difference is a minus b, over rows where both are
            defined.
        resamples: As there.
        seed: As there; the same seed draws the same rows.
        confidence: As there.

    Returns:
        One interval per pair.

    Raises:
        UsageError: As there.
    """
    table = as_table(values, "bootstrap", undefined=True)
    chosen = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    differences = table[:, chosen[:, 0]] - table[:, chosen[:, 1]]
    return bootstrap_means(differences, resamples=resamples, seed=seed, confidence=confidence)


def _check(resamples: int, confidence: float) -> None:
    check_resamples(resamples, "bootstrap")
    check_level(confidence, "bootstrap")


def _resampled_means(
    offsets: FloatArray, defined: BoolArray, resamples: int, seed: int
) -> FloatArray:
    """Means of shape (resamples, columns); ``nan`` where a resample drew nothing defined."""
    rows = offsets.shape[0]
    whole = bool(defined.all())
    mask = defined.astype(np.float64)

    def means_of(size: int, generator: np.random.Generator) -> FloatArray:
        counts = draw_counts(rows, size, generator)
        drawn = float(rows) if whole else counts @ mask
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(counts @ offsets / drawn)

    return np.concatenate(map_chunks(means_of, rows, resamples, seed))


def _quantiles(means: FloatArray, points: list[float]) -> FloatArray:
    """Linear quantiles per column over its defined means; ``nan`` for a column without any."""
    undefined = np.isnan(means)
    if not undefined.any():
        return np.asarray(np.quantile(means, points, axis=0))
    result = np.full((len(points), means.shape[1]), np.nan)
    for column in np.flatnonzero(~undefined.all(axis=0)):
        result[:, column] = np.quantile(means[~undefined[:, column], column], points)
    return result
