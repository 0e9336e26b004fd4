"""Labels of people, from the database of the review page."""

from contextlib import closing

import pytest

from trectools_plus.errors import InputError
from trectools_plus.judging import judgments
from trectools_plus.judging.judgments import Grade
from trectools_plus.judging.labels import read_people
from trectools_plus.judging.store import ReviewMaterial, ReviewQuery, open_store

QUERIES = ("q1", "q2")
MATERIAL = ReviewMaterial(
    "toy", ("",), 3, tuple(ReviewQuery(one, None, {"": ("d1", "d2", "d3")}) for one in QUERIES)
)


@pytest.fixture
def store(tmp_path):
    with closing(open_store(tmp_path / "review.db", MATERIAL, 1)) as opened:
        yield opened


def person(store, name):
    secret = judgments.begin_session(store, name, resume=False)
    return judgments.find_session_annotator(store, secret)


def found(folder):
    return [
        (one.annotator, one.query_id, one.doc_id, one.grade, one.reason)
        for one in read_people(folder)
    ]


def test_without_a_database_there_are_none(tmp_path):
    assert read_people(tmp_path) == []
    (tmp_path / "review.db").write_text("no database " * 100)
    with pytest.raises(InputError):
        read_people(tmp_path)


def test_the_current_answer_of_each_person_counts(store, tmp_path):
    anna, ben = person(store, "Anna"), person(store, "Ben")
    for grade in (1, 2):
        judgments.record_grade(store, anna, "q1", "d1", Grade(grade))
    judgments.record_grade(store, ben, "q1", "d1", Grade(0, flagged=True))
    judgments.record_missing(store, ben, "q1", "d2", "in Greek")
    judgments.record_missing(store, anna, "q1", "d3", "")
    judgments.record_grade(store, anna, "q1", "d3", Grade(3))
    judgments.record_grade(store, anna, "q1", "d2", Grade(1))
    judgments.record_grade(store, anna, "q1", "d2", Grade())
    judgments.record_answer(store, anna, "q1", "comment", "a comment")
    assert sorted(found(tmp_path)) == [
        ("Anna", "q1", "d1", 2, None),
        ("Anna", "q1", "d3", 3, None),
        ("Ben", "q1", "d1", 0, None),
        ("Ben", "q1", "d2", None, "in Greek"),
    ]
    judgments.undo_last(store, ben)
    judgments.undo_last(store, ben)
    assert [one[:4] for one in found(tmp_path) if one[0] == "Ben"] == []
    assert {one.kind for one in read_people(tmp_path)} == {"person"}
    assert all(one.time for one in read_people(tmp_path))
