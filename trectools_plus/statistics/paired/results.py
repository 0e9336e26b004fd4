"""What a test of paired differences says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trectools_plus.statistics.arrays import BoolArray, FloatArray

SMALLEST_P = float(np.finfo(np.float64).tiny)
"""What a p-value counts as that is too small for a float: no test says 0."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTests:
    """One test of many columns of differences.

    Attributes:
        statistic: Per column, what the test is based on; infinite where the differences are all
            the same number and the test divides by their spread.
        p_value: Per column, in (0, 1]; 1 where all differences are 0, or there is only one.
    """

    statistic: FloatArray
    p_value: FloatArray


@dataclass(frozen=True, slots=True)
class PairedTest:
    """One test of one column of differences.

    Attributes:
        name: As in ``PAIRED_TESTS``.
        statistic: The mean difference (both resampling tests), Student's t, the smaller sum of
            ranks (Wilcoxon), or the number of wins (sign test).
        p_value: Two-sided, in (0, 1].
    """

    name: str
    statistic: float
    p_value: float


def without_information(table: FloatArray) -> BoolArray:
    """Which columns of differences can tell nothing: all of them 0, or only one."""
    return np.asarray((table == 0).all(axis=0) | (len(table) < 2))
