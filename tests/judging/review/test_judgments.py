"""Grades, choices and undo, against a list of what was said."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.judging import judgments
from trectools_plus.judging.judgments import Grade, QueryJudgments
from trectools_plus.judging.store import ReviewMaterial, ReviewQuery, open_store

MODES = ("a", "b")
QUERIES = ("q1", "q2")
DOCUMENTS = ("d1", "d2", "d3")
RESULTS = dict.fromkeys(MODES, DOCUMENTS)
MATERIAL = ReviewMaterial(
    "toy", MODES, 3, tuple(ReviewQuery(one, None, RESULTS) for one in QUERIES)
)

GRADES = st.one_of(
    st.builds(Grade, st.sampled_from([None, 0, 1, 2, 3])), st.just(Grade(0, flagged=True))
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["Anna", "Ben"]),
        st.one_of(
            st.tuples(st.sampled_from(QUERIES), st.sampled_from(DOCUMENTS), GRADES),
            st.tuples(st.sampled_from(QUERIES), st.none(), st.sampled_from([None, "", "a", "b"])),
            st.just("undo"),
        ),
    ),
    max_size=25,
)


def replay(said):
    """Return the answers that count: the last about each target."""
    last = {(query, doc_id): value for query, doc_id, value in said}
    return {
        query: QueryJudgments(
            {doc: last[query, doc] for doc in DOCUMENTS
             if (query, doc) in last and last[query, doc].grade is not None},
            last.get((query, None)),
        )
        for query in QUERIES
    }  # fmt: skip


@given(STEPS)
def test_what_counts_is_what_was_said_last_and_not_undone(steps):
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "review.db", MATERIAL)
        people, said = {}, {"Anna": [], "Ben": []}
        for name in said:
            secret = judgments.begin_session(store, name, resume=False)
            people[name] = judgments.find_session_annotator(store, secret)
        for name, step in steps:
            who, mine = people[name], said[name]
            if step == "undo":
                undone = judgments.undo_last(store, who)
                assert undone == ((*mine.pop()[:2], "") if mine else None)
                continue
            query, doc_id, value = step
            before = replay(mine)[query]
            if doc_id is None:
                judgments.record_answer(store, who, query, "choice", value)
                changed = before.choice != value
            else:
                judgments.record_grade(store, who, query, doc_id, value)
                changed = before.grades.get(doc_id, Grade()) != value
            if changed:
                mine.append(step)
        for name, who in people.items():
            expected = replay(said[name])
            assert {
                query: judgments.read_query_judgments(store, who, query) for query in QUERIES
            } == expected
            found = judgments.read_all_judgments(store, who)
            assert {query: found.get(query, QueryJudgments()) for query in QUERIES} == expected
        store.close()


def test_a_name_that_is_there_is_not_taken_by_accident(tmp_path):
    store = open_store(tmp_path / "review.db", MATERIAL)
    assert judgments.begin_session(store, "Anna", resume=True) is None
    first = judgments.begin_session(store, "Anna", resume=False)
    assert judgments.begin_session(store, "ANNA ", resume=False) is None
    second = judgments.begin_session(store, "ANNA ", resume=True)
    assert first != second
    found = {judgments.find_session_annotator(store, secret or "") for secret in (first, second)}
    assert [one.name for one in found if one] == ["Anna"]
    assert judgments.find_session_annotator(store, "") is None
    assert judgments.find_session_annotator(store, "x" * 32) is None
    # The secrets themselves are not in the file.
    assert first not in str(store.rows("SELECT * FROM session"))
    store.close()
