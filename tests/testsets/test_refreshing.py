"""The next version of a test set."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import Qrels
from trectools_plus.statistics.arrays import Resampling
from trectools_plus.testsets.agreement import grade_agreement
from trectools_plus.testsets.loading import load_test_set, read_test_set
from trectools_plus.testsets.model import TestSet, write_test_set
from trectools_plus.testsets.splitting import next_version, record_annotators, refresh_test_set


@pytest.mark.parametrize(
    ("version", "following"),
    [("1.0.0", "1.1.0"), ("1.9.3", "1.10.0"), ("2.3", "2.4"), ("1", "1.1"), ("", "1.1.0"),
     ("v1.2.0", "v1.3.0")],
)  # fmt: skip
def test_the_next_minor_version(version: str, following: str) -> None:
    assert next_version(version) == following


@pytest.mark.parametrize("version", ["beta", "1.0.0-rc1", "2025-01-31", "1.2.3.4"])
def test_versions_without_a_next_one(version: str) -> None:
    with pytest.raises(UsageError):
        next_version(version)


@pytest.fixture
def old() -> TestSet:
    return load_test_set("hpo-en-standard")


@pytest.fixture
def pool() -> TestSet:
    return load_test_set("hpo-en-comprehensive")


def test_queries_are_replaced_by_others_of_their_kind(old: TestSet, pool: TestSet) -> None:
    done = refresh_test_set(old, pool, 10, seed=3)
    assert len(done.removed) == len(done.added) == 10
    for gone, come in zip(done.removed, done.added, strict=True):
        assert (gone.category, gone.difficulty) == (come.category, come.difficulty)
    new = done.test_set
    for before, after in zip(old.queries, new.queries, strict=True):
        assert before == after or (before in done.removed and after in done.added)
    strata = [
        Counter((query.category, query.difficulty) for query in test_set.queries)
        for test_set in (old, new)
    ]
    assert strata[0] == strata[1]
    assert not {query.query_id for query in done.added} & {query.query_id for query in old.queries}


def test_versions_and_changes_are_kept(old: TestSet, pool: TestSet, tmp_path: Path) -> None:
    first = refresh_test_set(old, pool, 3, seed=1)
    second = refresh_test_set(first.test_set, pool, 2, seed=2)
    path = tmp_path / "next.yaml"
    write_test_set(second.test_set, path)
    metadata = read_test_set(path).metadata
    assert metadata.version == "3.2.0"
    changes = (metadata.model_extra or {})["changes"]
    assert [entry["version"] for entry in changes] == ["3.1.0", "3.2.0"]
    assert [entry["parent"]["version"] for entry in changes] == ["3.0.0", "3.1.0"]
    assert [entry["seed"] for entry in changes] == [1, 2]
    for entry, done in zip(changes, (first, second), strict=True):
        for name, queries in (("removed", done.removed), ("added", done.added)):
            assert entry[name] == [{"query_id": q.query_id, "text": q.text} for q in queries]


def test_what_is_nearly_there_is_not_taken(maker) -> None:
    old = maker.make({"1": "broad thumbs", "2": "fever"})
    pool = maker.make({"3": "thumb, broad", "4": "rash", "5": "Rashes"})
    done = refresh_test_set(old, pool, 1)
    assert [query.query_id for query in done.added] == ["4"]
    with pytest.raises(UsageError, match=r"2.*1"):
        refresh_test_set(old, pool, 2)


CATEGORIES = ["synonym", "complex", "layperson", "abbreviation", "exact_match"] * 10
TYPES = ["exact_term"] * 20 + ["paraphrase"] * 15 + ["complex_clinical"] * 15


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({}, {"category": ["synonym"] * 100}),
        ({"category": ["synonym"] * 50}, {}),
        (
            {"category": CATEGORIES},
            {"category": CATEGORIES * 2, "difficulty": ["easy", "hard"] * 50},
        ),
    ],
)
def test_proportions_of_query_types_stay(maker, seed, ours, theirs) -> None:
    old = maker.make({f"q{n}": f"sign {n} of illness" for n in range(50)}, query_type=TYPES, **ours)
    texts = {f"new{n}": f"mark {n} on the skin" for n in range(100)}
    pool = maker.make(texts, query_type=TYPES * 2, **theirs)
    done = refresh_test_set(old, pool, 20, seed=seed)
    assert Counter(query.query_type for query in done.test_set.queries) == Counter(TYPES)
    assert Counter(query.query_type for query in done.removed) == {
        "exact_term": 8,
        "paraphrase": 6,
        "complex_clinical": 6,
    }
    assert refresh_test_set(old, pool, 20, seed=seed) == done


GRADES = [3, 2, 1, 0] * 5


def agreement_of(done, second_grades):
    """The agreement on a term of each new query, and on a term of other queries."""
    ids = [query.query_id for query in done.added] + [f"other{n}" for n in range(18)]
    first, second = (
        Qrels.from_dict({query: {"d": grade} for query, grade in zip(ids, grades, strict=True)})
        for grades in (GRADES, second_grades)
    )
    return grade_agreement(first, second, resampling=Resampling(100))


def test_annotators_and_their_kappa_are_recorded(old: TestSet, pool: TestSet, tmp_path) -> None:
    done = refresh_test_set(old, pool, 2)
    # 18 of 20 pairs agree: kappa = (0.9 - 0.25) / 0.75 with equal marginal distributions.
    agreement = agreement_of(done, [2, 3, *GRADES[2:]])
    recorded = record_annotators(done, ("anna", "ben"), agreement)
    write_test_set(recorded.test_set, tmp_path / "next.json")
    (entry,) = read_test_set(tmp_path / "next.json").metadata.model_extra["changes"]
    assert entry["agreement"] == {
        "annotators": ["anna", "ben"],
        "kappa": pytest.approx(0.65 / 0.75),
        "weights": "none",
        "pairs": 20,
        "accepted_low_agreement": False,
    }
    assert recorded.test_set.queries == done.test_set.queries


def test_low_agreement_is_refused_unless_it_is_accepted(old: TestSet, pool: TestSet) -> None:
    done = refresh_test_set(old, pool, 2)
    low = agreement_of(done, GRADES[1:] + GRADES[:1])
    with pytest.raises(CheckFailedError, match=r"-0\.3333.*0\.6"):
        record_annotators(done, ("anna", "ben"), low)
    accepted = record_annotators(done, ("anna", "ben"), low, accept_low_agreement=True)
    (entry,) = accepted.test_set.metadata.model_extra["changes"]
    assert entry["agreement"]["accepted_low_agreement"] is True
    assert entry["agreement"]["kappa"] == pytest.approx(-1 / 3)


def test_new_queries_that_were_not_graded_are_refused(old: TestSet, pool: TestSet) -> None:
    agreement = agreement_of(refresh_test_set(old, pool, 2, seed=1), GRADES)
    done = refresh_test_set(old, pool, 3, seed=1)
    with pytest.raises(CheckFailedError):
        record_annotators(done, ("anna", "ben"), agreement)


def test_ids_of_the_set_languages_and_counts_are_refused(maker) -> None:
    old = maker.make({"1": "alpha", "2": "beta"})
    with pytest.raises(UsageError, match="1"):
        refresh_test_set(old, maker.make({"1": "gamma"}), 1)
    with pytest.raises(UsageError):
        refresh_test_set(old, maker.make({"3": "gamma"}, language="de"), 1)
    for count in (0, 3):
        with pytest.raises(UsageError, match=f"from 1 to 2 but got {count}"):
            refresh_test_set(old, maker.make({"3": "gamma"}), count)
