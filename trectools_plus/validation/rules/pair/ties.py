"""Rule P111: the order within ties changes a measure.

AP and nDCG are computed as in trec_eval: ``map`` (relevant from grade 1 on, divided by all relevant
documents of the query) and ``ndcg`` (gain = grade, discount log2(1 + rank), whole depth). Only
relevant documents contribute to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from trectools_plus.ranking import rank_ties_by_grade
from trectools_plus.text import plural
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.views.order import Rows
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView

MIN_REPORTED_CHANGE = 0.0001
"""Minimum change of a mean that is reported, because it is visible in four decimals."""


@rule(
    "P111",
    "tie-sensitive",
    on="pair",
    scope="pair",
    severity="warning",
    fix="no",
    tables=True,
    checks=f"best and worst tie order change AP or nDCG by more than {MIN_REPORTED_CHANGE}",
    rationale="Tools order tied documents differently: by falling or rising document id, by rank "
    "column, or at random. One file then has several scores, and two systems may swap ranks.",
    example="run.txt: warning P111: the order of ties changes AP from 0.6389 to 0.8056. Write "
    "scores that fall with rank.",
    remedy="Write scores that fall with rank",
)
def tie_sensitive(pair: PairView) -> Hit | None:
    """The order within ties changes a measure."""
    if pair.qrels is None or pair.report_on != "run" or not pair.shared_ids:
        return None
    run = pair.run
    # Other rules report unordered scores and repeated documents; they have no bounds.
    if len(run.ties32) == 0 or not run.repeats.is_empty():
        return None
    if not bool(np.isfinite(run.score).all()):
        return None
    for bounds in find_bounds(run, pair.qrels, pair.judged_rows):
        if bounds.high - bounds.low > MIN_REPORTED_CHANGE:
            return _hit(bounds)
    return None


def _hit(bounds: Bounds) -> Hit:
    queries = (
        f" (in {plural(bounds.n_queries, 'query', 'queries')})" if bounds.n_queries > 1 else ""
    )
    return Hit(
        f"the order of ties changes {bounds.measure} from {bounds.low:.4f} to {bounds.high:.4f}"
        f"{queries}",
        count=bounds.n_queries,
    )


@dataclass(frozen=True, slots=True)
class Bounds:
    """The lowest and the highest value of a measure over all orders of the ties.

    Attributes:
        measure: Its name.
        low: Its mean in the worst order, from 0 to 1, over all judged queries.
        high: Its mean in the best order, over the same queries.
        n_queries: Number of queries in which the two differ.
    """

    measure: str
    low: float
    high: float
    n_queries: int


def find_bounds(run: RunView, qrels: QrelsView, judged: Rows) -> Iterator[Bounds]:
    """Yield the bounds of AP and of nDCG; scores are compared in 32 bits, as trec_eval 9 does.

    Args:
        run: A run with finite scores, each document once in its query.
        qrels: The judgments.
        judged: The run's rows whose document is judged for its query.
    """
    relevant = _relevant(qrels)
    if relevant.is_empty():
        return
    ideal = relevant.with_columns(score=0.0)
    ideal_sums = _sums(rank_ties_by_grade(ideal, best=True)).sort("query")
    graded = _graded(run, relevant, judged)
    low, high = (
        ideal_sums.select("query")
        .join(_sums(rank_ties_by_grade(graded, best=best)), on="query", how="left")
        .fill_null(0.0)
        .sort("query")
        for best in (False, True)
    )
    for measure in ("AP", "nDCG"):
        worst, best = (table[measure] / ideal_sums[measure] for table in (low, high))
        n_queries = int((best - worst > 1e-9).sum())
        # A query without a relevant document counts 0.
        low_mean, high_mean = (
            float(one.sum()) / len(qrels.blocks.query_ids) for one in (worst, best)
        )
        yield Bounds(measure, low_mean, high_mean, n_queries)


def _relevant(qrels: QrelsView) -> pl.DataFrame:
    """``query, query_id, doc_id, grade``: relevant judgments, each document once."""
    frame = qrels.frame.select(
        "query_id", "doc_id", query=pl.Series(qrels.blocks.query), grade=pl.Series(qrels.grade)
    )
    relevant = frame.filter((pl.col("grade") >= 1) & pl.col("grade").is_finite())
    return relevant.unique(["query_id", "doc_id"], keep="first", maintain_order=True)


def _graded(run: RunView, relevant: pl.DataFrame, judged: Rows) -> pl.DataFrame:
    """``query, score, grade`` of the run's rows in queries that have a relevant document."""
    numbers = relevant.select("query_id", "query").unique()
    queries = pl.DataFrame({"query_id": run.blocks.query_ids})
    number = queries.join(numbers, on="query_id", how="left", maintain_order="left")["query"]
    pairs = run.frame.select("query_id", "doc_id")[judged].with_columns(row=pl.Series(judged))
    found = pairs.join(relevant, on=["query_id", "doc_id"])
    grade = np.zeros(run.n_rows)
    grade[found["row"].to_numpy()] = found["grade"].to_numpy()
    query = number.gather(run.blocks.query)
    graded = pl.DataFrame({"query": query, "score": run.score, "grade": grade})
    return graded.drop_nulls("query")


def _sums(ranked: pl.DataFrame) -> pl.DataFrame:
    """``query, AP, nDCG``: sums over the relevant documents of each query."""
    relevant = ranked.filter(pl.col("grade") >= 1)
    nth = pl.int_range(1, pl.len() + 1).over("query")
    return (
        relevant.select(
            "query",
            AP=nth / pl.col("rank"),
            nDCG=pl.col("grade") / (pl.col("rank") + 1).log(2),
        )
        .group_by("query")
        .sum()
    )
