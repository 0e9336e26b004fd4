"""Rules on the terms that a test set expects, and on its grades."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from trectools_plus.text import in_all, listed, number, on, plural, quoted, visible
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.views.topics import TermState, TestSetView

LOWEST_GRADE, HIGHEST_GRADE = 0, 3


_NAMED = 3


@rule(
    "T201",
    "unknown-term",
    on="testset",
    scope="row",
    severity="error",
    fix="no",
    checks="expected id that is not in the ontology",
    rationale="No system can find a term that does not exist, so every system fails this query.",
    example="set.yaml:5: error T201: HP:9999999 is not a term of the ontology. Correct the id, or "
    "name the ontology that it comes from.",
    remedy="Correct the id, or name the ontology that it comes from",
)
def unknown_term(test_set: TestSetView) -> Hit | None:
    """An expected id is not a term."""
    found = _terms(test_set, "unknown")
    if not found:
        return None
    rows, _ = found
    ids = rows["doc_id"].unique(maintain_order=True).to_list()
    if len(ids) == 1:
        message = f"{visible(ids[0])} is not a term of the ontology{on(rows.height, 'line')}"
    else:
        message = f"{plural(len(ids), 'id')} are not terms of the ontology: {listed(ids)}"
    return _dropped(test_set, _hit(rows, message))


@rule(
    "T202",
    "obsolete-term",
    on="testset",
    scope="row",
    severity="error",
    fix="no",
    checks="expected id of an obsolete term; names the replacement",
    rationale="Obsolete terms are not searched. This package reads an obsolete id as the term that "
    "replaces it, if there is only one; other programs find nothing.",
    example="set.yaml:5: error T202: HP:0040065 is obsolete. Use HP:0040070.",
    remedy="Use the terms that replace them",
)
def obsolete_term(test_set: TestSetView) -> Hit | None:
    """An expected term is obsolete."""
    found = _terms(test_set, "obsolete")
    if not found:
        return None
    rows, states = found
    replacements = {term: _replacement(state) for term, state in states.items()}
    if len(states) == 1:
        message = f"{next(iter(states))} is obsolete{on(rows.height, 'line')}"
    else:
        named = (f"{term} ({use or 'no replacement named'})" for term, use in replacements.items())
        more = ", …" if len(states) > _NAMED else ""
        first = ", ".join([name for name, _ in zip(named, range(_NAMED), strict=False)])
        message = f"{plural(len(states), 'obsolete term')}: {first}{more}"
    first_use = next(iter(replacements.values()))
    remedy = first_use[:1].upper() + first_use[1:] if first_use else "Choose another term"
    return _dropped(test_set, _hit(rows, message, remedy if len(states) == 1 else None))


@rule(
    "T203",
    "alternative-id",
    on="testset",
    scope="row",
    severity="warning",
    fix="no",
    checks="expected id that was merged into another term",
    rationale="The id was merged into a term that has another id now. This package treats both as "
    "the same term; other programs compare ids as text and find nothing.",
    example="set.yaml:5: warning T203: HP:0001470 is an alternative id of HP:0000006. Write the "
    "primary id of the term.",
    remedy="Write the primary id of the term",
)
def alternative_id(test_set: TestSetView) -> Hit | None:
    """An expected id is not the primary id of its term."""
    found = _terms(test_set, "alternative")
    if not found:
        return None
    rows, states = found
    first, state = next(iter(states.items()))
    message = f"{first} is an alternative id of {state.term_id}{in_all(len(states), 'such id')}"
    return _hit(rows, message)


@rule(
    "T211",
    "grade-scale",
    on="testset",
    scope="row",
    severity="error",
    fix="no",
    blocks_scoring=False,
    checks=f"grade outside {LOWEST_GRADE} to {HIGHEST_GRADE}",
    rationale="Test sets use grades from 0 (judged, not relevant) to 3 (the exact term), so that "
    "gains of two sets are comparable.",
    example="set.yaml:5: error T211: grade 4 of HP:0001250 is not from 0 to 3. Write a grade "
    "from 0 to 3.",
    remedy=f"Write a grade from {LOWEST_GRADE} to {HIGHEST_GRADE}",
)
def grade_scale(test_set: TestSetView) -> Hit | None:
    """A grade is not on the scale of test sets."""
    rows = test_set.judged.filter(~pl.col("grade").is_between(LOWEST_GRADE, HIGHEST_GRADE))
    if rows.is_empty():
        return None
    first = rows.row(0, named=True)
    message = (
        f"grade {number(first['grade'])} of {visible(first['doc_id'])} is not from "
        f"{LOWEST_GRADE} to {HIGHEST_GRADE}{on(rows.height, 'line')}"
    )
    return _hit(rows, message)


@rule(
    "T212",
    "nothing-to-find",
    on="testset",
    scope="query",
    severity="error",
    fix="no",
    blocks_scoring=False,
    checks="query without a grade above 0, in a set that has such grades",
    rationale="No result is right for such a query: it counts 0 for every system if terms are "
    "judged, and is left out of every mean otherwise. A set of wrong terms only measures whether a "
    "search finds nothing with confidence.",
    example="set.yaml:4: error T212: query 1 has no relevant term. Name the terms that it should "
    "find, or remove the query.",
    remedy="Name the terms that it should find, or remove the query",
)
def nothing_to_find(test_set: TestSetView) -> Hit | None:
    """A query has no relevant term."""
    if not test_set.is_test_set:
        return None
    relevant = test_set.judged.filter(pl.col("grade") > 0)["query_id"]
    rows = test_set.queries.filter(~pl.col("query_id").is_in(relevant.implode()))
    if rows.is_empty() or (relevant.is_empty() and _have_wrong_terms(test_set)):
        return None
    ids = rows["query_id"].unique(maintain_order=True).to_list()
    if len(ids) == 1:
        return _hit(rows, f"query {visible(ids[0])} has no relevant term")
    total = test_set.queries["query_id"].n_unique()
    return _hit(rows, f"{len(ids):,} of {total:,} queries have no relevant term: {listed(ids)}")


def _have_wrong_terms(test_set: TestSetView) -> bool:
    judged = test_set.judged["query_id"]
    return bool(test_set.queries["query_id"].is_in(judged.implode()).all())


@rule(
    "T214",
    "unrelated-term",
    on="testset",
    scope="query",
    severity="warning",
    fix="no",
    blocks_scoring=False,
    checks="term of grade 1 or 2 that is neither above nor below a term of grade 3, and has no "
    "span that names it in the text",
    rationale="Grade 2 is a broader or narrower term, grade 1 one part of a phrase that names "
    "several findings. Contrary terms and siblings are wrong answers, and a grade rewards them. "
    "Sets without grade 3 use other grades and are not checked.",
    example="set.yaml:7: warning T214: HP:0002857 has grade 1 for query 2 'bow legs', but is "
    "neither above nor below a term of grade 3. Remove it, or add the words that name it as span.",
    remedy="Remove it, or add the words that name it as span",
)
def unrelated_term(test_set: TestSetView) -> Hit | None:
    """A term of grade 1 or 2 is neither related to the intended term nor named in the text."""
    terms = test_set.terms
    if terms is None or not test_set.is_test_set:
        return None
    judged = test_set.judged.with_columns(
        term=pl.col("doc_id").map_elements(
            lambda doc_id: terms.resolve(doc_id).term_id, return_dtype=pl.String
        )
    ).drop_nulls("term")
    intended = judged.filter(pl.col("grade") == HIGHEST_GRADE)
    if intended.is_empty():
        return None
    others = judged.filter(pl.col("grade").is_between(LOWEST_GRADE + 1, HIGHEST_GRADE - 1))
    ancestors = {one: terms.ancestors(one) for one in judged["term"].unique()}
    best = dict(intended.group_by("query_id").agg("term").iter_rows())
    texts = dict(test_set.texts.select("query_id", "text").iter_rows())
    unrelated = [
        not _is_part(row["span"], texts.get(row["query_id"]))
        and not any(
            one in ancestors[row["term"]] or row["term"] in ancestors[one]
            for one in best.get(row["query_id"], ())
        )
        for row in others.iter_rows(named=True)
    ]
    rows = others.filter(pl.Series(unrelated, dtype=pl.Boolean))
    if rows.is_empty():
        return None
    first = rows.row(0, named=True)
    text = texts.get(first["query_id"])
    query = f"query {visible(first['query_id'])}{'' if text is None else f' {quoted(text)}'}"
    why = (
        "" if first["span"] is None else f", and its span {quoted(first['span'])} is no part of it"
    )
    message = (
        f"{visible(first['doc_id'])} has grade {number(first['grade'])} for {query}, but is "
        f"neither above nor below a term of grade {HIGHEST_GRADE}{why}"
        f"{in_all(rows.height, 'such term')}"
    )
    return _hit(rows, message)


def _is_part(span: str | None, text: str | None) -> bool:
    """Return true if a span is in the text, and the text says more."""
    if span is None or text is None:
        return False
    part, whole = (" ".join(one.casefold().split()) for one in (span, text))
    return part in whole and part != whole


def _terms(test_set: TestSetView, status: str) -> tuple[pl.DataFrame, dict[str, TermState]] | None:
    """Return the judgments whose ids have a status, and the state of each id."""
    if test_set.terms is None:
        return None
    states = {
        term_id: state
        for term_id in test_set.judged["doc_id"].unique(maintain_order=True)
        if (state := test_set.terms.resolve(term_id)).status == status
    }
    if not states:
        return None
    return test_set.judged.filter(pl.col("doc_id").is_in(list(states))), states


def _dropped(test_set: TestSetView, hit: Hit) -> Hit:
    """Return a warning instead of an error if such ids are dropped."""
    return replace(hit, severity="warning") if test_set.drops_unknown_terms else hit


def _replacement(state: TermState) -> str:
    """Return ``use HP:1 or HP:2``; empty without a replacement."""
    ids = state.replaced_by if state.term_id is None else (state.term_id,)
    return f"use {' or '.join(ids)}" if ids else ""


def _hit(rows: pl.DataFrame, message: str, remedy: str | None = None) -> Hit:
    first = rows.row(0, named=True)
    return Hit(
        message,
        rows["line"].to_list(),
        rows.height,
        query_id=first["query_id"],
        doc_id=first.get("doc_id"),
        remedy=remedy,
    )
