"""Rules on the order of a run's rows: by rank within a query, one query after another."""

from __future__ import annotations

import numpy as np

from trectools_plus.text import in_all, visible
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.run_view import RunView


@rule(
    "R126",
    "row-order",
    on="run",
    scope="query",
    severity="info",
    fix="safe",
    checks="rows of a query not in rank order",
    rationale="No evaluator cares; people who read the file do, and tools that take the first "
    "rows of a query as its best ones.",
    example="run.txt:2: info R126: rows not in rank order. Nothing to do for evaluation.",
    remedy="Nothing to do for evaluation; sort by rank for tools that read from the top",
)
def row_order(run: RunView) -> Hit | None:
    """A row stands below one with a higher rank number."""
    if run.columns is None:
        return None
    places = np.flatnonzero(run.grouped.rank_steps < 0) + 1
    if len(places) == 0:
        return None
    rows = np.sort(run.grouped.rows(places))
    return Hit(f"rows not in rank order{in_all(len(rows), 'place')}", run.lines(rows), len(rows))


@rule(
    "R127",
    "interleaved-queries",
    on="run",
    scope="file",
    severity="warning",
    fix="safe",
    checks="query id returns after another",
    rationale="Two runs joined, or several workers writing to one file. Checkers that read row by "
    "row forget a query when the next one begins, and miss duplicates here.",
    example="run.txt:4: warning R127: query 1 continues after query 3; streaming checkers miss "
    "duplicates here. Group the rows by query.",
    remedy="Group the rows by query",
)
def interleaved_queries(run: RunView) -> Hit | None:
    """A query's rows are not all in one place."""
    if run.columns is None or not run.blocks.interleaved:
        return None
    rows = run.blocks.returns
    row = int(rows[0])
    query_id, before = visible(run.query_id(row)), visible(run.query_id(row - 1))
    return Hit(
        f"query {query_id} continues after query {before}{in_all(len(rows), 'such place')}; "
        "streaming checkers miss duplicates here",
        run.lines(rows),
        len(rows),
        query_id=run.query_id(row),
    )
