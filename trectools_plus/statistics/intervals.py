"""Intervals of means: bootstrap (percentile, BCa), Student's t, and Wilson's for shares.

All columns have the same resamples. A resample of n rows is stored as n counts (how often each row
was drawn). The means of all columns over many resamples are then one matrix product.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
import numpy.typing as npt

from trectools_plus.statistics.arrays import (
    ROUNDING,
    BoolArray,
    FloatArray,
    IntArray,
    IntervalOptions,
    Resampling,
    as_table,
    check_choice,
    check_level,
    check_resamples,
)
from trectools_plus.statistics.bootstrap import Intervals, acceleration_of, bca_probabilities
from trectools_plus.statistics.resamples import draw_counts, map_chunks

INTERVALS = ("auto", "percentile", "bca", "t", "wilson")
"""The values of the option ``interval``."""
BEST_BOOTSTRAP = "bca"
"""The bootstrap method with the best coverage in the simulation of docs/statistics.md."""
METHOD_NAMES = {
    "percentile": "percentile bootstrap",
    "bca": "BCa bootstrap",
    "t": "Student t",
    "wilson": "Wilson",
    "studentised": "studentised bootstrap",
    "max_t": "max-t bootstrap, simultaneous",
}
RESAMPLED = ("percentile", "bca", "studentised", "max_t")
"""The methods that draw resamples."""
MIN_VALUES = 2
"""The minimum number of values for an interval: a single value does not show how values vary."""
FEW = 10
"""With fewer values that differ from the most common one, a bootstrap or t interval gets a note,
and ``auto`` uses Wilson's interval for values of 0 and 1."""
FEW_NOTE = (
    f"fewer than {FEW} values differ from the most common one: the interval may be too narrow"
)
SMALL = 20
"""With fewer values, a bootstrap or t interval gets a note: with skewed values, 95% intervals of
the mean contain the true one in less than 93% of the simulation of docs/statistics.md."""
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
        for all_ends, found in zip((low, high), ends, strict=True):
            all_ends[chosen] = found if method == "wilson" else first[chosen] + found
    bounds = lowest, highest
    if interval == "t":  # an end of a share in [0, 1] is not outside of it
        shares = np.broadcast_to(proportions, columns) & (lowest >= 0.0) & (highest <= 1.0)
        bounds = np.where(shares, 0.0, -np.inf), np.where(shares, 1.0, np.inf)
    clipped = np.array([method not in ("", "wilson") for method in methods], dtype=bool)
    # A resampled mean is never outside the values, but its rounding error may be.
    low, high = (np.where(clipped, np.clip(ends, *bounds), ends) for ends in (low, high))
    mean = np.clip(first + shift, lowest, highest)
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
        notes=tuple(map(_note_on, methods, has_few(table).tolist(), n.tolist())),
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
    constant = spread <= ROUNDING
    chosen = np.where(wilson, "wilson", np.where(constant, "", other))
    return [str(name) for name in np.where(n < MIN_VALUES, "", chosen)]


def _note_on(method: str, few: bool, n: int) -> str | None:
    """Return the note on an interval that may be too narrow."""
    if method in ("", "wilson"):
        return None
    if few:
        return FEW_NOTE
    return SMALL_NOTE if n < SMALL else None


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
        deviations: As for :func:`~trectools_plus.statistics.bootstrap.acceleration_of`.
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
                    row[:size].searchsorted(value - ROUNDING)
                    + row[:size].searchsorted(value + ROUNDING, side="right")
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
