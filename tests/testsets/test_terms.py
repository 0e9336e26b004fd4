"""Ids of expected terms in an ontology that is newer or older than the set."""

import pytest
from harness.observe import ROOT

from trectools_plus.errors import FormatError, UsageError
from trectools_plus.testsets import TestQuery, TestSet, resolve_terms
from trectools_plus.testsets.model import RelevantTerm, TestSetMetadata

TOY = ROOT / "fixtures/ontology/toy.obo"


def make(*queries):
    found = tuple(
        TestQuery(
            query_id=f"q{at}",
            text="a text",
            relevant=tuple(
                RelevantTerm(doc_id=one, grade=grade, span=f"{one} {grade}")
                for one, grade in terms.items()
            ),
        )
        for at, terms in enumerate(queries, 1)
    )
    return TestSet(metadata=TestSetMetadata(dataset_id="x"), queries=found)


def grades(test_set):
    return [{term.doc_id: term.grade for term in query.relevant} for query in test_set.queries]


def test_alternative_and_replaced_ids_become_terms():
    test_set = make({"TOY:0104": 2, "TOY:0010": 3}, {"TOY:0013": 1, "TOY:0006": 3}, {"TOY:0007": 1})
    found = resolve_terms(test_set, TOY)
    # TOY:0013 is replaced by TOY:0010, which is replaced by TOY:0006; the highest grade counts.
    assert grades(found.test_set) == [
        {"TOY:0004": 2, "TOY:0006": 3},
        {"TOY:0006": 3},
        {"TOY:0007": 1},
    ]
    assert found.test_set.queries[2] is test_set.queries[2]
    assert found.notes == [
        "Obsolete ids, replaced if there is one replacement, otherwise dropped: "
        "TOY:0010 → TOY:0006, TOY:0013 → TOY:0006.",
        "Alternative ids, read as their terms: TOY:0104 → TOY:0004.",
    ]


def test_other_ids_are_errors_or_dropped():
    # TOY:0011 has two replacements, TOY:0012 none.
    test_set = make({"TOY:0011": 3, "TOY:0006": 1}, {"TOY:0012": 3, "TOY:9999": 1})
    with pytest.raises(FormatError) as caught:
        resolve_terms(test_set, TOY, where="set.json")
    assert str(caught.value) == (
        "3 expected ids not in toy/releases/2024-01-01: TOY:0011 of query q1 is obsolete: use "
        "TOY:0006 or TOY:0007; TOY:0012 of query q2 is obsolete; TOY:9999 of query q2 is unknown "
        "— set.json — correct them, or leave them out with --unknown-terms drop"
    )
    found = resolve_terms(test_set, TOY, "drop")
    assert grades(found.test_set) == [{"TOY:0006": 1}, {}]
    assert found.emptied == ["q2"]
    assert [(one.code, one.severity, one.count) for one in found.findings("set.json")] == [
        ("T201", "warning", 1),
        ("T202", "warning", 2),
    ]
    assert "q2" in found.notes[-1]


def test_a_set_without_any_term_left_is_refused():
    with pytest.raises(FormatError):
        resolve_terms(make({"TOY:9999": 3}, {"TOY:0006": 0}), TOY, "drop")


def test_other_treatments_are_refused():
    with pytest.raises(UsageError, match=r"unknown_terms.*keep"):
        resolve_terms(make({"TOY:0006": 3}), TOY, "keep")
