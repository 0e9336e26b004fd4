"""Percentile-bootstrap intervals of means, from one set of resamples shared by all columns.

The percentile method of Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
A resample of n rows is kept as n counts (how often each row was drawn), so that the means of all
columns over many resamples are one matrix product, and columns are compared on equal draws.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError

FloatArray = npt.NDArray[np.float64]

_COUNTS_PER_CHUNK = 2**19
"""Cells of one chunk's matrix of counts: 4 MiB of float64 per thread, whatever n is."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """One interval per column.

    Attributes:
        mean: The columns' means over their defined values; ``nan`` where none is defined.
        low: Lower ends, not above ``high``; ``nan`` where the mean is.
        high: Upper ends.
        n: How many defined values each column has.
        level: The confidence level, between 0 and 1.
        resamples: How many resamples were drawn.
        seed: The seed they were drawn with.
        method: Always ``percentile`` here.
    """

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    n: npt.NDArray[np.int64]
    level: float
    resamples: int
    seed: int
    method: str = "percentile"


def bootstrap_means(
    values: npt.ArrayLike, *, resamples: int = 10_000, seed: int, confidence: float = 0.95
) -> Intervals:
    """Percentile intervals of each column's mean.

    Args:
        values: Array of shape (rows, columns) or (rows,); ``nan`` is undefined and left out of the
            means of its column, in the data and in every resample.
        resamples: How many resamples to draw, at least 1.
        seed: Equal seeds and numbers of rows give equal resamples, whatever the columns.
        confidence: The level of the intervals, between 0 and 1.

    Returns:
        One interval per column. A resample that drew no defined value of a column is left out.

    Raises:
        UsageError: If there is no row, a value is infinite, or an option is out of range.
    """
    table = _checked(values, resamples, confidence)
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
    table = _checked(values, resamples, confidence)
    chosen = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    differences = table[:, chosen[:, 0]] - table[:, chosen[:, 1]]
    return bootstrap_means(differences, resamples=resamples, seed=seed, confidence=confidence)


def _checked(values: npt.ArrayLike, resamples: int, confidence: float) -> FloatArray:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or not table.shape[0]:
        raise UsageError(
            f"expected at least one row of values but got an array of shape {table.shape}",
            where="bootstrap",
            remedy="there must be a query to average over",
        )
    if np.isinf(table).any():
        raise UsageError("expected finite values but got an infinite one", where="bootstrap")
    if resamples < 1:
        raise UsageError(
            f"expected at least 1 resample but got {resamples}",
            where="bootstrap",
            remedy="10,000 is usual",
        )
    if not 0.0 < confidence < 1.0:
        raise UsageError(
            f"expected a confidence level between 0 and 1 but got {confidence}",
            where="bootstrap",
            remedy="0.95 is usual",
        )
    return table


def _resampled_means(
    offsets: FloatArray, defined: npt.NDArray[np.bool_], resamples: int, seed: int
) -> FloatArray:
    """Means of shape (resamples, columns); ``nan`` where a resample drew nothing defined."""
    rows = offsets.shape[0]
    size = max(1, _COUNTS_PER_CHUNK // rows)
    sizes = [min(size, resamples - start) for start in range(0, resamples, size)]
    streams = np.random.SeedSequence(seed).spawn(len(sizes))
    whole = bool(defined.all())
    mask = defined.astype(np.float64)

    def means_of(chunk: tuple[int, np.random.SeedSequence]) -> FloatArray:
        counts = _draw_counts(rows, *chunk)
        drawn = float(rows) if whole else counts @ mask
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(counts @ offsets / drawn)

    # Each chunk has a stream of its own, so the number of threads changes no figure.
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        return np.concatenate(list(pool.map(means_of, zip(sizes, streams, strict=True))))


def _draw_counts(rows: int, resamples: int, stream: np.random.SeedSequence) -> FloatArray:
    """How often each row is drawn when ``rows`` are drawn with replacement, once per resample."""
    generator = np.random.Generator(np.random.PCG64(stream))
    # The narrowest integers that hold a row number: several are made from one random word.
    dtype = np.uint16 if rows <= 2**16 else np.uint32 if rows <= 2**32 else np.uint64
    drawn = generator.integers(0, rows, size=(resamples, rows), dtype=dtype)
    counts = np.empty((resamples, rows))
    for index, draw in enumerate(drawn):
        counts[index] = np.bincount(draw, minlength=rows)
    return counts


def _quantiles(means: FloatArray, points: list[float]) -> FloatArray:
    """Linear quantiles per column over its defined means; ``nan`` for a column without any."""
    undefined = np.isnan(means)
    if not undefined.any():
        return np.asarray(np.quantile(means, points, axis=0))
    result = np.full((len(points), means.shape[1]), np.nan)
    for column in np.flatnonzero(~undefined.all(axis=0)):
        result[:, column] = np.quantile(means[~undefined[:, column], column], points)
    return result
