"""Intervals of means, medians and geometric means: bootstrap, Student's t, and Wilson's for shares.

Sources: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13 (percentile
method) and chapter 14 (bias-corrected and accelerated method, BCa). All columns have the same
resamples. A resample of n rows is stored as n counts (how often each row was drawn). The means of
all columns over many resamples are then one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
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
    EQUAL,
    BoolArray,
    FloatArray,
    IntArray,
    IntervalOptions,
    Resampling,
    as_table,
    check_choice,
    check_level,
    check_resamples,
    draw_counts,
    draw_rows,
    map_chunks,
)
from trectools_plus.statistics.comparison import FEW

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
        statistic: ``mean``, ``median`` or ``geometric_mean``.
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
        leave_one_out = location.leave_one_out(chosen)
        deviations = leave_one_out.mean(axis=0) - leave_one_out
        low[varying], high[varying] = resampled_ends(
            drawn, estimate[varying], deviations, method, confidence
        )
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
        result = np.empty((size, len(columns)))
        for index, column in enumerate(columns):
            result[:, index] = np.median(column[drawn], axis=1, overwrite_input=True)
        return result

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


INTERVALS = ("auto", "percentile", "bca", "t", "wilson")
"""The values of the option ``interval``."""
BEST_BOOTSTRAP = "bca"
"""The bootstrap method with the best coverage in ``scripts/simulate``."""
METHOD_NAMES = {
    "percentile": "percentile bootstrap",
    "bca": "BCa bootstrap",
    "t": "Student t",
    "wilson": "Wilson",
    "tango": "Tango score",
    "t_extra_losses": "Student t with two more losses at the worse end",
}
RESAMPLED = METHODS
"""The methods that draw resamples."""
MIN_VALUES = 2
"""The minimum number of values for an interval: a single value does not show how values vary."""
FEW_NOTE = (
    f"fewer than {FEW} values differ from the most common one: the interval may be too narrow"
)
SMALL = 20
"""With fewer values, a bootstrap or t interval gets a note: with skewed values, 95% intervals of
the mean contain the true one in less than 93% of simulated sets (``scripts/simulate``)."""
SMALL_NOTE = f"fewer than {SMALL} values: the interval may be too narrow"


def mean_intervals(
    values: npt.ArrayLike,
    *,
    proportions: bool | BoolArray = True,
    **options: Unpack[IntervalOptions],
) -> Intervals:
    """Return an interval of each column's mean, leaving out undefined values.

    ``percentile`` and ``bca`` are bootstrap methods (Efron and Tibshirani 1993, 13 and 14), ``t``
    is Student's interval, and ``wilson`` the score interval of a share (Wilson 1927), for columns
    in which every value is 0 or 1. ``auto``, the default, is ``wilson`` for such columns if fewer
    than ten values are 1, or fewer than ten are 0, and otherwise :data:`BEST_BOOTSTRAP`. ``wilson``
    for other columns is the same as ``auto``.

    Args:
        values: Shape (rows, columns) or (rows,); ``nan`` is undefined, and left out of the means of
            its column in the data and in every resample.
        proportions: True for columns that may get Wilson's interval: values of a measure in [0, 1],
            not differences. Shape (columns,), or one for all.
        options: ``interval`` (``auto``), ``confidence`` (0.95), ``resamples`` (10,000) and ``seed``
            (42). The same seed and number of rows give the same resamples, for any columns.

    Returns:
        One interval per column; ``nan`` without a valid one: for a single value, and for equal
        values, unless Wilson's method applies. A resample without a defined value of a column is
        left out for that column. ``notes`` has :data:`FEW_NOTE` or :data:`SMALL_NOTE` where it
        applies.

    Raises:
        UsageError: If there is no row, a value is infinite, or an option is out of range.
    """
    settings = Resampling(**options)
    interval = settings.interval
    check_choice(interval, INTERVALS, "interval method")
    check_resamples(settings.resamples, "interval")
    check_level(settings.confidence, "interval")
    table = as_table(values, "interval", undefined=True)
    columns = table.shape[1]
    defined = ~np.isnan(table)
    n = defined.sum(axis=0)
    # With distances from the first defined value, the means of a constant column are exact.
    first = table[defined.argmax(axis=0), np.arange(columns)] if columns else np.empty(0)
    offsets = np.where(defined, table - first, 0.0)
    with np.errstate(invalid="ignore"):
        shift = offsets.sum(axis=0) / n
    lowest = np.where(defined, table, np.inf).min(axis=0)
    highest = np.where(defined, table, -np.inf).max(axis=0)
    methods = _choose_methods(table, defined, np.broadcast_to(proportions, columns), interval)
    low, high = np.full(columns, np.nan), np.full(columns, np.nan)
    blocks = [
        (method, columns_of[start : start + _COLUMNS_PER_BLOCK])
        for method in sorted(set(methods) - {""})
        for columns_of in [np.flatnonzero(np.array(methods) == method)]
        for start in range(0, len(columns_of), _COLUMNS_PER_BLOCK)
    ]
    for method, chosen in blocks:
        deviations = np.where(defined, offsets - shift, 0.0)[:, chosen]
        if method == "wilson":
            ends = wilson_intervals(
                np.nansum(table[:, chosen], axis=0), n[chosen], settings.confidence
            )
        elif method == "t":
            ends = _t_ends(shift[chosen], deviations, n[chosen], settings.confidence)
        else:
            ends = resampled_ends(
                _resampled_means(offsets[:, chosen], defined[:, chosen], settings),
                shift[chosen],
                deviations,
                method,
                settings.confidence,
            )
        for all_ends, end in zip((low, high), ends, strict=True):
            all_ends[chosen] = end if method == "wilson" else first[chosen] + end
    bounds = lowest, highest
    if interval == "t":  # an end of a share in [0, 1] is not outside of it
        shares = np.broadcast_to(proportions, columns) & (lowest >= 0.0) & (highest <= 1.0)
        bounds = np.where(shares, 0.0, -np.inf), np.where(shares, 1.0, np.inf)
    clipped = np.array([method not in ("", "wilson") for method in methods], dtype=bool)
    # A resampled mean is never outside the values, but its rounding error may be.
    low, high = (np.where(clipped, np.clip(ends, *bounds), ends) for ends in (low, high))
    mean = np.clip(first + shift, lowest, highest)
    notes = np.where(has_few(table), FEW_NOTE, np.where(n < SMALL, SMALL_NOTE, ""))
    return Intervals(
        np.where(n > 0, mean, np.nan),
        low,
        high,
        n,
        settings.confidence,
        settings.resamples,
        settings.seed,
        interval,
        methods=tuple(methods),
        notes=tuple(note or None for note in np.where(clipped, notes, "").tolist()),
    )


_COLUMNS_PER_BLOCK = 512
"""Columns whose resampled means are in memory at once."""


def _choose_methods(
    table: FloatArray, defined: BoolArray, proportions: BoolArray, interval: str
) -> list[str]:
    """Choose each column's method; empty for columns without an interval."""
    n = defined.sum(axis=0)
    ones = (table == 1.0).sum(axis=0)
    zeros = (table == 0.0).sum(axis=0)
    binary = proportions & (ones + zeros == n)
    if interval == "auto":
        wilson = binary & (np.minimum(ones, zeros) < FEW)
    else:
        wilson = binary & (interval == "wilson")
    spread = np.where(defined, table, -np.inf).max(axis=0, initial=-np.inf)
    spread = spread - np.where(defined, table, np.inf).min(axis=0, initial=np.inf)
    other = BEST_BOOTSTRAP if interval in ("auto", "wilson") else interval
    constant = spread <= EQUAL
    chosen = np.where(wilson, "wilson", np.where(constant, "", other))
    return [str(name) for name in np.where(n < MIN_VALUES, "", chosen)]


def has_few(table: FloatArray) -> BoolArray:
    """Return a mask of columns where fewer than ``FEW`` values differ from the most common one."""
    ordered = np.sort(table, axis=0)  # nan is last
    n = (~np.isnan(table)).sum(axis=0)
    few = n <= FEW
    many = np.flatnonzero(~few)
    if len(many):
        # A run of equal values is long enough exactly if some value equals the one n - 10 later.
        places = np.arange(FEW)[:, None] + (n[many] - FEW)
        later = np.take_along_axis(ordered[:, many], places, axis=0)
        few[many] = (ordered[:FEW, many] == later).any(axis=0)
    return np.asarray(few)


def wilson_intervals(
    hits: npt.ArrayLike, n: npt.ArrayLike, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's score intervals of shares (JASA 22, 1927).

    The same as ``scipy.stats.binomtest(hits, n).proportion_ci(method="wilson")``.

    Args:
        hits: Numbers of ones; also a fraction, for shares of a vote.
        n: Numbers of values, at least 1.
        confidence: The level, between 0 and 1.

    Returns:
        Lower and upper ends, in [0, 1].
    """
    from scipy.special import ndtri

    ones, size = np.asarray(hits, dtype=np.float64), np.asarray(n, dtype=np.float64)
    z = float(ndtri((1.0 + confidence) / 2.0))
    share = ones / size
    centre = (ones + z * z / 2.0) / (size + z * z)
    half = z / (size + z * z) * np.sqrt(size * share * (1.0 - share) + z * z / 4.0)
    low = np.where(ones <= 0, 0.0, np.clip(centre - half, 0.0, 1.0))
    high = np.where(ones >= size, 1.0, np.clip(centre + half, 0.0, 1.0))
    return low, high


def _t_ends(
    mean: FloatArray, deviations: FloatArray, n: IntArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Return Student's intervals; ``deviations`` from the mean are 0 where undefined."""
    from scipy.special import stdtrit

    error = np.sqrt((deviations**2).sum(axis=0) / (n - 1) / n)
    half = stdtrit(n - 1, (1.0 + confidence) / 2.0) * error
    return mean - half, mean + half


def _resampled_means(offsets: FloatArray, defined: BoolArray, settings: Resampling) -> FloatArray:
    """Return means of shape (resamples, columns); ``nan`` for a resample without defined values."""
    rows = offsets.shape[0]
    all_defined = bool(defined.all())
    mask = defined.astype(np.float64)

    def means_of(size: int, generator: np.random.Generator) -> FloatArray:
        counts = draw_counts(rows, size, generator)
        n_drawn = float(rows) if all_defined else counts @ mask
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(counts @ offsets / n_drawn)

    return np.concatenate(map_chunks(means_of, rows, settings.resamples, settings.seed))


def resampled_ends(
    resampled: FloatArray,
    estimate: FloatArray,
    deviations: FloatArray,
    method: str,
    confidence: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of percentile or BCa intervals of any statistic.

    Args:
        resampled: The statistic of each resample, shape (resamples, columns); ``nan`` is left out.
        estimate: The statistic of the data, shape (columns,).
        deviations: As for :func:`~trectools_plus.statistics.intervals.acceleration_of`.
        method: ``bca``, or another name for percentile.
        confidence: The level, between 0 and 1.

    Returns:
        Lower and upper ends, shape (columns,); ``nan`` without a defined resample.
    """
    ordered = np.sort(np.ascontiguousarray(resampled.T), axis=1)
    drawn = (~np.isnan(ordered)).sum(axis=1)
    tail = (1.0 - confidence) / 2.0
    probabilities = np.tile([[tail], [1.0 - tail]], len(ordered))
    if method == "bca":
        with np.errstate(invalid="ignore"):
            share = [
                # Resamples equal to the estimate, except for rounding, count half.
                (
                    row[:size].searchsorted(value - EQUAL)
                    + row[:size].searchsorted(value + EQUAL, side="right")
                )
                / 2.0
                / max(1, size)
                for row, value, size in zip(ordered, estimate, drawn, strict=True)
            ]
        margin = 0.5 / np.maximum(1, drawn)
        probabilities = bca_probabilities(
            np.clip(np.array(share), margin, 1.0 - margin), acceleration_of(deviations), tail
        )
    # Linear interpolation between order statistics, the default of numpy.quantile.
    places = probabilities * np.maximum(0, drawn - 1)
    below = np.floor(places).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(0, drawn - 1))
    rows = np.arange(len(ordered))
    ends = ordered[rows, below] + (places - below) * (ordered[rows, above] - ordered[rows, below])
    return ends[0], ends[1]
