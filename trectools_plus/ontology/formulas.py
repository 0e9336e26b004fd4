"""Similarity of two terms from where they meet: one pure function per formula.

Notation: a term is an ancestor of its own. ``depth`` counts the edges on the shortest way up to a
root, ``D`` is the largest depth of the ontology, ``LCA`` the deepest common ancestor. ``IC`` is the
information content (see :mod:`trectools_plus.ontology.information`), ``MICA`` the common ancestor
with the highest. Every formula is symmetric, gives values in [0, 1], and 0 for terms that share no
ancestor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.ontology.hierarchy import FloatArray, IntArray
from trectools_plus.ontology.pairs import TermPairs

Formula = Callable[[TermPairs], FloatArray]
"""Takes n pairs, gives n similarities in [0, 1]."""

_DEPTH_WEIGHT, _DISTANCE_WEIGHT = 0.7, 0.3


def simple_resnik_like(pairs: TermPairs) -> FloatArray:
    """depth(LCA) / D: how specific the meeting point is.

    A term compared with itself gets its own depth over D, so less than 1 unless it is a deepest;
    and that of an ancestor which lies deeper (by the shortest way) than the term itself.
    """
    return pairs.facts.lca_depth / max(pairs.hierarchy.max_depth, 1)


def hybrid(pairs: TermPairs) -> FloatArray:
    """0.7·depth(LCA)/D + 0.3·max(0, 1 − p/(depth1 + depth2)); 1.0 only for equal terms.
    p: edges on the shortest way up from each term to the LCA, added.
    """
    return np.where(pairs.equal, 1.0, _specific_and_near(pairs, pairs.facts.steps))


def hybrid_depth(pairs: TermPairs) -> FloatArray:
    """0.7·depth(LCA)/D + 0.3·max(0, 1 − p/(depth1 + depth2)); 1.0 wherever p is 0, which it also
    is for some terms that differ. p = max(0, depth1 + depth2 − 2·depth(LCA)).

    This is how the HPO benchmark that introduced the measure
    (https://github.com/berntpopp/phentrieve) computes it. An ancestor can lie deeper (by shortest
    depth) than its descendant, so p reaches 0, and the similarity 1.0, for terms that differ: use
    it to compare with that benchmark's published figures only.
    """
    facts = pairs.facts
    distance = np.maximum(0, facts.depth_a + facts.depth_b - 2 * facts.lca_depth)
    met = facts.lca >= 0
    return np.where(met & (distance == 0), 1.0, _specific_and_near(pairs, distance))


def resnik(pairs: TermPairs) -> FloatArray:
    """IC(MICA) / the highest IC of any term: how informative the meeting point is.

    Resnik: Using information content to evaluate semantic similarity in a taxonomy, IJCAI 1995;
    the division brings it into [0, 1]. A term compared with itself gets its own IC over the
    highest, so less than 1 unless it is a most informative one.
    """
    return _shared(pairs, pairs.information.scaled)


def lin(pairs: TermPairs) -> FloatArray:
    """2·IC(MICA) / (IC1 + IC2): the share of what the two terms say that they say in common.

    Lin: An information-theoretic definition of similarity, ICML 1998. A term compared with itself
    gets 1, also where its IC is 0. Different terms get 1 only where they and the MICA have one and
    the same IC: never when it is counted from the graph, but possible with annotations.
    """
    values = pairs.information.values
    total = values[pairs.a] + values[pairs.b]
    return np.where(pairs.equal, 1.0, 2 * _shared(pairs, values) / np.where(total > 0, total, 1.0))


def jiang_conrath(pairs: TermPairs) -> FloatArray:
    """1 − (IC1 + IC2 − 2·IC(MICA)) / 2, each IC over the highest IC of any term.

    Jiang and Conrath: Semantic similarity based on corpus statistics and lexical taxonomy,
    ROCLING 1997, give the distance in brackets; Seco, Veale and Hayes (ECAI 2004) make it this
    similarity, which is 1 for a term and itself, and reaches 0 for most informative terms that
    have nothing but an empty root in common. Different terms get 1 as with ``lin``, and where all
    three IC are 0.
    """
    values = pairs.information.scaled
    distance = values[pairs.a] + values[pairs.b] - 2 * _shared(pairs, values)
    return np.where(pairs.most_informative >= 0, 1 - distance / 2, 0.0)


def path(pairs: TermPairs) -> FloatArray:
    """1 / (1 + p), p being the edges on the shortest way between the terms by a common ancestor.

    Rada, Mili, Bicknell and Blettner: Development and application of a metric on semantic nets,
    IEEE Trans. SMC 1989, give the distance p. 1 for a term and itself, 0.5 for a term and its
    parent. The way need not lead by the LCA.
    """
    return np.where(pairs.shortest >= 0, 1 / (1.0 + np.maximum(pairs.shortest, 0)), 0.0)


def _specific_and_near(pairs: TermPairs, distance: IntArray) -> FloatArray:
    facts = pairs.facts
    near = np.maximum(0.0, 1.0 - distance / np.maximum(facts.depth_a + facts.depth_b, 1))
    mixed = _DEPTH_WEIGHT * simple_resnik_like(pairs) + _DISTANCE_WEIGHT * near
    return np.where(facts.lca >= 0, mixed, 0.0)


def _shared(pairs: TermPairs, information: FloatArray) -> FloatArray:
    """IC(MICA); 0 where there is none."""
    mica = pairs.most_informative
    return np.where(mica >= 0, information[mica], 0.0)


FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {
        formula.__name__: formula
        for formula in (
            hybrid,
            hybrid_depth,
            simple_resnik_like,
            resnik,
            lin,
            jiang_conrath,
            path,
        )
    }
)

INFORMATION_FORMULAS = frozenset({resnik, lin, jiang_conrath})
"""Those that depend on where information content comes from."""


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
