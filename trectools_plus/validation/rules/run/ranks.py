"""Rules on the rank column of a run: whole numbers, each once, consistent with the scores.

Evaluation uses the scores. If the rank column disagrees with them, one of the two columns is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.clean.words import Rows
from trectools_plus.text import in_all, number, on, plural, quoted, visible
from trectools_plus.validation.registry import Hit, RuleFix, fix_step, rule
from trectools_plus.validation.views.order import Ordered
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.shape import NOT_FINITE

if TYPE_CHECKING:
    from trectools_plus.validation.draft import Draft, Job

RANK_FIELD = 4
_NUMBERED = "numbered the ranks 1, 2, 3, … by score"


def _cannot_be_numbered(run: RunView) -> bool:
    """Return whether fixes cannot number the ranks."""
    return run.cannot_be_ordered() or scores_reversed.check(run) is not None


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
)
def rank_not_integer(run: RunView) -> Hit | None:
    """A rank is not a whole number, or is below 0."""
    if run.columns is None or run.swapped_columns:
        return None
    rows = np.flatnonzero(np.isnan(run.rank) | (run.rank < 0))
    if len(rows) == 0:
        return _rank_with_fraction(run)
    what = "is negative" if run.rank[rows[0]] < 0 else "is not an integer"
    return run.hit(
        f"rank {quoted(run.text(rows[0], RANK_FIELD))} {what}{on(len(rows))}",
        rows,
        RANK_FIELD,
    )


def _rank_with_fraction(run: RunView) -> Hit | None:
    """Ranks like ``1.0``: whole, but not written as whole numbers."""
    rows = np.flatnonzero(run.rows.ranks.has_point)
    if len(rows) == 0:
        return None
    return run.hit(
        f"rank {quoted(run.text(rows[0], RANK_FIELD))} is not written as an integer"
        f"{on(len(rows))}; some readers reject it",
        rows,
        RANK_FIELD,
        severity="warning",
    )


REVERSED = -0.9
"""Highest rank correlation (Kendall's tau) of ranks that are almost completely reversed."""
MIN_REVERSED = 0.9
"""Minimum share of such queries in a run whose scores are reversed."""


class _ReversedQueries:
    """Counts queries whose scores rise with rank, or detects swapped columns."""

    def __init__(self) -> None:
        self._n_comparable = self._n_reversed = 0
        self._swapped: Hit | None = None

    def add(self, run: RunView) -> Hit | None:
        """Count the queries of a chunk."""
        if run.swapped_columns:
            if self._swapped is not None:
                return None
            self._swapped = scores_reversed.check(run)
            return self._swapped
        self._n_comparable += _count_comparable(run)
        rows, n_reversed = _rising_queries(run)
        self._n_reversed += n_reversed
        if len(rows) == 0:
            return None
        return Hit("", run.lines(rows), len(rows), query_id=run.query_id(rows[0]))

    def hit(self, first: str, count: int) -> Hit | None:
        """Return the hit of the whole run, if scores rise in most queries."""
        if self._swapped is not None:
            return Hit(first)
        return _reversal(count, self._n_reversed, self._n_comparable)


@rule(
    "R121",
    "scores-reversed",
    on="run",
    scope="file",
    severity="error",
    fix=RuleFix(
        "ask",
        "negated the scores",
        effect="rewrites the scores, negated or swapped with the ranks; every ranking is reversed",
    ),
    checks="rank and score reversed almost completely (Kendall's tau, without ties, at most -0.9) "
    "in at least 90% of the queries of two or more documents, or column 4 has decreasing decimals "
    "and column 5 has 1, 2, 3; a warning if tau is below 0 in most of them",
    rationale="Evaluators sort by score, highest first. Distances (lower is better), or swapped "
    "columns of rank and score, reverse every ranking, and all figures are low.",
    example="run.txt:2: error R121: scores rise with rank in 3 of 3 queries; they may be "
    "distances, or rank and score may be swapped; evaluators sort by score. Negate the scores or "
    "swap the columns.",
    remedy="Negate the scores or swap the columns",
    chunk_accumulator=_ReversedQueries,
    drop_in="permissive",
    notes={"warning": "figures follow the scores"},
)
def scores_reversed(run: RunView) -> Hit | None:
    """The order of the scores is the reverse of the order of the ranks."""
    if run.swapped_columns:
        return Hit("columns 4 and 5 look swapped: decimals, then 1, 2, 3", run.lines([0]))
    rises = _rises(run)
    if len(rises) == 0:
        return None
    n_comparable = _count_comparable(run)
    # In a query without a rising score, tau is not below 0.
    if not _is_most(len(np.unique(run.ranked.query[rises])), n_comparable):
        return None
    rows, n_reversed = _rising_queries(run)
    hit = _reversal(len(rows), n_reversed, n_comparable)
    if hit is None:
        return None
    query_id = run.query_id(rows[0])
    return replace(hit, lines=run.lines(rows), count=len(rows), query_id=query_id)


@fix_step("R121", order=60)
def reverse_scores(draft: Draft, job: Job) -> Draft:
    """Swap rank and score, or negate the scores, if they rise with rank (R121)."""
    if "R121" not in job.requested or scores_reversed.check(draft.run) is None:
        return draft
    import polars as pl

    fields, run = draft.fields, draft.run
    if run.swapped_columns:
        job.done("R121", run.n_rows, "swapped columns 4 and 5")
        return draft.with_fields(c4=fields["c5"], c5=fields["c4"])
    score = fields["c5"]
    keep = pl.Series(np.isnan(run.score) | (run.score == 0)) | score.str.contains(NOT_FINITE)
    bare = score.str.strip_prefix("+")
    negated = bare.str.strip_prefix("-").zip_with(bare.str.starts_with("-"), "-" + bare)
    job.done("R121", int((~keep).sum()))
    return draft.with_fields(c5=score.zip_with(keep, negated))


def _reversal(n_rising: int, n_reversed: int, n_comparable: int) -> Hit | None:
    """Return the hit, without its place, of a run in which scores rise in some queries.

    Args:
        n_rising: Queries whose scores rise with rank rather than fall.
        n_reversed: Queries among them that are almost completely reversed.
        n_comparable: Queries of two or more documents.
    """
    if not _is_most(n_rising, n_comparable):
        return None
    is_reversed = n_reversed >= MIN_REVERSED * n_comparable
    cause = "they may be distances, or rank and score may be swapped; " if is_reversed else ""
    return Hit(
        f"scores rise with rank in {n_rising:,} of {plural(n_comparable, 'query', 'queries')}; "
        f"{cause}evaluators sort by score",
        severity="error" if is_reversed else "warning",
        remedy=None if is_reversed else "Check that higher scores are better",
    )


def _is_most(n_rising: int, n_comparable: int) -> bool:
    """Return whether scores rise in most queries."""
    return 2 * n_rising > n_comparable


def _count_comparable(run: RunView) -> int:
    """Count the queries of two or more documents."""
    return int(np.count_nonzero(run.blocks.sizes >= 2))


def _rising_queries(run: RunView) -> tuple[Rows, int]:
    """Find the queries whose scores rise with rank rather than fall: tau is below 0.

    A row is rising if its score is higher than that of the row with the previous rank.

    Returns:
        The first rising row of each such query, and the number of queries that are almost
        completely reversed.
    """
    rises = _rises(run)
    if len(rises) == 0:
        return rises, 0
    ranked = run.ranked
    taus = ranked.taus
    rises = rises[taus[ranked.query[rises]] < 0]
    rows, places = _in_file_order(ranked, rises)
    _, firsts = np.unique(ranked.query[places], return_index=True)
    return rows[np.sort(firsts)], int(np.count_nonzero(taus <= REVERSED))


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
)
def duplicate_rank(run: RunView) -> Hit | None:
    """A rank occurs twice in a query."""
    if run.columns is None:
        return None
    places = np.flatnonzero(run.ranked.rank_steps == 0) + 1
    if len(places) == 0:
        return None
    rows, place = _in_file_order(run.ranked, places)
    row, first = int(rows[0]), int(run.ranked.rows(place - 1)[0])
    where = visible(run.query_id(row))
    return run.hit(
        f"rank {number(run.rank[row])} occurs twice in query {where} (first: {run.at_line(first)})"
        f"{on(len(rows))}",
        rows,
        RANK_FIELD,
    )


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
)
def rank_start(run: RunView) -> Hit | None:
    """The lowest rank of a query is not 1."""
    if run.columns is None or run.n_rows == 0 or run.rows_are_missing:
        return None
    ranked = run.ranked
    heads = np.flatnonzero(np.concatenate([[True], ~ranked.same_query]))
    heads = heads[~np.isnan(ranked.rank[heads]) & (ranked.rank[heads] != 1)]
    if len(heads) == 0:
        return None
    rows = np.sort(ranked.rows(heads))
    row = int(rows[0])
    n_queries = len(run.query_ids)
    of = plural(n_queries, "query", "queries")
    return Hit(
        f"ranks start at {number(run.rank[row])} in {len(heads):,} of {of}",
        run.lines(rows),
        len(heads),
        query_id=run.query_id(row),
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
)
def rank_gap(run: RunView) -> Hit | None:
    """Ranks of a query are not consecutive."""
    if run.rows_are_missing or bool((run.grouped.rank_steps == 1).all()):
        return None
    ranked = run.ranked
    unreadable = np.unique(ranked.query[np.isnan(ranked.rank)])
    places = np.flatnonzero(ranked.rank_steps > 1) + 1
    places = places[~np.isin(ranked.query[places], unreadable)]
    if len(places) == 0:
        return None
    rows, place = _in_file_order(ranked, places)
    row, before = int(rows[0]), number(ranked.rank[place[0] - 1])
    return run.hit(
        f"rank {number(run.rank[row])} follows {before} in query {visible(run.query_id(row))}"
        f"{in_all(len(places), 'gap')}; rows may be missing",
        rows,
        RANK_FIELD,
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
)
def rank_score_conflict(run: RunView) -> Hit | None:
    """A document has a higher score than a document with a better rank."""
    rises = _rises(run)
    if len(rises) == 0 or scores_reversed.check(run) is not None:
        return None
    ranked = run.ranked
    rows, places = _in_file_order(ranked, rises)
    place = places[0]
    return run.hit(
        f"rank {number(ranked.rank[place])} has score {number(ranked.score[place])}, but rank "
        f"{number(ranked.rank[place - 1])} has {number(ranked.score[place - 1])}"
        f"{in_all(len(rises), 'such pair')}; evaluation uses the scores",
        rows,
        5,
    )


def _in_file_order(ordered: Ordered, places: Rows) -> tuple[Rows, Rows]:
    """Return the rows of the file at ``places``, ascending, and the places in this order."""
    rows = ordered.rows(places)
    order = np.argsort(rows, kind="stable")
    return rows[order], places[order]


def _rises(run: RunView) -> Rows:
    """Return places in rank order with a higher score than the previous one of the query."""
    if run.columns is None or run.swapped_columns:
        return np.empty(0, np.int64)
    ranked: Ordered = run.ranked
    if ranked is run.grouped and ranked.scores_fall:
        return np.empty(0, np.int64)
    return ranked.rises
