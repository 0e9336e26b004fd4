"""Information content: how much it says of something that a term applies to it.

Counted either from the graph alone, or from annotations, which say what terms apply to what. Both
ways a term is at least as informative as each of its ancestors, which keeps similarities in [0, 1].
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from trectools_plus.ontology.hierarchy import FloatArray, Hierarchy, IntArray

FROM_GRAPH = (
    "IC from the graph: 1 − ln(number of terms below, the term included) / ln(number of all terms) "
    "(Seco, Veale and Hayes 2004)"
)
FROM_ANNOTATIONS = (
    "IC from {file}: −ln(share of the annotated objects that have the term or one below it), a "
    "term that none has as if one had it (Resnik 1995)"
)


class InformationContent:
    """The information content of every term.

    Args:
        values: One per term, at least 0, none smaller than an ancestor's; shape ``(n_terms,)``.
        source: Where it is from and how it is counted, in words.
        notes: What a reader of its figures must know, in a line each.
    """

    def __init__(self, values: FloatArray, source: str, notes: tuple[str, ...] = ()) -> None:
        self.values = values
        self.source = source
        self.notes = notes

    @cached_property
    def scaled(self) -> FloatArray:
        """The values over the largest of them, in [0, 1]; all 0 where the largest is 0."""
        largest = float(self.values.max(initial=0.0))
        return self.values / largest if largest > 0 else np.zeros_like(self.values)

    @cached_property
    def order(self) -> IntArray:
        """The terms by rising value; of equally informative ones the smallest number is last."""
        return np.lexsort((-np.arange(self.values.size), self.values))

    @cached_property
    def ranks(self) -> IntArray:
        """Each term's place in ``order``."""
        ranks = np.empty_like(self.order)
        ranks[self.order] = np.arange(ranks.size)
        return ranks


def information_from_graph(hierarchy: Hierarchy) -> InformationContent:
    """IC(t) = 1 − ln(n(t)) / ln(N): a term with many terms below it says little.

    n(t) counts the term and all terms below it, N all terms of the ontology. A leaf has 1, the
    only root 0. Seco, Veale and Hayes: An intrinsic information content metric for semantic
    similarity in WordNet, ECAI 2004 (where n(t) is written hypo(t) + 1).
    """
    n_terms = hierarchy.depths.size
    below = np.bincount(hierarchy.ancestors, minlength=n_terms)
    values = 1 - np.log(below) / np.log(n_terms) if n_terms > 1 else np.zeros(n_terms)
    return InformationContent(values, FROM_GRAPH)
