"""Counts of ties.

trec_eval 9 compares scores in 32 bits, version 10 in 64 bits. Some scores are equal only in 32
bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trectools_plus.validation.views.places import places_in_query
from trectools_plus.validation.views.runs import RunView


@dataclass(frozen=True, slots=True)
class Ties:
    """The ties of a run, in 32 bits (trec_eval 9, pytrec_eval and this package).

    Attributes:
        pairs: Pairs of adjacent documents in the ranking with equal scores.
        pairs_64: Those that are equal in 64 bits too, as in trec_eval 10.
        queries: Queries with at least one tie.
        straddling: For each cutoff k, the number of queries in which the documents at ranks k and
            k + 1 are tied, so that document ids decide which one is in the first k.
    """

    pairs: int
    pairs_64: int
    queries: int
    straddling: dict[int, int]


def count_ties(view: RunView, cutoffs: Sequence[int] = (10, 100)) -> Ties:
    """Count a run's ties.

    Args:
        view: The run.
        cutoffs: The ranks k for which queries with a tie of ranks k and k + 1 are counted.
    """
    scored = view.scored
    ties, score, query = scored.ties(32), scored.score, view.grouped.query
    ranks = places_in_query(query)[ties]  # of the first document of each pair
    return Ties(
        pairs=len(ties),
        pairs_64=int((score[ties] == score[ties - 1]).sum()),
        queries=len(np.unique(query[ties])),
        straddling={k: int((ranks == k).sum()) for k in cutoffs},
    )
