"""Four tests of paired differences, each with its null hypothesis; intervals of non-inferiority.

The tests are two-sided, take many columns of differences at once, and give p-values that the order
of the differences does not change. The worse end of an interval for non-inferiority rarely hides a
loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from trectools_plus.statistics.arrays import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    EQUAL,
    BoolArray,
    FloatArray,
    IntArray,
    as_table,
    check_resamples,
    count_extreme,
    draw_counts,
    studentised_means,
)
from trectools_plus.statistics.comparison import FEW

SMALLEST_P = float(np.finfo(np.float64).tiny)
"""The lowest p-value returned, so that no p-value is 0 because it is too small for a float."""
MOST_ENUMERATED = 16
"""The maximum number of differences other than 0 for which all 2^16 assignments of signs are
enumerated."""
MOST_EXACT = 50
"""The maximum number of differences for which Wilcoxon's test can be exact, as in SciPy."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTests:
    """One test of many columns of differences.

    Attributes:
        statistic: The test statistic of each column; infinite if the test divides by the standard
            deviation of the differences, and it is 0.
        p_value: The p-value of each column, in (0, 1]; 1 if all differences are 0, or there is
            only one.
    """

    statistic: FloatArray
    p_value: FloatArray


def bootstrap_test(
    differences: npt.ArrayLike,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> ColumnTests:
    """Test the null hypothesis that the differences come from a population whose mean is 0.

    The differences, shifted to mean 0, represent this population. A resample is extreme if its t
    statistic, the mean divided by the standard error of the same resample, is at least as far from
    0 as that of the data; p = (1 + extreme) / (1 + resamples). Efron and Tibshirani (1993), 16.4;
    for the t statistic Hall and Wilson, Biometrics 47 (1991). Resamples without variation: see
    :func:`~trectools_plus.statistics.arrays.studentised_means`.

    Args:
        differences: Shape (rows, columns) or (rows,), all defined.
        resamples: The number of resamples, at least 1.
        seed: The seed; all columns get the same draws.

    Returns:
        The mean differences and two-sided p-values.

    Raises:
        UsageError: If a value is NaN or infinite, there is no row, or ``resamples`` is below 1.
    """
    table = np.sort(as_table(differences, "bootstrap test"), axis=0)
    check_resamples(resamples, "bootstrap test")
    mean = table.mean(axis=0)
    # The mean is made positive, so that exchanging the two systems gives the same p-value.
    positive = np.sort(np.where(mean < 0, -table, table), axis=0)
    shifted = positive - positive.mean(axis=0)
    threshold = np.abs(mean) - EQUAL * np.abs(table).max(axis=0)
    shifted, scale = scale_to_range(shifted)
    error = standard_errors(shifted)
    with np.errstate(divide="ignore", invalid="ignore"):
        threshold = np.where(error > 0, threshold / scale / error, np.inf)
    extreme = count_extreme(draw_counts, studentised_means, shifted, threshold, (resamples, seed))
    p_value = (1.0 + extreme) / (1.0 + resamples)
    return ColumnTests(mean, np.where(_uninformative(table), 1.0, p_value))


def scale_to_range(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return columns divided by their ranges, and the ranges; 1 where a range is 0."""
    ranges = np.ptp(table, axis=0)
    scale = np.where(ranges > EQUAL, ranges, 1.0)
    return np.where(ranges > EQUAL, table / scale, 0.0), scale


def standard_errors(table: FloatArray) -> FloatArray:
    """Return the standard errors of the means of columns; 0 for a single row."""
    deviations = table.std(axis=0, ddof=min(1, len(table) - 1))
    return np.asarray(deviations / np.sqrt(len(table)))


def randomisation_test(
    differences: npt.ArrayLike, *, resamples: int = DEFAULT_RESAMPLES, seed: int = DEFAULT_SEED
) -> ColumnTests:
    """Test the null hypothesis that each difference is equally likely to have the opposite sign.

    This holds if the scores of a query can be exchanged between the two systems. With up to 16
    differences other than 0 the p-value is exact: the share of all assignments of signs whose mean
    is at least as far from 0 as the observed mean. With more, signs are drawn at random and
    p = (1 + extreme) / (1 + resamples). Fisher, The Design of Experiments (1935), section 21;
    Smucker, Allan and Carterette, CIKM 2007; for the added 1, Phipson and Smyth (2010).

    Args:
        differences: Shape (rows, columns) or (rows,), all defined.
        resamples: The number of random assignments, at least 1.
        seed: The seed; all columns get the same draws.

    Returns:
        The mean differences and two-sided p-values.

    Raises:
        UsageError: If a value is NaN or infinite, there is no row, or ``resamples`` is below 1.
    """
    table = np.sort(as_table(differences, "randomisation test"), axis=0)
    check_resamples(resamples, "randomisation test")
    mean = table.mean(axis=0)
    sizes = np.sort(np.abs(table), axis=0)
    threshold = np.abs(mean) - EQUAL * sizes[-1]
    few = (table != 0).sum(axis=0) <= MOST_ENUMERATED
    p_value = np.empty(len(mean))
    for column in np.flatnonzero(few):
        p_value[column] = _enumerated_p_value(sizes[:, column], threshold[column])
    if not few.all():
        rows = len(table)

        def statistic(signs: FloatArray, block: FloatArray) -> FloatArray:
            means = signs @ block
            means /= rows
            return np.abs(means, out=means)

        extreme = count_extreme(
            _draw_signs, statistic, sizes[:, ~few], threshold[~few], (resamples, seed)
        )
        p_value[~few] = (1.0 + extreme) / (1.0 + resamples)
    return ColumnTests(mean, np.where(_uninformative(table), 1.0, p_value))


def _enumerated_p_value(sizes: FloatArray, threshold: float) -> float:
    """Return the share of assignments of signs whose mean is at least ``threshold`` from 0."""
    sums = np.zeros(1)
    for size in sizes[sizes > 0]:
        sums = np.concatenate([sums + size, sums - size])
    return float((np.abs(sums / len(sizes)) >= threshold).mean())


def _draw_signs(rows: int, resamples: int, generator: np.random.Generator) -> FloatArray:
    """Draw a sign for each row and resample, shape (resamples, rows)."""
    width = -(-rows // 8)
    random_bytes = generator.integers(0, 256, size=(resamples, width), dtype=np.uint8)
    bits = np.unpackbits(random_bytes, axis=1, count=rows)
    return np.asarray(bits * 2.0 - 1.0, dtype=np.float64)


def t_test(differences: npt.ArrayLike) -> ColumnTests:
    """Test the null hypothesis that the differences come from a normal population of mean 0.

    The same as ``scipy.stats.ttest_rel``, with n − 1 degrees of freedom (Student 1908). By the
    central limit theorem the test also holds for many differences that are not normal.

    Args:
        differences: Shape (rows, columns) or (rows,), all defined.

    Returns:
        Student's t and two-sided p-values. If all n differences are the same number other than 0, t
        is infinite and p is that of their signs, 2^(1 - n); if all are 0 or there is only one,
        t = 0 and p = 1.

    Raises:
        UsageError: If a value is NaN or infinite, or there is no row.
    """
    from scipy.special import stdtr  # importing scipy.stats takes four times as long

    table = np.sort(as_table(differences, "t-test"), axis=0)
    rows = len(table)
    uninformative = _uninformative(table)
    constant = ~uninformative & (table.std(axis=0, ddof=min(1, rows - 1)) <= EQUAL)
    statistic = np.where(constant, np.copysign(np.inf, table[0]), 0.0)
    p_value = np.where(constant, max(2.0 ** (1 - rows), SMALLEST_P), 1.0)
    varying = ~uninformative & ~constant
    if varying.any():
        means = table[:, varying].mean(axis=0)
        variances = ((table[:, varying] - means) ** 2).mean(axis=0) * (rows / (rows - 1))
        statistic[varying] = means / np.sqrt(variances / rows)
        tails = 2.0 * stdtr(rows - 1, -np.abs(statistic[varying]))
        p_value[varying] = np.maximum(tails, SMALLEST_P)
    return ColumnTests(statistic, p_value)


def wilcoxon_test(differences: npt.ArrayLike) -> ColumnTests:
    """Test the null hypothesis that the differences are distributed symmetrically about 0.

    The same as ``scipy.stats.wilcoxon`` with its defaults: differences of 0 are dropped, equal
    sizes share their mean rank, and p is exact for few rows without zeros and ties, else from the
    normal approximation (Wilcoxon 1945). It does not test the mean: for skewed differences with a
    mean of 0 it rejects more often than the significance level.

    Args:
        differences: Shape (rows, columns) or (rows,), all defined.

    Returns:
        The smaller of the two sums of ranks, and two-sided p-values.

    Raises:
        UsageError: If a value is NaN or infinite, or there is no row.
    """
    table = np.sort(as_table(differences, "Wilcoxon test"), axis=0)
    statistic = np.zeros(table.shape[1])
    p_value = np.ones(table.shape[1])
    informative = np.flatnonzero(~_uninformative(table))
    for start in range(0, len(informative), _COLUMNS_PER_BLOCK):
        columns = informative[start : start + _COLUMNS_PER_BLOCK]
        statistic[columns], p_value[columns] = _wilcoxon(table[:, columns])
    return ColumnTests(statistic, np.clip(p_value, SMALLEST_P, 1.0))


_COLUMNS_PER_BLOCK = 1024
_MOST_PERMUTED = 13
"""The maximum number of differences whose p-value is exact despite zeros or ties, as in SciPy."""


def _wilcoxon(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return statistics and p-values of columns that do not contain only zeros."""
    from scipy.special import ndtr

    rows = len(table)
    n, above, below, ties, ranks = _signed_ranks(table)
    statistic = np.minimum(above, below)
    # The normal approximation.
    deviation = np.sqrt((n * (n + 1.0) * (2.0 * n + 1.0) - ties / 2.0) / 24.0)
    p_value = 2.0 * ndtr(-np.abs(above - n * (n + 1.0) / 4.0) / deviation)
    if rows > MOST_EXACT:
        return statistic, p_value
    exact = (ties == 0) & (n == rows)
    below_or_equal = np.cumsum(_count_rank_sums(tuple(range(1, rows + 1)))) / 2.0**rows
    p_value[exact] = 2.0 * below_or_equal[statistic[exact].astype(np.int64)]
    if rows <= _MOST_PERMUTED:
        for column in np.flatnonzero(~exact):
            # Ties have ranks such as 2.5.
            doubled = (2 * ranks[:, column][ranks[:, column] > 0]).astype(np.int64)
            counts = _count_rank_sums(tuple(doubled.tolist()))
            extreme = counts[: int(2 * statistic[column]) + 1].sum()
            p_value[column] = 2.0 * extreme / 2.0 ** len(doubled)
    return statistic, p_value


def _signed_ranks(
    table: FloatArray,
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Rank the sizes of the differences other than 0 in each column.

    Returns:
        The number of these differences, the sums of the ranks of positive and of negative ones, the
        sum of t^3 - t over groups of t equal sizes, and the ranks, ascending, with 0 for a
        difference of 0.
    """
    sizes = np.abs(table)
    order = np.argsort(sizes, axis=0, kind="stable")
    ordered = np.take_along_axis(sizes, order, axis=0)
    places = np.arange(len(table))[:, None]
    changes = np.ones((len(table) + 1, table.shape[1]), dtype=bool)
    changes[1:-1] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(changes[:-1], places, 0), axis=0)
    last = np.minimum.accumulate(np.where(changes[1:], places, len(table))[::-1], axis=0)[::-1]
    zeros = (table == 0).sum(axis=0)
    ranks = (first + last) / 2.0 + 1.0 - zeros
    signs = np.sign(np.take_along_axis(table, order, axis=0))
    equal = np.where(signs == 0, 1.0, last - first + 1.0)
    above, below = (np.where(signs == side, ranks, 0.0).sum(axis=0) for side in (1.0, -1.0))
    ranks = np.where(signs == 0, 0.0, ranks)
    return len(table) - zeros, above, below, (equal**2 - 1.0).sum(axis=0), ranks


@lru_cache(maxsize=1024)
def _count_rank_sums(ranks: tuple[int, ...]) -> FloatArray:
    """Return the number of assignments of signs to ranks by the sum of positive ranks.

    All are whole numbers below 2^53.
    """
    counts = np.ones(1)
    for rank in ranks:
        longer = np.zeros(len(counts) + rank)
        longer[: len(counts)] += counts
        longer[rank:] += counts
        counts = longer
    return counts


PAIRED_TESTS: Mapping[str, Callable[[FloatArray, int, int], ColumnTests]] = {
    "paired_bootstrap": lambda table, resamples, seed: bootstrap_test(
        table, resamples=resamples, seed=seed
    ),
    "t_test": lambda table, _resamples, _seed: t_test(table),
    "wilcoxon": lambda table, _resamples, _seed: wilcoxon_test(table),
    "randomisation": lambda table, resamples, seed: randomisation_test(
        table, resamples=resamples, seed=seed
    ),
}
"""The tests by name. Each takes differences, a number of resamples and a seed."""


def _uninformative(table: FloatArray) -> BoolArray:
    """Return a mask of columns that contain only zeros, or a single difference."""
    return np.asarray((table == 0).all(axis=0) | (len(table) < 2))


EXTRA_LOSSES = 2
"""The number of queries that are added to the worse end of an interval."""
_HALVINGS = 60


def non_inferiority_interval(
    contrast: FloatArray, baseline: FloatArray, confidence: float
) -> tuple[float, float, str] | None:
    """Return the interval of the mean difference, contrast minus baseline; larger is better.

    If all scores are 0 or 1, it is Tango's score interval for paired proportions. Otherwise its
    upper end is Student's, and its lower end is Student's with two more queries that lose as much
    as the query that changes most: few queries do not show how much a rare loss costs.

    Args:
        contrast: Shape (queries,), all defined.
        baseline: The scores of the same queries.
        confidence: The level, between 0 and 1.

    Returns:
        The ends and the method, a key of ``METHOD_NAMES``; ``None`` for fewer than two queries, and
        for scores other than 0 and 1 if fewer than ten queries differ.
    """
    from scipy.special import stdtrit

    differences = np.sort(contrast - baseline)
    n = len(differences)
    changed = int((np.abs(differences) > EQUAL).sum())
    if n < 2:
        return None
    if np.isin(np.abs([contrast, baseline]), (0.0, 1.0)).all():
        gains, losses = int((differences > 0).sum()), int((differences < 0).sum())
        low = _lowest_difference(gains, losses, n, confidence)
        return low, -_lowest_difference(losses, gains, n, confidence), "tango"
    if changed < FEW:
        return None

    def end(values: FloatArray, tail: float) -> float:
        half = stdtrit(len(values) - 1, tail) * values.std(ddof=1) / math.sqrt(len(values))
        return float(values.mean() + half)

    losses_added = np.append(differences, [-np.abs(differences).max()] * EXTRA_LOSSES)
    tail = (1.0 - confidence) / 2.0
    return end(losses_added, tail), end(differences, 1.0 - tail), "t_extra_losses"


def _lowest_difference(gains: int, losses: int, n: int, confidence: float) -> float:
    """Return the lower end of Tango's interval (Statistics in Medicine 17, 1998)."""
    from scipy.special import ndtri

    quantile = float(ndtri((1.0 + confidence) / 2.0))

    def is_rejected(difference: float) -> bool:
        # The most likely share of losses under this difference is a root of a x² + b x + c.
        a = 2.0 * n
        b = -gains - losses + (2.0 * n - gains + losses) * difference
        c = -losses * difference * (1.0 - difference)
        share = (math.sqrt(max(0.0, b * b - 4.0 * a * c)) - b) / (2.0 * a)
        variance = n * max(0.0, 2.0 * share + difference * (1.0 - difference))
        return gains - losses - n * difference > quantile * math.sqrt(variance)

    low, high = -1.0, (gains - losses) / n
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_rejected(middle) else (low, middle)
    return high
