"""Where a column's values lie: mean, median, geometric mean, each with its resampled values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import FloatArray
from trectools_plus.statistics.resamples import draw_counts, draw_rows, map_chunks

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
