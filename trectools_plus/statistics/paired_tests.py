"""What a test of paired differences says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.statistics.arrays import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    ROUNDING,
    BoolArray,
    FloatArray,
    as_table,
    check_level,
    check_resamples,
)
from trectools_plus.statistics.resamples import count_extreme, draw_counts

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


def bootstrap_test(
    differences: npt.ArrayLike, *, resamples: int = DEFAULT_RESAMPLES, seed: int = DEFAULT_SEED
) -> ColumnTests:
    """Test the null hypothesis that the differences come from a population whose mean is 0.

    The differences, shifted to mean zero, are such a population; a resample of them is extreme
    when its mean is at least as far from 0 as the one observed. p = (1 + extreme) / (1 + resamples)
    is never 0. Efron and Tibshirani (1993), 16.4; Smucker, Allan and Carterette, CIKM 2007. With
    few rows it rejects too often (at 9 about twice as often as its level says): resamples spread
    less than the population does. From about 50 on it is sound.

    Args:
        differences: Shape (rows, columns) or (rows,), all defined. Their order changes nothing.
        resamples: How many resamples; at least 1.
        seed: All columns get the same draws.

    Returns:
        The mean differences and two-sided p-values.

    Raises:
        UsageError: If a value is NaN or infinite, there is no row, or ``resamples`` is below 1.
    """
    table = np.sort(as_table(differences, "bootstrap test"), axis=0)
    check_resamples(resamples, "bootstrap test")
    mean = table.mean(axis=0)
    # Turned to a positive mean, so that exchanging the two sides changes nothing either.
    turned = np.sort(np.where(mean < 0, -table, table), axis=0)
    near = ROUNDING * np.abs(table).max(axis=0)
    shifted = turned - turned.mean(axis=0)
    extreme = count_extreme(draw_counts, shifted, np.abs(mean) - near, resamples, seed)
    p_value = (1.0 + extreme) / (1.0 + resamples)
    return ColumnTests(mean, np.where(without_information(table), 1.0, p_value))


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
