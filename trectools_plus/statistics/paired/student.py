"""Student's t-test of paired differences."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trectools_plus.statistics.arrays import ROUNDING, FloatArray, as_table, check_level
from trectools_plus.statistics.paired.results import (
    SMALLEST_P,
    ColumnTests,
    without_information,
)


def t_test(differences: npt.ArrayLike) -> ColumnTests:
    """Test the null hypothesis that the differences come from a normal population of mean 0.

    As ``scipy.stats.ttest_rel``, two-sided, with n − 1 degrees of freedom (Student 1908). By the
    central limit theorem it also holds for many differences that are not normal.

    Args:
        differences: Shape (rows, columns) or (rows,), all defined. Their order changes nothing.

    Returns:
        Student's t and p-values. Differences that are all the same number other than 0 have an
        infinite t and the smallest p a float can hold; all 0, or a single one: t = 0, p = 1.

    Raises:
        UsageError: If a value is NaN or infinite, or there is no row.
    """
    from scipy import stats

    table = np.sort(as_table(differences, "t-test"), axis=0)
    idle = without_information(table)
    flat = ~idle & (_spread(table) <= ROUNDING)
    statistic = np.where(flat, np.copysign(np.inf, table[0]), 0.0)
    p_value = np.where(flat, SMALLEST_P, 1.0)
    usual = ~idle & ~flat
    if usual.any():
        result = stats.ttest_1samp(table[:, usual], 0.0, axis=0)
        statistic[usual] = result.statistic
        p_value[usual] = np.maximum(result.pvalue, SMALLEST_P)
    return ColumnTests(statistic, p_value)


def t_intervals(
    differences: npt.ArrayLike, *, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Student's intervals of each column's mean: they leave out 0 exactly when the t-test rejects.

    Args:
        differences: As in :func:`t_test`.
        confidence: The level, between 0 and 1.

    Returns:
        Lower and upper ends; ``nan`` for a single row.

    Raises:
        UsageError: As there, or if the level is out of range.
    """
    from scipy import stats

    table = np.sort(as_table(differences, "t-interval"), axis=0)
    check_level(confidence, "t-interval")
    rows = len(table)
    mean = table.mean(axis=0)
    if rows < 2:
        return np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    quantile = stats.t.ppf((1.0 + confidence) / 2.0, rows - 1)
    half = quantile * _spread(table) / np.sqrt(rows)
    return mean - half, mean + half


def _spread(table: FloatArray) -> FloatArray:
    return np.asarray(table.std(axis=0, ddof=min(1, len(table) - 1)))
