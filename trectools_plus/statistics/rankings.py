"""How alike two orders of the same systems are: Kendall's tau and tau-AP."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import FloatArray, as_pair


def kendall_tau(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Kendall's tau-b of two scorings of the same items (Kendall 1945), as SciPy computes it.

    Args:
        first: Scores, shape (items,).
        second: Scores of the same items.

    Returns:
        Between −1 and 1, ties corrected for; ``nan`` where one scoring has a single value.

    Raises:
        UsageError: If the shapes differ, there is no item, or a value is NaN or infinite.
    """
    from scipy import stats

    one, two = as_pair(first, second, "Kendall's tau")
    if (one == one[0]).all() or (two == two[0]).all():
        return float("nan")
    return float(stats.kendalltau(one, two).statistic)


def tau_ap(reference: npt.ArrayLike, estimated: npt.ArrayLike) -> float:
    """The AP rank correlation, in which disagreement near the top costs more.

    τ_AP = 2/(n − 1) · Σ_{i=2..n} C(i)/(i − 1) − 1, where C(i) is how many of the items above rank
    i of the estimated order are above the item at rank i in the reference too (Yilmaz, Aslam and
    Robertson, SIGIR 2008). It is not symmetric. Items tied in the estimated order count as their
    average over all orders of the tied, and a pair tied in the reference as half right (Urbano and
    Marrero, SIGIR 2017, case a).

    Args:
        reference: The scores taken as true, shape (items,); larger is better.
        estimated: Scores of the same items.

    Returns:
        Between −1 and 1; ``nan`` for fewer than two items.

    Raises:
        UsageError: If the shapes differ, there is no item, or a value is NaN or infinite.
    """
    truth, guess = as_pair(reference, estimated, "tau-AP")
    items = len(truth)
    if items < 2:
        return float("nan")
    right = (np.sign(truth[:, None] - truth[None, :]) + 1.0) / 2.0
    above = (guess[:, None] > guess[None, :]).astype(np.float64)
    tied = (guess[:, None] == guess[None, :]).astype(np.float64)
    np.fill_diagonal(tied, 0.0)
    correct_above = (right * above).sum(axis=0)
    correct_tied = (right * tied).sum(axis=0)
    total = sum(
        _expected_precision(*case)
        for case in zip(
            above.sum(axis=0).astype(int).tolist(),
            tied.sum(axis=0).astype(int).tolist(),
            correct_above.tolist(),
            correct_tied.tolist(),
            strict=True,
        )
    )
    return float(2.0 * total / (items - 1) - 1.0)


def _expected_precision(above: int, tied: int, correct_above: float, correct_tied: float) -> float:
    """C(i)/(i − 1) of an item, averaged over its places among the items tied with it."""
    extra = np.arange(tied + 1, dtype=np.float64)
    found: FloatArray = correct_above + extra * (correct_tied / tied if tied else 0.0)
    ranked_above = above + extra
    # Nothing stands above the first item: it is not in the sum.
    counted = ranked_above > 0
    return float((found[counted] / ranked_above[counted]).sum() / (tied + 1))


DEFAULT_PERSISTENCE = 0.9


def rank_biased_overlap(
    first: Sequence[Hashable], second: Sequence[Hashable], *, p: float = DEFAULT_PERSISTENCE
) -> float:
    """Extrapolated rank-biased overlap, RBO_EXT.

    The overlap of the first d documents, as a share of d, weighted by (1 − p)·p^(d − 1) over all
    depths, and continued past the ends of the lists as they agree there. Webber, Moffat and Zobel,
    A Similarity Measure for Indefinite Rankings, TOIS 28 (2010), equation 32.

    Rankings have no ties here: order tied documents by one rule in both before (as the package's
    canonical ranking does), or the order of a file decides.

    Args:
        first: Documents from the top, each once.
        second: Likewise; as many or not.
        p: Persistence, between 0 and 1: the first 10 ranks have 86% of the weight at 0.9.

    Returns:
        Between 0 and 1; 1 for two empty rankings, 0 where only one is empty. Symmetric.

    Raises:
        UsageError: If a document is in a ranking twice, or ``p`` is out of range.
    """
    _check(first, second, p)
    short, long = sorted((len(first), len(second)))
    if not short:
        return float(not long)
    overlap = overlaps(first, second, long)
    depth = np.arange(1, long + 1, dtype=np.float64)
    weight = p**depth
    at_short, at_long = overlap[short - 1], overlap[-1]
    seen = (overlap / depth * weight).sum()
    beyond = depth[short:]
    assumed = (at_short * (beyond - short) / (short * beyond) * weight[short:]).sum()
    rest = ((at_long - at_short) / long + at_short / short) * p**long
    return float(min(1.0, (1.0 - p) / p * (seen + assumed) + rest))


def overlaps(first: Sequence[Hashable], second: Sequence[Hashable], depth: int) -> FloatArray:
    """How many documents are among the first d of both, for d = 1 … depth."""
    place = {document: rank for rank, document in enumerate(second)}
    entered = np.zeros(depth)
    for rank, document in enumerate(first):
        later = max(rank, place.get(document, depth))
        if later < depth:
            entered[later] += 1
    return np.cumsum(entered)


def _check(first: Sequence[Hashable], second: Sequence[Hashable], p: float) -> None:
    if not 0.0 < p < 1.0:
        raise UsageError(f"expected p between 0 and 1 but got {p}", where="RBO", remedy="try 0.9")
    refuse_duplicates(first, "RBO")
    refuse_duplicates(second, "RBO")


def refuse_duplicates(ranking: Sequence[Hashable], where: str) -> None:
    """Refuse a ranking that holds a document twice.

    Raises:
        UsageError: If it does; it names the document.
    """
    if len(set(ranking)) == len(ranking):
        return
    seen: set[Hashable] = set()
    for document in ranking:
        if document in seen:
            raise UsageError(
                f"expected each document once but got {document!r} twice",
                where=where,
                remedy="keep its best rank",
            )
        seen.add(document)
