"""Tests of ``benchmark run``: exit codes, streams, files, help."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def call(call_of):
    return call_of("benchmark run")


@pytest.fixture
def files(tmp_path):
    texts = {
        "q.txt": "1 0 a 2\n1 0 b 0\n1 0 c 1\n2 0 a 1\n2 0 b 0\n",
        "t.tsv": "1\tred fox\n2\tlazy dog\n",
        "c.jsonl": "".join(
            json.dumps({"doc_id": doc_id, "text": text}) + "\n"
            for doc_id, text in {"a": "red fox and dog", "b": "lazy dog", "c": "fox"}.items()
        ),
        "good.run": "1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n2 Q0 a 1 2.0 x\n2 Q0 b 2 1.0 x\n",
        "bad.run": "1 Q0 b 1 2.0 x\n1 Q0 a 2 1.0 x\n2 Q0 b 1 2.0 x\n2 Q0 a 2 1.0 x\n",
        "twice.run": "1 Q0 b 1 2.0 x\n1 Q0 b 2 1.0 x\n2 Q0 b 1 2.0 x\n",
        "part.run": "1 Q0 b 1 2.0 x\n1 Q0 a 2 1.0 x\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: str(tmp_path / name) for name in texts}


DATA = ("--corpus", "c.jsonl", "--topics", "t.tsv", "--qrels", "q.txt")
RUNS = ("--runs", "good=good.run", "--runs", "bad=bad.run", "--qrels", "q.txt")
FAST = ("--set", "resamples=100")
ONE = ("-m", "RR@10")


def test_results_go_to_a_folder_named_after_the_experiment(call, files, tmp_path):
    code, out, _ = call(*RUNS, *FAST, *ONE)
    (folder,) = (tmp_path / "results").iterdir()
    report = json.loads((folder / "BenchmarkReport.json").read_text(encoding="utf-8"))
    assert code == 0
    assert report["manifest"]["experiment_id"] == folder.name
    assert f"results/{folder.name}/BenchmarkReport.json" in out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--qrels", "q.txt"), 2, "no data given"),
        (("--test-file", "t.json", *DATA), 2, "`topics` and `test_file`"),
        ((*RUNS, "--set", "exclude_self=true"), 2, "exclude_self"),
        (("--runs", "=good.run", "--qrels", "q.txt"), 2, "NAME=FILE"),
        (("--runs", "a=", "--qrels", "q.txt"), 2, "NAME=FILE"),
        ((*RUNS, "--runs", "bad=good.run"), 2, "named 'bad'"),
        ((*DATA, "--confidence", "95"), 2, "less than 1 but got 95.0 — confidence"),
        ((*RUNS, "--measures", ""), 2, "measures"),
        (("--dataset", "nowhere"), 2, "nowhere"),
        (("--config", "nowhere.yaml"), 2, "nowhere.yaml"),
        (("--corpus", "nowhere", "--topics", "t.tsv", "--qrels", "q.txt"), 2, "nowhere"),
        (("--runs", "a=twice.run", "--qrels", "q.txt"), 1, "twice.run:2"),
        ((*RUNS, "--runs", "part=part.run", "--missing", "drop"), 3, "missing=zero"),
        ((*RUNS, "--output-dir", "q.txt"), 2, "q.txt"),
    ],
)
def test_mistakes_are_one_line_and_an_exit_code(call, files, check_mistake, arguments, code, words):
    check_mistake(call(*arguments), code, words)


def test_values_of_the_wrong_kind_are_usage_errors(call):
    assert call("--seed", "x")[0] == 2
    assert call("--format", "xml")[0] == 2
    assert call("--no-such-option")[0] == 2


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--runs", "good.run", "bad.run", "-m", "AP,RR"), ["good", "bad"]),
        (("good=good.run", "b=bad.run", "-m", "AP RR"), ["good", "b"]),
        (("--runs", "good.run", "other/good.run", "-m", "AP", "-m", "RR"), ["x", "y"]),
        (("good.run", "same/good.run", "-m", "AP,RR"), ["good", "same-good"]),
    ],
)
def test_runs_have_the_names_and_measures_of_eval(call, files, words, names):
    for folder, old, new in (("other", " x\n", " y\n"), ("same", "", "")):
        Path(folder).mkdir()
        text = Path("good.run").read_text()
        Path(folder, "good.run").write_text(text.replace(old, new) if old else text)
    code, out, err = call(*words, "--qrels", "q.txt", *FAST, "--format", "json", "-o", "out")
    assert code == 0, err
    report = json.loads(out)
    assert list(report["modes"]) == names
    assert list(report["modes"][names[0]]["measures"]) == ["AP", "RR"]


def test_a_mode_without_results_is_reported_and_noted(call, files, tmp_path):
    Path("t.tsv").write_text("1\tzeppelin\n2\tquux\n")
    code, out, err = call(*DATA, *FAST, *ONE, "--output-dir", "out")
    assert (code, err) == (0, "")
    assert "for 2 of 2 queries." in out
    assert not (tmp_path / "out" / "runs" / "lexical.run").exists()
    assert "runs/lexical.run" not in Path("out/BenchmarkComparison.md").read_text("utf-8")


def test_given_runs_with_errors_that_change_no_figure(call, tmp_path):
    rows = "1 Q0 a - 2.0 t\n1 Q0 b - 1.0 t\n2 Q0 b - 2.0 t\n2 Q0 a - 1.0 t\n"
    (tmp_path / "q.txt").write_text("1 0 a 2.0\n1 0 b 0.0\n2 0 a 1.0\n2 0 b 0.0\n")
    (tmp_path / "a.run").write_text("qid Q0 docno rank score tag\n" + rows)
    given = ["--runs", "a.run", "--qrels", "q.txt", "--output-dir", "out", "--format", "json"]
    code, out, err = call(*given)
    assert code == 0, err
    assert "figure" not in err
    assert "R105" in out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--resamples", "200"], "--set resamples=VALUE"),
        (["--no-multi-vector"], "--set multi_vector=false"),
        (["--http", "index=a"], "--set http.NAME=VALUE"),
        (["--set", "resample=200"], "resamples"),
        (["--set", "resamples=20"], "resamples"),
        (["--set", "resamples"], "resamples"),
        (["--set", "retrieval=1"], "retrieval"),
        (["--targets", "bands", "--set", "targets.AP=0.5"], "targets.AP"),
        (["--set", "seed.x=1"], "seed"),
    ],
)
@pytest.mark.usefixtures("files")
def test_settings_without_an_option(call, words, problem):
    code, _, err = call(*RUNS, *words)
    assert code == 2
    assert problem in err


@pytest.mark.usefixtures("files")
def test_settings_are_those_of_the_configuration_file(call):
    words = ("--set", "mode_names.good=BM25", "--set", "interval=t", "--format", "json")
    code, out, _ = call(*RUNS, *FAST, *words)
    assert code == 0
    config = json.loads(out)["manifest"]["config"]
    assert (config["mode_names"], config["interval"]) == ({"good": "BM25"}, "t")
    assert config["resamples"] == 100


def test_settings_lists_every_setting(call):
    code, out, _ = call("--settings")
    listed = {line.partition("=")[0] for line in out.splitlines() if not line.startswith(" ")}
    assert code == 0
    assert {"resamples", "k1", "http.url", "mode_names", "collapse.method"} <= listed
