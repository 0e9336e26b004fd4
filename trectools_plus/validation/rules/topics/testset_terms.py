"""Rules on the terms that a test set expects, and on its grades."""

from __future__ import annotations

from functools import partial

import polars as pl

from trectools_plus.validation.registry import Case, Rule
from trectools_plus.validation.views.topics import TestSetView

LOWEST_GRADE, HIGHEST_GRADE = 0, 3


def _terms(test_set: TestSetView, status: str) -> pl.DataFrame:
    """Return the judgments whose ids have a status, with the live term and the replacement."""
    if test_set.terms is None:
        return pl.DataFrame()
    rows = [
        (term_id, state.term_id, state.term_id or " or ".join(state.replaced_by))
        for term_id in test_set.judged["doc_id"].unique(maintain_order=True)
        if (state := test_set.terms.resolve(term_id)).status == status
    ]
    table = pl.DataFrame(
        rows, schema=dict.fromkeys(("doc_id", "term", "use"), pl.String), orient="row"
    )
    return test_set.judged.join(table, on="doc_id", maintain_order="left")


def _cases(status: str, message: str) -> tuple[Case, ...]:
    """Return the cases of ids with a status; they are no errors if such ids are dropped."""
    case = partial(
        Case,
        message=f"{message}[ ({{count:such judgment}})]",
        where=partial(_terms, status=status),
        shows=lambda _, places: {
            "do": f"Use {places.first['use']}" if places.first["use"] else "Choose another term"
        },
        remedy="{do}" if status == "obsolete" else None,
    )
    return case("warning", given=lambda test_set, _: test_set.drops_unknown_terms), case("error")


T201 = Rule(
    "T201",
    "unknown-term",
    "testset",
    "error",
    checks="expected id that is not in the ontology",
    rationale="No system can find a term that does not exist, so every system fails this query.",
    example="set.yaml:5: error T201: HP:9999999 is not a term of the ontology. Correct the id, or "
    "name the ontology that it comes from.",
    remedy="Correct the id, or name the ontology that it comes from",
    cases=_cases("unknown", "{doc_id!v} is not a term of the ontology"),
)
T202 = Rule(
    "T202",
    "obsolete-term",
    "testset",
    "error",
    checks="expected id of an obsolete term; names the replacement",
    rationale="Obsolete terms are not searched. This package reads an obsolete id as the term that "
    "replaces it, if there is only one; other programs find nothing.",
    example="set.yaml:5: error T202: HP:0040065 is obsolete. Use HP:0040070.",
    remedy="Use the terms that replace them",
    cases=_cases("obsolete", "{doc_id!v} is obsolete"),
)
T203 = Rule(
    "T203",
    "alternative-id",
    "testset",
    "warning",
    checks="expected id that was merged into another term",
    rationale="The id was merged into a term that has another id now. This package treats both as "
    "the same term; other programs compare ids as text and find nothing.",
    example="set.yaml:5: warning T203: HP:0001470 is an alternative id of HP:0000006. Write the "
    "primary id of the term.",
    remedy="Write the primary id of the term",
    cases=(
        Case(
            "warning",
            "{doc_id!v} is an alternative id of {term!v}[ ({count:such judgment})]",
            partial(_terms, status="alternative"),
        ),
    ),
)
T211 = Rule(
    "T211",
    "grade-scale",
    "testset",
    "error",
    blocks_scoring=False,
    checks=f"grade outside {LOWEST_GRADE} to {HIGHEST_GRADE}",
    rationale="Test sets use grades from 0 (judged, not relevant) to 3 (the exact term), so that "
    "gains of two sets are comparable.",
    example="set.yaml:5: error T211: grade 4 of HP:0001250 is not from 0 to 3. Write a grade "
    "from 0 to 3.",
    remedy=f"Write a grade from {LOWEST_GRADE} to {HIGHEST_GRADE}",
    cases=(
        Case(
            "error",
            f"grade {{grade}} of {{doc_id!v}} is not from {LOWEST_GRADE} to {HIGHEST_GRADE}"
            "[ ({count:such grade})]",
            lambda test_set: test_set.judged.filter(
                ~pl.col("grade").is_between(LOWEST_GRADE, HIGHEST_GRADE)
            ),
        ),
    ),
)


def _without_relevant(test_set: TestSetView) -> pl.DataFrame:
    """Return the queries without a relevant term; none if all have only wrong terms."""
    relevant = test_set.judged.filter(pl.col("grade") > 0)["query_id"]
    judged = pl.col("query_id").is_in(test_set.judged["query_id"].implode())
    has_wrong_terms = relevant.is_empty() and test_set.queries.select(judged.all()).item()
    if not test_set.is_test_set or has_wrong_terms:
        return pl.DataFrame()
    return test_set.queries.filter(~pl.col("query_id").is_in(relevant.implode()))


T212 = Rule(
    "T212",
    "nothing-to-find",
    "testset",
    "error",
    blocks_scoring=False,
    checks="query without a grade above 0, in a set that has such grades",
    rationale="No result is right for such a query: it counts 0 for every system if terms are "
    "judged, and is left out of every mean otherwise. A set of wrong terms only measures whether a "
    "search finds nothing with confidence.",
    example="set.yaml:4: error T212: query 1 has no relevant term. Name the terms that it should "
    "find, or remove the query.",
    remedy="Name the terms that it should find, or remove the query",
    cases=(
        Case(
            "error",
            "query {query_id!v} has no relevant term[ ({count:such text})]",
            _without_relevant,
        ),
    ),
)
