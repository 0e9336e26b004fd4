"""The sign test."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trectools_plus.statistics.arrays import as_table
from trectools_plus.statistics.paired.results import SMALLEST_P, ColumnTests


def sign_test(differences: npt.ArrayLike) -> ColumnTests:
    """Test the null hypothesis that a difference other than 0 is as often positive as negative.

    The number of positive ones is then binomial with probability 1/2; the p-value is exact
    (Arbuthnott 1710; ``scipy.stats.binomtest``). Differences of 0 are left out, and how large the
    others are does not matter, so it has the least power of the paired tests.

    Args:
        differences: Shape (rows, columns) or (rows,), all defined. Their order changes nothing.

    Returns:
        The numbers of positive differences, and two-sided p-values.

    Raises:
        UsageError: If a value is NaN or infinite, or there is no row.
    """
    from scipy import stats

    table = as_table(differences, "sign test")
    wins = (table > 0).sum(axis=0)
    losses = (table < 0).sum(axis=0)
    # Twice the smaller tail: the binomial with probability 1/2 is symmetric.
    tail = stats.binom.cdf(np.minimum(wins, losses), wins + losses, 0.5)
    return ColumnTests(wins.astype(np.float64), np.clip(2.0 * tail, SMALLEST_P, 1.0))
