"""Corrections of p-values, pairs, groups and orders of systems, and the variance of their means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Unpack

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    IntervalOptions,
    Resampling,
    as_pair,
    as_table,
    check_level,
    check_resamples,
)
from trectools_plus.statistics.intervals import (
    BEST_BOOTSTRAP,
    FEW_NOTE,
    Intervals,
    resampled_ends,
)
from trectools_plus.statistics.method import DEFAULT_TEST, EQUAL, FEW, check_method
from trectools_plus.statistics.resamples import draw_counts, map_chunks


def adjust_p_values(p_values: npt.ArrayLike, method: str = "holm") -> FloatArray:
    """Adjust the p-values of one family of comparisons.

    A comparison is significant in its family if its adjusted p-value is at most the level. With
    ``holm`` the level limits the probability of one or more false positives; with ``bh`` it limits
    the expected share of false positives among the significant comparisons.

    Args:
        p_values: The family, shape (comparisons,): all comparisons that were made, without a
            baseline against itself. ``nan`` marks a comparison that was not made; it is not counted
            and stays ``nan``.
        method: ``holm`` (Holm 1979), ``bh`` (Benjamini and Hochberg 1995, for independent or
            positively dependent tests) or ``none``.

    Returns:
        Adjusted p-values in the same order, each at least its p-value and at most 1.

    Raises:
        UsageError: If the shape is wrong, a p-value is outside [0, 1], or the method is unknown.
    """
    family = np.asarray(p_values, dtype=np.float64)
    check_method(DEFAULT_TEST, method)
    if family.ndim != 1 or ((family < 0) | (family > 1)).any():
        raise UsageError(
            "expected p-values between 0 and 1 in an array of one dimension",
            where="correction",
            remedy="pass one p-value per comparison, shape (comparisons,)",
        )
    made = ~np.isnan(family)
    order = np.argsort(family[made], kind="stable")
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1.0, _CORRECTIONS[method](family[made][order]))
    result = np.full(family.shape, np.nan)
    result[made] = adjusted
    return result


def holm_levels(p_values: FloatArray, alpha: float) -> FloatArray:
    """Return the level at which Holm's method tests each comparison of a family.

    It is ``alpha`` / k for the lowest of k p-values, ``alpha`` / (k - 1) for the next, and so on;
    the level at which the method stops is also that of all higher p-values. Equal p-values have the
    strictest of their levels.

    Args:
        p_values: As for :func:`adjust_p_values`.
        alpha: The level of the family, between 0 and 1.

    Returns:
        Shape (comparisons,); ``nan`` for a comparison that was not made.
    """
    made = ~np.isnan(p_values)
    ascending = np.sort(p_values[made])
    n_remaining = np.arange(len(ascending), 0, -1)
    rejected = np.minimum.accumulate(ascending * n_remaining <= alpha)
    steps = np.minimum(np.arange(len(ascending)), rejected.sum())
    first = np.searchsorted(ascending, p_values[made] * (1.0 - EQUAL))
    levels = np.full(p_values.shape, np.nan)
    levels[made] = alpha / n_remaining[np.minimum(steps, len(ascending) - 1)][first]
    return levels


def _holm(ascending: FloatArray) -> FloatArray:
    n_remaining = np.arange(len(ascending), 0, -1)
    return np.maximum.accumulate(ascending * n_remaining)


def _benjamini_hochberg(ascending: FloatArray) -> FloatArray:
    rank = np.arange(1, len(ascending) + 1)
    scaled = ascending * (len(ascending) / rank)
    return np.minimum.accumulate(scaled[::-1])[::-1]


_CORRECTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "holm": _holm,
    "bh": _benjamini_hochberg,
    "none": lambda ascending: ascending,
}
"""By name, a function that adjusts ascending p-values; its results may exceed 1."""


def pairs_of(systems: int, baselines: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Return the pairs of a family: each baseline with each other system, or all pairs.

    Args:
        systems: The number of systems.
        baselines: Column numbers of systems. Baselines are not compared with each other. Without
            baselines, every pair is compared once.

    Returns:
        Pairs (baseline, contrast).

    Raises:
        UsageError: If a baseline is not one of the systems, or occurs twice.
    """
    chosen = list(baselines)
    if len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(systems)):
        raise UsageError(
            f"expected different baselines from 0 to {systems - 1} but got {chosen}",
            where="comparisons",
        )
    if not chosen:
        return list(combinations(range(systems), 2))
    others = [system for system in range(systems) if system not in chosen]
    return [(baseline, other) for baseline in chosen for other in others]


def variance_of_means(scores: npt.ArrayLike, **options: Unpack[IntervalOptions]) -> Intervals:
    """Return the variance of the systems' means (ddof 1), with an interval over the queries.

    Each resample draws the same queries for all systems. The interval is BCa, or percentile if
    ``interval`` is ``percentile``: Efron and Tibshirani (1993), chapters 13 and 14. The variance of
    resampled means is larger than that of the means, because it contains the variation of the
    resamples; BCa corrects this bias.

    Args:
        scores: Shape (queries, systems), all defined, with at least two systems.
        options: As in :func:`~trectools_plus.statistics.mean_intervals`.

    Returns:
        One interval. Its ends are ``nan`` for a single query, and if all resamples are equal.

    Raises:
        UsageError: If a value is NaN or infinite, there is only one system, or an option is out of
            range.
    """
    settings = Resampling(**options)
    table = as_table(scores, "variance of means")
    check_resamples(settings.resamples, "variance of means")
    check_level(settings.confidence, "variance of means")
    rows, systems = table.shape
    if systems < 2:
        raise UsageError(
            "expected the scores of at least two systems but got one", where="variance of means"
        )
    means = table.mean(axis=0)
    estimate = np.array([means.var(ddof=1)])

    def variances(size: int, generator: np.random.Generator) -> FloatArray:
        drawn = draw_counts(rows, size, generator) @ table / rows
        return np.asarray(drawn.var(axis=1, ddof=1))

    drawn = np.concatenate(map_chunks(variances, rows, settings.resamples, settings.seed))
    method = "percentile" if settings.interval == "percentile" else BEST_BOOTSTRAP
    low, high = np.full(1, np.nan), np.full(1, np.nan)
    if np.ptp(drawn) > EQUAL:
        influence = ((table - means) * (means - means.mean())).sum(axis=1, keepdims=True)
        low, high = resampled_ends(drawn[:, None], estimate, influence, method, settings.confidence)
    return Intervals(
        estimate,
        low,
        high,
        np.array([rows]),
        settings.confidence,
        settings.resamples,
        settings.seed,
        settings.interval,
        "variance_of_means",
        (method,),
        (FEW_NOTE if rows < FEW else None,),
    )


def indistinguishable_groups(
    estimates: npt.ArrayLike, p_values: npt.ArrayLike, *, level: float = 0.05
) -> list[tuple[int, ...]]:
    """Return the largest groups within which no two systems differ significantly.

    Two systems share a group exactly when they do not differ significantly; a system may be in
    several groups. The insert-and-absorb algorithm of Piepho, An Algorithm for a Letter-Based
    Representation of All-Pairwise Comparisons, JCGS 13 (2004).

    Args:
        estimates: The values by which systems are ordered, for example means, shape (systems,); the
            largest is the best.
        p_values: Adjusted p-values of all pairs, shape (systems, systems), symmetric; the diagonal
            does not matter. A pair with ``nan`` does not differ.
        level: A pair differs significantly if its p-value is at most this.

    Returns:
        The groups as column numbers, the best system first in each group; the group of the best
            system comes first.

    Raises:
        UsageError: If the shapes differ or the p-values are not symmetric.
    """
    values = np.asarray(estimates, dtype=np.float64)
    table = np.asarray(p_values, dtype=np.float64)
    systems = len(values)
    if table.shape != (systems, systems) or not np.array_equal(table, table.T, equal_nan=True):
        raise UsageError(
            f"expected a symmetric table of {systems} by {systems} p-values "
            f"but got shape {table.shape}",
            where="groups",
            remedy="pass one p-value for each pair, in both triangles of the table",
        )
    order = np.argsort(-values, kind="stable").tolist()
    groups: list[frozenset[int]] = [frozenset(range(systems))] if systems else []
    for first in range(systems):
        for second in range(first + 1, systems):
            if table[order[first], order[second]] <= level:
                groups = _split_groups(groups, first, second)
    return [tuple(order[position] for position in group) for group in sorted(map(sorted, groups))]


def _split_groups(groups: list[frozenset[int]], first: int, second: int) -> list[frozenset[int]]:
    """Split the groups that contain both systems, and drop groups that are part of another."""
    both = {first, second}
    result = [group for group in groups if not both <= group]
    halves = [group - {one} for group in groups if both <= group for one in (first, second)]
    for half in sorted(set(halves), key=len, reverse=True):
        if not any(half <= other for other in result):
            result.append(half)
    return result


def group_letters(groups: list[tuple[int, ...]], systems: int) -> list[str]:
    """Return each system's letters in a compact letter display; ``a`` is the first group.

    Args:
        groups: From :func:`indistinguishable_groups`.
        systems: The number of systems.

    Returns:
        One string per system. Systems without a common letter differ significantly. The letters
        after ``z`` are ``a1``, ``b1``, …
    """
    letters = [""] * systems
    for number, group in enumerate(groups):
        repetition, position = divmod(number, 26)
        letter = chr(ord("a") + position) + (str(repetition) if repetition else "")
        for system in group:
            letters[system] += letter
    return letters


def kendall_tau(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return Kendall's tau-b of two arrays of scores of the same items (Kendall 1945).

    The same as ``scipy.stats.kendalltau``, whose import takes longer than most benchmarks.

    Args:
        first: Scores, shape (items,).
        second: Scores of the same items.

    Returns:
        Between −1 and 1, corrected for ties; ``nan`` if one array has only equal scores.

    Raises:
        UsageError: If the shapes differ, there is no item, or a value is NaN or infinite.
    """
    one, two = as_pair(first, second, "Kendall's tau")
    if (one == one[0]).all() or (two == two[0]).all():
        return float("nan")
    order = np.lexsort((two, one))
    one, two = one[order], two[order]
    values, ranks = np.unique(two, return_inverse=True)
    pairs = len(one) * (len(one) - 1) // 2
    tied_in_one = _tied_pairs(np.diff(one) != 0)
    tied_in_two = _tied_pairs(np.diff(np.sort(two)) != 0)
    tied_in_both = _tied_pairs((np.diff(one) != 0) | (np.diff(two) != 0))
    discordant = _count_inversions(ranks, len(values))
    excess = pairs - tied_in_one - tied_in_two + tied_in_both - 2 * discordant
    tau = excess / np.sqrt(pairs - tied_in_one) / np.sqrt(pairs - tied_in_two)
    return float(min(1.0, max(-1.0, tau)))


def _tied_pairs(differs: BoolArray) -> int:
    """Return the number of pairs of equal items; ``differs`` compares each with its predecessor."""
    counts = np.diff(np.flatnonzero(np.concatenate([[True], differs, [True]])))
    return int((counts * (counts - 1) // 2).sum())


def _count_inversions(ranks: IntArray, n_ranks: int) -> int:
    """Return the number of pairs of items of which the first has the higher rank, from 0."""
    inversions = 0
    for bit in range(n_ranks.bit_length()):
        # In an inversion, the highest bit that differs is set in the first item only.
        higher = ranks >> (bit + 1)
        order = np.argsort(higher, kind="stable")
        higher = higher[order]
        is_set = (ranks[order] >> bit) & 1
        n_set = np.cumsum(is_set)
        n_set_before_group = (n_set - is_set)[np.searchsorted(higher, higher)]
        inversions += int((n_set - n_set_before_group)[is_set == 0].sum())
    return inversions


def tau_ap(reference: npt.ArrayLike, estimated: npt.ArrayLike) -> float:
    """Return the AP rank correlation, in which disagreement near the top has a higher weight.

    τ_AP = 2/(n − 1) · Σ_{i=2..n} C(i)/(i − 1) − 1, where C(i) is the number of items above rank i
    in the estimated order that are also above the item at rank i in the reference (Yilmaz, Aslam
    and Robertson, SIGIR 2008). It is not symmetric. For items tied in the estimated order, the
    average over all orders of the tied items is used; a pair tied in the reference counts half
    (Urbano and Marrero, SIGIR 2017, case a).

    Args:
        reference: The reference scores, shape (items,); larger is better.
        estimated: Scores of the same items.

    Returns:
        Between −1 and 1; ``nan`` for fewer than two items.

    Raises:
        UsageError: If the shapes differ, there is no item, or a value is NaN or infinite.
    """
    truth, estimate = as_pair(reference, estimated, "tau-AP")
    items = len(truth)
    if items < 2:
        return float("nan")
    correct = (np.sign(truth[:, None] - truth[None, :]) + 1.0) / 2.0
    above = (estimate[:, None] > estimate[None, :]).astype(np.float64)
    tied = (estimate[:, None] == estimate[None, :]).astype(np.float64)
    np.fill_diagonal(tied, 0.0)
    total = sum(
        _expected_precision(*case)
        for case in zip(
            above.sum(axis=0).astype(int).tolist(),
            tied.sum(axis=0).astype(int).tolist(),
            (correct * above).sum(axis=0).tolist(),
            (correct * tied).sum(axis=0).tolist(),
            strict=True,
        )
    )
    return float(2.0 * total / (items - 1) - 1.0)


def _expected_precision(above: int, tied: int, correct_above: float, correct_tied: float) -> float:
    """Return C(i)/(i − 1) of an item, averaged over its positions among the items tied with it."""
    tied_above = np.arange(tied + 1, dtype=np.float64)
    found: FloatArray = correct_above + tied_above * (correct_tied / tied if tied else 0.0)
    ranked_above = above + tied_above
    # The sum starts at rank 2.
    counted = ranked_above > 0
    return float((found[counted] / ranked_above[counted]).sum() / (tied + 1))
