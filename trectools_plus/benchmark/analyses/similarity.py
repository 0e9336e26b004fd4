"""Similarity of runs: the rank-biased overlap of each two runs, averaged over queries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from trectools_plus.benchmark.report.analyses import Similarity
from trectools_plus.formats.clean.judged import number_pairs
from trectools_plus.formats.clean.words import Ids
from trectools_plus.formats.tables import Run
from trectools_plus.measures.judged import IntArray, JudgedQueries, view_of
from trectools_plus.statistics.rankings import DEFAULT_PERSISTENCE, extrapolate_overlaps
from trectools_plus.validation.views.order import places_in_query

DEPTH = 100
"""Compared documents per query: with p = 0.9, all further ranks have a weight of 0.00003."""
FEWEST_MODES = 3
"""Reports of fewer modes have no matrix."""
_DOCUMENTS_AT_A_TIME = 1 << 18

SmallInts = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class _Ranking:
    """The first documents of a run, by query and rank.

    Attributes:
        lengths: The number of documents of each query.
        query: The query of each document.
        rank: The rank of each document.
        doc_ids: The documents.
    """

    lengths: IntArray
    query: SmallInts
    rank: SmallInts
    doc_ids: Ids


def find_similarity(
    queries: JudgedQueries,
    runs: Mapping[str, Run],
    *,
    p: float = DEFAULT_PERSISTENCE,
    depth: int = DEPTH,
) -> Similarity:
    """Compute the mean rank-biased overlap of each two runs.

    Args:
        queries: The queries to compare.
        runs: The runs, by name.
        p: Persistence, between 0 and 1.
        depth: The number of documents to compare per query.
    """
    rankings = [_rank(queries, run, depth) for run in runs.values()]
    numbers = _number_documents(rankings)
    n_documents = 1 + max((int(one.max(initial=-1)) for one in numbers), default=-1)
    matrix: list[list[float | None]] = [[None] * len(rankings) for _ in rankings]
    for one, first in enumerate(rankings):
        matrix[one][one] = 1.0 if first.lengths.any() else None
        rank = np.zeros(n_documents, np.int32)
        rank[numbers[one]] = first.rank
        for two in range(one + 1, len(rankings)):
            overlap = _mean_overlap(first, rankings[two], rank[numbers[two]], p)
            matrix[one][two] = matrix[two][one] = overlap
    return Similarity(p=p, depth=depth, modes=list(runs), rbo=matrix)


def _rank(queries: JudgedQueries, run: Run, depth: int) -> _Ranking:
    view = view_of(run)
    query = queries.number(view.query_ids)[view.grouped.query]
    place = places_in_query(view.grouped.query)
    chosen = np.flatnonzero((query >= 0) & (place < depth))
    chosen = chosen[np.argsort(query[chosen], kind="stable")]
    return _Ranking(
        np.bincount(query[chosen], minlength=len(queries.query_ids)),
        query[chosen].astype(np.int32),
        (place[chosen] + 1).astype(np.int32),
        view.doc_ids.take(view.order(32)[chosen]),
    )


def _number_documents(rankings: Sequence[_Ranking]) -> list[SmallInts]:
    """Return a number for each document of each run; equal ones of a query have the same."""
    numbers = [np.zeros(len(one.rank), np.int32) for one in rankings]
    n_before = 0
    for slices in _slice_by_query(rankings):
        parts = list(zip(rankings, slices, strict=True))
        doc_ids = Ids.joined([one.doc_ids.take(rows) for one, rows in parts])
        query = np.concatenate([one.query[rows] for one, rows in parts])
        found = number_pairs(doc_ids, query) + n_before
        n_before = int(found.max(initial=n_before - 1)) + 1
        begin = 0
        for of_run, rows in zip(numbers, slices, strict=True):
            end = begin + rows.stop - rows.start
            of_run[rows] = found[begin:end]
            begin = end
    return numbers


def _slice_by_query(rankings: Sequence[_Ranking]) -> Iterator[list[slice]]:
    """Yield the rows of some queries in each run: few enough to be numbered in the caches."""
    ends = np.cumsum([one.lengths for one in rankings], axis=1)
    of_all = ends.sum(axis=0)
    n_queries, n_documents = len(of_all), int(of_all[-1]) if len(of_all) else 0
    full = np.searchsorted(
        of_all, np.arange(_DOCUMENTS_AT_A_TIME, n_documents, _DOCUMENTS_AT_A_TIME)
    )
    starts = np.column_stack([np.zeros(len(rankings), np.int64), ends])
    cuts = np.unique([0, *full.tolist(), n_queries]).tolist()
    for begin, end in pairwise(cuts):
        yield [slice(int(one[begin]), int(one[end])) for one in starts]


def _mean_overlap(first: _Ranking, second: _Ranking, other: SmallInts, p: float) -> float | None:
    """Return the mean overlap over the queries that one of two runs answers.

    Args:
        first: The first run.
        second: The second run.
        other: The rank of each document of the second run in the first, 0 if it is not there.
        p: Persistence.
    """
    lengths = np.column_stack([first.lengths, second.lengths])
    answered = lengths.any(axis=1)
    if not answered.any():
        return None
    shared = np.flatnonzero(other)
    deeper = np.maximum(second.rank[shared], other[shared])
    query = second.query[shared].astype(np.int64)
    overlaps = extrapolate_overlaps(lengths, query, deeper, p)
    return math.fsum(overlaps[answered]) / int(answered.sum())
