"""Chosen results, comments, and queries that cannot be judged."""

from contextlib import closing

import pytest
from starlette.testclient import TestClient

from trectools_plus.judging.judgments import export_qrels
from trectools_plus.judging.store import read_store
from trectools_plus.service import summarise_review
from trectools_plus.service.review.app import review_app
from trectools_plus.statistics import Resampling


class Person:
    """Someone who judges through the API."""

    def __init__(self, client, name):
        self.client = client
        answer = client.post("/api/session", json={"name": name}).json()
        self.headers = {"X-Review-Session": answer["session"]}

    def view(self, number):
        return self.client.get(f"/api/queries/{number}", headers=self.headers).json()

    def say(self, path, **body):
        answer = self.client.post(f"/api/{path}", json=body, headers=self.headers)
        return {**answer.json(), "status": answer.status_code}


@pytest.fixture
def open_client(report, tmp_path):
    """Opens the page on one database; closes it with the test."""
    opened = []

    def start(**options):
        app = review_app(report, tmp_path / "review.db", seed=3, depth=5, **options)
        opened.append(app.state.controller.store)
        return TestClient(app, base_url="http://localhost")

    yield start
    for store in opened:
        store.close()


def documents(view):
    return list(dict.fromkeys(one for column in view["columns"] for one in column["results"]))


def test_a_result_and_none_of_them_exclude_each_other(open_client):
    anna = Person(open_client(), "Anna")
    first, second, *_ = documents(anna.view(1))
    assert anna.say("results", query=1, doc_id=first)["result"] == first
    assert anna.say("results", query=1, doc_id=second)["result"] == second
    none = anna.say("choices", query=1, choice="none")
    assert (none["choice"], none["result"]) == ("none", None)
    chosen = anna.say("results", query=1, doc_id=first)
    assert (chosen["choice"], chosen["result"]) == (None, first)
    column = anna.say("choices", query=1, choice="A")
    assert (column["choice"], column["result"]) == ("A", first)
    for what, expected in (
        ("choice", (None, first)), ("result", ("none", None)), ("choice", (None, second)),
        ("result", (None, first)), ("result", (None, None)),
    ):  # fmt: skip
        undone = anna.say("undo")
        assert undone["what"] == what
        assert (undone["state"]["choice"], undone["state"]["result"]) == expected
    assert anna.say("undo")["what"] is None
    assert anna.say("results", query=1, doc_id="g99")["status"] == 422


def test_a_query_that_cannot_be_judged_is_complete_and_does_not_count(open_client, tmp_path):
    client = open_client()
    anna = Person(client, "Anna")
    for number in (1, 2):
        doc_id = documents(anna.view(number))[0]
        anna.say("grades", query=number, doc_id=doc_id, grade=3)
        anna.say("results", query=number, doc_id=doc_id)
    state = anna.say("cannot-judge", query=2, reason="  no\x1b[31m idea ")
    assert state["cannot_judge"] == "no[31m idea"
    assert state["progress"]["complete"]
    with closing(read_store(tmp_path / "review.db")) as store:
        assert export_qrels(store).frame["query_id"].n_unique() == 1
        assert export_qrels(store, choices=True).frame["relevance"].sum() == 1
        summary = summarise_review(store, Resampling(200))
        assert (summary.annotators[0].graded, summary.annotators[0].cannot_judge) == (1, 1)
        assert summary.as_dict()["remarks"][0]["cannot_judge"] == "no[31m idea"
    assert anna.say("cannot-judge", query=2, reason=None)["progress"]["judged"] == 1
    assert anna.say("undo")["what"] == "cannot_judge"
    assert anna.say("cannot-judge", query=1, reason="x" * 501)["status"] == 422
