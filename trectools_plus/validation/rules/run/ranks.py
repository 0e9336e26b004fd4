"""Rules on the rank column of a run: whole numbers, each once, consistent with the scores.

Evaluation uses the scores. If the rank column disagrees with them, one of the two columns is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import numpy as np

from trectools_plus.formats.columns.ids import Rows
from trectools_plus.validation.registry import Case, Rule
from trectools_plus.validation.rules.file.shared import (
    CONTINUES,
    conversion_remedy,
    returning_queries,
)
from trectools_plus.validation.views.order import Pairs
from trectools_plus.validation.views.places import Places, Value
from trectools_plus.validation.views.runs import RunView

MIN_REVERSED = 0.9
"""Minimum share of almost completely reversed queries in a run whose scores are reversed."""


def n_larger(run: RunView) -> int:
    """Return the number of queries of two or more documents."""
    return int(np.count_nonzero(run.blocks.sizes >= 2))


def starts_of_rises(run: RunView) -> Rows:
    """Return the first row whose score rises, of each query in which scores rise with rank."""
    ranked, places = run.ranked, run.ranked.rises
    if run.columns is None or not len(places):
        return np.empty(0, np.int64)
    rows = np.sort(ranked.rows(places[ranked.taus[ranked.query[places]] < 0]))
    _, first = np.unique(run.blocks.query[rows], return_index=True)
    return np.sort(rows[first])


def is_reversed(run: RunView, places: Places) -> bool:
    """Return whether the scores of almost all queries are reversed."""
    return are_most(run, places) and run.facts.n_reversed >= MIN_REVERSED * n_larger(run)


def are_most(run: RunView, places: Places) -> bool:
    """Return whether the scores of most queries rise."""
    return not run.swapped_columns and 2 * places.count > n_larger(run)


def shown_queries(run: RunView, _: Places) -> Mapping[str, Value]:
    """Return the number of queries of two or more documents, and the command for distances."""
    convert = conversion_remedy(run, "query=1,doc_id=3,score=-5")
    swap = conversion_remedy(run, "query=1,doc_id=3,score=4")
    negate = convert.replace("Convert it", "Negate distances")
    return {"larger": n_larger(run), "negate": negate, "swap": swap}


rising = partial(Case, shows=shown_queries, about="query")
R121 = Rule(
    "R121",
    "scores-reversed",
    "run",
    "error",
    checks="rank and score reversed almost completely (Kendall's tau, without ties, at most -0.9) "
    "in at least 90% of the queries of two or more documents, or column 4 has decreasing decimals "
    "and column 5 has 1, 2, 3; a warning if tau is below 0 in most of them",
    rationale="Evaluators sort by score, highest first. Distances (lower is better), or swapped "
    "columns of rank and score, reverse every ranking, and all figures are low.",
    example="run.txt:2: error R121: scores rise with rank in 3 of 3 queries; they may be "
    "distances, or rank and score may be swapped; evaluators sort by score. Negate distances: "
    "trectools-plus runs convert run.txt --columns query=1,doc_id=3,score=-5 --output run.txt",
    remedy="Negate distances with runs convert --columns query=1,doc_id=3,score=-5",
    chunked=True,
    drop_in="permissive",
    blocks_fixing=True,
    notes={"warning": "figures follow the scores"},
    cases=(
        Case(
            "error",
            "columns 4 and 5 look swapped: decimals, then 1, 2, 3",
            lambda run: np.arange(min(1, run.n_rows) if run.columns else 0),
            given=lambda run, _: run.swapped_columns,
            shows=shown_queries,
            about="file",
            remedy="{swap}",
        ),
        rising(
            "error",
            "scores rise with rank in {count} of {larger:query|queries}; they may be distances, or "
            "rank and score may be swapped; evaluators sort by score",
            starts_of_rises,
            given=is_reversed,
            remedy="{negate}",
        ),
        rising(
            "warning",
            "scores rise with rank in {count} of {larger:query|queries}; evaluators sort by score",
            starts_of_rises,
            given=are_most,
            remedy="Check that higher scores are better",
        ),
    ),
)


NUMBERED = "numbered the ranks 1, 2, 3, … by score"


BY_SCORE = "Number the ranks 1, 2, 3, … by score"
bad_rank = partial(Case, given=lambda run, _: not run.swapped_columns, column=4)
R120 = Rule(
    "R120",
    "rank-not-integer",
    "run",
    "error",
    fix="safe",
    fixed=NUMBERED,
    blocks_scoring=False,
    checks="rank not an integer, or negative; '1.0' is a warning",
    rationale="trec_eval ignores the rank column; other readers stop at a rank that is not a "
    "whole number. Often the columns are not in the expected order.",
    example="run.txt:2: error R120: rank '-' is not a whole number from 0. Number the ranks 1, 2, "
    "3, … by score.",
    remedy=BY_SCORE,
    chunked=True,
    cases=(
        bad_rank(
            "error",
            "rank {rank!q} is not a whole number from 0[ (on {count} rows)]",
            lambda run: np.flatnonzero(np.isnan(run.rank) | (run.rank < 0)),
        ),
        bad_rank(
            "warning",
            "rank {rank!q} is not written as an integer[ (on {count} rows)]; some readers reject "
            "it",
            lambda run: np.flatnonzero(run.rows.ranks.has_point),
        ),
    ),
)
R122 = Rule(
    "R122",
    "duplicate-rank",
    "run",
    "error",
    fix="safe",
    fixed=NUMBERED,
    blocks_scoring=False,
    checks="rank twice in a query",
    rationale="Two documents cannot share a rank: two runs were joined, or a counter was not "
    "incremented.",
    example="run.txt:2: error R122: rank 1 occurs twice in query 1 (first: line 1). Number the "
    "ranks 1, 2, 3, … by score.",
    remedy=BY_SCORE,
    chunked=True,
    cases=(
        Case(
            "error",
            "rank {rank} occurs twice in query {query_id!v} (first: {other_place})"
            "[ (on {count} rows)]",
            lambda run: run.pairs(run.ranked, np.flatnonzero(run.ranked.rank_steps == 0) + 1),
            column=4,
        ),
    ),
)


def other_starts(run: RunView) -> Rows:
    """Return the first row by rank of each query that does not start at 1."""
    ranked, heads = run.ranked, run.ranked.heads
    return ranked.rows(heads[~np.isnan(ranked.rank[heads]) & (ranked.rank[heads] != 1)])


R123 = Rule(
    "R123",
    "rank-start",
    "run",
    "info",
    fix="safe",
    fixed=NUMBERED,
    checks="first rank is not 1 (0 is common)",
    rationale="Both 0 and 1 are in use. Evaluators ignore the difference; some submission "
    "checkers require 1.",
    example="run.txt:1: info R123: ranks start at 0 in 100 of 100 queries. Nothing to do for "
    "evaluation; some checkers require 1.",
    remedy="Nothing to do for evaluation; some checkers require 1",
    chunked=True,
    cases=(
        Case(
            "info",
            "ranks start at {rank} in {count} of {n_queries:query|queries}",
            other_starts,
            given=lambda run, _: not run.rows_are_missing,
            shows=lambda run, _: {"n_queries": len(run.query_ids)},
            about="query",
        ),
    ),
)


def gaps(run: RunView) -> Pairs:
    """Return the rows whose rank is more than 1 above the one before."""
    ranked = run.ranked
    unreadable = np.unique(ranked.query[np.isnan(ranked.rank)])
    places = np.flatnonzero(ranked.rank_steps > 1) + 1
    return run.pairs(ranked, places[~np.isin(ranked.query[places], unreadable)])


R124 = Rule(
    "R124",
    "rank-gap",
    "run",
    "warning",
    fix="safe",
    fixed=NUMBERED,
    checks="ranks not consecutive",
    rationale="A missing rank means that a row was lost, or removed after ranking.",
    example="run.txt:4: warning R124: rank 7 follows 3 in query 1; rows may be missing. Look for "
    "the missing rows, or number the ranks again.",
    remedy="Look for the missing rows, or number the ranks again",
    chunked=True,
    cases=(
        Case(
            "warning",
            "rank {rank} follows {other_rank} in query {query_id!v}[ ({count} gaps in all)]; rows "
            "may be missing",
            gaps,
            given=lambda run, _: not run.rows_are_missing,
            column=4,
        ),
    ),
)
R125 = Rule(
    "R125",
    "rank-score-conflict",
    "run",
    "warning",
    fix="safe",
    fixed=NUMBERED,
    checks="document with a better rank has a lower score",
    rationale="Evaluation uses the score, so the evaluated ranking is not the one in the rank "
    "column.",
    example="run.txt:2: warning R125: rank 2 has score 9.9, but rank 1 has 9.5; evaluation uses "
    "the scores. Number the ranks by score, or write scores that fall with rank.",
    remedy="Number the ranks by score, or write scores that fall with rank",
    chunked=True,
    unless=(R121,),
    cases=(
        Case(
            "warning",
            "rank {rank} has score {score}, but rank {other_rank} has {other_score}"
            "[ ({count} such pairs in all)]; evaluation uses the scores",
            lambda run: run.pairs(run.ranked, run.ranked.rises),
            column=5,
        ),
    ),
)
R126 = Rule(
    "R126",
    "row-order",
    "run",
    "info",
    fix="safe",
    fixed="sorted the rows of each query by rank",
    checks="rows of a query not in rank order",
    rationale="Evaluators ignore the order of the rows. Tools that use the first rows of a query "
    "as its best results do not.",
    example="run.txt:2: info R126: rows are not in rank order. Nothing to do for evaluation; sort "
    "by rank for tools that read from the top.",
    remedy="Nothing to do for evaluation; sort by rank for tools that read from the top",
    chunked=True,
    cases=(
        Case(
            "info",
            "rows are not in rank order[ ({count} places in all)]",
            lambda run: run.grouped.rows(np.flatnonzero(run.grouped.rank_steps < 0) + 1),
            about="file",
        ),
    ),
)
R127 = Rule(
    "R127",
    "interleaved-queries",
    "run",
    "warning",
    fix="safe",
    fixed="grouped the rows by query",
    checks="query id returns after another",
    rationale="Two runs were joined, or several workers wrote to one file. Checkers that read row "
    "by row forget a query when the next one begins, so they miss duplicates.",
    example="run.txt:4: warning R127: query 1 continues after query 3; streaming checkers miss "
    "duplicates here. Group the rows by query.",
    remedy="Group the rows by query",
    cases=(
        Case(
            "warning",
            f"{CONTINUES}; streaming checkers miss duplicates here",
            returning_queries,
            about="query",
        ),
    ),
)


def descents(run: RunView) -> Places:
    """Return the queries below the one before, both as texts and with numbers as numbers."""
    ids = run.query_ids
    places = [at for at in range(1, len(ids)) if _natural(ids[at]) < _natural(ids[at - 1])]
    if not places or ids == sorted(ids):
        return Places()
    first = {"query_id": ids[places[0]], "before": ids[places[0] - 1]}
    return Places(len(places), query_id=ids[places[0]], first=first)


def _natural(text: str) -> tuple[object, ...]:
    """Return a sort key that compares numbers in the text as numbers, before words."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", text)
    return tuple((0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts)


R128 = Rule(
    "R128",
    "query-order",
    "run",
    "info",
    optional=True,
    checks="query ids not ascending (off unless selected)",
    rationale="Evaluators ignore the order of the queries. Some tracks require ascending ids, and "
    "sorted files can be compared line by line.",
    example="run.txt: info R128: query 2 comes after query 3. Sort the queries.",
    remedy="Sort the queries",
    cases=(
        Case(
            "info",
            "query {query_id!v} comes after query {before!v}[ ({count} such places in all)]",
            descents,
        ),
    ),
)
