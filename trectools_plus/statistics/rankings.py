"""Similarity of orders of systems, and of two rankings of one query."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import BoolArray, FloatArray, as_pair

DEFAULT_PERSISTENCE = 0.9

IntArray = npt.NDArray[np.int64]


def kendall_tau(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return Kendall's tau-b of two arrays of scores of the same items (Kendall 1945).

    The same as ``scipy.stats.kendalltau``, whose import takes longer than most benchmarks.

    Args:
        first: Scores, shape (items,).
        second: Scores of the same items.

    Returns:
        Between −1 and 1, corrected for ties; ``nan`` if one array has only equal scores.

    Raises:
        UsageError: If the shapes differ, there is no item, or a value is NaN or infinite.
    """
    one, two = as_pair(first, second, "Kendall's tau")
    if (one == one[0]).all() or (two == two[0]).all():
        return float("nan")
    order = np.lexsort((two, one))
    one, two = one[order], two[order]
    values, ranks = np.unique(two, return_inverse=True)
    pairs = len(one) * (len(one) - 1) // 2
    tied_in_one = _tied_pairs(np.diff(one) != 0)
    tied_in_two = _tied_pairs(np.diff(np.sort(two)) != 0)
    tied_in_both = _tied_pairs((np.diff(one) != 0) | (np.diff(two) != 0))
    discordant = _count_inversions(ranks, len(values))
    excess = pairs - tied_in_one - tied_in_two + tied_in_both - 2 * discordant
    tau = excess / np.sqrt(pairs - tied_in_one) / np.sqrt(pairs - tied_in_two)
    return float(min(1.0, max(-1.0, tau)))


def _tied_pairs(differs: BoolArray) -> int:
    """Return the number of pairs of equal items; ``differs`` compares each with its predecessor."""
    counts = np.diff(np.flatnonzero(np.concatenate([[True], differs, [True]])))
    return int((counts * (counts - 1) // 2).sum())


def _count_inversions(ranks: IntArray, n_ranks: int) -> int:
    """Return the number of pairs of items of which the first has the higher rank, from 0."""
    inversions = 0
    for bit in range(n_ranks.bit_length()):
        # In an inversion, the highest bit that differs is set in the first item only.
        higher = ranks >> (bit + 1)
        order = np.argsort(higher, kind="stable")
        higher = higher[order]
        is_set = (ranks[order] >> bit) & 1
        n_set = np.cumsum(is_set)
        n_set_before_group = (n_set - is_set)[np.searchsorted(higher, higher)]
        inversions += int((n_set - n_set_before_group)[is_set == 0].sum())
    return inversions


def tau_ap(reference: npt.ArrayLike, estimated: npt.ArrayLike) -> float:
    """Return the AP rank correlation, in which disagreement near the top has a higher weight.

    τ_AP = 2/(n − 1) · Σ_{i=2..n} C(i)/(i − 1) − 1, where C(i) is the number of items above rank i
    in the estimated order that are also above the item at rank i in the reference (Yilmaz, Aslam
    and Robertson, SIGIR 2008). It is not symmetric. For items tied in the estimated order, the
    average over all orders of the tied items is used; a pair tied in the reference counts half
    (Urbano and Marrero, SIGIR 2017, case a).

    Args:
        reference: The reference scores, shape (items,); larger is better.
        estimated: Scores of the same items.

    Returns:
        Between −1 and 1; ``nan`` for fewer than two items.

    Raises:
        UsageError: If the shapes differ, there is no item, or a value is NaN or infinite.
    """
    truth, estimate = as_pair(reference, estimated, "tau-AP")
    items = len(truth)
    if items < 2:
        return float("nan")
    correct = (np.sign(truth[:, None] - truth[None, :]) + 1.0) / 2.0
    above = (estimate[:, None] > estimate[None, :]).astype(np.float64)
    tied = (estimate[:, None] == estimate[None, :]).astype(np.float64)
    np.fill_diagonal(tied, 0.0)
    total = sum(
        _expected_precision(*case)
        for case in zip(
            above.sum(axis=0).astype(int).tolist(),
            tied.sum(axis=0).astype(int).tolist(),
            (correct * above).sum(axis=0).tolist(),
            (correct * tied).sum(axis=0).tolist(),
            strict=True,
        )
    )
    return float(2.0 * total / (items - 1) - 1.0)


def _expected_precision(above: int, tied: int, correct_above: float, correct_tied: float) -> float:
    """Return C(i)/(i − 1) of an item, averaged over its positions among the items tied with it."""
    tied_above = np.arange(tied + 1, dtype=np.float64)
    found: FloatArray = correct_above + tied_above * (correct_tied / tied if tied else 0.0)
    ranked_above = above + tied_above
    # The sum starts at rank 2.
    counted = ranked_above > 0
    return float((found[counted] / ranked_above[counted]).sum() / (tied + 1))


def rank_biased_overlap(
    first: Sequence[Hashable], second: Sequence[Hashable], *, p: float = DEFAULT_PERSISTENCE
) -> float:
    """Return the extrapolated rank-biased overlap, RBO_EXT, of two rankings.

    The rankings may differ in length and documents. For each depth d, the overlap of the first d
    documents is divided by d and weighted by (1 − p)·p^(d − 1). Beyond the ends of the rankings
    the agreement at the ends is assumed. Webber, Moffat and Zobel, A Similarity Measure for
    Indefinite Rankings, TOIS 28 (2010), equation 32.

    A ranking has no ties. First order tied documents by the same rule in both rankings, as the
    package's canonical ranking does.

    Args:
        first: Documents from the top, each once.
        second: Documents from the top, each once.
        p: Persistence, between 0 and 1: with 0.9, the first 10 ranks have 86% of the weight.

    Returns:
        Between 0 and 1; 1 for two empty rankings, 0 if only one is empty. The order of the
            arguments does not matter.

    Raises:
        UsageError: If a ranking contains a document twice, or ``p`` is out of range.
    """
    check_persistence(p)
    check_no_duplicates(first, "RBO")
    check_no_duplicates(second, "RBO")
    ranks = {document: rank for rank, document in enumerate(second, 1)}
    deeper = [
        max(rank, ranks[document]) for rank, document in enumerate(first, 1) if document in ranks
    ]
    lengths = np.array([[len(first), len(second)]])
    query = np.zeros(len(deeper), np.int64)
    return float(extrapolate_overlaps(lengths, query, np.array(deeper, np.int64), p)[0])


def extrapolate_overlaps(
    lengths: IntArray, query: IntArray, deeper: IntArray, p: float
) -> FloatArray:
    """Return the RBO_EXT of the two rankings of each of several queries.

    Args:
        lengths: The lengths of both rankings, shape (queries, 2).
        query: For each document that is in both rankings of a query, the query's position, shape
            (documents,).
        deeper: The larger of the document's two ranks, from 1, in the same order.
        p: Persistence, between 0 and 1.

    Returns:
        Shape (queries,), as :func:`rank_biased_overlap`.
    """
    short, long = lengths.min(axis=1), lengths.max(axis=1)
    depth = np.arange(1, long.max(initial=0) + 1, dtype=np.float64)
    # Sums of p^d and of p^d / d over the first ranks d; a shared document counts from its deeper
    # rank to the end of the longer ranking.
    weights = np.concatenate([[0.0], np.cumsum(p**depth)])
    by_depth = np.concatenate([[0.0], np.cumsum(p**depth / depth)])
    queries = len(lengths)
    seen = np.bincount(query, by_depth[long[query]] - by_depth[deeper - 1], minlength=queries)
    at_long = np.bincount(query, minlength=queries)
    at_short = np.bincount(query[deeper <= short[query]], minlength=queries)
    one = np.maximum(short, 1)
    assumed = at_short * (
        (weights[long] - weights[short]) / one - (by_depth[long] - by_depth[short])
    )
    rest = ((at_long - at_short) / np.maximum(long, 1) + at_short / one) * p**long
    found = np.minimum(1.0, (1.0 - p) / p * (seen + assumed) + rest)
    return np.where(short > 0, found, np.where(long > 0, 0.0, 1.0))


def check_persistence(p: float) -> None:
    """Refuse a persistence outside (0, 1).

    Raises:
        UsageError: If ``p`` is not between 0 and 1.
    """
    if not 0.0 < p < 1.0:
        raise UsageError(
            f"expected p between 0 and 1 but got {p}", where="RBO", remedy="use 0.9, for example"
        )


def check_no_duplicates(ranking: Sequence[Hashable], where: str) -> None:
    """Refuse a ranking that contains a document twice.

    Raises:
        UsageError: If a document occurs twice; the error names it.
    """
    seen: set[Hashable] = set()
    for document in ranking:
        if document in seen:
            raise UsageError(
                f"expected each document once but got {document!r} twice",
                where=where,
                remedy="keep only its best rank",
            )
        seen.add(document)
