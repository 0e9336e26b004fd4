"""Rule P111: the order within ties changes a measure.

AP and nDCG are computed as in trec_eval: ``map`` (relevant from grade 1 on, divided by all relevant
documents of the query) and ``ndcg`` (gain = grade, discount log2(1 + rank), whole depth). Only
relevant documents contribute to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trectools_plus.formats.clean.words import Rows
from trectools_plus.text import plural
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.views.order import places_in_query
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.tables import Numbers

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
    if len(run.ties32) == 0 or len(run.repeats):
        return None
    if not bool(np.isfinite(run.score).all()):
        return None
    for bounds in find_bounds(pair):
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


def find_bounds(pair: PairView) -> Iterator[Bounds]:
    """Yield the bounds of AP and of nDCG; scores are compared in 32 bits, as trec_eval 9 does.

    Args:
        pair: A run with finite scores, each document once in its query, and its judgments.
    """
    qrels = pair.qrels
    assert qrels is not None
    n_queries = len(qrels.query_ids)
    gains = _gains(qrels)
    relevant = np.flatnonzero(gains)
    if not len(relevant):
        return
    query = qrels.blocks.query.astype(np.int64)
    best_order = relevant[np.lexsort((-gains[relevant], query[relevant]))]
    ideal = _sums(query[best_order], gains[best_order], n_queries)
    has_relevant = ideal[0] > 0
    rows, judgments = pair.judgments
    grade = np.zeros(pair.run.n_rows)
    grade[rows] = gains[judgments]
    of_row = pair.judged_query
    rows = np.flatnonzero((of_row >= 0) & has_relevant[of_row])
    with np.errstate(over="ignore", under="ignore"):
        score = pair.run.score[rows].astype(np.float32)
    low, high = (
        _sums(of_row[rows][order], grade[rows][order], n_queries)
        for order in (np.lexsort((sign * grade[rows], -score, of_row[rows])) for sign in (1, -1))
    )
    for measure, worst, best, highest in zip(("AP", "nDCG"), low, high, ideal, strict=True):
        # A query without a relevant document counts 0.
        worst, best = (one / np.where(has_relevant, highest, 1) for one in (worst, best))
        n_changed = int((best - worst > 1e-9).sum())
        low_mean, high_mean = (float(one.sum()) / n_queries for one in (worst, best))
        yield Bounds(measure, low_mean, high_mean, n_changed)


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
    query = query[relevant]
    nth = places_in_query(query) + 1
    for_ap, for_ndcg = nth / rank, gain[relevant] / np.log2(rank + 1)
    for_ap, for_ndcg = (
        np.bincount(query, values, n_queries).astype(np.float64) for values in (for_ap, for_ndcg)
    )
    return for_ap, for_ndcg
