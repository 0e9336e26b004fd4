"""Results are reused only if nothing that they depend on has changed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.benchmark.report import BenchmarkReport, load_report
from trectools_plus.benchmark.report.folder import list_reports
from trectools_plus.benchmark.run import reuse
from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.benchmark.run.dataset import load_dataset
from trectools_plus.benchmark.run.reuse import make_cache_key
from trectools_plus.benchmark.run.runner import run_benchmark
from trectools_plus.reporting.files import write_reports
from trectools_plus.reporting.verification.verify import verify_report

Run = Callable[..., BenchmarkReport]
FAST = {"modes": ["lexical"], "measures": ["nDCG@3"], "resamples": 100}


@pytest.fixture
def run(small: Any, tmp_path: Path) -> Run:
    hours = iter(range(24))

    def call(name: str, **settings: Any) -> BenchmarkReport:
        options = {**FAST, **small.options, **settings}
        config = load_config(options={**options, "output_dir": str(tmp_path / "out" / name)})
        moment = datetime(2025, 1, 31, next(hours), tzinfo=UTC)
        result = run_benchmark(config, clock=lambda: moment, cached=True)
        write_reports(result, plots=False)
        return load_report(tmp_path / "out" / name / "BenchmarkReport.json")

    return call


def test_equal_results_are_reused_and_marked(run: Run, tmp_path: Path) -> None:
    first, again, third = run("a"), run("b"), run("a")
    assert first.manifest.cached_from is None
    origin = first.manifest.experiment_id
    assert (again.manifest.cached_from, third.manifest.cached_from) == (origin, origin)
    assert again.manifest.experiment_id != origin
    # Latencies would differ if anything had been asked again.
    assert again.modes == third.modes == first.modes
    assert again.comparisons == first.comparisons
    for name in ("a", "b"):
        assert verify_report(tmp_path / "out" / name).problems == []
        text = (tmp_path / "out" / name / "BenchmarkComparison.md").read_text("utf-8")
        assert f"those of experiment {origin}" in text
    listing = list_reports(tmp_path / "out")
    assert [Path(one.folder).name for one in listing.reports] == ["a", "b"]
    assert [one.cached_from for one in listing.reports] == [origin, origin]


@pytest.mark.parametrize(
    "settings",
    [
        {"seed": 7},
        {"retrieval": {"k1": 1.2}},
        pytest.param({"measures": ["AP"]}, marks=pytest.mark.slow("another setting")),
        pytest.param({"depth": 3}, marks=pytest.mark.slow("another setting")),
    ],
)
def test_other_settings_are_computed(run: Run, settings: dict[str, Any]) -> None:
    run("a")
    assert run("b", **settings).manifest.cached_from is None


@pytest.mark.parametrize("kind", ["corpus", "topics", "qrels"])
def test_other_data_are_computed(run: Run, small: Any, kind: str) -> None:
    run("a")
    path = Path(getattr(small, kind))
    old = {"corpus": "red fox", "topics": "sleeping", "qrels": "q1 0 d1 2"}[kind]
    new = {"corpus": "red ox", "topics": "sleepy", "qrels": "q1 0 d1 1"}[kind]
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert run("b").manifest.cached_from is None


FILES = [
    "runs/lexical.run",
    "qrels.txt",
    "per_query.parquet",
    "latency.parquet",
    "BenchmarkReport.json",
    "BenchmarkComparison.md",
]
ORDINARY = [
    ("runs/lexical.run", True),
    ("latency.parquet", True),
    ("per_query.parquet", False),
    ("BenchmarkReport.json", False),
]


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        *ORDINARY,
        *(
            pytest.param(name, gone, marks=pytest.mark.slow("every file"))
            for name in FILES
            for gone in (True, False)
            if (name, gone) not in ORDINARY
        ),
    ],
)
def test_a_folder_with_a_changed_file_is_not_reused(
    run: Run, tmp_path: Path, name: str, gone: bool
) -> None:
    run("a")
    path = tmp_path / "out" / "a" / name
    if gone:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes() + b" ")
    assert run("b").manifest.cached_from is None


def test_a_folder_without_checksums_is_not_reused(run: Run, tmp_path: Path) -> None:
    run("a")
    (tmp_path / "out" / "a" / "SHA256SUMS").unlink()
    assert run("b").manifest.cached_from is None


def test_changed_code_computes_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("a")
    monkeypatch.setattr(reuse, "_hash_code", lambda: "other")
    assert run("b").manifest.cached_from is None
    monkeypatch.undo()


def test_a_given_run_is_known_by_its_content(small: Any) -> None:
    path = Path(small.write_run("r", {"q1": ["d1"]}))
    config = load_config(options={"runs": {"r": str(path)}, "qrels": small.qrels})
    contents = load_dataset(config).hash_contents()
    key = make_cache_key(config, contents)
    assert key == make_cache_key(config, contents)
    path.write_text(path.read_text().replace("99", "98"))
    assert make_cache_key(config, contents) != key


def test_what_cannot_be_hashed_has_no_key(
    small: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_measure.py").write_text(
        "from trectools_plus.measures import BaseMeasure\n"
        "class Mine(BaseMeasure):\n"
        "    def score_query(self, ranked_doc_ids, qrels_of_query):\n"
        "        return 0.5\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    own = load_config(options={**small.options, "measures": ["mine_measure:Mine"]})
    assert make_cache_key(own, {}) is None
    piped = load_config(options={"runs": {"r": "-"}, "qrels": small.qrels})
    assert make_cache_key(piped, {}) is None


def test_python_computes_by_default(small: Any, tmp_path: Path) -> None:
    options = {**FAST, **small.options}
    for name in ("a", "b"):
        config = load_config(options={**options, "output_dir": str(tmp_path / "out" / name)})
        result = run_benchmark(config)
        write_reports(result, plots=False)
        assert result.report.manifest.cached_from is None
