"""What unjudged documents could do to a figure.

A measure counts an unjudged document as not relevant. Its residual bounds (Moffat and Zobel,
Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008, for any measure) say
how far the value would move if the unjudged documents in the first k were relevant instead.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.base import FloatArray, Measure
from trectools_plus.measures.judged import IntArray, JudgedQueries, JudgedRun
from trectools_plus.measures.own import ColumnMeasure
from trectools_plus.measures.scoring import score_grades
from trectools_plus.measures.ties import graded_measures, long_index
from trectools_plus.measures.trec_eval import TrecEvalMeasure


def residual_bounds(qrels: Qrels, run: Run, measures: Iterable[str | Measure]) -> pl.DataFrame:
    """Each measure's value with the unjudged documents all irrelevant, and all relevant.

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
    asked = graded_measures(measures)
    queries = JudgedQueries.from_qrels(qrels)
    judged = JudgedRun.from_ranking(queries, queries.rank(run))
    top = int(qrels.frame["relevance"].max() or 1)  # type: ignore[arg-type]
    low, high = np.empty((2, len(queries.query_ids), len(asked)))
    unjudged = np.zeros(low.shape, np.int64)
    irrelevant = score_grades(asked, queries.query_ids, judged)
    for position, measure in enumerate(asked):
        query, rank = unjudged_places(judged, measure.cutoff)
        relevant = _if_relevant(measure, queries, judged, query, rank, top)
        low[:, position] = np.fmin(irrelevant[:, position], relevant)
        high[:, position] = np.fmax(irrelevant[:, position], relevant)
        unjudged[:, position] = np.bincount(query, minlength=len(low))
    return long_index(queries, asked).with_columns(
        pl.Series("low", low.ravel()).fill_nan(None),
        pl.Series("high", high.ravel()).fill_nan(None),
        pl.Series("unjudged", unjudged.ravel()),
    )


def unjudged_places(run: JudgedRun, cutoff: int | None) -> tuple[IntArray, IntArray]:
    """Query and rank of every unjudged document at ``cutoff`` or above.

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
    measure: TrecEvalMeasure | ColumnMeasure,
    queries: JudgedQueries,
    run: JudgedRun,
    query: IntArray,
    rank: IntArray,
    top: int,
) -> FloatArray:
    grade = np.full(len(query), max(top, measure.relevance_level))
    judged = run.with_judgments(query, rank, grade)
    return score_grades([measure], queries.query_ids, judged)[:, 0]
