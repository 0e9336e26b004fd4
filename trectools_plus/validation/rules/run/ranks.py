"""Rules on the rank column of a run: whole numbers, each once, consistent with the scores.

Evaluation uses the scores. If the rank column disagrees with them, one of the two columns is wrong.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from trectools_plus.formats.columns.ids import Rows
from trectools_plus.text import in_all, number, on, plural, quoted, visible
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.registry import Hit, Kinds, Places, RuleFix, fix_step, rule
from trectools_plus.validation.rules.file.shared import (
    continues_after,
    conversion_remedy,
    returning_queries,
)
from trectools_plus.validation.views.order import Ordered, places_in_query
from trectools_plus.validation.views.runs import RunView

RANK_FIELD = 4
_NUMBERED = "numbered the ranks 1, 2, 3, … by score"


def _cannot_be_numbered(run: RunView) -> bool:
    """Return whether fixes cannot number the ranks."""
    return run.cannot_be_ordered() or scores_reversed.check(run) is not None


def _odd_ranks(run: RunView) -> Kinds:
    """Ranks that are not whole numbers, or negative (wrong), and those like ``1.0`` (pointed)."""

    def places(rows: Rows) -> Places:
        return run.places(
            rows,
            RANK_FIELD,
            text=lambda row: run.text(row, RANK_FIELD),
            is_negative=lambda row: bool(run.rank[row] < 0),
        )

    return Kinds.of(
        wrong=places(np.flatnonzero(np.isnan(run.rank) | (run.rank < 0))),
        pointed=places(np.flatnonzero(run.rows.ranks.has_point)),
    )


@rule(
    "R120",
    "rank-not-integer",
    on="run",
    scope="row",
    severity="error",
    fix=RuleFix("safe", _NUMBERED, cannot_apply=_cannot_be_numbered),
    blocks_scoring=False,
    checks="rank not an integer, or negative; '1.0' is a warning",
    rationale="trec_eval ignores the rank column; other readers stop at a rank that is not a "
    "whole number. Often the columns are not in the expected order.",
    example="run.txt:2: error R120: rank '-' is not an integer. Number the ranks 1, 2, 3, … by "
    "score.",
    remedy="Number the ranks 1, 2, 3, … by score",
    collect=_odd_ranks,
)
def rank_not_integer(run: RunView, found: Kinds) -> Hit | None:
    """A rank is not a whole number, or is below 0."""
    if run.swapped_columns:
        return None
    wrong, pointed = found["wrong"], found["pointed"]
    if wrong.count:
        what = "is negative" if wrong["is_negative"] else "is not an integer"
        return wrong.hit(f"rank {quoted(str(wrong['text']))} {what}{on(wrong.count)}")
    return pointed.hit(
        f"rank {quoted(str(pointed['text']))} is not written as an integer{on(pointed.count)}; "
        "some readers reject it",
        severity="warning",
    )


REVERSED = -0.9
"""Highest rank correlation (Kendall's tau) of ranks that are almost completely reversed."""
MIN_REVERSED = 0.9
"""Minimum share of such queries in a run whose scores are reversed."""


def rising_scores(run: RunView) -> Kinds:
    """Rows with a higher score than the row with the previous rank.

    Returns:
        All such ``rows``; the first one of each query in which scores rise with rank rather than
        fall, with the number of ``queries`` that are almost completely reversed; and the first row.
    """
    if run.columns is None:
        return Kinds.of()
    first = run.places(np.arange(min(1, run.n_rows)))
    ranked = run.ranked
    if ranked is run.grouped and ranked.scores_fall:
        return Kinds.of(first=first)
    rises = ranked.rises
    if not len(rises):
        return Kinds.of(first=first)
    rows, places = _in_file_order(ranked, rises)
    at = places[0]
    rising = run.places(
        rows,
        5,
        rank=number(ranked.rank[at]),
        score=number(ranked.score[at]),
        rank_before=number(ranked.rank[at - 1]),
        score_before=number(ranked.score[at - 1]),
    )
    is_below = ranked.taus[ranked.query[places]] < 0
    _, firsts = np.unique(ranked.query[places[is_below]], return_index=True)
    n_reversed = int(np.count_nonzero(ranked.taus <= REVERSED))
    queries = replace(run.places(rows[is_below][np.sort(firsts)]), sums={"reversed": n_reversed})
    return Kinds.of(first=first, rows=rising, queries=queries)


@rule(
    "R121",
    "scores-reversed",
    on="run",
    scope="file",
    severity="error",
    fix="no",
    checks="rank and score reversed almost completely (Kendall's tau, without ties, at most -0.9) "
    "in at least 90% of the queries of two or more documents, or column 4 has decreasing decimals "
    "and column 5 has 1, 2, 3; a warning if tau is below 0 in most of them",
    rationale="Evaluators sort by score, highest first. Distances (lower is better), or swapped "
    "columns of rank and score, reverse every ranking, and all figures are low.",
    example="run.txt:2: error R121: scores rise with rank in 3 of 3 queries; they may be "
    "distances, or rank and score may be swapped; evaluators sort by score. Negate distances: "
    "trectools-plus runs convert run.txt --columns query=1,doc_id=3,score=-5 --output run.txt",
    remedy="Negate distances with runs convert --columns query=1,doc_id=3,score=-5",
    collect=rising_scores,
    drop_in="permissive",
    notes={"warning": "figures follow the scores"},
)
def scores_reversed(run: RunView, found: Kinds) -> Hit | None:
    """The order of the scores is the reverse of the order of the ranks."""
    if run.swapped_columns:
        first = replace(found["first"], lines=found["first"].lines[:1])
        message = "columns 4 and 5 look swapped: decimals, then 1, 2, 3"
        remedy = conversion_remedy(run, "query=1,doc_id=3,score=4")
        return first.hit(message, count=1, query_id=None, doc_id=None, remedy=remedy)
    n_comparable = int(np.count_nonzero(run.blocks.sizes >= 2))
    queries = found["queries"]
    if 2 * queries.count <= n_comparable:
        return None
    is_reversed = queries.sums["reversed"] >= MIN_REVERSED * n_comparable
    cause = "they may be distances, or rank and score may be swapped; " if is_reversed else ""
    return queries.hit(
        f"scores rise with rank in {queries.count:,} of "
        f"{plural(n_comparable, 'query', 'queries')}; {cause}evaluators sort by score",
        doc_id=None,
        severity="error" if is_reversed else "warning",
        remedy=conversion_remedy(run, "query=1,doc_id=3,score=-5").replace(
            "Convert it", "Negate distances"
        )
        if is_reversed
        else "Check that higher scores are better",
    )


def _repeated_ranks(run: RunView) -> Places:
    """Rows with the rank of an earlier row of the query."""
    rows, places = _in_file_order(run.ranked, np.flatnonzero(run.ranked.rank_steps == 0) + 1)
    before = run.ranked.rows(places - 1)
    return run.places(
        rows,
        RANK_FIELD,
        rank=lambda row: number(run.rank[row]),
        other=lambda _: run.place(int(before[0])),
    )


@rule(
    "R122",
    "duplicate-rank",
    on="run",
    scope="query",
    severity="error",
    fix=RuleFix("safe", _NUMBERED, cannot_apply=_cannot_be_numbered),
    blocks_scoring=False,
    checks="rank twice in a query",
    rationale="Two documents cannot share a rank: two runs were joined, or a counter was not "
    "incremented.",
    example="run.txt:2: error R122: rank 1 occurs twice in query 1 (first: line 1). Number the "
    "ranks 1, 2, 3, … by score.",
    remedy="Number the ranks 1, 2, 3, … by score",
    collect=_repeated_ranks,
)
def duplicate_rank(run: RunView, found: Places) -> Hit | None:  # noqa: ARG001
    """A rank occurs twice in a query."""
    return found.hit(
        f"rank {found['rank']} occurs twice in query {visible(str(found.query_id))} (first: "
        f"{found['other']}){on(found.count)}"
    )


def _other_starts(run: RunView) -> Places:
    """The first row of each query, in rank order, whose rank is not 1."""
    ranked = run.ranked
    heads = ranked.heads
    heads = heads[~np.isnan(ranked.rank[heads]) & (ranked.rank[heads] != 1)]
    rows = np.sort(ranked.rows(heads))
    return run.places(rows, rank=lambda row: number(run.rank[row]))


@rule(
    "R123",
    "rank-start",
    on="run",
    scope="query",
    severity="info",
    fix=RuleFix("safe", _NUMBERED, cannot_apply=_cannot_be_numbered),
    checks="first rank is not 1 (0 is common)",
    rationale="Both 0 and 1 are in use. Evaluators ignore the difference; some submission "
    "checkers require 1.",
    example="run.txt:1: info R123: ranks start at 0 in 100 of 100 queries. Nothing to do for "
    "evaluation; some checkers require 1.",
    remedy="Nothing to do for evaluation; some checkers require 1",
    collect=_other_starts,
)
def rank_start(run: RunView, found: Places) -> Hit | None:
    """The lowest rank of a query is not 1."""
    if run.rows_are_missing:
        return None
    of = plural(len(run.query_ids), "query", "queries")
    message = f"ranks start at {found['rank']} in {found.count:,} of {of}"
    return found.hit(message, doc_id=None)


def _gaps(run: RunView) -> Places:
    """Rows whose rank is more than 1 above that of the previous row in rank order."""
    if bool((run.grouped.rank_steps == 1).all()):
        return Places()
    ranked = run.ranked
    unreadable = np.unique(ranked.query[np.isnan(ranked.rank)])
    places = np.flatnonzero(ranked.rank_steps > 1) + 1
    places = places[~np.isin(ranked.query[places], unreadable)]
    rows, places = _in_file_order(ranked, places)
    return run.places(
        rows,
        RANK_FIELD,
        rank=lambda row: number(run.rank[row]),
        before=lambda _: number(ranked.rank[places[0] - 1]),
    )


@rule(
    "R124",
    "rank-gap",
    on="run",
    scope="query",
    severity="warning",
    fix=RuleFix("safe", _NUMBERED, cannot_apply=_cannot_be_numbered),
    checks="ranks not consecutive",
    rationale="A missing rank means that a row was lost, or removed after ranking.",
    example="run.txt:4: warning R124: rank 7 follows 3 in query 1; rows may be missing. Look for "
    "the missing rows, or number the ranks again.",
    remedy="Look for the missing rows, or number the ranks again",
    collect=_gaps,
)
def rank_gap(run: RunView, found: Places) -> Hit | None:
    """Ranks of a query are not consecutive."""
    if run.rows_are_missing:
        return None
    return found.hit(
        f"rank {found['rank']} follows {found['before']} in query {visible(str(found.query_id))}"
        f"{in_all(found.count, 'gap')}; rows may be missing"
    )


@rule(
    "R125",
    "rank-score-conflict",
    on="run",
    scope="file",
    severity="warning",
    fix=RuleFix("safe", _NUMBERED, cannot_apply=_cannot_be_numbered),
    checks="document with a better rank has a lower score",
    rationale="Evaluation uses the score, so the evaluated ranking is not the one in the rank "
    "column.",
    example="run.txt:2: warning R125: rank 2 has score 9.9, but rank 1 has 9.5; evaluation uses "
    "the scores. Number the ranks by score, or write scores that fall with rank.",
    remedy="Number the ranks by score, or write scores that fall with rank",
    collect=rising_scores,
)
def rank_score_conflict(run: RunView, found: Kinds) -> Hit | None:
    """A document has a higher score than a document with a better rank."""
    rows = found["rows"]
    if run.swapped_columns or not rows.count or scores_reversed.decide(run, found) is not None:
        return None
    return rows.hit(
        f"rank {rows['rank']} has score {rows['score']}, but rank {rows['rank_before']} has "
        f"{rows['score_before']}{in_all(rows.count, 'such pair')}; evaluation uses the scores"
    )


def _in_file_order(ordered: Ordered, places: Rows) -> tuple[Rows, Rows]:
    """Return the rows of the file at ``places``, ascending, and the places in this order."""
    rows = ordered.rows(places)
    order = np.argsort(rows, kind="stable")
    return rows[order], places[order]


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
        f"query {visible(ids[at])} ({run.place(row)}) comes after query {visible(ids[at - 1])}"
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
def order_rows(draft: FileDraft, session: FixSession) -> FileDraft:
    """Number the ranks (R120, R122–R125), sort and group the rows (R126–R128)."""
    run = draft.run
    broken = {one.code: one.check(run) for one in (*_RANK_RULES, row_order, interleaved_queries)}
    counts = {code: hit.count for code, hit in broken.items() if hit is not None}
    sort_queries = "R128" in session.requested and query_order.check(run) is not None
    if not sort_queries and not counts:
        return draft
    why = run.why_not_ordered
    if why is not None:
        for code in (*counts, *(["R128"] if sort_queries else [])):
            session.skip(code, why)
        return draft
    number_ranks = not _RANK_CODES.isdisjoint(counts)
    if number_ranks and scores_reversed.check(run) is not None:
        session.notes.append(
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
        session.done("R128", n_moved)
    for code, count in counts.items():
        session.done(code, count)
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
