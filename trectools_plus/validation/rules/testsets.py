"""Rules on test sets: their terms and grades, languages, repeats, and the parts of a split."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import polars as pl

from trectools_plus.validation.registry import Case, rule, rule_of_cases
from trectools_plus.validation.rules.topics import normalised
from trectools_plus.validation.topics.texts import near_pairs
from trectools_plus.validation.topics.view import TopicsView

LOWEST_GRADE, HIGHEST_GRADE = 0, 3


def _terms(test_set: TopicsView, status: str) -> pl.DataFrame:
    """Return the judgments whose ids have a status, with the terms to use instead."""
    if test_set.terms is None:
        return pl.DataFrame()
    rows = [
        (term_id, state.term_id or " or ".join(state.replaced_by) or "another term")
        for term_id in test_set.judged["doc_id"].unique(maintain_order=True)
        if (state := test_set.terms.resolve(term_id)).status == status
    ]
    table = pl.DataFrame(rows, {"doc_id": pl.String, "use": pl.String}, orient="row")
    return test_set.judged.join(table, on="doc_id", maintain_order="left")


def _cases(status: str, message: str, remedy: str | None = None) -> tuple[Case, ...]:
    """Return the cases of ids with a status; they are no errors if such ids are dropped."""
    message += "[ ({count:such judgment})]"
    case = partial(Case, message=message, where=partial(_terms, status=status), remedy=remedy)
    return case("warning", given=lambda test_set, _: test_set.drops_unknown_terms), case("error")


def _without_relevant(test_set: TopicsView) -> pl.DataFrame:
    """Return the queries without a relevant term; none if all have only wrong terms."""
    relevant = test_set.judged.filter(pl.col("grade") > 0)["query_id"]
    judged = pl.col("query_id").is_in(test_set.judged["query_id"].implode())
    has_wrong_terms = relevant.is_empty() and test_set.queries.select(judged.all()).item()
    if not test_set.is_test_set or has_wrong_terms:
        return pl.DataFrame()
    return test_set.queries.filter(~pl.col("query_id").is_in(relevant.implode()))


def _no_language(test_set: TopicsView) -> int:
    return int(test_set.is_test_set and not (test_set.cases and test_set.cases.languages))


def _near_duplicates(test_set: TopicsView) -> pl.DataFrame:
    """Return the texts that are nearly the same as an earlier one; T122 reports equal texts."""
    texts = test_set.query_texts
    norms = normalised(texts["text"])
    first: dict[int, int] = {}
    for earlier, later in near_pairs(texts["text"].to_list(), test_set.language):
        if norms[earlier] != norms[later]:
            first.setdefault(later, earlier)
    others = texts[list(first.values())].select(pl.all().name.prefix("other_"))
    pairs = pl.concat([texts[list(first)], others], how="horizontal")
    return pairs.with_columns(line="text_line")


def _ids(test_set: TopicsView) -> pl.DataFrame:
    return test_set.frame.drop_nulls("query_id").with_columns(same="query_id")


def _texts(test_set: TopicsView) -> pl.DataFrame:
    texts = test_set.query_texts
    return texts.with_columns(same=normalised(texts["text"]), line="text_line")


def _in_earlier_parts(
    test_set: TopicsView, keyed: Callable[[TopicsView], pl.DataFrame]
) -> pl.DataFrame:
    """Return the queries whose key, in the column ``same``, is also in an earlier part."""
    found = []
    for part in test_set.parts:
        earlier = keyed(part).unique("same", keep="first", maintain_order=True)
        name = pl.lit(part.name)
        other = earlier.select("same", other_id="query_id", other_line="line", part=name)
        found.append(keyed(test_set).join(other, on="same", maintain_order="left"))
    return pl.concat(found) if found else pl.DataFrame()


RULES = (
    rule_of_cases(
        "T201",
        "unknown-term",
        "error",
        "expected id that is not in the ontology",
        "No system can find a term that does not exist, so every system fails this query.",
        "set.yaml:5: error T201: HP:9999999 is not a term of the ontology. Correct the id, or "
        "name the ontology that it comes from.",
        "Correct the id, or name the ontology that it comes from",
        *_cases("unknown", "{doc_id!v} is not a term of the ontology"),
    ),
    rule_of_cases(
        "T202",
        "obsolete-term",
        "error",
        "expected id of an obsolete term; names the replacement",
        "Obsolete terms are not searched. This package reads an obsolete id as the term that "
        "replaces it, if there is only one; other programs find nothing.",
        "set.yaml:5: error T202: HP:0040065 is obsolete. Use HP:0040070.",
        "Use the terms that replace them",
        *_cases("obsolete", "{doc_id!v} is obsolete", "Use {use}"),
    ),
    rule(
        "T203",
        "alternative-id",
        "warning",
        "expected id that was merged into another term",
        "The id was merged into a term that has another id now. This package treats both as the "
        "same term; other programs compare ids as text and find nothing.",
        "set.yaml:5: warning T203: HP:0001470 is an alternative id of HP:0000006. Write the "
        "primary id of the term.",
        "Write the primary id of the term",
        "{doc_id!v} is an alternative id of {use!v}[ ({count:such judgment})]",
        partial(_terms, status="alternative"),
    ),
    rule(
        "T211",
        "grade-scale",
        "error",
        f"grade outside {LOWEST_GRADE} to {HIGHEST_GRADE}",
        "Test sets use grades from 0 (judged, not relevant) to 3 (the exact term), so that gains "
        "of two sets are comparable.",
        "set.yaml:5: error T211: grade 4 of HP:0001250 is not from 0 to 3. Write a grade from 0 "
        "to 3.",
        f"Write a grade from {LOWEST_GRADE} to {HIGHEST_GRADE}",
        f"grade {{grade}} of {{doc_id!v}} is not from {LOWEST_GRADE} to {HIGHEST_GRADE}"
        "[ ({count:such grade})]",
        lambda test_set: test_set.judged.filter(
            ~pl.col("grade").is_between(LOWEST_GRADE, HIGHEST_GRADE)
        ),
        blocks_scoring=False,
    ),
    rule(
        "T212",
        "nothing-to-find",
        "error",
        "query without a grade above 0, in a set that has such grades",
        "No result is right for such a query: it counts 0 for every system if terms are judged, "
        "and is left out of every mean otherwise. A set of wrong terms only measures whether a "
        "search finds nothing with confidence.",
        "set.yaml:4: error T212: query 1 has no relevant term. Name the terms that it should "
        "find, or remove the query.",
        "Name the terms that it should find, or remove the query",
        "query {query_id!v} has no relevant term[ ({count:such text})]",
        _without_relevant,
        blocks_scoring=False,
    ),
    rule_of_cases(
        "T213",
        "no-test-set",
        "error",
        "topics without judgments, or judgments without texts",
        "A test set consists of queries and of the terms or documents that they should find.",
        "set.yaml: error T213: topics without judgments. Convert topics and qrels to a test set: "
        "testset convert TOPICS OUT.json --qrels QRELS.",
        "Convert topics and qrels to a test set: testset convert TOPICS OUT.json --qrels QRELS",
        Case(
            "error",
            "topics without judgments",
            lambda test_set: int(test_set.cases is None and test_set.n_rows > 0),
        ),
        Case(
            "error",
            "judgments without query texts",
            lambda test_set: int(not test_set.is_test_set and test_set.n_rows > 0),
        ),
    ),
    rule_of_cases(
        "T223",
        "no-language",
        "warning",
        "no language declared",
        "Without a language, queries in two languages can be mixed, and no figure states its "
        "language.",
        "set.yaml: warning T223: no language is declared. Add the language to the metadata.",
        "Add the language to the metadata",
        Case(
            "info",
            "no language is declared; read as {view.language}, because of the name of the folder",
            _no_language,
            given=lambda test_set, _: test_set.implied_language,
            remedy="Add 'language: {view.language}' to the metadata",
        ),
        Case("warning", "no language is declared", _no_language),
        blocks_scoring=False,
    ),
    rule(
        "T231",
        "near-duplicate",
        "warning",
        "two texts with the same word stems, or with three quarters of their character trigrams "
        "in common",
        "Near-duplicates count twice in every mean, and intervals are too narrow because they "
        "assume independent queries.",
        "set.yaml:9: warning T231: query 3 'Recurrent infection' is nearly the same as query 1 "
        "'Recurrent infections' (line 3). Remove one, or reword it.",
        "Remove one, or reword it",
        "query {query_id!v} {text!q} is nearly the same as query {other_query_id!v} "
        "{other_text!q} (line {other_text_line})[ ({count:such text})]",
        _near_duplicates,
        blocks_scoring=False,
    ),
    rule(
        "T241",
        "leaked-text",
        "error",
        "text that is also in another part of the split",
        "A system that was tuned on this text has seen the answer, so the held-out part does not "
        "show how it performs on new queries.",
        "set.yaml:7: error T241: query 2 'Seizures' is the same as query 9 of used.yaml (line "
        "31). Remove it from one of the two.",
        "Remove it from one of the two",
        "query {query_id!v} {text!q} is the same as query {other_id!v} of {part!v} (line "
        "{other_line})[ ({count:such text})]",
        partial(_in_earlier_parts, keyed=_texts),
        blocks_scoring=False,
    ),
    rule(
        "T242",
        "shared-query-id",
        "error",
        "query id that is also in another part of the split",
        "Runs and figures identify queries by their ids, so two queries with one id cannot be "
        "distinguished.",
        "set.yaml:7: error T242: query id 2 is also in used.yaml (line 12). Give each query its "
        "own id.",
        "Give each query its own id",
        "query id {query_id!v} is also in {part!v} (line {other_line})[ ({count:shared id})]",
        partial(_in_earlier_parts, keyed=_ids),
        blocks_scoring=False,
    ),
)
