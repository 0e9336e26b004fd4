"""Modes that did not answer: in the report with the reason, neither scored nor compared."""

import json
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from trectools_plus.benchmark import (
    load_config,
    load_fetch_settings,
    load_report,
    report_json_schema,
)
from trectools_plus.cli.app import benchmark_app
from trectools_plus.errors import CheckFailedError, InputError, TrectoolsPlusError, UsageError
from trectools_plus.reporting.verify import verify_report

SEARCH = """
CALLS = []

def good(text, depth):
    return ["d1", "d2"] if "1" in text else ["d2", "d1"]

def nothing(text, depth):
    return []

def half(text, depth):
    if "3" in text:
        raise TimeoutError("the index is gone")
    return good(text, depth)

def broken(text, depth):
    raise ValueError("no index")
"""
QUERIES = 8


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Topics and judgments without documents, and functions to search with."""
    name = f"search_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(SEARCH)
    (tmp_path / "topics.tsv").write_text("".join(f"q{n}\ttext {n}\n" for n in range(QUERIES)))
    (tmp_path / "qrels.txt").write_text("".join(f"q{n} 0 d1 1\n" for n in range(QUERIES)))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return {"topics": "topics.tsv", "qrels": "qrels.txt", "module": name}


@pytest.fixture
def run(data, write_benchmark):
    def with_functions(names, **options):
        retriever = [f"{name}={data['module']}:{name}" for name in names.split()]
        given = {name: data[name] for name in ("topics", "qrels")}
        return write_benchmark("out", **given, retriever=retriever, measures=["RR@10"], **options)

    return with_functions


def test_incomplete_and_failed_modes_are_shown_and_not_scored(run):
    report = run("good nothing half broken").report
    assert list(report.modes) == ["good", "nothing"]
    assert report.modes["nothing"].status == "empty"
    assert {name: mode.status for name, mode in report.unscored.items()} == {
        "half": "incomplete",
        "broken": "failed",
    }
    assert report.unscored["half"].failed_queries == {"q3": "TimeoutError: the index is gone"}
    assert "1 of 8 queries has no answer (q3: TimeoutError" in report.unscored["half"].reason
    compared = {name for one in report.comparisons for name in (one.baseline, one.contrast)}
    assert compared == {"good", "nothing"}
    assert {mode for group in report.groups["RR@10"] for mode in group} <= {"good", "nothing"}
    for name in ("BenchmarkComparison.md", "BenchmarkReport.html"):
        text = Path("out", name).read_text()
        for mode, word in (("half", "incomplete"), ("broken", "failed")):
            assert f"{mode} ({word}) was neither scored nor compared" in text
        assert "ValueError: no index" in text
    written = json.loads(Path("out/BenchmarkReport.json").read_text())
    jsonschema.validate(written, report_json_schema())
    assert load_report("out/BenchmarkReport.json").unscored == report.unscored
    assert sorted(path.name for path in Path("out/runs").iterdir()) == ["good.run"]
    assert verify_report("out").problems == []


def test_a_baseline_that_was_not_scored(run):
    report = run("good nothing broken", baseline=["broken"]).report
    assert report.comparisons == []
    assert report.best_mode["RR@10"] is None
    report = run("good nothing broken", baseline=["broken", "good"]).report
    assert {(one.baseline, one.contrast) for one in report.comparisons} == {("good", "nothing")}


def test_without_a_scored_mode_there_is_no_report(run):
    with pytest.raises(InputError, match=r"8.*8"):
        run("broken")
    with pytest.raises(TrectoolsPlusError):
        run("half broken")
    assert not Path("out").exists()


def test_the_command_writes_the_report_and_fails(data):
    words = ["run", "--topics", "topics.tsv", "--qrels", "qrels.txt", "--output-dir", "out"]
    for name in ("good", "broken"):
        words += ["--retriever", f"{data['module']}:{name}"]
    result = CliRunner().invoke(benchmark_app, words)
    assert isinstance(result.exception, CheckFailedError)
    assert "1 of 2 modes could not be scored: broken is failed" in str(result.exception)
    assert "broken (failed) was neither scored nor compared" in " ".join(result.stdout.split())
    assert all(len(line) <= 100 for line in result.stdout.splitlines())
    assert Path("out/BenchmarkReport.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"backend": "http"},
            "backend. http .* give http.url",
        ),
        ({"backend": "python"}, "`backend` python has no settings — give `retriever`"),
        ({"retriever": ["a:b", "c:b"]}, "named 'b'"),
        ({"retriever": ["a b=c:d"]}, "'a b'"),
        (
            {"retriever": ["a:b"], "http": {"url": "http://a"}},
            "`retriever` configures the backend python, but `backend` is http",
        ),
        (
            {"retriever": ["a:b"], "backend": "http"},
            "retriever",
        ),
        (
            {"retriever": ["a:b"], "retrieval": {"reranker": "lexical"}},
            " — retrieval — leave",
        ),
        ({"collapse": {"method": "max"}}, "embedded modes"),
        ({"http": {"url": "ftp://a"}}, "starts with http://"),
        ({"http": {"url": "http://a", "nosuch": "1"}}, "unknown setting 'http.nosuch'"),
    ],
)
def test_settings_that_do_not_go_together(options, message):
    with pytest.raises(UsageError, match=message):
        load_config(options={"topics": "t", "qrels": "q", **options})


def test_options_override_the_file(tmp_path):
    path = tmp_path / "benchmark.yaml"
    path.write_text(
        "backend: http\nhttp:\n  url: http://a\n  retries: 2\ncollapse: {method: sum}\n"
        "modes: [one, two]\n"
    )
    settings = load_fetch_settings(path, {"http": {"url": "http://b"}})
    assert (settings.http.url, settings.http.retries) == ("http://b", 2)
    assert (settings.modes, settings.depth) == (("one", "two"), 100)
    for other in ({"backend": "embedded"}, {"retriever": ["m:f"], "backend": "python"}):
        with pytest.raises(UsageError, match="`http` configures the backend http"):
            load_fetch_settings(path, other)
    config = load_config(path, {"topics": "t", "qrels": "q"})
    assert (config.modes, config.backend) == (("one", "two"), "http")
    assert load_config(None, {"dataset": "hpo"}).as_manifest().keys().isdisjoint({"http"})
    assert "retrieval" not in config.as_manifest()
    path.write_text("dataset: hpo\nretrieval: {reranker: lexical}\n")
    assert load_config(path, {"dataset": "hpo"}).retrieval.reranker == "lexical"
    with pytest.raises(UsageError, match="needs the embedded backend"):
        load_config(path, {"backend": "http", "http": {"url": "http://a"}})
