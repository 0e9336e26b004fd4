"""Where two terms meet: the lowest common ancestor of many pairs of terms at once."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from trectools_plus.ontology.hierarchy import Hierarchy, IntArray, ragged_ranges

_PAIRS_AT_ONCE = 2048
"""Bounds the memory of the look-up table to this many rows of one 16-bit number per term."""

_STEP_BITS, _TERM_BITS = 18, 28
_MOST_STEPS, _MOST_TERMS = (1 << _STEP_BITS) - 1, (1 << _TERM_BITS) - 1


@dataclass(frozen=True, slots=True, eq=False)
class PairFacts:
    """What the formulas need to know of pairs of terms; all arrays have shape ``(n_pairs,)``.

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


def compare_pairs(hierarchy: Hierarchy, a: IntArray, b: IntArray) -> PairFacts:
    """Find where the terms of each pair ``(a[i], b[i])`` meet.

    Args:
        hierarchy: The hierarchy the terms belong to.
        a: Term numbers, shape ``(n_pairs,)``.
        b: Term numbers, shape ``(n_pairs,)``.
    """
    order = np.argsort(a, kind="stable")  # neighbours share rows of the look-up table
    blocks = [
        _compare_block(hierarchy, a[block], b[block])
        for start in range(0, max(order.size, 1), _PAIRS_AT_ONCE)
        for block in [order[start : start + _PAIRS_AT_ONCE]]
    ]
    back = np.argsort(order)
    columns = {
        field.name: np.concatenate([getattr(block, field.name) for block in blocks])[back]
        for field in fields(PairFacts)
    }
    return PairFacts(**columns)


def _compare_block(hierarchy: Hierarchy, a: IntArray, b: IntArray) -> PairFacts:
    depths, offsets = hierarchy.depths, hierarchy.offsets
    table, row_of_a = _steps_up(hierarchy, a)
    lengths = offsets[b + 1] - offsets[b]
    position = ragged_ranges(offsets[b], lengths)
    ancestor = hierarchy.ancestors[position]
    steps_a = table[np.repeat(row_of_a, lengths), ancestor].astype(np.int64)
    steps = steps_a + hierarchy.steps[position]
    # One number whose maximum is the deepest, then nearest, then first common ancestor.
    key = (depths[ancestor] << _STEP_BITS) + _MOST_STEPS - steps
    key = (key << _TERM_BITS) + _MOST_TERMS - ancestor
    key[steps_a < 0] = -1
    best = np.maximum.reduceat(key, np.cumsum(lengths) - lengths) if key.size else key
    met = best >= 0
    return PairFacts(
        equal=a == b,
        depth_a=depths[a],
        depth_b=depths[b],
        lca=np.where(met, _MOST_TERMS - (best & _MOST_TERMS), -1),
        lca_depth=np.where(met, best >> (_STEP_BITS + _TERM_BITS), 0),
        steps=np.where(met, _MOST_STEPS - (best >> _TERM_BITS & _MOST_STEPS), 0),
    )


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
