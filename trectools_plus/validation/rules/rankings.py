"""Rules on ranks, scores and documents of a run.

trec_eval sorts by score and breaks ties by document id, highest first. Version 9, and with it
pytrec_eval and ir_measures, compares scores as 32-bit floats; version 10 and ranx in 64 bits. If
the rank column disagrees with the scores, one of the two columns is wrong.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import partial

import numpy as np

from trectools_plus.formats.columns.ids import Rows
from trectools_plus.validation.registry import Case, rule
from trectools_plus.validation.rules.files import CONTINUES, returning_queries
from trectools_plus.validation.views.order import Pairs, places_in_query
from trectools_plus.validation.views.places import Places
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.tables import NOT_FINITE

MIN_REVERSED = 0.9
"""Minimum share of almost completely reversed queries in a run whose scores are reversed."""


def starts_of_rises(run: RunView) -> Rows:
    """Return the first row whose score rises, of each query in which scores rise with rank."""
    ranked, places = run.ranked, run.ranked.rises
    if run.columns is None or not len(places):
        return np.empty(0, np.int64)
    rows = np.sort(ranked.rows(places[ranked.taus[ranked.query[places]] < 0]))
    _, first = np.unique(run.blocks.query[rows], return_index=True)
    return np.sort(rows[first])


def are_most(run: RunView, places: Places) -> bool:
    """Return whether the scores of most queries rise."""
    return not run.swapped_columns and 2 * places.count > run.n_larger


RISING = (
    "scores rise with rank in {count} of {view.n_larger:query|queries}; evaluators sort by score"
)
R121 = rule(
    "R121",
    "scores-reversed",
    "error",
    "rank and score reversed almost completely (Kendall's tau, without ties, at most -0.9) in at "
    "least 90% of the queries of two or more documents, or column 4 has decreasing decimals and "
    "column 5 has 1, 2, 3; a warning if tau is below 0 in most of them",
    "Evaluators sort by score, highest first. Distances (lower is better), or swapped columns of "
    "rank and score, reverse every ranking, and all figures are low.",
    "run.txt:2: error R121: scores rise with rank in 3 of 3 queries; evaluators sort by score. "
    "Negate distances with runs convert --columns query=1,doc_id=3,score=-5.",
    "Negate distances with runs convert --columns query=1,doc_id=3,score=-5",
    Case(
        "error",
        "columns 4 and 5 look swapped: decimals, then 1, 2, 3",
        lambda run: np.arange(int(run.swapped_columns)),
        remedy="Convert it with runs convert --columns query=1,doc_id=3,score=4",
    ),
    Case(
        "error",
        RISING,
        starts_of_rises,
        given=lambda run, places: (
            are_most(run, places) and run.n_reversed >= MIN_REVERSED * run.n_larger
        ),
    ),
    Case(
        "warning",
        RISING,
        starts_of_rises,
        given=are_most,
        remedy="Check that higher scores are better",
        note="figures follow the scores",
    ),
    drop_in="permissive",
    blocks_fixing=True,
)


on_ranks = partial(
    rule, fix="safe", fixed="numbered the ranks 1, 2, 3, … by score", blocks_scoring=False
)
_BY_SCORE = "Number the ranks 1, 2, 3, … by score"
R120 = on_ranks(
    "R120",
    "rank-not-integer",
    "error",
    "rank not an integer, or negative; '1.0' is a warning",
    "trec_eval ignores the rank column; other readers stop at a rank that is not a whole number. "
    "Often the columns are not in the expected order.",
    "run.txt:2: error R120: rank '-' is not a whole number from 0. Number the ranks 1, 2, 3, … by "
    "score.",
    _BY_SCORE,
    Case(
        "error",
        "rank {rank!q} is not a whole number from 0[ (on {count} rows)]",
        lambda run: np.flatnonzero(~(run.rank >= 0)),
        given=lambda run, _: not run.swapped_columns,
        column=4,
    ),
    Case(
        "warning",
        "rank {rank!q} is not written as an integer[ (on {count} rows)]; some readers reject it",
        lambda run: np.flatnonzero(run.rows.ranks.has_point),
        given=lambda run, _: not run.swapped_columns,
        column=4,
    ),
)
R122 = on_ranks(
    "R122",
    "duplicate-rank",
    "error",
    "rank twice in a query",
    "Two documents cannot share a rank: two runs were joined, or a counter was not incremented.",
    "run.txt:2: error R122: rank 1 occurs twice in query 1 (first: line 1). Number the ranks 1, 2, "
    "3, … by score.",
    _BY_SCORE,
    Case(
        "error",
        "rank {rank} occurs twice in query {query_id!v} (first: {other_place})[ (on {count} rows)]",
        lambda run: run.ranked.pairs(np.flatnonzero(run.ranked.rank_steps == 0) + 1),
        column=4,
    ),
)


def other_starts(run: RunView) -> Rows:
    """Return the first row by rank of each query that does not start at 1."""
    ranked, heads = run.ranked, run.ranked.heads
    return ranked.rows(heads[~np.isnan(ranked.rank[heads]) & (ranked.rank[heads] != 1)])


R123 = on_ranks(
    "R123",
    "rank-start",
    "info",
    "first rank is not 1 (0 is common)",
    "Both 0 and 1 are in use. Evaluators ignore the difference; some submission checkers require "
    "1.",
    "run.txt:1: info R123: ranks start at 0 in 100 of 100 queries. Nothing to do for evaluation; "
    "some checkers require 1.",
    "Nothing to do for evaluation; some checkers require 1",
    Case(
        "info",
        "ranks start at {rank} in {count} of {view.n_queries:query|queries}",
        other_starts,
        given=lambda run, _: not run.rows_are_missing,
    ),
)


def gaps(run: RunView) -> Pairs:
    """Return the rows whose rank is more than 1 above the one before."""
    ranked = run.ranked
    unreadable = np.unique(ranked.query[np.isnan(ranked.rank)])
    places = np.flatnonzero(ranked.rank_steps > 1) + 1
    return ranked.pairs(places[~np.isin(ranked.query[places], unreadable)])


R124 = on_ranks(
    "R124",
    "rank-gap",
    "warning",
    "ranks not consecutive",
    "A missing rank means that a row was lost, or removed after ranking.",
    "run.txt:4: warning R124: rank 7 follows 3 in query 1; rows may be missing. Look for the "
    "missing rows, or number the ranks again.",
    "Look for the missing rows, or number the ranks again",
    Case(
        "warning",
        "rank {rank} follows {other_rank} in query {query_id!v}[ ({count} gaps in all)]; rows may "
        "be missing",
        gaps,
        given=lambda run, _: not run.rows_are_missing,
        column=4,
    ),
)
R125 = on_ranks(
    "R125",
    "rank-score-conflict",
    "warning",
    "document with a better rank has a lower score",
    "Evaluation uses the score, so the evaluated ranking is not the one in the rank column.",
    "run.txt:2: warning R125: rank 2 has score 9.9, but rank 1 has 9.5; evaluation uses the "
    "scores. Number the ranks by score, or write scores that fall with rank.",
    "Number the ranks by score, or write scores that fall with rank",
    Case(
        "warning",
        "rank {rank} has score {score}, but rank {other_rank} has {other_score}"
        "[ ({count} such pairs in all)]; evaluation uses the scores",
        lambda run: run.ranked.pairs(run.ranked.rises),
        column=5,
    ),
    unless=("R121",),
)
R126 = rule(
    "R126",
    "row-order",
    "info",
    "rows of a query not in rank order",
    "Evaluators ignore the order of the rows. Tools that use the first rows of a query as its best "
    "results do not.",
    "run.txt:2: info R126: rows are not in rank order. Nothing to do for evaluation; sort by rank "
    "for tools that read from the top.",
    "Nothing to do for evaluation; sort by rank for tools that read from the top",
    Case(
        "info",
        "rows are not in rank order[ ({count} places in all)]",
        lambda run: run.grouped.rows(np.flatnonzero(run.grouped.rank_steps < 0) + 1),
    ),
    fix="safe",
    fixed="sorted the rows of each query by rank",
)
R127 = rule(
    "R127",
    "interleaved-queries",
    "warning",
    "query id returns after another",
    "Two runs were joined, or several workers wrote to one file. Checkers that read row by row "
    "forget a query when the next one begins, so they miss duplicates.",
    "run.txt:4: warning R127: query 1 continues after query 3; streaming checkers miss duplicates "
    "here. Group the rows by query.",
    "Group the rows by query",
    Case("warning", f"{CONTINUES}; streaming checkers miss duplicates here", returning_queries),
    fix="safe",
    fixed="grouped the rows by query",
)


def descents(run: RunView) -> Places:
    """Return the queries below the one before, both as texts and with numbers as numbers."""
    ids = run.query_ids
    keys = [re.sub("[0-9]{1,18}", lambda match: match[0].zfill(18), text) for text in ids]
    places = [at for at in range(1, len(ids)) if keys[at] < keys[at - 1]]
    if not places or ids == sorted(ids):
        return Places()
    first = {"query_id": ids[places[0]], "before": ids[places[0] - 1]}
    return Places(len(places), query_id=ids[places[0]], first=first)


R128 = rule(
    "R128",
    "query-order",
    "info",
    "query ids not ascending (off unless selected)",
    "Evaluators ignore the order of the queries. Some tracks require ascending ids, and sorted "
    "files can be compared line by line.",
    "run.txt: info R128: query 2 comes after query 3. Sort the queries.",
    "Sort the queries",
    Case(
        "info",
        "query {query_id!v} comes after query {before!v}[ ({count} such places in all)]",
        descents,
    ),
    optional=True,
    chunked=False,
)


def rows_where(run: RunView, pattern: str, rows: Rows, *, matches: bool = True) -> Rows:
    """Return those of some rows whose score matches a pattern, or those whose score does not."""
    if run.columns is None or not len(rows):
        return rows if matches else rows[:0]
    flags = [(re.match(pattern, text) is not None) == matches for text in run.texts(5, rows)]
    return rows[np.array(flags, np.bool_)]


R110 = rule(
    "R110",
    "score-not-decimal",
    "error",
    "score is not ASCII [+-]?digits[.digits][e[+-]digits]: hex, '_', ',', '%', letters, full-width "
    "digits",
    "trec_eval reads the longest numeric prefix and gives no warning: '9,5' becomes 9, 'high' "
    "becomes 0. Other readers stop.",
    "run.txt:1: error R110: score '9,5' is not a number; trec_eval reads only its start, other "
    "readers stop. Write scores as decimal numbers with a point, for example 9.5.",
    "Write scores as decimal numbers with a point, for example 9.5",
    Case(
        "error",
        "score {score!q} is not a number[ (on {count} rows)]; trec_eval reads only its start, "
        "other readers stop",
        lambda run: rows_where(run, NOT_FINITE, np.flatnonzero(np.isnan(run.score)), matches=False),
        given=lambda run, _: not run.swapped_columns,
        column=5,
    ),
    drop_in="permissive",
    blocks_fixing=True,
)


def infinite_scores(run: RunView) -> Rows:
    """Return rows whose score is NaN or infinite."""
    words = rows_where(run, NOT_FINITE, np.flatnonzero(np.isnan(run.score)))
    return np.union1d(words, np.flatnonzero(np.isinf(run.score)))


R111 = rule(
    "R111",
    "score-not-finite",
    "error",
    "nan, inf, or overflow of float64",
    "NaN is neither higher nor lower than any score, so the position of the document depends on "
    "the tool. All infinite scores tie.",
    "run.txt:5: error R111: score 'NaN' is not a finite number; such documents tie, or may have "
    "any rank. Compute the score again, or remove the row.",
    "Compute the score again, or remove the row",
    Case(
        "error",
        "score {score!q} is not a finite number[ (on {count} rows)]; such documents tie, or may "
        "have any rank",
        infinite_scores,
        column=5,
    ),
    tables=True,
)
R113 = rule(
    "R113",
    "score-underflow",
    "warning",
    "nonzero text whose value is 0.0",
    "Probabilities of long texts underflow, and all their documents tie at 0.",
    "run.txt:1: warning R113: score 9.5e-400 becomes 0. Write the logarithms of the scores.",
    "Write the logarithms of the scores",
    Case(
        "warning",
        "score {score!v} becomes 0[ (on {count} rows)]",
        lambda run: rows_where(run, "[^eE]*[1-9]", np.flatnonzero(run.score == 0)),
        column=5,
    ),
)


again = partial(
    Case,
    "error",
    "{doc_id!v} is repeated in query {query_id!v} ({other_place}: score {other_score!v}; here: "
    "{score!v})[ ({count} rows)]",
    lambda run: run.repeats,
    column=3,
)
R131 = rule(
    "R131",
    "duplicate-document",
    "error",
    "document twice in a query, judged or not",
    "trec_eval stops, ir_measures and ranx keep the last score, and others count the document "
    "twice: a recall of 1.43 has been published.",
    "run.txt:5: error R131: d01 is repeated in query 1 (line 1: score 9.5; here: 0.5). Keep one "
    "row per document, the one with the highest score.",
    "Keep one row per document, the one with the highest score",
    again(given=lambda run, places: run.n_copies == places.count),
    again(given=lambda run, _: not run.ids_are_unknown, fix="no"),
    fix="safe",
    fixed="left out rows that are repeated as they are",
    unless=("R108",),
    tables=True,
)


def rows_beyond_limit(run: RunView) -> Rows:
    """Return the first row beyond the limit of each query that exceeds it."""
    if run.max_depth is None or run.deepest <= run.max_depth:
        return np.empty(0, np.int64)
    return run.grouped.rows(np.flatnonzero(places_in_query(run.grouped.query) == run.max_depth))


R161 = rule(
    "R161",
    "depth",
    "error",
    "more results for a query than --max-depth (100 by default)",
    "Measures without a cutoff increase with depth, so runs of different depths are not "
    "comparable, and tracks reject runs that are too deep.",
    "run.txt:101: error R161: query 303 has more results than the limit, 100; the deepest has "
    "1,000. If the task allows deeper runs, set --profile trec (1,000 results) or --max-depth.",
    "If the task allows deeper runs, set --profile trec (1,000 results) or --max-depth",
    Case(
        "error",
        "query {query_id!v} has more results than the limit, {view.max_depth}[ ({count} queries)]; "
        "the deepest has {view.deepest}",
        rows_beyond_limit,
    ),
    blocks_scoring=False,
    tables=True,
)


def ties_against_ranks(run: RunView) -> Pairs:
    """Return the ties that the ranks order against trec_eval, which puts higher ids first."""
    rows, others = run.ties64.rows, run.ties64.others
    is_above = run.doc_ids.take(rows).above(run.doc_ids.take(others))
    return run.ties64.filter(is_above & (run.rank[rows] > run.rank[others]))


def ties_of_others(run: RunView) -> Pairs:
    """Return the rows of other documents with the score of the one before."""
    rows, others = run.ties64.rows, run.ties64.others
    return run.ties64.filter(~run.doc_ids.take(rows).equal(run.doc_ids.take(others)))


_FALLING = "Write scores that fall with rank"
R141 = rule(
    "R141",
    "tied-scores",
    "warning",
    "equal float64 scores whose rank order is not by descending document id; other ties are an "
    "info",
    "Within a tie, trec_eval ranks the highest document id first and ignores the rank column. "
    "Other tools use the lowest id, the order of the rows, or any order.",
    "run.txt:9: warning R141: d08 and d09 tie at 3.0; trec_eval puts d09 first, the rank column "
    "d08. Write scores that fall with rank.",
    _FALLING,
    Case(
        "warning",
        "{other_doc_id!v} and {doc_id!v} tie at {score}; trec_eval puts {doc_id!v} first, the "
        "rank column {other_doc_id!v}[ ({count} such pairs)]",
        ties_against_ranks,
        column=5,
    ),
    Case(
        "info",
        "{count:document} tied with the previous one; tools order them differently",
        ties_of_others,
    ),
)


def is_every_query_tied(run: RunView, places: Places) -> bool:
    """Return whether all queries of several documents are tied, and most queries have several."""
    is_most = 2 * run.n_larger > run.n_queries
    return run.columns is not None and places.count == run.n_larger and is_most


R142 = rule(
    "R142",
    "all-tied",
    "warning",
    "all scores of a query (2+ documents) equal; error if so in every query",
    "The ranking is then the order of the document ids. This happens when a constant is written "
    "instead of the score, or when tiny scores become 0.",
    "run.txt:1: error R142: every query has a single score (0 in the first); only the rank column "
    "orders the documents. Write scores that fall with rank.",
    _FALLING,
    Case(
        "error",
        "every query has a single score ({score} in the first); only the rank column orders the "
        "documents",
        lambda run: run.blocks.first_rows[run.is_tied_query],
        given=is_every_query_tied,
    ),
    Case(
        "warning",
        "all documents of query {query_id!v} score {score}[ ({count} of {view.n_queries} "
        "queries)]; trec_eval orders them by document id",
        lambda run: run.grouped.rows((run.grouped.heads + 1)[run.is_tied_query]),
    ),
    drop_in="scores",
    tables=True,
)


def ties_of_other_scores(run: RunView) -> Pairs:
    """Return the rows whose score equals the previous one only in 32 bits."""
    pairs = run.ties32
    return pairs.filter(run.score[pairs.rows] != run.score[pairs.others])


def ties_of_other_texts(run: RunView) -> Pairs:
    """Return the rows whose score equals the previous one in 64 bits, but not as written."""
    pairs, is_short = run.ties64, run.rows.scores.is_short
    if run.columns is None or len(ties_of_other_scores(run)):
        return Pairs.none()
    pairs = pairs.filter(~(is_short[pairs.rows] & is_short[pairs.others]))
    texts = zip(run.texts(5, pairs.rows), run.texts(5, pairs.others), strict=True)
    return pairs.filter(np.array([_differ(text, other) for text, other in texts], np.bool_))


def _differ(left: str, right: str) -> bool:
    try:
        return left != right and Decimal(left) != Decimal(right)
    except InvalidOperation:
        return False


R143 = rule(
    "R143",
    "tie-in-float32",
    "warning",
    "scores that differ as text or in float64 but are equal in float32 (or float64), for example "
    "above 2^24 or 3.4e38",
    "trec_eval 9, pytrec_eval and ir_measures compare scores in 32 bits (about seven digits), "
    "trec_eval 10 and ranx in 64 bits. Such a run has two rankings.",
    "run.txt:9: warning R143: 0.75000001 and 0.75 are equal in float32: trec_eval 9, pytrec_eval "
    "and ir_measures tie them, trec_eval 10 and ranx do not. Write scores that differ within 7 "
    "digits, for example 1000 minus the rank.",
    "Write scores that differ within 7 digits, for example 1000 minus the rank",
    Case(
        "warning",
        "{other_score!v} and {score!v} are equal in float32[ ({count} pairs)]: trec_eval 9, "
        "pytrec_eval and ir_measures tie them, trec_eval 10 and ranx do not",
        ties_of_other_scores,
        column=5,
    ),
    Case(
        "warning",
        "{other_score!v} and {score!v} are equal even in float64; every tool ties them",
        ties_of_other_texts,
        column=5,
    ),
    tables=True,
)
