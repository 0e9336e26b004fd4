"""A hierarchy as arrays: the ancestors of every term, the distances to them, and its depth.

In this module, terms are numbers 0 … n−1; ids are in :mod:`trectools_plus.ontology.ids`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """The reflexive transitive closure of ``is_a``.

    The ancestors of term ``t``, including itself, are ``ancestors[offsets[t]:offsets[t + 1]]``.

    Attributes:
        offsets: The position of each term's first ancestor; shape ``(n_terms + 1,)``.
        ancestors: The ancestors of all terms in the order of terms, ascending within a term.
        steps: The number of edges on the shortest path to each ancestor; aligned with
            ``ancestors``.
        depths: The number of edges on the shortest path to a root; shape ``(n_terms,)``.
    """

    offsets: IntArray
    ancestors: IntArray
    steps: IntArray
    depths: IntArray

    @property
    def max_depth(self) -> int:
        """The largest depth, called D in the formulas; 0 if all terms are roots."""
        return int(self.depths.max(initial=0))

    def ancestors_of(self, term: int) -> IntArray:
        """Return the ancestors of a term, including itself, ascending."""
        return self.ancestors[self.offsets[term] : self.offsets[term + 1]]


def build_hierarchy(parents: Sequence[Sequence[int] | IntArray]) -> Hierarchy:
    """Compute the closure of ``is_a`` in rounds; each round follows one edge from all terms.

    Args:
        parents: The parents of each term, without cycles. A term without parents is a root.
    """
    n_terms = len(parents)
    counts = np.array([len(above) for above in parents], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)])
    edges = np.array([parent for above in parents for parent in above], dtype=np.int64)

    terms = np.arange(n_terms, dtype=np.int64)
    frontier = terms * n_terms + terms  # a (term, ancestor) pair as one number
    rounds = []
    while frontier.size:
        rounds.append(frontier)
        owner, ancestor = np.divmod(frontier, n_terms)
        above = edges[ragged_ranges(starts[ancestor], counts[ancestor])]
        frontier = np.unique(np.repeat(owner, counts[ancestor]) * n_terms + above)
    return _from_rounds(rounds, is_root=counts == 0)


def _from_rounds(rounds: list[IntArray], is_root: npt.NDArray[np.bool_]) -> Hierarchy:
    n_terms = is_root.size
    reached = np.concatenate([*rounds, np.zeros(0, dtype=np.int64)])
    rounds_of_reached = np.repeat(np.arange(len(rounds)), [pairs.size for pairs in rounds])
    # The first round that reaches an ancestor used the shortest path.
    pairs, first = np.unique(reached, return_index=True)
    steps = rounds_of_reached[first]
    owner, ancestors = np.divmod(pairs, max(n_terms, 1))
    to_root = is_root[ancestors]
    depths = np.full(n_terms, np.iinfo(np.int64).max)
    np.minimum.at(depths, owner[to_root], steps[to_root])
    offsets = np.searchsorted(owner, np.arange(n_terms + 1))
    return Hierarchy(offsets, ancestors, steps, depths)


def ragged_ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Concatenate the ranges ``starts[i] … starts[i] + lengths[i] − 1`` for all ``i``."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - ends + lengths, lengths)
