"""Changes of measures by the order within ties, for rule P111.

AP and nDCG are computed as in trec_eval: ``map`` (relevant from grade 1 on, divided by all relevant
documents of the query) and ``ndcg`` (gain = grade, discount log2(1 + rank), whole depth). Only
relevant documents contribute to them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from trectools_plus.formats.columns.ids import Rows
from trectools_plus.validation.views.order import places_in_query
from trectools_plus.validation.views.pairs import PairView, TieSums
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.tables import Numbers

MEASURES = ("AP", "nDCG")


def tie_sums(pair: PairView) -> TieSums:
    """Return the sums of AP and of nDCG over the judged queries of a run."""
    run = pair.run
    has_ties = len(run.ties32) > 0
    if len(run.repeats) or not np.isfinite(run.score).all():
        zeros = np.zeros(len(MEASURES))
        return TieSums(zeros, zeros, zeros.astype(np.int64), has_ties, is_defined=False)
    return TieSums(*find_sums(pair), has_ties)


def find_sums(pair: PairView) -> tuple[Numbers, Numbers, Rows]:
    """Return sums of :data:`MEASURES` over all judged queries, from the bounds of each query.

    Scores are compared in 32 bits, as trec_eval 9 does.

    Args:
        pair: A run with finite scores, each document once in its query, and its judgments.

    Returns:
        The sums in the worst and in the best order of the ties, and the number of queries in which
        the two differ, for each measure.
    """
    qrels = pair.qrels
    assert qrels is not None
    n_queries = len(qrels.query_ids)
    gains, ideal = _ideal(qrels)
    has_relevant = ideal[0] > 0
    rows, judgments = pair.judgments
    grade = np.zeros(pair.run.n_rows)
    grade[rows] = gains[judgments]
    of_row = pair.judged_query
    if not len(pair.run.ties32):  # only relevant documents count, and their ranks are known
        rows = np.flatnonzero(grade)
        low = high = _sums_of_ranks(
            of_row[rows], grade[rows], pair.run.evaluated_ranks(rows), n_queries
        )
    else:
        rows = np.flatnonzero((of_row >= 0) & has_relevant[of_row])
        with np.errstate(over="ignore", under="ignore"):
            score = pair.run.score[rows].astype(np.float32)
        low, high = (
            _sums(of_row[rows][order], grade[rows][order], n_queries)
            for order in (
                np.lexsort((sign * grade[rows], -score, of_row[rows])) for sign in (1, -1)
            )
        )
    # A query without a relevant document counts 0.
    highest = [np.where(has_relevant, one, 1) for one in ideal]
    worst = [one / most for one, most in zip(low, highest, strict=True)]
    best = [one / most for one, most in zip(high, highest, strict=True)]
    changed = [int((more - less > 1e-9).sum()) for less, more in zip(worst, best, strict=True)]
    lowest = np.array([one.sum() for one in worst])
    return lowest, np.array([one.sum() for one in best]), np.array(changed)


@lru_cache(maxsize=1)  # all parts of a run have the same qrels
def _ideal(qrels: QrelsView) -> tuple[Numbers, tuple[Numbers, Numbers]]:
    """Return the gain of each judgment, and the sums of the best possible ranking of each query."""
    gains = _gains(qrels)
    relevant = np.flatnonzero(gains)
    query = qrels.blocks.query.astype(np.int64)
    best_order = relevant[np.lexsort((-gains[relevant], query[relevant]))]
    return gains, _sums(query[best_order], gains[best_order], len(qrels.query_ids))


def _gains(qrels: QrelsView) -> Numbers:
    """Return the grade of each relevant judgment, each document once; 0 for other judgments."""
    is_relevant = (qrels.grade >= 1) & np.isfinite(qrels.grade)
    first = qrels.pairs.find(qrels.doc_ids, qrels.pairs.query)[1]
    return np.where(is_relevant & (first == np.arange(qrels.n_rows)), qrels.grade, 0.0)


def _sums(query: Rows, gain: Numbers, n_queries: int) -> tuple[Numbers, Numbers]:
    """Return sums for AP and nDCG over the relevant documents of each query.

    Args:
        query: The query of each document, ascending.
        gain: Its grade if it is relevant, otherwise 0; in the order of the ranking.
        n_queries: The number of queries.
    """
    relevant = np.flatnonzero(gain)
    rank = places_in_query(query)[relevant] + 1
    return _sums_of_ranks(query[relevant], gain[relevant], rank, n_queries)


def _sums_of_ranks(
    query: Rows, gain: Numbers, rank: Rows, n_queries: int
) -> tuple[Numbers, Numbers]:
    """Return the same for the relevant documents alone, given their ranks."""
    order = np.lexsort((rank, query))
    query, gain, rank = query[order], gain[order], rank[order]
    nth = places_in_query(query) + 1
    for_ap, for_ndcg = nth / rank, gain / np.log2(rank + 1)
    for_ap, for_ndcg = (
        np.bincount(query, values, n_queries).astype(np.float64) for values in (for_ap, for_ndcg)
    )
    return for_ap, for_ndcg
