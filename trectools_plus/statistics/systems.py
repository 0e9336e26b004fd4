"""Several systems: corrections of p-values, pairs, groups, orders, and the mean of the best.

The best of equal variants looks better than it is: the mean that is largest by chance is chosen.
Bootstrap bias corrected selection (Tsamardinos, Greasidou and Borboudakis, Bootstrapping the
out-of-sample predictions for efficient and accurate cross-validation, Machine Learning 107, 2018)
repeats the choice on resamples of the queries, and scores each choice on the other queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Unpack

import numpy as np
import numpy.typing as npt

from trectools_plus.display import Displayed, TextTable, as_cell
from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    EQUAL,
    BoolArray,
    FloatArray,
    IntArray,
    Resampling,
    ResamplingOptions,
    as_pair,
    as_table,
    check_level,
    check_resamples,
    draw_counts,
    map_chunks,
)
from trectools_plus.statistics.comparison import DEFAULT_TEST, check_method
from trectools_plus.statistics.intervals import MIN_VALUES


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


def _benjamini_hochberg(ascending: FloatArray) -> FloatArray:
    rank = np.arange(1, len(ascending) + 1)
    scaled = ascending * (len(ascending) / rank)
    return np.minimum.accumulate(scaled[::-1])[::-1]


_CORRECTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "holm": lambda ascending: np.maximum.accumulate(ascending * np.arange(len(ascending), 0, -1)),
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
    halves = [group - {system} for group in groups if both <= group for system in (first, second)]
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
    x, y = as_pair(first, second, "Kendall's tau")
    if (x == x[0]).all() or (y == y[0]).all():
        return float("nan")
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    values, ranks = np.unique(y, return_inverse=True)
    pairs = len(x) * (len(x) - 1) // 2
    tied_in_x = _tied_pairs(np.diff(x) != 0)
    tied_in_y = _tied_pairs(np.diff(np.sort(y)) != 0)
    tied_in_both = _tied_pairs((np.diff(x) != 0) | (np.diff(y) != 0))
    discordant = _count_inversions(ranks, len(values))
    excess = pairs - tied_in_x - tied_in_y + tied_in_both - 2 * discordant
    tau = excess / np.sqrt(pairs - tied_in_x) / np.sqrt(pairs - tied_in_y)
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Winner(Displayed):
    """The best of several variants on the same queries.

    Attributes:
        column: The number of its column; of equally good ones the first.
        n: The number of queries.
        mean: Its mean on all queries.
        corrected_mean: The estimated mean on new queries of the variant that this choice finds.
        optimism: The extent to which ``mean`` looks better than ``corrected_mean``.
        low: The lower end of the interval of ``corrected_mean``.
        high: Its upper end. All four are ``nan`` with fewer than two queries.
        chosen: The share of resamples in which each variant is the best, shape (variants,).
    """

    column: int
    n: int
    mean: float
    corrected_mean: float
    optimism: float
    low: float
    high: float
    chosen: FloatArray

    def _content(self) -> TextTable:
        rows = [
            ["Variant", str(self.column + 1)],
            ["Queries", str(self.n)],
            ["Mean", as_cell(self.mean)],
            ["Corrected mean", as_cell(self.corrected_mean)],
            ["Interval", f"[{self.low:.4f}, {self.high:.4f}]"],
            ["Optimism", as_cell(self.optimism)],
        ]
        return TextTable.of(["Field", "Value"], rows, caption="Winner")


def select_winner(
    scores: npt.ArrayLike,
    *,
    baseline: npt.ArrayLike | None = None,
    higher_is_better: bool = True,
    **options: Unpack[ResamplingOptions],
) -> Winner:
    """Choose the variant with the best mean, and estimate its mean on new queries.

    In each resample of the queries, the best variant on the drawn queries is scored on the queries
    that were not drawn. The mean over the resamples is the corrected mean. Its interval is

        corrected mean ± t(n - 1) · sqrt(se² + extra)

    with the standard error se of the chosen variant's mean on all queries. ``extra`` is the
    variance of the scores on the queries that were not drawn, without the part that a fixed variant
    would have: s² · (1/k - 1/n) for k such queries, averaged over the resamples. It is the
    uncertainty about which variant is the best, and at least 0.

    A resample has about 63% of the queries, so its choice is worse than that on all queries, and
    the corrected mean is a little too low if one variant is clearly better. The end of the interval
    on the side of ``mean`` is therefore moved by share · optimism / 4, with the share of the
    resamples that choose the winner. docs/statistics.md has the coverage.

    Args:
        scores: Shape (queries, variants). Queries with a ``nan`` are left out.
        baseline: Scores of a baseline on the same queries, shape (queries,). All means are then
            those of the differences from it.
        higher_is_better: Whether a high mean is good.
        options: ``confidence`` (0.95), ``resamples`` (10,000) and ``seed`` (42).

    Returns:
        The winner. Resamples that draw every query are left out. With a single variant there is no
        choice: the corrected mean is the mean. If all scores are in [0, 1], so is the interval of
        a mean.

    Raises:
        UsageError: If there is no variant, no query with a score of each, a value is infinite, or
            an option is out of range.
    """
    settings = Resampling(**options)
    check_resamples(settings.resamples, "winner")
    check_level(settings.confidence, "winner")
    table = as_table(scores, "winner", undefined=True)
    if baseline is not None:
        table = table - as_table(baseline, "winner", undefined=True)
    table = table[~np.isnan(table).any(axis=1)]
    n, variants = table.shape
    if not n or not variants:
        raise UsageError(
            "there is no query with a score of each variant",
            where="winner",
            remedy="pass the scores of at least one variant on the same queries",
        )
    signed = table if higher_is_better else -table
    means = signed.mean(axis=0)
    best = int(_first_best(means[None])[0])
    corrected, half, chosen = np.nan, np.nan, np.eye(variants)[best]
    if n >= MIN_VALUES:
        corrected, half, chosen = _correct(signed, best, settings)
    optimism = float(means[best]) - corrected
    moved = max(0.0, float(chosen[best]) * optimism / 4.0)
    low, high = corrected - half, corrected + half + moved
    sign = 1.0 if higher_is_better else -1.0
    low, high = sorted((sign * low, sign * high))
    if baseline is None and table.min() >= 0.0 and table.max() <= 1.0:
        low, high = max(low, 0.0), min(high, 1.0)
    return Winner(
        column=best,
        n=n,
        mean=sign * float(means[best]),
        corrected_mean=sign * corrected,
        optimism=optimism,
        low=low,
        high=high,
        chosen=chosen,
    )


def _first_best(means: FloatArray) -> IntArray:
    """Return the column of the largest mean in each row; the first of equal ones."""
    return np.asarray((means >= means.max(axis=1, keepdims=True) - EQUAL).argmax(axis=1))


def _correct(table: FloatArray, best: int, settings: Resampling) -> tuple[float, float, FloatArray]:
    """Return the corrected mean, the half width of its interval, and the share of each choice."""
    from scipy.special import stdtrit

    n, variants = table.shape
    variance = float(table[:, best].var(ddof=1))
    quantile = float(stdtrit(n - 1, (1.0 + settings.confidence) / 2.0))
    if variants == 1:
        return float(table.mean()), quantile * float(np.sqrt(variance / n)), np.ones(1)
    by_variant = np.ascontiguousarray(table.T)

    def score(size: int, generator: np.random.Generator) -> tuple[FloatArray, IntArray, IntArray]:
        counts = draw_counts(n, size, generator)
        winners = _first_best(counts @ table / n)
        rest = counts == 0
        left = rest.sum(axis=1)
        sums = np.einsum("ij,ij->i", rest, by_variant[winners])
        some = left > 0
        return sums[some] / left[some], left[some], np.bincount(winners, minlength=variants)

    # The number of cells bounds the memory for counts and for the means of all variants.
    drawn = map_chunks(score, max(n, variants), settings.resamples, settings.seed)
    scored, left = (np.concatenate([chunk[part] for chunk in drawn]) for part in (0, 1))
    chosen = np.sum([chunk[2] for chunk in drawn], axis=0) / settings.resamples
    if not len(scored):
        return np.nan, np.nan, chosen
    of_fixed = variance * float((1.0 / left - 1.0 / n).mean())
    extra = max(0.0, float(scored.var()) - of_fixed)
    return float(scored.mean()), quantile * float(np.sqrt(variance / n + extra)), chosen
