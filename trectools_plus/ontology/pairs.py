"""Where two terms meet: the common ancestors of many pairs of terms at once.

Three of them matter: the deepest (the lowest common ancestor), the most informative, and the one
by which the shortest way leads. In a hierarchy with several parents these may be three terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trectools_plus.ontology.hierarchy import Hierarchy, IntArray, ragged_ranges
from trectools_plus.ontology.information import InformationContent, information_from_graph

_PAIRS_AT_ONCE = 2048
"""Bounds the memory of the look-up table to this many rows of one 16-bit number per term."""

_STEP_BITS, _TERM_BITS = 18, 28
_MOST_STEPS, _MOST_TERMS = (1 << _STEP_BITS) - 1, (1 << _TERM_BITS) - 1

_Key = Callable[[IntArray, IntArray], IntArray]
"""From ancestors, and the edges up to them from both terms, to numbers; the largest is chosen."""


@dataclass(frozen=True, slots=True, eq=False)
class PairFacts:
    """What the formulas over depths need to know of pairs; all arrays have shape ``(n_pairs,)``.

    Attributes:
        equal: Whether the two are one term.
        depth_a: Depth of the first term.
        depth_b: Depth of the second term.
        lca: Their deepest common ancestor; −1 when they share none. Of several equally deep, the
            one with the shortest way from both terms, then the one of the smallest number.
        lca_depth: Its depth; 0 when they share none.
        steps: Edges on the shortest ways up from both terms to it, added; 0 when they share none.
    """

    equal: npt.NDArray[np.bool_]
    depth_a: IntArray
    depth_b: IntArray
    lca: IntArray
    lca_depth: IntArray
    steps: IntArray


class TermPairs:
    """Pairs of terms; what a formula does not ask for is not computed.

    Args:
        hierarchy: The hierarchy the terms belong to.
        a: Term numbers, shape ``(n_pairs,)``.
        b: Term numbers, shape ``(n_pairs,)``.
        information: The terms' information content; counted from the graph when ``None``.
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        a: IntArray,
        b: IntArray,
        information: InformationContent | None = None,
    ) -> None:
        self.hierarchy = hierarchy
        self.a = a
        self.b = b
        self._information = information

    @cached_property
    def equal(self) -> npt.NDArray[np.bool_]:
        """Whether the two are one term; shape ``(n_pairs,)``."""
        equal: npt.NDArray[np.bool_] = self.a == self.b
        return equal

    @cached_property
    def facts(self) -> PairFacts:
        """Depths, and where the pairs meet by depth."""
        return compare_pairs(self.hierarchy, self.a, self.b)

    @cached_property
    def information(self) -> InformationContent:
        """The information content of all terms."""
        return self._information or information_from_graph(self.hierarchy)

    @cached_property
    def most_informative(self) -> IntArray:
        """The most informative common ancestor (MICA); −1 where there is none."""
        return most_informative(self.hierarchy, self.information, self.a, self.b)

    @cached_property
    def shortest(self) -> IntArray:
        """Edges on the shortest way by any common ancestor; −1 where there is none."""
        return shortest_ways(self.hierarchy, self.a, self.b)


def compare_pairs(hierarchy: Hierarchy, a: IntArray, b: IntArray) -> PairFacts:
    """Find where the terms of each pair ``(a[i], b[i])`` meet, by depth.

    Args:
        hierarchy: The hierarchy the terms belong to.
        a: Term numbers, shape ``(n_pairs,)``.
        b: Term numbers, shape ``(n_pairs,)``.
    """
    depths = hierarchy.depths

    def deepest_nearest_first(ancestor: IntArray, steps: IntArray) -> IntArray:
        key = (depths[ancestor] << _STEP_BITS) + _MOST_STEPS - steps
        return (key << _TERM_BITS) + _MOST_TERMS - ancestor

    best = _best(hierarchy, a, b, deepest_nearest_first)
    met = best >= 0
    return PairFacts(
        equal=a == b,
        depth_a=depths[a],
        depth_b=depths[b],
        lca=np.where(met, _MOST_TERMS - (best & _MOST_TERMS), -1),
        lca_depth=np.where(met, best >> (_STEP_BITS + _TERM_BITS), 0),
        steps=np.where(met, _MOST_STEPS - (best >> _TERM_BITS & _MOST_STEPS), 0),
    )


def most_informative(
    hierarchy: Hierarchy, information: InformationContent, a: IntArray, b: IntArray
) -> IntArray:
    """The most informative common ancestor of each pair, which need not be the deepest.

    Args:
        hierarchy: The hierarchy the terms belong to.
        information: Their information content.
        a: Term numbers, shape ``(n_pairs,)``.
        b: Term numbers, shape ``(n_pairs,)``.

    Returns:
        Term numbers; −1 where the terms share no ancestor. Of several equally informative ones,
        that of the smallest number.
    """
    ranks = information.ranks
    best = _best(hierarchy, a, b, lambda ancestor, _steps: ranks[ancestor])
    return np.where(best >= 0, information.order[best], -1)


def shortest_ways(hierarchy: Hierarchy, a: IntArray, b: IntArray) -> IntArray:
    """Edges from one term up to a common ancestor and down to the other, as few as possible.

    Args:
        hierarchy: The hierarchy the terms belong to.
        a: Term numbers, shape ``(n_pairs,)``.
        b: Term numbers, shape ``(n_pairs,)``.

    Returns:
        Numbers of edges; −1 where the terms share no ancestor.
    """
    best = _best(hierarchy, a, b, lambda _ancestor, steps: _MOST_STEPS - steps)
    return np.where(best >= 0, _MOST_STEPS - best, -1)


def _best(hierarchy: Hierarchy, a: IntArray, b: IntArray, key: _Key) -> IntArray:
    """The largest key (at least 0) of any common ancestor of each pair; −1 without one."""
    order = np.argsort(a, kind="stable")  # neighbours share rows of the look-up table
    best = np.empty(a.size, dtype=np.int64)
    for start in range(0, order.size, _PAIRS_AT_ONCE):
        block = order[start : start + _PAIRS_AT_ONCE]
        best[block] = _best_of_block(hierarchy, a[block], b[block], key)
    return best


def _best_of_block(hierarchy: Hierarchy, a: IntArray, b: IntArray, key: _Key) -> IntArray:
    table, row_of_a = _steps_up(hierarchy, a)
    lengths = hierarchy.offsets[b + 1] - hierarchy.offsets[b]
    position = ragged_ranges(hierarchy.offsets[b], lengths)
    ancestor = hierarchy.ancestors[position]
    steps_a = table[np.repeat(row_of_a, lengths), ancestor].astype(np.int64)
    keys = key(ancestor, steps_a + hierarchy.steps[position])
    keys[steps_a < 0] = -1
    best: IntArray = np.maximum.reduceat(keys, np.cumsum(lengths) - lengths)
    return best


def _steps_up(hierarchy: Hierarchy, terms: IntArray) -> tuple[npt.NDArray[np.int16], IntArray]:
    """A table (one row per distinct term) of steps up to every other term, −1 where none leads."""
    distinct, row = np.unique(terms, return_inverse=True)
    starts = hierarchy.offsets[distinct]
    lengths = hierarchy.offsets[distinct + 1] - starts
    position = ragged_ranges(starts, lengths)
    table = np.full((distinct.size, hierarchy.depths.size), -1, dtype=np.int16)
    rows = np.repeat(np.arange(distinct.size), lengths)
    table[rows, hierarchy.ancestors[position]] = hierarchy.steps[position]
    return table, row
