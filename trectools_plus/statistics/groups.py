"""Groups of systems that cannot be told apart, instead of a strict order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError


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
