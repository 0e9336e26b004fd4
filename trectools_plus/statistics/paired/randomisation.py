"""The sign-flip randomisation test."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trectools_plus.statistics.arrays import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    ROUNDING,
    FloatArray,
    as_table,
    check_resamples,
)
from trectools_plus.statistics.paired.results import ColumnTests, without_information
from trectools_plus.statistics.resamples import count_extreme

MOST_ENUMERATED = 16
"""Up to so many differences other than 0, all assignments of signs (65,536) are gone through."""


def randomisation_test(
    differences: npt.ArrayLike, *, resamples: int = DEFAULT_RESAMPLES, seed: int = DEFAULT_SEED
) -> ColumnTests:
    """Test the null hypothesis that each difference would as soon have had the other sign.

    That is so when the two systems' scores of a query could be exchanged. Up to 16 differences
    other than 0 the p-value is exact: the share of all assignments of signs whose mean is at least
    as far from 0 as the one observed. With more, signs are drawn and
    p = (1 + extreme) / (1 + resamples). Fisher, The Design of Experiments (1935), section 21;
    Smucker, Allan and Carterette, CIKM 2007; Phipson and Smyth (2010) on the added one.

    Args:
        differences: Shape (rows, columns) or (rows,), all defined. Their order changes nothing.
        resamples: How many assignments are drawn where they are not all gone through; at least 1.
        seed: All columns get the same draws.

    Returns:
        The mean differences and two-sided p-values.

    Raises:
        UsageError: If a value is NaN or infinite, there is no row, or ``resamples`` is below 1.
    """
    table = np.sort(as_table(differences, "randomisation test"), axis=0)
    check_resamples(resamples, "randomisation test")
    mean = table.mean(axis=0)
    sizes = np.sort(np.abs(table), axis=0)
    threshold = np.abs(mean) - ROUNDING * sizes[-1]
    few = (table != 0).sum(axis=0) <= MOST_ENUMERATED
    p_value = np.empty(len(mean))
    for column in np.flatnonzero(few):
        p_value[column] = _exact(sizes[:, column], threshold[column])
    if not few.all():
        extreme = count_extreme(_draw_signs, sizes[:, ~few], threshold[~few], resamples, seed)
        p_value[~few] = (1.0 + extreme) / (1.0 + resamples)
    return ColumnTests(mean, np.where(without_information(table), 1.0, p_value))


def _exact(sizes: FloatArray, threshold: float) -> float:
    """The share of assignments of signs whose mean is at least ``threshold`` from 0."""
    moving = sizes[sizes > 0]
    sums = np.zeros(1)
    for size in moving:
        sums = np.concatenate([sums + size, sums - size])
    return float((np.abs(sums / len(sizes)) >= threshold).mean())


def _draw_signs(rows: int, resamples: int, generator: np.random.Generator) -> FloatArray:
    """One fair sign per row and resample, shape (resamples, rows)."""
    width = -(-rows // 8)
    octets = generator.integers(0, 256, size=(resamples, width), dtype=np.uint8)
    bits = np.unpackbits(octets, axis=1, count=rows)
    return np.asarray(bits * 2.0 - 1.0, dtype=np.float64)
