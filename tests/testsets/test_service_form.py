"""The example test set of an evaluation service, from the file to the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trectools_plus import evaluate, load_test_set
from trectools_plus.cli.app import app
from trectools_plus.reporting.verification.verify import verify_report

EXAMPLE = """\
queries:                      # fields as that specification names them, beside ours
  - query_id: q1
    query_text: "low blood sugar in newborns"
    query_type: paraphrase
    relevant_docs:
      - {doc_id: d17, grade: 3}
      - {doc_id: d40, grade: 1}
"""
AS_MAPPING = EXAMPLE.partition("    relevant_docs:")[0] + "    relevant_docs: {d17: 3, d40: 1}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("content", [EXAMPLE, AS_MAPPING])
@pytest.mark.parametrize("ending", ["yaml", "yml"])
def test_a_set_in_the_working_directory_is_found_by_its_name(content: str, ending: str) -> None:
    Path(f"test_set_v1.{ending}").write_text(content)
    test_set = load_test_set("test_set_v1")
    (query,) = test_set.queries
    assert (query.query_id, query.text) == ("q1", "low blood sugar in newborns")
    assert query.query_type == "paraphrase"
    assert {term.doc_id: term.grade for term in query.relevant} == {"d17": 3, "d40": 1}
    for given in (test_set, "test_set_v1", Path(f"test_set_v1.{ending}")):
        result = evaluate(lambda text, k: ["d40", "d17"], given, ["RR", "Recall@10"])
        assert [result.mean(name) for name in ("RR", "R@10")] == [1.0, 1.0]


def test_shipped_names_come_first() -> None:
    Path("hpo-en-tiny.yaml").write_text(EXAMPLE)
    assert len(load_test_set("hpo-en-tiny").queries) == 9
    assert len(load_test_set("./hpo-en-tiny").queries) == 1


@pytest.mark.parametrize("content", [EXAMPLE, AS_MAPPING])
def test_the_example_is_valid_and_can_be_searched_and_scored(content: str) -> None:
    Path("test_set_v1.yaml").write_text(content)
    runner = CliRunner()
    done = runner.invoke(app, ["testset", "validate", "test_set_v1.yaml", "--format", "json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["summary"]["errors"] == 0
    assert runner.invoke(app, ["topics", "validate", "test_set_v1.yaml"]).exit_code == 0
    done = runner.invoke(app, ["testset", "convert", "test_set_v1.yaml", "v1", "--to", "trec"])
    assert done.exit_code == 0
    Path("corpus.jsonl").write_text(
        '{"doc_id": "d17", "text": "low blood sugar of newborns"}\n'
        '{"doc_id": "d40", "text": "blood sugar"}\n{"doc_id": "d99", "text": "fever"}\n'
    )
    for data in (
        ("--topics", "v1/topics.tsv", "--qrels", "v1/qrels.txt"),
        ("--test-file", "test_set_v1.yaml"),
    ):
        run = ("benchmark", "run", "--corpus", "corpus.jsonl", *data, "--modes", "lexical")
        done = runner.invoke(app, [*run, "-m", "nDCG@10", "--output-dir", data[0]])
        assert done.exit_code == 0, done.stderr
        report = json.loads(Path(data[0], "BenchmarkReport.json").read_text("utf-8"))
        assert report["modes"]["lexical"]["measures"]["nDCG@10"]["mean"] == 1.0
        assert verify_report(data[0]).problems == []
    refused = runner.invoke(app, [*run, "--topics", "v1/topics.tsv"])
    assert "--topics and --test-file cannot be combined" in str(refused.exception)
