"""Reports logged to MLflow and Weights & Biases, with the real libraries and without a network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.benchmark.report import load_report
from trectools_plus.errors import InputError, MissingExtraError, UsageError
from trectools_plus.reporting import trackers
from trectools_plus.reporting.trackers import (
    list_metrics,
    list_parameters,
    log_report,
    parse_trackers,
)

# The libraries warn about their own dependencies.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow("starts servers")]
QRELS = "".join(f"q{n} 0 d{n} 1\n" for n in range(8))
RUNS = {
    "a": "".join(f"q{n} Q0 d{n} 1 2.0 a\n" for n in range(8)),
    "b": "".join(f"q{n} Q0 d{n} 2 1.0 b\nq{n} Q0 x 1 2.0 b\n" for n in range(8)),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with two runs."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text(QRELS)
    for name, text in RUNS.items():
        Path(f"{name}.run").write_text(text)
    return tmp_path


def command(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    import os

    code = "from trectools_plus.cli.app import main; main()"
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *words],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def run_benchmark(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    run = ["benchmark", "run", "--runs", "a=a.run", "b=b.run", "--qrels", "qrels.txt"]
    options = ["--output-dir", "report", "-m", "RR,P@1", "--no-cache"]
    return command(*run, *options, *words, **variables)


def test_mlflow_stores_figures_settings_and_files(folder: Path, require_module: Any) -> None:
    mlflow = require_module("mlflow")
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    done = run_benchmark("--log-to", "mlflow:search quality", MLFLOW_TRACKING_URI=uri)
    assert done.returncode == 0, done.stderr
    assert "Hybrid" not in done.stderr
    client = mlflow.MlflowClient(uri)
    experiment = client.get_experiment_by_name("search quality")
    (run,) = client.search_runs([experiment.experiment_id])
    report = load_report(folder / "report" / "BenchmarkReport.json")
    assert run.info.status == "FINISHED"
    assert run.info.run_name == report.manifest.experiment_id
    for mode, result in report.modes.items():
        for measure, found in result.measures.items():
            name = f"{mode}/{measure.replace('@', '_at_')}"
            assert run.data.metrics[name] == found.mean
            assert (f"{name}_low" in run.data.metrics) == (found.ci is not None)
    assert run.data.params["dataset.sha256"] == report.manifest.dataset.sha256
    assert run.data.params["config.resamples"] == str(report.manifest.config["resamples"])
    stored = {one.path for one in client.list_artifacts(run.info.run_id)}
    assert {"BenchmarkReport.json", "BenchmarkReport.html", "BenchmarkComparison.md"} <= stored
    assert {"reports", "per_query.parquet", "SHA256SUMS"} <= stored
    assert not {"runs", "qrels.txt", "topics.parquet"} & stored
    # A report can be logged later.
    again = command("benchmark", "show", "report", "--log-to", "mlflow:x", MLFLOW_TRACKING_URI=uri)
    assert again.returncode == 0, again.stderr
    assert client.get_experiment_by_name("x") is not None


def test_wandb_stores_them_offline(folder: Path, require_module: Any) -> None:
    require_module("wandb")
    variables = {"WANDB_MODE": "offline", "WANDB_DIR": str(folder)}
    done = run_benchmark("--log-to", "wandb:search", "--format", "json", **variables)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["modes"].keys() == {"a", "b"}
    (stored,) = folder.glob("wandb/offline-run-*/*.wandb")
    content = stored.read_bytes()
    for part in (b"a/RR", b"b/P_at_1_low", b"BenchmarkReport.html", b"config_hash"):
        assert part in content, part


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_tracker_that_fails_does_not_harm_the_report(
    folder: Path, name: str, require_module: Any
) -> None:
    require_module(name)
    refused = "http://user:secret@127.0.0.1:9"
    done = run_benchmark(
        *("--log-to", f"{name}:x"),
        MLFLOW_TRACKING_URI=refused,
        MLFLOW_HTTP_REQUEST_MAX_RETRIES="0",
        WANDB_BASE_URL=refused,
        WANDB_API_KEY="0" * 40,
        WANDB_INIT_TIMEOUT="1",
        WANDB_HTTP_TIMEOUT="1",
    )
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert line.startswith("error: the report")
    assert f"benchmark show report --log-to {name}:x logs it again" in line
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr
    assert load_report(folder / "report" / "BenchmarkReport.json").modes.keys() == {"a", "b"}
    assert command("benchmark", "verify", "report").returncode == 0


class Broken(trackers.Tracker):
    name, title = "broken", "Broken"

    def _log(self, report: Any, folder: Path) -> None:
        raise RuntimeError("no room at https://user:secret@host/")


def test_every_tracker_is_tried(make_report: Any, tmp_path: Path) -> None:
    logged = []

    class Working(trackers.Tracker):
        name, title = "working", "Working"

        def _log(self, report: Any, folder: Path) -> None:
            logged.append(folder)

    report = make_report({"m": {"RR": 0.5}})
    (error,) = log_report(report, tmp_path, [Broken("x"), Working("y")])
    assert isinstance(error, InputError)
    assert "RuntimeError: no room at https://***@host/ — broken:x" in str(error)
    assert logged == [tmp_path]


@pytest.mark.parametrize("text", ["mlflow", "mlflow: ", "tensorboard:x", "https://u:pw@host/x"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write mlflow:EXPERIMENT or wandb:PROJECT") as error:
        parse_trackers([text])
    assert "pw" not in str(error.value)


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_missing_extra_is_named_before_the_benchmark_runs(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trackers, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=rf"trectools-plus\[{name}\]"):
        parse_trackers([f"{name}:x"])


def test_names_and_secrets(make_report: Any) -> None:
    measure = "MaxOntSim(formula='lin')@10"
    means = {
        "a b": {measure: 0.5, "RR": 0.5, "MeanRank": 1.0},
        "a:b": {measure: 0.5, "RR": 0.25, "MeanRank": None},
    }
    report = make_report(means)
    metrics = list_metrics(report)
    assert metrics["a_b/MaxOntSim_formula__lin___at_10"] == 0.5
    # Different names stay different.
    assert (metrics["a_b/RR"], metrics["a_b/RR_2"]) == (0.5, 0.25)
    assert "a_b/MeanRank" in metrics
    assert "a_b/MeanRank_2" not in metrics
    config = {"http": {"url": "https://user:secret@host/?sig=abc"}, "modes": ["https://u:pw@h/"]}
    changed = report.model_copy(
        update={"manifest": report.manifest.model_copy(update={"config": config})}
    )
    shown = json.dumps(list_parameters(changed))
    assert not any(secret in shown for secret in ("secret", "abc", "pw@"))
