"""Facts about a run, for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trectools_plus.validation.loading import RunLoader, open_single_run
from trectools_plus.validation.views.runs import RunView


def describe_file(path: str | Path) -> dict[str, Any]:
    """Return facts about a run as JSON values.

    Raises:
        FindingsError: If the file has an error that blocks scoring.
        InputError: If it cannot be read, or is a table of several systems.
    """
    view = open_single_run(path)
    RunLoader().check(view)
    return describe_view(view)


def describe_view(run: RunView) -> dict[str, Any]:
    """Describe a run with rows, whose scores are finite; see :func:`describe_file`."""
    sizes, scored, ranks = run.blocks.sizes, run.scored, run.usable_ranks
    same_query, in_order = run.grouped.same_query, run.grouped.rows(np.arange(run.n_rows))
    equal = (scored.score[1:] == scored.score[:-1]) & scored.same_query
    return {
        "path": run.path,
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
        "ties_32": len(run.ties32),
        "first_rank": int(ranks.min()),
        "ranks_follow_scores": not (np.diff(ranks[run.order(32)])[same_query] < 0).any(),
        "rows_follow_ranks": not (np.diff(ranks[in_order])[same_query] < 0).any(),
    }
