"""Bounds of measures over ties and unjudged documents, and counts of ties.

trec_eval 9 compares scores in 32 bits, version 10 in 64 bits. Some scores are equal only in 32
bits.

Measures count unjudged documents as not relevant. Residual bounds (Moffat and Zobel, Rank-Biased
Precision for Measurement of Retrieval Effectiveness, TOIS 2008, here for any measure) compare this
value with the value if the unjudged documents in the first k are relevant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.formats.tables import Run
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.judged import JudgedRun
from trectools_plus.measures.scoring.scores import score_by_class


@dataclass(frozen=True, slots=True)
class Ties:
    """Ties at one precision.

    Attributes:
        documents: Documents with the same score as another document of the query.
        pairs: Pairs of adjacent documents in the ranking with equal scores.
        queries: Queries with at least one tie.
        straddling: For each cutoff k, the number of queries in which the documents at ranks k and
            k + 1 are tied, so that document ids decide which one is in the first k.
    """

    documents: int
    pairs: int
    queries: int
    straddling: dict[int, int]


@dataclass(frozen=True, slots=True)
class TieCounts:
    """A run's ties.

    Attributes:
        documents: Documents in the run.
        queries: Queries in the run.
        in_32_bits: Ties in trec_eval 9, pytrec_eval and this package.
        in_64_bits: Ties in trec_eval 10.
    """

    documents: int
    queries: int
    in_32_bits: Ties
    in_64_bits: Ties

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain JSON values; cutoffs become strings."""
        ties = {"32_bits": asdict(self.in_32_bits), "64_bits": asdict(self.in_64_bits)}
        for counts in ties.values():
            counts["straddling"] = {str(k): count for k, count in counts["straddling"].items()}
        return {"documents": self.documents, "queries": self.queries, **ties}


def tie_counts(run: Run, cutoffs: Sequence[int] = (10, 100)) -> TieCounts:
    """Count a run's ties in 32 and in 64 bits.

    Args:
        run: The run.
        cutoffs: The ranks k for which queries with a tie of ranks k and k + 1 are counted.
    """
    frame = run.frame.select("query_id", "score")
    queries = frame["query_id"].n_unique()
    in_32 = frame.with_columns(pl.col("score").cast(pl.Float32))
    return TieCounts(frame.height, queries, _ties(in_32, cutoffs), _ties(frame, cutoffs))


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


def _ties(frame: pl.DataFrame, cutoffs: Sequence[int]) -> Ties:
    scores = frame.sort("query_id", "score", descending=[False, True]).with_columns(
        rank=pl.int_range(1, pl.len() + 1).over("query_id")
    )
    query, score = pl.col("query_id"), pl.col("score")
    with_next = ((query == query.shift(-1)) & (score == score.shift(-1))).fill_null(value=False)
    marked = scores.with_columns(with_next=with_next)
    tied = marked.filter(pl.col("with_next") | pl.col("with_next").shift(1, fill_value=False))
    pairs = marked.filter("with_next")
    return Ties(
        documents=tied.height,
        pairs=pairs.height,
        queries=pairs["query_id"].n_unique(),
        straddling={k: int((pairs["rank"] == k).sum()) for k in cutoffs},
    )
