"""Many systems at once: one family of comparisons, one correction, one count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    ROUNDING,
    FloatArray,
    as_table,
    check_choice,
    check_resamples,
)
from trectools_plus.statistics.correction import CORRECTIONS, adjust_p_values
from trectools_plus.statistics.paired import PAIRED_TESTS, PairedComparison, compare_columns
from trectools_plus.statistics.resamples import map_chunks

TUKEY = "tukey_hsd"


@dataclass(frozen=True, slots=True, eq=False)
class SystemComparisons:
    """A family of comparisons.

    Attributes:
        pairs: System numbers (baseline, contrast).
        comparisons: Contrast minus baseline, one per pair.
        p_adjusted: One per pair.
        test: The paired test that was adjusted, or ``tukey_hsd``.
        correction: How: ``holm``, ``bonferroni``, ``benjamini_hochberg``, ``none``, ``tukey_hsd``.
        family: Which comparisons were counted, in words.
    """

    pairs: list[tuple[int, int]]
    comparisons: list[PairedComparison]
    p_adjusted: FloatArray
    test: str
    correction: str
    family: str

    def p_table(self, systems: int) -> FloatArray:
        """Adjusted p-values as a symmetric table, ``nan`` where a pair was not compared."""
        table = np.full((systems, systems), np.nan)
        for (baseline, contrast), p_value in zip(self.pairs, self.p_adjusted, strict=True):
            table[baseline, contrast] = table[contrast, baseline] = p_value
        return table


def pairs_of(systems: int, baselines: Sequence[int] = ()) -> list[tuple[int, int]]:
    """The comparisons of a family: each baseline with each other system, or every pair.

    Args:
        systems: How many there are.
        baselines: Their numbers. Baselines are not compared among themselves, nor with themselves;
            without any, every pair is compared once.

    Returns:
        Pairs (baseline, contrast).

    Raises:
        UsageError: If a baseline is none of the systems, or is named twice.
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


def compare_systems(
    scores: npt.ArrayLike,
    *,
    baselines: Sequence[int] = (),
    test: str = "randomisation",
    correction: str = "holm",
    confidence: float = 0.95,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> SystemComparisons:
    """Compare systems with one or several baselines, or all with each other, as one family.

    Args:
        scores: Shape (queries, systems), all defined.
        baselines: As in :func:`pairs_of`.
        test: The paired test to adjust, a name of ``PAIRED_TESTS``.
        correction: As in :func:`adjust_p_values`, or ``tukey_hsd``: the randomised Tukey HSD, for
            all pairs, in place of a paired test.
        confidence: Level of the (unadjusted) intervals, between 0 and 1.
        resamples: How many resamples.
        seed: Of all draws.

    Returns:
        The comparisons with their adjusted p-values.

    Raises:
        UsageError: If a value is NaN or infinite, a name is unknown, there is no pair, or Tukey's
            test is asked for with baselines.
    """
    table = as_table(scores, "comparisons")
    check_choice(test, PAIRED_TESTS, "paired test")
    check_choice(correction, [*CORRECTIONS, TUKEY], "correction")
    systems = table.shape[1]
    pairs = pairs_of(systems, baselines)
    if not pairs:
        raise UsageError(f"expected a pair of systems but got {systems} to compare")
    if correction == TUKEY and baselines:
        raise UsageError(
            "Tukey's test compares all pairs, not baselines",
            where="comparisons",
            remedy="use holm, or leave out the baselines",
        )
    differences = np.column_stack([table[:, two] - table[:, one] for one, two in pairs])
    options = {"confidence": confidence, "resamples": resamples, "seed": seed}
    names = () if correction == TUKEY else (test,)
    comparisons = compare_columns(differences, tests=names, **options)  # type: ignore[arg-type]
    if correction == TUKEY:
        p_table = randomised_tukey(table, resamples=resamples, seed=seed)
        adjusted = np.array([p_table[pair] for pair in pairs])
    else:
        adjusted = adjust_p_values([one.tests[test].p_value for one in comparisons], correction)
    return SystemComparisons(
        pairs,
        comparisons,
        adjusted,
        TUKEY if correction == TUKEY else test,
        correction,
        _family(systems, len(baselines), len(pairs)),
    )


def _family(systems: int, baselines: int, pairs: int) -> str:
    word = "comparison" if pairs == 1 else "comparisons"
    if not baselines:
        return f"{pairs} {word}: all pairs of {systems} systems"
    against = "1 baseline" if baselines == 1 else f"{baselines} baselines"
    return f"{pairs} {word}: {systems - baselines} systems against {against}"


def randomised_tukey(
    scores: npt.ArrayLike, *, resamples: int = DEFAULT_RESAMPLES, seed: int = DEFAULT_SEED
) -> FloatArray:
    """Test for every pair of systems the null hypothesis that *all* systems are the same.

    If they are, the scores of a query could be exchanged among them. Each resample exchanges them
    at random in every query and keeps the distance between the largest and the smallest mean; a
    pair's p-value is (1 + resamples whose distance is at least the pair's) / (1 + resamples). As
    the largest of all distances is the yardstick, the p-values need no further correction.
    Carterette, Multiple Testing in Statistical Analysis of Systems-Based IR Experiments, TOIS 30
    (2012), algorithm 1.

    Args:
        scores: Shape (queries, systems), at least two systems, all defined. Neither the order of
            the queries nor that of the systems changes a p-value.
        resamples: How many exchanges; at least 1.
        seed: Of the draws.

    Returns:
        Adjusted two-sided p-values, shape (systems, systems): symmetric, 1 on the diagonal.

    Raises:
        UsageError: If there are fewer than two systems, no query, or a value is NaN or infinite.
    """
    table = as_table(scores, "Tukey HSD")
    check_resamples(resamples, "Tukey HSD")
    systems = table.shape[1]
    if systems < 2:
        raise UsageError(f"expected at least 2 systems but got {systems}", where="Tukey HSD")
    # An exchange at random starts from any order: a canonical one makes p independent of it.
    ordered = np.sort(table, axis=1)
    ordered = ordered[np.lexsort(ordered.T[::-1])]

    def distances(size: int, generator: np.random.Generator) -> FloatArray:
        found = np.empty(size)
        for index in range(size):
            means = generator.permuted(ordered, axis=1).mean(axis=0)
            found[index] = means.max() - means.min()
        return found

    drawn = np.sort(np.concatenate(map_chunks(distances, table.size, resamples, seed)))
    means = np.sort(table, axis=0).mean(axis=0)
    observed = np.abs(means[:, None] - means[None, :])
    below = np.searchsorted(drawn, observed - ROUNDING * np.abs(table).max(initial=0.0))
    p_values = (1.0 + resamples - below) / (1.0 + resamples)
    np.fill_diagonal(p_values, 1.0)
    return np.asarray(p_values)


def indistinguishable_groups(
    estimates: npt.ArrayLike, p_values: npt.ArrayLike, *, level: float = 0.05
) -> list[tuple[int, ...]]:
    """The largest groups within which no two systems differ significantly.

    Two systems share a group exactly when they are not told apart; a system may be in several. The
    insert-and-absorb algorithm of Piepho, An Algorithm for a Letter-Based Representation of
    All-Pairwise Comparisons, JCGS 13 (2004).

    Args:
        estimates: What the systems are ordered by, shape (systems,); the largest is the best.
        p_values: Adjusted p-values of all pairs, shape (systems, systems), symmetric; the diagonal
            does not matter. ``nan`` tells nothing apart.
        level: A pair with a p-value of at most this is told apart.

    Returns:
        The groups as system numbers, best first within a group, and the group of the best first.

    Raises:
        UsageError: If the shapes differ or the p-values are not symmetric.
    """
    places = np.asarray(estimates, dtype=np.float64)
    table = np.asarray(p_values, dtype=np.float64)
    systems = len(places)
    if table.shape != (systems, systems) or not np.array_equal(table, table.T, equal_nan=True):
        raise UsageError(
            f"expected a symmetric table of {systems} by {systems} p-values "
            f"but got shape {table.shape}",
            where="groups",
        )
    order = np.argsort(-places, kind="stable").tolist()
    groups: list[frozenset[int]] = [frozenset(range(systems))] if systems else []
    for first in range(systems):
        for second in range(first + 1, systems):
            if table[order[first], order[second]] <= level:
                groups = _split(groups, first, second)
    return [tuple(order[place] for place in group) for group in sorted(map(sorted, groups))]


def group_letters(groups: list[tuple[int, ...]], systems: int) -> list[str]:
    """The compact letter display: each system's letters, ``a`` for the first group.

    Args:
        groups: From :func:`indistinguishable_groups`.
        systems: How many systems there are.

    Returns:
        One string per system: systems that share no letter are told apart. After ``z`` come
        ``a1``, ``b1``, …
    """
    letters = [""] * systems
    for number, group in enumerate(groups):
        turn, place = divmod(number, 26)
        letter = chr(ord("a") + place) + (str(turn) if turn else "")
        for system in group:
            letters[system] += letter
    return letters


def _split(groups: list[frozenset[int]], first: int, second: int) -> list[frozenset[int]]:
    """Split the groups that hold both, and drop those that are part of another."""
    both = {first, second}
    kept = [group for group in groups if not both <= group]
    halves = [group - {one} for group in groups if both <= group for one in (first, second)]
    for half in sorted(set(halves), key=len, reverse=True):
        if not any(half <= other for other in kept):
            kept.append(half)
    return kept
