"""``judge plan`` and ``judge pilot``, and ``review show`` and ``export`` of a plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness.plans import label, topics_of, write_corpus, write_runs
from harness.program import Program
from starlette.testclient import TestClient

from trectools_plus.formats.trec_files import read_qrels
from trectools_plus.judging.plan import PlanFolder
from trectools_plus.service.review.app import review_app

QUERIES = 14


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with runs, topics and documents."""
    write_runs(tmp_path, ("a", "b"), QUERIES)
    write_corpus(tmp_path)
    lines = [f"{query_id}\t{text}\n" for query_id, text in topics_of(QUERIES + 1).to_dict().items()]
    (tmp_path / "topics.tsv").write_text("".join(lines))
    return tmp_path


GIVEN = ("--topics", "topics.tsv", "--corpus", "corpus.jsonl", "-o", "plan")


@pytest.fixture
def call(program: Program, data: Path) -> Any:
    def run(*words: object) -> Any:
        return program(["trectools-plus", *map(str, words)], data)

    return run


def test_a_plan_is_made_and_described(call: Any, data: Path) -> None:
    done = call("judge", "plan", "a.run", "second=b.run", *GIVEN, "--depth", 4, "--people", 5)
    assert done.code == 0, done.stderr
    plan = PlanFolder(data / "plan")
    first = (
        f"14 queries with {plan.plan.pooled} pooled documents; for the first 5, a person makes "
        f"{plan.judgments} judgments."
    )
    assert done.text.splitlines()[0] == first
    assert "trectools-plus review serve plan" in done.text
    assert max(map(len, done.text.splitlines())) <= 100
    assert "note: 1 topic left out, because no run has a result: q14" in done.stderr
    assert done.stderr.count("note: ") == 1
    assert [one.name for one in plan.plan.runs] == ["a", "second"]
    assert plan.plan.measures == ["nDCG@4", "P@4", "RR@4"]
    assert plan.plan.runs[0].source.path == "a.run"
    # The same plan again, as JSON, and elsewhere.
    again = call(
        "judge", "plan", "a.run", "second=b.run", "--topics", "topics.tsv", "--corpus",
        "corpus.jsonl", "-o", "again", "--depth", 4, "--people", 5, "--format", "json", "-q",
    )  # fmt: skip
    document = json.loads(again.text)
    assert again.stderr == ""
    assert document == {**plan.summary(), "plan": "again"}
    for name in ("pool.jsonl", "topics.jsonl", "documents.jsonl", "runs/a.run", "runs/second.run"):
        assert (data / "again" / name).read_bytes() == (data / "plan" / name).read_bytes()


def test_queries_without_a_topic_are_noted(call: Any, data: Path) -> None:
    with (data / "b.run").open("a") as stream:
        stream.write("q99 Q0 d1 1 1.0 b\n")
    done = call("judge", "plan", "a.run", "b.run", *GIVEN)
    notes = [line for line in done.stderr.splitlines() if "q99" in line]
    assert done.code == 0
    assert len(notes) == 1
    assert "q0" not in notes[0]


def test_a_table_of_several_systems_is_several_runs(call: Any, data: Path) -> None:
    rows = ["query_id,doc_id,score,system\n"]
    for name in ("a", "b"):
        for line in (data / f"{name}.run").read_text().splitlines():
            query_id, _, doc_id, _, score, tag = line.split()
            rows.append(f"{query_id},{doc_id},{score},system {tag}\n")
    (data / "both.csv").write_text("".join(rows))
    done = call("judge", "plan", "both.csv", *GIVEN, "--format", "json")
    assert done.code == 0, done.stderr
    assert list(json.loads(done.text)["runs"]) == ["system a", "system b"]
    assert list(PlanFolder(data / "plan").runs) == ["system a", "system b"]


def test_a_dataset_is_topics_and_documents(call: Any, data: Path) -> None:
    fetched = call(
        "runs", "fetch", "--dataset", "sample", "--modes", "lexical", "--output-dir", "runs"
    )
    assert fetched.code == 0, fetched.stderr
    done = call("judge", "plan", "runs/lexical.run", "--dataset", "sample", "-o", "plan", "-q")
    assert done.code == 0, done.stderr
    plan = PlanFolder(data / "plan").plan
    assert (plan.corpus.path, plan.topics.path, len(plan.queries)) == ("sample", "sample", 30)


def test_mistakes_are_one_line(call: Any, data: Path) -> None:
    (data / "bad.run").write_text("q0 Q0 d1 1 x a\n")
    (data / "worse.run").write_text("q0 Q0 d1 1 2 a\nq0 Q0 d1 2 1 a\n")
    (data / "full").mkdir()
    (data / "full/x").write_text("")
    for words, code, text in (
        (("a.run", "-o", "plan"), 2, "no topics and documents given"),
        (("a.run", "-o", "plan", "--topics", "topics.tsv"), 2, "no topics and documents given"),
        (("a.run", *GIVEN, "--dataset", "sample"), 2, "exclude each other"),
        (("a.run", "a.run", *GIVEN), 2, "given twice"),
        (("missing.run", *GIVEN), 2, "missing.run"),
        (("bad.run", *GIVEN), 1, "bad.run:1"),
        (("worse.run", *GIVEN), 1, "worse.run"),
        (("a.run", *GIVEN, "-m", "AP"), 2, "reads the whole ranking"),
        (("a.run", *GIVEN, "--depth", "0"), 2, "depth"),
        (("a.run", "--topics", "topics.tsv", "--corpus", "corpus.jsonl", "-o", "full"), 2, "empty"),
    ):
        done = call("judge", "plan", *words)
        assert (done.code, done.text) == (code, ""), (words, done.stderr)
        assert done.stderr.startswith("error: ")
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert text in done.stderr, done.stderr
    both = call("judge", "plan", "bad.run", "missing.run", *GIVEN)
    assert both.code == 2
    assert "bad.run" in both.stderr
    assert "missing.run" in both.stderr
    assert not (data / "plan").exists()


@pytest.fixture
def judged(call: Any, data: Path) -> PlanFolder:
    """A plan of which Anna has judged 12 queries, Ben 2, and a model all."""
    assert call("judge", "plan", "a.run", "b.run", *GIVEN, "--depth", 4, "-q").code == 0
    plan = PlanFolder(data / "plan")
    app = review_app(plan.path, plan.path / "review.db")
    client = TestClient(app, base_url="http://localhost")
    truth = {}
    for place, query_id in enumerate(plan.plan.queries):
        for number, doc_id in enumerate(plan.judgeable[query_id]):
            truth[query_id, doc_id] = (place * number + number) % 4
    for name, queries in (("Anna", 12), ("Ben", 2)):
        session = client.post("/api/session", json={"name": name}).json()["session"]
        who = {"X-Review-Session": session}
        for number in range(1, queries + 1):
            query_id = plan.plan.queries[number - 1]
            for doc_id in plan.judgeable[query_id]:
                grade = truth[query_id, doc_id]
                sent = {"query": number, "doc_id": doc_id, "grade": grade}
                assert client.post("/api/grades", json=sent, headers=who).status_code == 200
    said = {"query": 1, "text": "an odd query"}
    assert client.post("/api/comments", json=said, headers=who).status_code == 200
    app.state.controller.store.close()
    labels = [label(*pair, min(3, grade + 1), "model", "model") for pair, grade in truth.items()]
    lines = "".join(one.model_dump_json() + "\n" for one in labels)
    (plan.path / "labels.jsonl").write_text(lines)
    return plan


def test_a_pilot_says_how_many_queries_people_need(call: Any, judged: PlanFolder) -> None:
    done = call("judge", "pilot", "plan", "--width", 0.3, "-m", "P@4")
    assert done.code == 0, done.stderr
    assert done.text.startswith("Queries that people need for 95% intervals of width 0.3")
    assert max(map(len, done.text.splitlines())) <= 100
    for words in ("P@4  a ", "P@4  a − b", "with model"):
        assert words in done.text
    document = json.loads(
        call("judge", "pilot", "plan", "--width", 0.3, "-m", "P@4", "--format", "json").text
    )
    assert (document["people"], document["total"], document["models"]) == (12, 14, {"model": 14})
    assert [one["runs"] for one in document["needed"]] == [["a"], ["b"], ["a", "b"]]
    for words, code, text in (
        (("--width", 0), 2, "above 0"),
        (("--width", 0.1, "-m", "AP@100"), 2, "AP@100 reads 100 results"),
        ((), 2, "--width"),
    ):
        done = call("judge", "pilot", "plan", *words)
        assert (done.code, done.text) == (code, "")
        assert text in done.stderr
    (judged.path / "review.db").unlink()
    done = call("judge", "pilot", "plan", "--width", 0.3)
    assert (done.code, "a pilot needs 10" in done.stderr) == (1, True)
    done = call("judge", "pilot", "missing", "--width", 0.3)
    assert (done.code, "no plan of judgments" in done.stderr) == (2, True)


def test_a_model_is_one_more_annotator(call: Any, judged: PlanFolder, data: Path) -> None:
    done = call("review", "show", "plan")
    assert done.code == 0, done.stderr
    assert done.text.startswith("People have judged 12 queries; 14 are planned, of 14 in all.\n")
    assert max(map(len, done.text.splitlines())) <= 100
    for words in ("Anna – Ben", "people – model", "100%", "Grades of model", "an odd query"):
        assert words in done.text
    document = json.loads(call("review", "show", "plan/review.db", "--format", "json").text)
    assert [
        (one["name"], one["kind"], one["complete"], one["missing"])
        for one in document["annotators"]
    ] == [("Anna", "person", 12, 0), ("Ben", "person", 2, 0), ("model", "model", 14, 0)]
    people, model = document["agreement"]["pairs"]
    assert people["kappas"]["none"]["value"] == 1.0
    assert model["difference"] > 0
    assert model["pairs"] == sum(len(judged.judgeable[one]) for one in judged.plan.queries[:12])
    assert document["remarks"][0]["comment"] == "an odd query"
    assert call("review", "export", "plan", "--qrels", "qrels.txt").code == 0
    (data / "elsewhere.db").write_bytes((judged.path / "review.db").read_bytes())
    lost = call("review", "show", "elsewhere.db")
    assert (lost.code, "name the folder of the plan" in lost.stderr) == (2, True)
    assert read_qrels(data / "qrels.txt").frame.height == model["pairs"]


def test_without_judgments_there_is_a_summary(call: Any, data: Path) -> None:
    assert call("judge", "plan", "a.run", *GIVEN, "-q").code == 0
    done = call("review", "show", "plan")
    assert (done.code, done.stderr) == (0, "")
    assert done.text == "People have judged 0 queries; 14 are planned, of 14 in all.\n\n"
    done = call("review", "serve", "plan", "--database", "other.db")
    assert (done.code, "has its own database" in done.stderr) == (2, True)
    done = call("review", "serve", "plan", "--modes", "a,b")
    assert (done.code, "--modes is for reports" in done.stderr) == (2, True)
