"""Wilcoxon's signed-rank test."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trectools_plus.statistics.arrays import as_table
from trectools_plus.statistics.paired.results import (
    SMALLEST_P,
    ColumnTests,
    without_information,
)


def wilcoxon_test(differences: npt.ArrayLike) -> ColumnTests:
    """Test the null hypothesis that the differences are distributed symmetrically about 0.

    As ``scipy.stats.wilcoxon`` with its defaults: differences of 0 are dropped, equal sizes share
    their mean rank, and p is exact for few rows without either, else from the normal approximation
    (Wilcoxon 1945). It does not test a mean: differences with a mean of 0 that are skewed are
    rejected more often than the level says.

    Args:
        differences: Shape (rows, columns) or (rows,), all defined. Their order changes nothing.

    Returns:
        The smaller of the two sums of ranks, and two-sided p-values.

    Raises:
        UsageError: If a value is NaN or infinite, or there is no row.
    """
    from scipy import stats

    table = np.sort(as_table(differences, "Wilcoxon test"), axis=0)
    statistic = np.zeros(table.shape[1])
    p_value = np.ones(table.shape[1])
    for column in np.flatnonzero(~without_information(table)):
        result = stats.wilcoxon(table[:, column])
        statistic[column] = result.statistic
        p_value[column] = min(1.0, max(result.pvalue, SMALLEST_P))
    return ColumnTests(statistic, p_value)
