"""Rules on the scores and the documents of a run: numbers, repeated documents, depth, ties.

trec_eval sorts by score and breaks ties by document id, highest first. Version 9, and with it
pytrec_eval and ir_measures, compares scores as 32-bit floats; version 10 and ranx in 64 bits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from functools import partial

import numpy as np

from trectools_plus.formats.columns.decimals import DECIMAL
from trectools_plus.formats.columns.ids import Rows
from trectools_plus.validation.registry import (
    Case,
    Rule,
)
from trectools_plus.validation.rules.run.columns import R108
from trectools_plus.validation.views.order import Pairs, places_in_query
from trectools_plus.validation.views.places import Places, Value
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.tables import NOT_FINITE


def rows_where(run: RunView, pattern: str, rows: Rows, *, matches: bool = True) -> Rows:
    """Return those of some rows whose score matches a pattern, or those whose score does not."""
    if run.columns is None or not len(rows):
        return rows if matches else rows[:0]
    flags = [(re.match(pattern, text) is not None) == matches for text in run.texts(5, rows)]
    return rows[np.array(flags, np.bool_)]


def shown_score(_: RunView, places: Places) -> Mapping[str, Value]:
    """Return the remedy: a score that a point, or no percent sign, makes a number."""
    fixed = str(places.first["score"]).replace(",", ".").removesuffix("%")
    use = f"Use '{fixed}'" if re.match(DECIMAL, fixed) else "Write decimal numbers with a point"
    return {"use": use}


R110 = Rule(
    "R110",
    "score-not-decimal",
    "run",
    "error",
    checks="score is not ASCII [+-]?digits[.digits][e[+-]digits]: hex, '_', ',', '%', letters, "
    "full-width digits",
    rationale="trec_eval reads the longest numeric prefix and gives no warning: '9,5' becomes 9, "
    "'high' becomes 0. Other readers stop.",
    example="run.txt:1: error R110: score '9,5' is not a number; trec_eval reads only its start, "
    "other readers stop. Use '9.5'.",
    remedy="Write scores as decimal numbers with a point",
    drop_in="permissive",
    chunked=True,
    blocks_fixing=True,
    cases=(
        Case(
            "error",
            "score {score!q} is not a number[ (on {count} rows)]; trec_eval reads only its start, "
            "other readers stop",
            lambda run: rows_where(
                run, NOT_FINITE, np.flatnonzero(np.isnan(run.score)), matches=False
            ),
            given=lambda run, _: not run.swapped_columns,
            shows=shown_score,
            column=5,
            remedy="{use}",
        ),
    ),
)


def infinite_scores(run: RunView) -> Rows:
    """Return rows whose score is NaN or infinite."""
    words = rows_where(run, NOT_FINITE, np.flatnonzero(np.isnan(run.score)))
    return np.union1d(words, np.flatnonzero(np.isinf(run.score)))


R111 = Rule(
    "R111",
    "score-not-finite",
    "run",
    "error",
    tables=True,
    checks="nan, inf, or overflow of float64",
    rationale="NaN is neither higher nor lower than any score, so the position of the document "
    "depends on the tool. All infinite scores tie.",
    example="run.txt:5: error R111: score 'NaN' is not a finite number; such documents tie, or "
    "may have any rank. Compute the score again, or remove the row.",
    remedy="Compute the score again, or remove the row",
    chunked=True,
    cases=(
        Case(
            "error",
            "score {score!q} is not a finite number[ (on {count} rows)]; such documents tie, or "
            "may have any rank",
            infinite_scores,
            column=5,
        ),
    ),
)
R113 = Rule(
    "R113",
    "score-underflow",
    "run",
    "warning",
    checks="nonzero text whose value is 0.0",
    rationale="Probabilities of long texts underflow, and all their documents tie at 0.",
    example="run.txt:1: warning R113: score 9.5e-400 becomes 0. Write the logarithms of the "
    "scores.",
    remedy="Write the logarithms of the scores",
    chunked=True,
    cases=(
        Case(
            "warning",
            "score {score!v} becomes 0[ (on {count} rows)]",
            lambda run: rows_where(run, "[^eE]*[1-9]", np.flatnonzero(run.score == 0)),
            given=lambda run, _: run.columns is not None,
            column=5,
        ),
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
R131 = Rule(
    "R131",
    "duplicate-document",
    "run",
    "error",
    fix="safe",
    fixed="left out rows that are repeated as they are",
    tables=True,
    checks="document twice in a query, judged or not",
    rationale="trec_eval stops, ir_measures and ranx keep the last score, and others count the "
    "document twice: a recall of 1.43 has been published.",
    example="run.txt:5: error R131: d01 is repeated in query 1 (line 1: score 9.5; here: 0.5). "
    "Keep one row per document, the one with the highest score.",
    remedy="Keep one row per document, the one with the highest score",
    chunked=True,
    unless=(R108,),
    cases=(
        again(given=lambda run, places: run.facts.n_copies == places.count),
        again(given=lambda run, _: not run.ids_are_unknown, fix="no"),
    ),
)


def rows_beyond_limit(run: RunView) -> Rows:
    """Return the first row beyond the limit of each query that exceeds it."""
    if run.max_depth is None or run.blocks.sizes.max(initial=0) <= run.max_depth:
        return np.empty(0, np.int64)
    return run.grouped.rows(np.flatnonzero(places_in_query(run.grouped.query) == run.max_depth))


R161 = Rule(
    "R161",
    "depth",
    "run",
    "error",
    blocks_scoring=False,
    tables=True,
    checks="more results for a query than --max-depth (100 by default)",
    rationale="Measures without a cutoff increase with depth, so runs of different depths are not "
    "comparable, and tracks reject runs that are too deep.",
    example="run.txt:101: error R161: query 303 has more results than the limit, 100; the deepest "
    "has 1,000. If the task allows deeper runs, set --profile trec (1,000 results) or --max-depth.",
    remedy="If the task allows deeper runs, set --profile trec (1,000 results) or --max-depth",
    chunked=True,
    cases=(
        Case(
            "error",
            "query {query_id!v} has more results than the limit, {limit}[ ({count} queries)]; the "
            "deepest has {deepest}",
            rows_beyond_limit,
            shows=lambda run, _: {"limit": run.max_depth, "deepest": int(run.blocks.sizes.max())},
            about="query",
        ),
    ),
)


FALLING = "Write scores that fall with rank"


def ties_against_ranks(run: RunView) -> Pairs:
    """Return the ties that the ranks order against trec_eval, which puts higher ids first."""
    pairs = run.pairs(run.scored, run.ties64)
    here, before = run.documents(pairs)
    return pairs.filter(here.above(before) & (run.rank[pairs.rows] > run.rank[pairs.others]))


def ties_of_others(run: RunView) -> Pairs:
    """Return the rows of other documents with the score of the one before."""
    pairs = run.pairs(run.scored, run.ties64)
    here, before = run.documents(pairs)
    return pairs.filter(~here.equal(before))


R141 = Rule(
    "R141",
    "tied-scores",
    "run",
    "warning",
    checks="equal float64 scores whose rank order is not by descending document id; other ties "
    "are an info",
    rationale="Within a tie, trec_eval ranks the highest document id first and ignores the rank "
    "column. Other tools use the lowest id, the order of the rows, or any order.",
    example="run.txt:9: warning R141: d08 and d09 tie at 3.0; trec_eval puts d09 first, the "
    "rank column d08. Write scores that fall with rank.",
    remedy=FALLING,
    chunked=True,
    cases=(
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
            about="query",
        ),
    ),
)


def is_every_query_tied(run: RunView, places: Places) -> bool:
    """Return whether all queries of several documents are tied, and most queries have several."""
    n_larger = int((run.blocks.sizes >= 2).sum())
    is_all = places.count == n_larger and 2 * n_larger > len(run.query_ids)
    return run.columns is not None and is_all


R142 = Rule(
    "R142",
    "all-tied",
    "run",
    "warning",
    tables=True,
    checks="all scores of a query (2+ documents) equal; error if so in every query",
    rationale="The ranking is then the order of the document ids. This happens when a constant is "
    "written instead of the score, or when tiny scores become 0.",
    example="run.txt:1: error R142: every query has a single score (0 in the first); only the rank "
    "column orders the documents. Write scores that fall with rank.",
    remedy=FALLING,
    drop_in="scores",
    chunked=True,
    cases=(
        Case(
            "error",
            "every query has a single score ({score} in the first); only the rank column orders "
            "the documents",
            lambda run: run.blocks.first_rows[run.is_tied_query],
            given=is_every_query_tied,
            about="query",
        ),
        Case(
            "warning",
            "all documents of query {query_id!v} score {score}[ ({count} of {n_queries} "
            "queries)]; trec_eval orders them by document id",
            lambda run: run.grouped.rows((run.grouped.heads + 1)[run.is_tied_query]),
            shows=lambda run, _: {"n_queries": len(run.query_ids)},
            about="query",
        ),
    ),
)

COMPARED_EXACTLY = 10_000
"""Maximum number of pairs equal in float64 whose texts are compared digit by digit."""


def ties_of_other_scores(run: RunView) -> Pairs:
    """Return the rows whose score equals the previous one only in 32 bits."""
    score, places = run.scored.score, run.ties32
    return run.pairs(run.scored, places[score[places] != score[places - 1]])


def ties_of_other_texts(run: RunView) -> Pairs:
    """Return the rows whose score equals the previous one in 64 bits, but not as written."""
    if run.columns is None or len(ties_of_other_scores(run)):
        return Pairs.none()
    pairs, is_short = run.pairs(run.scored, run.ties64), run.rows.scores.is_short
    unsure = np.flatnonzero(~(is_short[pairs.rows] & is_short[pairs.others]))
    rows, others = pairs.rows[unsure], pairs.others[unsure]
    texts = list(zip(run.texts(5, rows), run.texts(5, others), strict=True))
    differ = [at for at, (text, other) in enumerate(texts) if text != other][:COMPARED_EXACTLY]
    kept = np.array([at for at in differ if _differ(*texts[at])], np.int64)
    return Pairs(rows[kept], others[kept])


def _differ(left: str, right: str) -> bool:
    try:
        return Decimal(left) != Decimal(right)
    except InvalidOperation:
        return False


R143 = Rule(
    "R143",
    "tie-in-float32",
    "run",
    "warning",
    tables=True,
    checks="scores that differ as text or in float64 but are equal in float32 (or float64), for "
    "example above 2^24 or 3.4e38",
    rationale="trec_eval 9, pytrec_eval and ir_measures compare scores in 32 bits (about seven "
    "digits), trec_eval 10 and ranx in 64 bits. Such a run has two rankings.",
    example="run.txt:9: warning R143: 0.75000001 and 0.75 are equal in float32: trec_eval 9, "
    "pytrec_eval and ir_measures tie them, trec_eval 10 and ranx do not. Write scores that differ "
    "within 7 digits, for example 1000 minus the rank.",
    remedy="Write scores that differ within 7 digits, for example 1000 minus the rank",
    chunked=True,
    cases=(
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
    ),
)
