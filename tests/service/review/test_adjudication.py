"""Chosen results, comments, and queries that cannot be judged."""

from contextlib import closing

from tests.service.review.people import Person
from trectools_plus.judging.judgments import export_qrels
from trectools_plus.judging.store import read_store
from trectools_plus.service import summarise_review
from trectools_plus.statistics import Resampling


def test_a_result_and_none_of_them_exclude_each_other(client):
    anna = Person(client, "Anna")
    first, second, *_ = anna.documents()
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
    assert anna.post("results", query=1, doc_id="g99").status_code == 422


def test_a_query_that_cannot_be_judged_is_complete_and_does_not_count(client, tmp_path):
    anna = Person(client, "Anna")
    for number in (1, 2):
        doc_id = anna.documents(number)[0]
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
    assert anna.post("cannot-judge", query=1, reason="x" * 501).status_code == 422
