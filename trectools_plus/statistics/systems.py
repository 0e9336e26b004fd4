"""Corrections of p-values, pairs, groups and orders of systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    as_pair,
)
from trectools_plus.statistics.method import DEFAULT_TEST, EQUAL, check_method


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
