"""How near lists of predicted terms come to lists of expected ones, for many queries at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from trectools_plus.ontology.formulas import Formula
from trectools_plus.ontology.hierarchy import FloatArray, Hierarchy, IntArray, ragged_ranges
from trectools_plus.ontology.ids import TermIds
from trectools_plus.ontology.information import InformationContent
from trectools_plus.ontology.pairs import TermPairs

_PAIRS_AT_ONCE = 500_000
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
    """Neighbouring positions in groups whose sizes add up to about ``_PAIRS_AT_ONCE``."""
    group = np.cumsum(sizes) // _PAIRS_AT_ONCE
    yield from np.split(np.arange(sizes.size), np.flatnonzero(np.diff(group)) + 1)
