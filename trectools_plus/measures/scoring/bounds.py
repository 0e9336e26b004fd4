"""Counts of ties.

trec_eval 9 compares scores in 32 bits, version 10 in 64 bits. Some scores are equal only in 32
bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from trectools_plus.formats.tables import Run


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


def count_ties(run: Run, cutoffs: Sequence[int] = (10, 100)) -> Ties:
    """Count a run's ties.

    Args:
        run: The run.
        cutoffs: The ranks k for which queries with a tie of ranks k and k + 1 are counted.
    """
    score, single = pl.col("score"), pl.col("score").cast(pl.Float32)
    with_next = run.frame.sort("query_id", "score", descending=[False, True]).select(
        "query_id",
        rank=pl.int_range(1, pl.len() + 1).over("query_id"),
        is_tie=(single == single.shift(-1)).over("query_id"),
        is_tie_64=(score == score.shift(-1)).over("query_id"),
    )
    ties = with_next.filter("is_tie")
    return Ties(
        pairs=ties.height,
        pairs_64=ties.filter("is_tie_64").height,
        queries=ties["query_id"].n_unique(),
        straddling={k: int((ties["rank"] == k).sum()) for k in cutoffs},
    )
