"""Where two terms meet: the common ancestors of many pairs of terms at once.

Three of them matter: the deepest (the lowest common ancestor), the most informative, and the one
by which the shortest way leads. In a hierarchy with several parents these may be three terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.ontology.hierarchy import FloatArray, Hierarchy, IntArray, ragged_ranges
from trectools_plus.ontology.ids import TermIds
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


_PAIRS_PER_GROUP = 500_000
"""Bounds memory: queries are taken in groups of about this many pairs of terms."""

TermLists = Sequence[Sequence[str]]


def best_matches(
    ids: TermIds,
    hierarchy: Hierarchy,
    expected: TermLists,
    predicted: TermLists,
    formula: Formula,
    information: InformationContent | None = None,
) -> FloatArray:
    """The highest similarity of any expected with any predicted term, for each query.

    1.0 on an exact hit, by the same id or by two ids of one term, whatever the formula; 0 when
    either side is empty. An id that stands for no live term is similar to nothing but itself.

    Args:
        ids: What ids stand for.
        hierarchy: The hierarchy of the terms of ``ids``.
        expected: The expected terms of each query.
        predicted: The predicted terms of each query, aligned with ``expected``.
        formula: The similarity of two terms.
        information: The terms' information content, for formulas that need it; counted from the
            graph when ``None``.

    Returns:
        One value in [0, 1] per query, shape ``(n_queries,)``.
    """
    same_id = (not set(e).isdisjoint(p) for e, p in zip(expected, predicted, strict=True))
    values = np.fromiter(same_id, dtype=np.float64, count=len(expected))
    open_queries = np.flatnonzero(values == 0)
    expected_terms = _Ragged.of([expected[query] for query in open_queries.tolist()], ids)
    predicted_terms = _Ragged.of([predicted[query] for query in open_queries.tolist()], ids)
    for group in _groups(expected_terms.lengths * predicted_terms.lengths):
        a, b, lengths = _all_pairs(expected_terms.take(group), predicted_terms.take(group))
        pairs = TermPairs(hierarchy, a, b, information)
        similarity = np.where(pairs.equal, 1.0, formula(pairs))
        filled = lengths > 0
        starts = (np.cumsum(lengths) - lengths)[filled]
        if starts.size:
            values[open_queries[group][filled]] = np.maximum.reduceat(similarity, starts)
    return values


class _Ragged:
    """Term numbers of many queries in one row, ids that stand for no live term left out."""

    def __init__(self, numbers: IntArray, lengths: IntArray) -> None:
        self.numbers = numbers
        self.lengths = lengths
        self.starts = np.cumsum(lengths) - lengths

    @classmethod
    def of(cls, lists: TermLists, ids: TermIds) -> _Ragged:
        numbers = ids.numbers(list(chain.from_iterable(lists)))
        sizes = np.array([len(terms) for terms in lists], dtype=np.int64)
        query = np.repeat(np.arange(len(lists)), sizes)
        known = numbers >= 0
        return cls(numbers[known], np.bincount(query[known], minlength=len(lists)))

    def take(self, queries: IntArray) -> _Ragged:
        lengths = self.lengths[queries]
        return _Ragged(self.numbers[ragged_ranges(self.starts[queries], lengths)], lengths)


def _all_pairs(first: _Ragged, second: _Ragged) -> tuple[IntArray, IntArray, IntArray]:
    """Every term of ``first`` with every term of ``second`` of the same query."""
    lengths = first.lengths * second.lengths
    query = np.repeat(np.arange(lengths.size), lengths)
    pair = ragged_ranges(np.zeros_like(lengths), lengths)
    in_first, in_second = np.divmod(pair, second.lengths[query])
    a = first.numbers[first.starts[query] + in_first]
    b = second.numbers[second.starts[query] + in_second]
    return a, b, lengths


def _groups(sizes: IntArray) -> Iterator[npt.NDArray[np.intp]]:
    """Neighbouring positions in groups whose sizes add up to about ``_PAIRS_PER_GROUP``."""
    group = np.cumsum(sizes) // _PAIRS_PER_GROUP
    yield from np.split(np.arange(sizes.size), np.flatnonzero(np.diff(group)) + 1)
