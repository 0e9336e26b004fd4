"""A plan on the page: blind, in the plan's order, and documents that cannot be judged."""

import json
from collections import Counter

import pytest
from harness.plans import make_small
from starlette.testclient import TestClient

from tests.service.review.people import Person
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.judging.labels import read_people
from trectools_plus.judging.values import find_complete
from trectools_plus.service.review.app import review_app

RUNS = ("secretlexical", "secretdense")


@pytest.fixture
def plan(tmp_path):
    return make_small(tmp_path, 9, RUNS, people=3, depth=6)


@pytest.fixture
def app(plan):
    made = review_app(plan.path, plan.path / "review.db")
    yield made
    made.state.controller.store.close()


def judge(who, number):
    for doc_id in who.documents(number):
        answer = who.post("grades", query=number, doc_id=doc_id, grade=1)
        assert answer.status_code == 200, answer.text
    return answer.json()


def test_people_see_the_plans_queries_one_after_the_other(client, plan):
    anna = Person(client, "Anna")
    about = client.get("/api/about").json()
    assert (about["planned"], about["columns"], about["queries"]) == (3, 1, 9)
    for number, query_id in enumerate(plan.plan.queries[:5], 1):
        refused = anna.get(f"queries/{number + 1}")
        assert refused.status_code == 422
        assert "in their order" in refused.json()["detail"]
        view = anna.view(number)
        assert view["query_id"] == query_id
        assert sorted(view["columns"][0]["results"]) == plan.judgeable[query_id]
        progress = anna.get("progress").json()
        assert len(progress["queries"]) == len(progress["titles"]) == number
        state = judge(anna, number)
        pool = len(plan.judgeable[query_id])
        expected = {"judged": pool, "results": pool, "complete": True, "cannot_judge": False}
        assert {name: state["progress"][name] for name in expected} == expected
    # Another person begins with the first query.
    ben = Person(client, "Ben")
    assert ben.get("queries/2").status_code == 422
    for path, body in (
        ("grades", {"query": 2, "doc_id": plan.judgeable[plan.plan.queries[1]][0], "grade": 1}),
        ("cannot-judge", {"query": 3, "reason": "x"}),
        ("cannot-judge", {"query": 4, "reason": ""}),
    ):
        assert ben.post(path, **body).status_code == 422
    assert list(find_complete(plan, read_people(plan.path)).grades) == plan.plan.queries[:5]


def test_people_share_queries_after_the_first_ten(tmp_path):
    plan = make_small(tmp_path, 14, RUNS, people=14)
    app = review_app(plan.path, plan.path / "review.db", share=True)
    client = TestClient(app, base_url="http://localhost")
    people = [Person(client, name) for name in ("Anna", "Ben")]

    def next_of(who):
        progress = who.get("progress").json()["queries"]
        return next((n for n, one in enumerate(progress, 1) if not one["complete"]), None)

    for who in people:
        for number in range(1, 11):
            assert next_of(who) == number
            judge(who, number)
    anna, ben = people
    judge(anna, 11)
    assert (next_of(anna), next_of(ben)) == (12, 12)
    first = anna.documents(12)[0]
    anna.say("grades", query=12, doc_id=first, grade=1)
    assert (next_of(anna), next_of(ben)) == (12, 13)
    judge(ben, 13)
    judge(anna, 12)
    judge(ben, 14)
    assert (next_of(anna), next_of(ben)) == (None, None)
    app.state.controller.store.close()
    assert len(find_complete(plan, read_people(plan.path)).grades) == 14
    by_person = Counter(label.annotator for label in read_people(plan.path))
    assert by_person["Ben"] < sum(map(len, plan.judgeable.values()))


def test_no_answer_reveals_runs_ranks_or_labels_of_models(client, plan):
    label = {
        "query_id": plan.plan.queries[0], "doc_id": plan.judgeable[plan.plan.queries[0]][0],
        "grade": 3, "annotator": "secretmodel", "kind": "model", "time": "t", "answer": "secret",
    }  # fmt: skip
    (plan.path / "labels.jsonl").write_text(json.dumps(label) + "\n")
    answers = [client.get("/").text, client.get("/api/about").text]
    for name in ("Anna", "Ben"):
        who = Person(client, name)
        for number in range(1, 5):
            answer = who.get(f"queries/{number}")
            view = answer.json()
            assert set(view) == {
                "query", "query_id", "text", "columns", "documents", "state"
            }  # fmt: skip
            (column,) = view["columns"]
            assert set(column) == {"label", "results"}
            assert list(view["documents"]) == column["results"]
            assert {frozenset(one) for one in view["documents"].values()} == {
                frozenset({"title", "text"})
            }
            answers += [answer.text, json.dumps(judge(who, number))]
            answers.append(who.get("progress").text)
        answers.append(who.post("undo").text)
    for text in answers:
        for word in (*RUNS, "secret", "ranks"):
            assert word not in text


def test_documents_that_cannot_be_judged(client, plan):
    anna = Person(client, "Anna")
    first, *rest = anna.documents()
    state = anna.say("missing", query=1, doc_id=first, reason="  in Greek\x00 ")
    assert state["missing"] == {first: "in Greek"}
    assert state["grades"] == {}
    assert state["progress"]["judged"] == 1
    for doc_id in rest:
        state = anna.say("grades", query=1, doc_id=doc_id, grade=2)
    # One of fewer than ten documents is more than a tenth, so the query is left out.
    assert len(rest) + 1 < 10
    assert state["progress"]["complete"]
    assert state["progress"]["cannot_judge"]
    found = find_complete(plan, read_people(plan.path))
    assert list(found.left_out) == [plan.plan.queries[0]]
    assert anna.get("queries/2").status_code == 200
    graded = anna.say("grades", query=1, doc_id=first, grade=0)
    assert (graded["missing"], graded["progress"]["cannot_judge"]) == ({}, False)
    undone = anna.say("undo")
    assert (undone["what"], undone["doc_id"]) == ("grade", first)
    assert undone["state"]["missing"] == {first: "in Greek"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("choices", {"query": 1, "choice": "A"}),
        ("choices", {"query": 1, "choice": "none"}),
        ("results", {"query": 1, "doc_id": "DOC"}),
        ("grades", {"query": 1, "doc_id": "DOC", "grade": 0, "flagged": True}),
        ("missing", {"query": 1, "doc_id": "no such", "reason": ""}),
        ("missing", {"query": 1, "doc_id": "DOC"}),
        ("missing", {"query": 1, "doc_id": "DOC", "reason": "x" * 501}),
    ],
)
def test_what_a_plan_does_not_ask_is_refused(client, app, path, body):
    anna = Person(client, "Anna")
    doc_id = anna.documents()[0]
    sent = {name: doc_id if value == "DOC" else value for name, value in body.items()}
    assert anna.post(path, **sent).status_code == 422
    assert app.state.controller.store.rows("SELECT count(*) FROM judgment") == [(0,)]


def test_options_of_reports_and_other_pools_are_refused(plan, tmp_path):
    database = tmp_path / "review.db"
    for name, value in (("modes", ["a"]), ("depth", 5), ("seed", 1)):
        with pytest.raises(UsageError, match="are for reports"):
            review_app(plan.path, database, **{name: value})
    review_app(plan.path / "plan.json", database).state.controller.store.close()
    (tmp_path / "other").mkdir()
    other = make_small(tmp_path / "other", 9, RUNS, people=3, depth=5)
    with pytest.raises(IncomparableError):
        review_app(other.path, database)
