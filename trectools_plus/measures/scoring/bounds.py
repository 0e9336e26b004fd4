"""Bounds of measures over ties and unjudged documents, and counts of ties.

trec_eval 9 compares scores in 32 bits, version 10 in 64 bits. Some scores are equal only in 32
bits.

Measures count unjudged documents as not relevant. Residual bounds (Moffat and Zobel, Rank-Biased
Precision for Measurement of Retrieval Effectiveness, TOIS 2008, here for any measure) compare this
value with the value if the unjudged documents in the first k are relevant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from trectools_plus.formats.tables import Run
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.judged import JudgedRun
from trectools_plus.measures.scoring.scores import score_by_class


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


def bound_by_unjudged(
    measures: Sequence[Measure], run: JudgedRun, highest_grade: int
) -> tuple[FloatArray, FloatArray]:
    """Score a run with all unjudged documents irrelevant, and with all relevant.

    The unjudged documents of ``measure@k`` are those in the first k ranks without an entry in the
    qrels. When they are assumed to be relevant, they get the highest grade in the qrels (at least
    the measure's relevance level), and count in R and in the ideal ranking. If only some are
    relevant, P, R, RR and Success lie between the two values; AP and nDCG may lie outside, because
    their denominators grow.

    Args:
        measures: Measures that depend on grades and ranks only.
        run: The ranks of all judged documents.
        highest_grade: The highest grade in the qrels.

    Returns:
        The lower and the higher value, each of shape (queries, measures).
    """
    irrelevant = score_by_class(measures, run)
    relevant = np.empty_like(irrelevant)
    for position, measure in enumerate(measures):
        query, rank = run.unjudged(measure.cutoff)
        grade = np.full(len(query), max(highest_grade, measure.relevance_level))
        all_judged = run.with_judgments(query, rank, grade)
        relevant[:, position] = score_by_class([measure], all_judged)[:, 0]
    return np.fmin(irrelevant, relevant), np.fmax(irrelevant, relevant)
