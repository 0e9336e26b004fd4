"""Facts about a run, for people."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, and_
from pathlib import Path
from typing import Any

import numpy as np

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.files.opening import can_be_read_twice
from trectools_plus.formats.query_chunks import iter_query_chunks
from trectools_plus.validation.loading import RunLoader, open_single_run
from trectools_plus.validation.parts import NotInPartsError, ViewSettings, read_in_parts
from trectools_plus.validation.registry import DEFAULT_MAX_DEPTH
from trectools_plus.validation.views.runs import RunView

RowFacts = dict[str, Any]
"""Facts about the rows of a run, or of a part of one: fields of ``retrieval.RunInfo``."""

_ADDED: dict[str, Callable[..., Any]] = {
    "lowest_score": min,
    "highest_score": max,
    "ties_64": add,
    "ties_32": add,
    "first_rank": min,
    "ranks_follow_scores": and_,
    "rows_follow_ranks": and_,
}
"""Functions that combine the facts about two parts."""


def _row_facts(run: RunView) -> RowFacts:
    """Return the facts about a run with rows."""
    scored, ranks = run.scored, run.usable_ranks
    same_query = run.grouped.same_query
    in_order, evaluated = run.grouped.rows(np.arange(run.n_rows)), run.order(32)
    equal = (scored.score[1:] == scored.score[:-1]) & scored.same_query
    return {
        "lowest_score": float(run.score.min()),
        "highest_score": float(run.score.max()),
        "ties_64": int(np.count_nonzero(equal)),
        "ties_32": len(run.ties32),
        "first_rank": int(ranks.min()),
        "ranks_follow_scores": not (np.diff(ranks[evaluated])[same_query] < 0).any(),
        "rows_follow_ranks": not (np.diff(ranks[in_order])[same_query] < 0).any(),
    }


def _add_facts(first: RowFacts, later: RowFacts) -> RowFacts:
    """Return the facts about two parts of a run."""
    return {name: _ADDED[name](first[name], later[name]) for name in first}


def describe_file(path: str | Path) -> dict[str, Any]:
    """Return the fields of :class:`~trectools_plus.retrieval.RunInfo` of a run as JSON values.

    Raises:
        FindingsError: If the file has an error that blocks scoring.
        InputError: If it cannot be read, or is a table of several systems.
    """
    try:
        return _describe_in_parts(str(path))
    except NotInPartsError:
        view = open_single_run(path)
        RunLoader().check(view)
        return describe_view(view)


def _describe_in_parts(path: str) -> dict[str, Any]:
    """Describe a run without its rows in memory.

    Raises:
        NotInPartsError: If it must be read as a whole.
        FindingsError: If it has an error that blocks scoring.
    """
    if not can_be_read_twice(path):
        raise NotInPartsError

    def describe(view: RunView) -> tuple[None, RowFacts | None]:
        # If a rank is not a whole number, all ranks are positions in the file.
        has_facts = view.n_rows and view.rows.ranks.are_numbers
        return None, _row_facts(view) if has_facts else None

    settings = ViewSettings(DEFAULT_MAX_DEPTH, for_scoring=True)
    try:
        view, found = read_in_parts(path, iter_query_chunks(path), settings, describe)
    except TrectoolsPlusError as error:
        raise NotInPartsError from error
    RunLoader().check(view)
    total: RowFacts | None = None
    for facts in found:
        if facts is None:
            raise NotInPartsError
        total = facts if total is None else _add_facts(total, facts)
    assert total is not None
    return _described(view, total)


def describe_view(run: RunView) -> dict[str, Any]:
    """Describe a run with rows, whose scores are finite; see :func:`describe_file`."""
    return _described(run, _row_facts(run))


def _described(run: RunView, facts: RowFacts) -> dict[str, Any]:
    sizes = run.blocks.sizes
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
        **facts,
    }
