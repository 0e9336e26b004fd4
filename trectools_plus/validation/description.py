"""Facts about a run, for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from trectools_plus.validation.views.runs import RunView


def describe_view(run: RunView) -> dict[str, Any]:
    """Return the fields of :class:`~trectools_plus.retrieval.RunInfo` of a run as JSON values.

    Args:
        run: A run with rows, whose scores are finite.
    """
    sizes, scored = run.blocks.sizes, run.scored
    ranks = run.usable_ranks
    in_order, evaluated = run.grouped.rows(np.arange(run.n_rows)), run.order(32)
    same_query = run.grouped.same_query
    n_ties_32 = len(run.ties32)
    equal = (scored.score[1:] == scored.score[:-1]) & scored.same_query
    return {
        "path": None if run.columns is None and run.path is None else run.path,
        "tag": run.tag,
        "queries": len(sizes),
        "rows": run.n_rows,
        "depth": {
            "min": int(sizes.min()),
            "median": float(np.median(sizes)),
            "max": int(sizes.max()),
        },
        "lowest_score": float(run.score.min()),
        "highest_score": float(run.score.max()),
        "ties_64": int(np.count_nonzero(equal)),
        "ties_32": n_ties_32,
        "first_rank": int(ranks.min()),
        "ranks_follow_scores": not (np.diff(ranks[evaluated])[same_query] < 0).any(),
        "rows_follow_ranks": not (np.diff(ranks[in_order])[same_query] < 0).any(),
    }
