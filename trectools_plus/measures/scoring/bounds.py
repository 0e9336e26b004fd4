"""Bounds of measures over ties and unjudged documents, and counts of ties.

trec_eval 9 compares scores in 32 bits, version 10 in 64: scores may be equal in the first only.

A measure counts an unjudged document as not relevant. Its residual bounds (Moffat and Zobel,
Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008, for any measure) are
the values that it would take if the unjudged documents in the first k were relevant instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.judged import IntArray, JudgedQueries, JudgedRun, RankedRun
from trectools_plus.measures.parser import parse_measures
from trectools_plus.measures.scoring.ranking import score_by_provider, see_grades_only
from trectools_plus.ranking import rank_ties_by_grade


@dataclass(frozen=True, slots=True)
class Ties:
    """Ties at one precision.

    Attributes:
        documents: Documents that share their score with another of the same query.
        pairs: Neighbours in the ranking with equal scores.
        queries: Queries with at least one tie.
        straddling: Per cutoff, the queries where a tie spans it: the first k are then decided by
            document ids.
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
        in_32_bits: Ties as trec_eval 9, pytrec_eval and this package see them.
        in_64_bits: Ties as trec_eval 10 sees them.
    """

    documents: int
    queries: int
    in_32_bits: Ties
    in_64_bits: Ties

    @property
    def pairs_only_in_32_bits(self) -> int:
        """Neighbours that differ in 64 bits and not in 32."""
        return self.in_32_bits.pairs - self.in_64_bits.pairs

    def as_dict(self) -> dict[str, Any]:
        """The counts as plain JSON values; cutoffs become strings."""
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
        cutoffs: The ranks for which to count the queries whose tie spans them.
    """
    frame = run.frame.select("query_id", "score")
    queries = frame["query_id"].n_unique()
    in_32 = frame.with_columns(pl.col("score").cast(pl.Float32))
    return TieCounts(frame.height, queries, _ties(in_32, cutoffs), _ties(frame, cutoffs))


def tie_bounds(qrels: Qrels, run: Run, measures: Iterable[str | Measure]) -> pl.DataFrame:
    """Return the worst and the best value each measure could take if ties were ordered otherwise.

    Within a tie the best order puts higher grades first and the worst puts them last; unjudged
    documents count as grade 0. These orders are extremes for every measure that never falls when
    a higher grade moves up (or, where lower is better, never rises), which is all of this
    package's but ``MeanRank`` and ``Judged``.

    Args:
        qrels: The judgments.
        run: The run.
        measures: Measures that depend on grades and ranks only.

    Returns:
        ``query_id, measure, worst, best`` for each query with a relevant document, ``null`` where
        undefined; ``worst <= value <= best``, and the other way round for a measure of which
        lower is better, such as ``MinRank``.

    Raises:
        UsageError: If a measure depends on document ids.
    """
    asked = _graded_measures(measures)
    queries = JudgedQueries.from_qrels(qrels)
    ranked = queries.rank(run).join(queries.frame, on=["query", "doc_id"], how="left")
    graded = ranked.with_columns(grade=pl.col("relevance").fill_null(0))
    columns = []
    for best in (False, True):
        order = rank_ties_by_grade(graded, best=best)
        ranked_run = RankedRun(queries.query_ids, JudgedRun.from_ranking(queries, order))
        table = score_by_provider(asked, ranked_run)
        columns.append(pl.Series("best" if best else "worst", table.ravel()).fill_nan(None))
    return _long_index(queries, asked).with_columns(columns)


def residual_bounds(qrels: Qrels, run: Run, measures: Iterable[str | Measure]) -> pl.DataFrame:
    """Return each measure's value with the unjudged documents all irrelevant, and all relevant.

    "The unjudged documents" of ``measure@k`` are those in the first k ranks without an entry in
    the qrels; of a measure without cutoff, all such documents of the ranking. In the second case
    each of them gets the highest grade that the qrels hold anywhere (at least the measure's
    relevance level) and joins the query's relevant documents, so that R and the ideal ranking grow
    too. ``low`` is the smaller of the two values and ``high`` the larger. P, R, RR and Success can
    take no value outside; AP and nDCG can, by mixed judgments, since their denominators grow.

    Args:
        qrels: The judgments.
        run: The run.
        measures: Measures that depend on grades and ranks only.

    Returns:
        ``query_id, measure, low, high, unjudged`` (how many such documents there are) for each
        query with a relevant document; a query without results has the value 0 twice. Undefined
        values are ``null``.

    Raises:
        UsageError: If a measure depends on document ids.
    """
    asked = _graded_measures(measures)
    queries = JudgedQueries.from_qrels(qrels)
    judged = JudgedRun.from_ranking(queries, queries.rank(run))
    top = int(qrels.frame["relevance"].max() or 1)  # type: ignore[arg-type]
    low, high = np.empty((2, len(queries.query_ids), len(asked)))
    unjudged = np.zeros(low.shape, np.int64)
    irrelevant = score_by_provider(asked, RankedRun(queries.query_ids, judged))
    for position, measure in enumerate(asked):
        query, rank = unjudged_places(judged, measure.cutoff)
        relevant = _if_relevant(measure, queries, judged, query, rank, top)
        low[:, position] = np.fmin(irrelevant[:, position], relevant)
        high[:, position] = np.fmax(irrelevant[:, position], relevant)
        unjudged[:, position] = np.bincount(query, minlength=len(low))
    return _long_index(queries, asked).with_columns(
        pl.Series("low", low.ravel()).fill_nan(None),
        pl.Series("high", high.ravel()).fill_nan(None),
        pl.Series("unjudged", unjudged.ravel()),
    )


def unjudged_places(run: JudgedRun, cutoff: int | None) -> tuple[IntArray, IntArray]:
    """Return query and rank of every unjudged document at ``cutoff`` or above.

    Args:
        run: The grades along the ranking.
        cutoff: The deepest rank; ``None`` is the whole ranking.

    Returns:
        Two arrays of one length, sorted by query, then rank.
    """
    seen = run.retrieved if cutoff is None else np.minimum(run.retrieved, cutoff)
    starts = np.cumsum(seen) - seen
    query = np.repeat(np.arange(len(seen)), seen)
    rank = np.arange(len(query)) - starts[query] + 1
    found = run.within(cutoff)
    is_judged = np.zeros(len(query), bool)
    is_judged[starts[run.query[found]] + run.rank[found] - 1] = True
    return query[~is_judged], rank[~is_judged]


def _if_relevant(
    measure: Measure,
    queries: JudgedQueries,
    run: JudgedRun,
    query: IntArray,
    rank: IntArray,
    top: int,
) -> FloatArray:
    grade = np.full(len(query), max(top, measure.relevance_level))
    judged = run.with_judgments(query, rank, grade)
    return score_by_provider([measure], RankedRun(queries.query_ids, judged))[:, 0]


def _graded_measures(measures: Iterable[str | Measure]) -> list[Measure]:
    """Return the measures, or refuse one that needs more than grades and ranks."""
    asked = parse_measures(measures)
    for measure in asked:
        if not see_grades_only([measure]):
            raise UsageError(
                f"{measure.name} depends on more than grades and ranks, so it has no bounds",
                remedy="leave it out",
            )
    return asked


def _long_index(queries: JudgedQueries, measures: Sequence[Measure]) -> pl.DataFrame:
    """``query_id, measure``: every pair, measures of one query together."""
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
