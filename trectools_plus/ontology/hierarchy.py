"""A hierarchy as arrays: the ancestors of every term, the distances to them, and its depth.

In this module, terms are numbers 0 … n−1; ids are in :mod:`trectools_plus.ontology.ids`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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

    def matrix(self, values: IntArray) -> csr_array:
        """Return a matrix with a row of ancestors for each term.

        Args:
            values: The entries, aligned with ``ancestors``.
        """
        from scipy.sparse import csr_array

        return csr_array((values, self.ancestors, self.offsets), shape=2 * (self.depths.size,))


def build_hierarchy(parents: Sequence[Sequence[int]]) -> Hierarchy:
    """Compute the closure of ``is_a`` in rounds; each round follows one edge from all terms.

    Args:
        parents: The parents of each term, without cycles. A term without parents is a root.
    """
    n_terms = len(parents)
    counts = np.array([len(above) for above in parents], dtype=np.int64)
    starts = np.cumsum(counts) - counts
    edges = np.fromiter(chain.from_iterable(parents), dtype=np.int64)
    frontier = np.arange(n_terms, dtype=np.int64) * (n_terms + 1)  # term and ancestor as a number
    rounds = [frontier]
    while frontier.size:
        owner, ancestor = np.divmod(frontier, n_terms)
        above = edges[ragged_ranges(starts[ancestor], counts[ancestor])]
        frontier = np.unique(np.repeat(owner, counts[ancestor]) * n_terms + above)
        rounds.append(frontier)
    # The first round that reaches an ancestor used the shortest path.
    pairs, first = np.unique(np.concatenate(rounds), return_index=True)
    steps = np.repeat(np.arange(len(rounds)), [reached.size for reached in rounds])[first]
    owner, ancestors = np.divmod(pairs, max(n_terms, 1))
    to_root = counts[ancestors] == 0
    depths = np.full(n_terms, np.iinfo(np.int64).max)
    np.minimum.at(depths, owner[to_root], steps[to_root])
    return Hierarchy(np.searchsorted(owner, np.arange(n_terms + 1)), ancestors, steps, depths)


def ragged_ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Concatenate the ranges ``starts[i] … starts[i] + lengths[i] − 1`` for all ``i``."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - ends + lengths, lengths)
