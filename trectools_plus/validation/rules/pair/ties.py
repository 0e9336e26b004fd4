"""Rule P111: the order within ties changes a measure.

AP and nDCG are computed as in trec_eval: ``map`` (relevant from grade 1 on, divided by all relevant
documents of the query) and ``ndcg`` (gain = grade, discount log2(1 + rank), whole depth). Only
relevant documents contribute to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from trectools_plus.formats.columns.ids import Rows
from trectools_plus.text import plural
from trectools_plus.validation.registry import Hit, Places, rule
from trectools_plus.validation.views.order import places_in_query
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.tables import Numbers

MEASURES = ("AP", "nDCG")
MIN_REPORTED_CHANGE = 0.0001
"""Minimum change of a mean that is reported, because it is visible in four decimals."""


@dataclass(frozen=True, slots=True)
class TieSums:
    """Sums of measures over the queries of a run, or of a part of one.

    Attributes:
        lowest: The sum of each measure in the worst order of the ties.
        highest: The sum of each measure in the best order.
        n_changed: The number of queries in which the two differ, for each measure.
        has_ties: Whether there are ties.
        is_defined: False with repeated documents or scores that are not finite.
    """

    lowest: Numbers
    highest: Numbers
    n_changed: Rows
    has_ties: bool
    is_defined: bool

    @property
    def count(self) -> int:
        """1, so that sums without ties are kept, too."""
        return 1

    def __add__(self, later: TieSums) -> TieSums:
        """Return the sums of two parts of a run."""
        return TieSums(
            self.lowest + later.lowest,
            self.highest + later.highest,
            self.n_changed + later.n_changed,
            self.has_ties or later.has_ties,
            self.is_defined and later.is_defined,
        )

    def moved(self, n_lines: int) -> TieSums:  # noqa: ARG002
        """Return the same: sums have no lines."""
        return self


def _tie_sums(pair: PairView) -> TieSums | Places:
    """Sums of AP and of nDCG."""
    if pair.qrels is None or pair.report_on != "run":
        return Places()
    run = pair.run
    has_ties = len(run.ties32) > 0
    is_defined = not len(run.repeats) and bool(np.isfinite(run.score).all())
    zeros = np.zeros(len(MEASURES))
    if not is_defined:
        return TieSums(zeros, zeros, zeros.astype(np.int64), has_ties, is_defined=False)
    lowest, highest, n_changed = find_sums(pair)
    return TieSums(lowest, highest, n_changed, has_ties, is_defined=True)


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
    collect=_tie_sums,
)
def tie_sensitive(pair: PairView, found: TieSums) -> Hit | None:
    """The order within ties changes a measure."""
    if pair.qrels is None or not pair.shared_ids:
        return None
    # Other rules report unordered scores and repeated documents; they have no bounds.
    if not found.has_ties or not found.is_defined:
        return None
    means = zip(MEASURES, found.lowest, found.highest, found.n_changed.tolist(), strict=True)
    for measure, lowest, highest, n_changed in means:
        low, high = lowest / len(pair.qrels_ids), highest / len(pair.qrels_ids)
        if high - low > MIN_REPORTED_CHANGE:
            queries = f" (in {plural(n_changed, 'query', 'queries')})" if n_changed > 1 else ""
            return Hit(
                f"the order of ties changes {measure} from {low:.4f} to {high:.4f}{queries}",
                count=n_changed,
            )
    return None


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
