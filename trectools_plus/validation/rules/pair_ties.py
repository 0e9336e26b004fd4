"""A rule on ties and judgments together: do the ties decide the score? (P111)"""

from __future__ import annotations

import numpy as np

from trectools_plus.text import plural
from trectools_plus.validation.pairs import PairView
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.tie_bounds import Bounds, find_bounds

SENSITIVE = 0.0001
"""Change of a mean from which ties are worth a word: it shows in four decimals."""


@rule(
    "P111",
    "tie-sensitive",
    on="pair",
    scope="pair",
    severity="warning",
    fix="no",
    tables=True,
    checks=f"best and worst tie order change AP or nDCG by more than {SENSITIVE}",
    rationale="Tools order tied documents differently: by falling or rising document id, by rank "
    "column, by chance. So the same file has several scores, and two systems may change places.",
    example="run.txt: warning P111: ties move AP between 0.6389 and 0.8056. Write scores that "
    "fall with rank.",
    remedy="Write scores that fall with rank",
)
def tie_sensitive(pair: PairView) -> Hit | None:
    """The order within ties changes a measure."""
    if pair.qrels is None or pair.at != "run" or not pair.shared_ids:
        return None
    run = pair.run
    # Scores without an order, or a document twice, are errors of their own and have no bounds.
    if len(run.ties32) == 0 or not run.repeats.is_empty():
        return None
    if not bool(np.isfinite(run.score).all()):
        return None
    for bounds in find_bounds(run, pair.qrels, np.flatnonzero(pair.judged)):
        if bounds.high - bounds.low > SENSITIVE:
            return _hit(bounds)
    return None


def _hit(bounds: Bounds) -> Hit:
    queries = (
        f" (in {plural(bounds.n_queries, 'query', 'queries')})" if bounds.n_queries > 1 else ""
    )
    return Hit(
        f"ties move {bounds.measure} between {bounds.low:.4f} and {bounds.high:.4f}{queries}",
        count=bounds.n_queries,
    )
