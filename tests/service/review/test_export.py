"""Qrels and summaries of what people said, against scikit-learn, SciPy and NumPy."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats import Qrels
from trectools_plus.judging import judgments
from trectools_plus.judging.judgments import Grade, export_qrels, merge_grades
from trectools_plus.judging.store import ReviewMaterial, ReviewQuery, open_store
from trectools_plus.service import summarise_review
from trectools_plus.service.review.summary import share_choices
from trectools_plus.statistics import Resampling

QUERIES = tuple(f"q{n}" for n in range(6))
RESULTS = {"a": ("d1", "d2"), "b": ("d2", "d3")}
MATERIAL = ReviewMaterial(
    "toy", ("a", "b"), 2, tuple(ReviewQuery(one, None, RESULTS) for one in QUERIES)
)
ANNA = {"q0": (3, 2, 0), "q1": (0, 1, 1), "q2": (2, 2, 2)}
BEN = {"q0": (3, 1, 0), "q1": (0, 3, None), "q3": (1, 1, 1)}
CHOICES = {
    "Anna": {"q0": "a", "q1": "b", "q2": "", "q3": "a"},
    "Ben": {"q0": "a", "q1": "a", "q4": "b"},
}


@pytest.fixture
def store(tmp_path):
    with closing(open_store(tmp_path / "review.db", MATERIAL)) as opened:
        yield opened


def fill(store):
    for name, said in (("Anna", ANNA), ("Ben", BEN)):
        who = judgments.find_session_annotator(
            store, judgments.begin_session(store, name, resume=False) or ""
        )
        for query_id, grades in said.items():
            for doc_id, grade in zip(("d1", "d2", "d3"), grades, strict=True):
                if grade is not None:
                    flagged = grade == 0 and name == "Anna"
                    judgments.record_grade(store, who, query_id, doc_id, Grade(grade, flagged))
        for query_id, choice in CHOICES[name].items():
            judgments.record_answer(store, who, query_id, "choice", choice)


def test_one_persons_grades_are_qrels(store):
    fill(store)
    found = export_qrels(store, "anna").to_dict()
    assert found == {
        query: dict(zip(("d1", "d2", "d3"), grades, strict=True)) for query, grades in ANNA.items()
    }


def test_merged_grades_are_the_lower_median(store):
    fill(store)
    assert export_qrels(store).to_dict() == {
        "q0": {"d1": 3, "d2": 1, "d3": 0},
        "q1": {"d1": 0, "d2": 1, "d3": 1},
        "q2": {"d1": 2, "d2": 2, "d3": 2},
        "q3": {"d1": 1, "d2": 1, "d3": 1},
    }


GRADES = st.dictionaries(st.sampled_from(["d1", "d2", "d3"]), st.integers(0, 3), max_size=3)


@given(st.lists(GRADES, max_size=6))
def test_merging_is_numpys_lower_median(all_grades):
    merged = merge_grades([Qrels.from_dict({"q": grades}) for grades in all_grades])
    given_to = {}
    for grades in all_grades:
        for doc_id, grade in grades.items():
            given_to.setdefault(doc_id, []).append(grade)
    expected = {
        doc_id: int(np.percentile(grades, 50, method="lower"))
        for doc_id, grades in given_to.items()
    }
    assert merged.to_dict().get("q", {}) == expected


def test_nothing_to_export_is_said_so(store):
    with pytest.raises(CheckFailedError):
        export_qrels(store)
    fill(store)
    with pytest.raises(UsageError):
        export_qrels(store, "Carl")


def test_each_query_counts_once_in_a_share():
    shares = share_choices(list(CHOICES.values()), ("a", "b"))
    # q0: both a; q1: one b, one a; q2: none; q3: a; q4: b
    assert [shares[mode].value for mode in ("a", "b", "none")] == pytest.approx(
        [(1 + 0.5 + 1) / 5, (0.5 + 1) / 5, 1 / 5]
    )
    assert {share.n for share in shares.values()} == {5}
    assert share_choices([{}, {}], ("a", "b")) == {}


def test_the_summary_says_what_came_of_it(store):
    fill(store)
    summary = summarise_review(store, Resampling(500))
    anna, ben = summary.annotators
    assert (anna.name, anna.graded, anna.flagged, anna.chosen, anna.complete) == (
        "Anna",
        9,
        2,
        4,
        3,
    )
    assert (ben.name, ben.graded, ben.flagged, ben.chosen, ben.complete) == ("Ben", 8, 0, 3, 1)
    assert anna.shares["a"].value == 0.5
    assert ben.shares["a"].value == pytest.approx(2 / 3)
    # Anna flags q0/d3, which b shows, and q1/d1, which a shows; each shows two of three results.
    flags = {mode: (one.flagged, one.judged) for mode, one in summary.flagged.items()}
    assert flags == {"a": (1, 12), "b": (1, 11)}
