"""Bounds of measures over ties and unjudged documents, and counts of ties.

trec_eval 9 compares scores in 32 bits, version 10 in 64 bits. Some scores are equal only in 32
bits.

Measures count unjudged documents as not relevant. Residual bounds (Moffat and Zobel, Rank-Biased
Precision for Measurement of Retrieval Effectiveness, TOIS 2008, here for any measure) compare this
value with the value if the unjudged documents in the first k are relevant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.errors import UsageError
from trectools_plus.formats.ranking import rank_ties_by_grade
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.judged import IntArray, JudgedQueries, JudgedRun, RankedRun
from trectools_plus.measures.parser import parse_measures
from trectools_plus.measures.scoring.scores import score_by_provider


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
        return {
            "documents": self.documents,
            "queries": self.queries,
            **{
                name: {
                    "documents": ties.documents,
                    "pairs": ties.pairs,
                    "queries": ties.queries,
                    "straddling": {str(k): count for k, count in ties.straddling.items()},
                }
                for name, ties in (("32_bits", self.in_32_bits), ("64_bits", self.in_64_bits))
            },
        }


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


def tie_bounds(qrels: Qrels, run: Run, measures: Iterable[str | Measure]) -> pl.DataFrame:
    """Return each measure's worst and best value over the possible orders of tied documents.

    Within a tie, the best order puts higher grades first and the worst order puts them last;
    unjudged documents count as grade 0. These orders give the lowest and highest value of
    every measure that never gets worse if a document of a higher grade moves up: all measures of
    this package except ``MeanRank`` and ``Judged``.

    Args:
        qrels: The judgments.
        run: The run.
        measures: Measures that depend on grades and ranks only.

    Returns:
        ``query_id, measure, worst, best`` for each query of the qrels; ``null`` where undefined.
        ``worst <= value <= best``, or ``worst >= value >= best`` for a measure with lower values
        for better runs, for example ``MinRank``.

    Raises:
        UsageError: If a measure depends on document ids.
    """
    requested = _graded_measures(measures)
    queries = JudgedQueries.from_qrels(qrels)
    ranked = queries.rank(run).join(queries.frame, on=["query", "doc_id"], how="left")
    graded = ranked.with_columns(grade=pl.col("relevance").fill_null(0))
    columns = []
    for best in (False, True):
        order = rank_ties_by_grade(graded, best=best)
        ranked_run = RankedRun(queries.query_ids, JudgedRun.from_ranking(queries, order))
        table = score_by_provider(requested, ranked_run)
        columns.append(pl.Series("best" if best else "worst", table.ravel()).fill_nan(None))
    return _long_index(queries, requested).with_columns(columns)


def residual_bounds(qrels: Qrels, run: Run, measures: Iterable[str | Measure]) -> pl.DataFrame:
    """Return each measure's values if all unjudged documents are irrelevant, or all relevant.

    The unjudged documents of ``measure@k`` are those in the first k ranks without an entry in the
    qrels; for a measure without cutoff, all such documents in the ranking. When they are assumed to
    be relevant, they get the highest grade in the qrels (at least the measure's relevance level),
    and count in R and in the ideal ranking. ``low`` is the smaller of the two values and ``high``
    the larger. If only some unjudged documents are relevant, P, R, RR and Success lie between the
    two; AP and nDCG may lie outside, because their denominators grow.

    Args:
        qrels: The judgments.
        run: The run.
        measures: Measures that depend on grades and ranks only.

    Returns:
        ``query_id, measure, low, high, unjudged`` (the number of unjudged documents) for each query
        of the qrels; both values are 0 for a query without results. Undefined values are ``null``.

    Raises:
        UsageError: If a measure depends on document ids.
    """
    requested = _graded_measures(measures)
    queries = JudgedQueries.from_qrels(qrels)
    judged = JudgedRun.from_ranking(queries, queries.rank(run))
    highest_grade = int(qrels.frame["relevance"].max() or 1)  # type: ignore[arg-type]
    low, high, unjudged = bound_by_unjudged(requested, queries.query_ids, judged, highest_grade)
    return _long_index(queries, requested).with_columns(
        pl.Series("low", low.ravel()).fill_nan(None),
        pl.Series("high", high.ravel()).fill_nan(None),
        pl.Series("unjudged", unjudged.ravel()),
    )


def bound_by_unjudged(
    measures: Sequence[Measure], query_ids: Sequence[str], run: JudgedRun, highest_grade: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Score a run with all unjudged documents irrelevant, and with all relevant.

    Args:
        measures: Measures that depend on grades and ranks only.
        query_ids: The queries.
        run: The ranks of all judged documents.
        highest_grade: The highest grade in the qrels.

    Returns:
        The lower and the higher value, and the number of unjudged documents, each of shape
        (queries, measures); see :func:`residual_bounds`.
    """
    irrelevant = score_by_provider(measures, RankedRun(query_ids, run))
    relevant = np.empty_like(irrelevant)
    unjudged = np.zeros(relevant.shape, np.int64)
    for position, measure in enumerate(measures):
        query, rank = run.unjudged(measure.cutoff)
        grade = np.full(len(query), max(highest_grade, measure.relevance_level))
        all_judged = RankedRun(query_ids, run.with_judgments(query, rank, grade))
        relevant[:, position] = score_by_provider([measure], all_judged)[:, 0]
        unjudged[:, position] = np.bincount(query, minlength=len(relevant))
    return np.fmin(irrelevant, relevant), np.fmax(irrelevant, relevant), unjudged


def _graded_measures(measures: Iterable[str | Measure]) -> list[Measure]:
    """Return the measures, or refuse one that depends on document ids."""
    parsed = parse_measures(measures)
    for measure in parsed:
        if measure.provider.sees_documents:
            raise UsageError(
                f"{measure.name} depends on more than grades and ranks, so it has no bounds",
                remedy="leave this measure out",
            )
    return parsed


def _long_index(queries: JudgedQueries, measures: Sequence[Measure]) -> pl.DataFrame:
    """Return a table ``query_id, measure`` of all pairs, grouped by query."""
    ids = pl.DataFrame({"query_id": queries.query_ids}, schema={"query_id": pl.String})
    names = pl.DataFrame({"measure": [measure.name for measure in measures]})
    return ids.join(names, how="cross", maintain_order="left_right")


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
