"""Similarity of two terms from where they meet: one pure function per formula.

Notation: ``LCA`` is the deepest common ancestor, a term being its own ancestor; depth counts the
edges on the shortest way up to a root; ``D`` is the largest depth of the ontology. Every formula
gives values in [0, 1], and 0 for terms that share no ancestor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.ontology.hierarchy import FloatArray, IntArray
from trectools_plus.ontology.pairs import PairFacts

Formula = Callable[[PairFacts, int], FloatArray]
"""Takes facts of n pairs and D, gives n similarities in [0, 1]."""

_DEPTH_WEIGHT, _DISTANCE_WEIGHT = 0.7, 0.3


def simple_resnik_like(pairs: PairFacts, max_depth: int) -> FloatArray:
    """depth(LCA) / D: how specific the meeting point is.

    A term compared with itself gets its own depth over D, so less than 1 unless it is a deepest.
    """
    return pairs.lca_depth / max(max_depth, 1)


def hybrid(pairs: PairFacts, max_depth: int) -> FloatArray:
    """0.7·depth(LCA)/D + 0.3·max(0, 1 − p/(depth1 + depth2)); 1.0 only for equal terms.

    p counts the edges on the shortest way up from each term to the LCA, added.
    """
    return np.where(pairs.equal, 1.0, _specific_and_near(pairs, pairs.steps, max_depth))


def hybrid_depth(pairs: PairFacts, max_depth: int) -> FloatArray:
    """As ``hybrid`` with p = max(0, depth1 + depth2 − 2·depth(LCA)), and 1.0 wherever p is 0.

    This is how the HPO benchmark that introduced the measure computes it. An ancestor can lie
    deeper (by shortest depth) than its descendant, so p reaches 0, and the similarity 1.0, for
    terms that differ: use it to compare with that benchmark's published figures only.
    """
    distance = np.maximum(0, pairs.depth_a + pairs.depth_b - 2 * pairs.lca_depth)
    met = pairs.lca >= 0
    return np.where(met & (distance == 0), 1.0, _specific_and_near(pairs, distance, max_depth))


def _specific_and_near(pairs: PairFacts, distance: IntArray, max_depth: int) -> FloatArray:
    specific = simple_resnik_like(pairs, max_depth)
    near = np.maximum(0.0, 1.0 - distance / np.maximum(pairs.depth_a + pairs.depth_b, 1))
    met = pairs.lca >= 0
    return np.where(met, _DEPTH_WEIGHT * specific + _DISTANCE_WEIGHT * near, 0.0)


FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {formula.__name__: formula for formula in (hybrid, hybrid_depth, simple_resnik_like)}
)


def formula_named(name: str) -> Formula:
    """The formula of that name.

    Raises:
        UsageError: If there is none.
    """
    try:
        return FORMULAS[name]
    except (KeyError, TypeError):
        raise UsageError(
            f"no similarity formula is called {name!r}",
            remedy=f"there are: {', '.join(FORMULAS)}",
        ) from None
