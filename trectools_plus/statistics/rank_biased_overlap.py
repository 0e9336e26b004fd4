"""Rank-biased overlap of two rankings that need not hold the same documents."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.statistics.arrays import FloatArray

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
