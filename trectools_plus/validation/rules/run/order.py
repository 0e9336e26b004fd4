"""Rules on the order of rows and queries in a run, and the fix that numbers ranks and sorts rows.

Ranks are numbered by 64-bit score. Documents with equal scores keep the order of their ranks, which
may be the only information on their order. If ranks are equal too, document ids descend, as in
trec_eval. trec_eval ranks by scores alone, so fixing ranks and row order does not change its
ranking.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.columns.ids import Rows
from trectools_plus.text import in_all, visible
from trectools_plus.validation.places import Places
from trectools_plus.validation.registry import Hit, RuleFix, fix_step, rule
from trectools_plus.validation.rules.file.rows import continues_after, returning_queries
from trectools_plus.validation.rules.run.ranks import (
    duplicate_rank,
    rank_gap,
    rank_not_integer,
    rank_score_conflict,
    rank_start,
    scores_reversed,
)
from trectools_plus.validation.views.order import places_in_query
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    from trectools_plus.validation.draft import Draft, Job

_SHORT_NUMBER = re.compile("[0-9]{1,18}")
_RANK_RULES = (
    rank_not_integer,
    duplicate_rank,
    rank_start,
    rank_gap,
    rank_score_conflict,
)
_RANK_CODES = frozenset(one.code for one in _RANK_RULES)


def _falling_ranks(run: RunView) -> Places:
    """Rows after one of the query with a higher rank."""
    places = np.flatnonzero(run.grouped.rank_steps < 0) + 1
    return run.places(np.sort(run.grouped.rows(places)))


@rule(
    "R126",
    "row-order",
    on="run",
    scope="query",
    severity="info",
    fix=RuleFix(
        "safe", "sorted the rows of each query by rank", cannot_apply=RunView.cannot_be_ordered
    ),
    checks="rows of a query not in rank order",
    rationale="Evaluators ignore the order of the rows. Tools that use the first rows of a query "
    "as its best results do not.",
    example="run.txt:2: info R126: rows are not in rank order. Nothing to do for evaluation; sort "
    "by rank for tools that read from the top.",
    remedy="Nothing to do for evaluation; sort by rank for tools that read from the top",
    collect=_falling_ranks,
)
def row_order(run: RunView, found: Places) -> Hit | None:  # noqa: ARG001
    """A row comes after one with a higher rank."""
    message = f"rows are not in rank order{in_all(found.count, 'place')}"
    return found.hit(message, query_id=None, doc_id=None)


@rule(
    "R127",
    "interleaved-queries",
    on="run",
    scope="file",
    severity="warning",
    fix=RuleFix("safe", "grouped the rows by query", cannot_apply=RunView.cannot_be_ordered),
    checks="query id returns after another",
    rationale="Two runs were joined, or several workers wrote to one file. Checkers that read row "
    "by row forget a query when the next one begins, so they miss duplicates.",
    example="run.txt:4: warning R127: query 1 continues after query 3; streaming checkers miss "
    "duplicates here. Group the rows by query.",
    remedy="Group the rows by query",
    collect=returning_queries,
)
def interleaved_queries(run: RunView, found: Places) -> Hit | None:  # noqa: ARG001
    """The rows of a query are not adjacent."""
    message = f"{continues_after(found)}; streaming checkers miss duplicates here"
    return found.hit(message, doc_id=None)


@rule(
    "R128",
    "query-order",
    on="run",
    scope="file",
    severity="info",
    fix=RuleFix(
        "safe", "sorted the queries", by_default=False, cannot_apply=RunView.cannot_be_ordered
    ),
    optional=True,
    checks="query ids not ascending (off unless selected)",
    rationale="Evaluators ignore the order of the queries. Some tracks require ascending ids, and "
    "sorted files can be compared line by line.",
    example="run.txt: info R128: query 2 (line 4) comes after query 3. Sort the queries.",
    remedy="Sort the queries",
)
def query_order(run: RunView) -> Hit | None:
    """The queries are not in ascending order."""
    if run.columns is None:
        return None
    ids = run.query_ids
    places = _descents([(text,) for text in ids])
    # Both orders of "q10" and "q9" count as ascending: as text and as numbers.
    places = places and _descents([_natural(text) for text in ids])
    if not places:
        return None
    at = places[0]
    row = int(run.blocks.first_rows[at])
    more = f" ({len(places):,} such places in all)" if len(places) > 1 else ""
    return Hit(
        f"query {visible(ids[at])} ({run.at_line(row)}) comes after query {visible(ids[at - 1])}"
        f"{more}",
        count=len(places),
        query_id=ids[at],
        fix="ask",  # only users who select this rule want their queries sorted
    )


def _descents(keys: list[tuple[object, ...]]) -> list[int]:
    return [at for at in range(1, len(keys)) if keys[at] < keys[at - 1]]


def _natural(text: str) -> tuple[object, ...]:
    """Return a sort key that compares numbers in the text as numbers, before words."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", text)
    return tuple((0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts)


@fix_step("R120", "R122", "R123", "R124", "R125", "R126", "R127", "R128", order=150)
def order_rows(draft: Draft, job: Job) -> Draft:
    """Number the ranks (R120, R122–R125), sort and group the rows (R126–R128)."""
    run = draft.run
    broken = {one.code: one.check(run) for one in (*_RANK_RULES, row_order, interleaved_queries)}
    counts = {code: hit.count for code, hit in broken.items() if hit is not None}
    sort_queries = "R128" in job.requested and query_order.check(run) is not None
    if not sort_queries and not counts:
        return draft
    why = run.why_not_ordered
    if why is not None:
        for code in (*counts, *(["R128"] if sort_queries else [])):
            job.skip(code, why)
        return draft
    number_ranks = not _RANK_CODES.isdisjoint(counts)
    if number_ranks and scores_reversed.check(run) is not None:
        job.notes.append(
            "ranks not numbered: scores rise with rank (R121), so it is unknown which column is "
            "correct"
        )
        number_ranks = False
        counts = {code: count for code, count in counts.items() if code not in _RANK_CODES}
    if number_ranks:
        order = by_score(run)
    else:
        ordered = run.ranked if "R126" in counts else run.grouped
        order = ordered.rows(np.arange(run.n_rows))
    if sort_queries:
        order, n_moved = _queries_in_order(run, order)
        job.done("R128", n_moved)
    for code, count in counts.items():
        job.done(code, count)
    fields = draft.fields[order]
    if number_ranks:
        import polars as pl

        ranks = pl.Series(places_in_query(run.blocks.query[order]) + 1)
        fields = fields.with_columns(c4=ranks.cast(pl.String))
    elif np.array_equal(order, np.arange(len(order))):
        return draft
    return draft.rewritten(fields, order)


def by_score(run: RunView) -> Rows:
    """Return the rows by query, falling score, rising rank and falling document id."""
    scored = run.scored
    order: Rows = scored.rows(np.arange(run.n_rows))
    decided = (scored.score[1:] != scored.score[:-1]) | (scored.rank[1:] > scored.rank[:-1])
    undecided = np.flatnonzero(~decided & scored.same_query) + 1
    if not len(undecided):
        return order
    places: Rows = np.flatnonzero(np.isin(scored.query, scored.query[undecided]))
    falling_ids = [~key for key in run.doc_ids.take(order[places]).sort_keys()]
    by_query = (scored.rank[places], -scored.score[places], scored.query[places])
    order = order.copy()
    order[places] = order[places[np.lexsort((order[places], *falling_ids, *by_query))]]
    return order


def _queries_in_order(run: RunView, order: Rows) -> tuple[Rows, int]:
    """Sort an order by query id (as numbers if all are), and count the moved queries."""
    ids = run.query_ids
    keys: list[tuple[int, str]] = [(0, one) for one in ids]
    if all(map(_SHORT_NUMBER.fullmatch, ids)):
        keys = [(int(one), one) for one in ids]
    place = np.empty(len(ids), np.int64)
    place[sorted(range(len(ids)), key=keys.__getitem__)] = np.arange(len(ids))
    n_moved = int((place != np.arange(len(ids))).sum())
    sorted_order: Rows = order[np.argsort(place[run.blocks.query[order]], kind="stable")]
    return sorted_order, n_moved
