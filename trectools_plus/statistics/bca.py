"""Which quantiles of the resampled values a bias-corrected and accelerated interval ends at.

Efron, Better Bootstrap Confidence Intervals, JASA 82 (1987); Efron and Tibshirani (1993), 14.3.
"""

from __future__ import annotations

import numpy as np

from trectools_plus.statistics.arrays import FloatArray


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
