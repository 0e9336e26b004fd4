"""A run added to a report: the figures are those of one benchmark with all runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.benchmark.merge import merge_run
from trectools_plus.benchmark.report import load_report
from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.benchmark.run.runner import run_benchmark
from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.reporting.files import write_reports
from trectools_plus.reporting.verification.verify import verify_report
from trectools_plus.validation import FindingsError


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_figures_are_those_of_one_benchmark(bench: Any) -> None:
    ranks = {"a": {n: 1 + n % 4 for n in range(60)}, "b": {}, "c": {1: 0, 2: 3}}
    whole = load_report(bench.make("whole", ranks) / "BenchmarkReport.json")
    folder = bench.make("part", {name: ranks[name] for name in "ab"})
    write_reports(merge_run(folder, "c", str(bench.folder / "whole-data" / "c.run")), plots=False)
    merged = load_report(folder / "BenchmarkReport.json")
    assert list(merged.modes) == ["a", "b", "c"]
    for mode in merged.modes:
        assert merged.modes[mode].measures == whole.modes[mode].measures
    assert merged.comparisons == whole.comparisons
    assert merged.best_mode == whole.best_mode
    assert merged.groups == whole.groups
    assert [run.name for run in merged.manifest.merged] == ["c"]
    assert merged.manifest.cache_key is None
    assert verify_report(folder).problems == []
    text = (folder / "BenchmarkComparison.md").read_text("utf-8")
    assert "| Metric | a | b | c | Best Run |" in text
    assert "c was merged" in text


def test_a_fetched_mode_keeps_its_latency_and_its_label(small: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = {**small.options, "modes": ["lexical"], "resamples": 200, "output_dir": str(out)}
    write_reports(run_benchmark(load_config(options=options)), plots=False)
    before = load_report(out / "BenchmarkReport.json")
    run = small.write_run("mine", {"q1": ["d1"], "q2": ["d2"], "q3": ["d4"], "q4": ["d7"]})
    write_reports(merge_run(out, "mine", run), plots=False)
    after = load_report(out / "BenchmarkReport.json")
    old, kept = before.modes["lexical"], after.modes["lexical"]
    assert (kept.label, kept.latency_ms) == ("Lexical-Only", old.latency_ms)
    assert kept.diagnostics == old.diagnostics
    assert kept.run == old.run
    assert after.modes["mine"].latency_ms is None
    assert (out / "latency.parquet").exists()
    assert after.best_mode["nDCG@10"] is not None
    assert len(after.comparisons) == 6


def test_other_queries_are_refused_and_nothing_changes(bench: Any) -> None:
    folder = bench.make("out", {"a": {}})
    before = files(folder)
    strange = bench.folder / "strange.run"
    strange.write_text("q1 Q0 good 1 1.0 x\nother Q0 good 1 1.0 x\n")
    with pytest.raises(IncomparableError, match=r"example other"):
        merge_run(folder, "b", str(strange))
    twice = bench.folder / "twice.run"
    twice.write_text("q1 Q0 good 1 1.0 x\nq1 Q0 good 2 0.5 x\n")
    with pytest.raises(FindingsError):
        merge_run(folder, "b", str(twice))
    with pytest.raises(UsageError, match="a mode 'A'"):
        merge_run(folder, "A", str(strange))
    with pytest.raises(UsageError, match="a file name"):
        merge_run(folder, "../b", str(strange))
    with pytest.raises(InputError):
        merge_run(folder, "b", str(bench.folder / "nowhere.run"))
    assert files(folder) == before


def test_a_run_that_changed_since_is_not_scored(bench: Any) -> None:
    folder = bench.make("out", {"a": {}})
    path = folder / "runs" / "a.run"
    path.write_text(path.read_text().replace(" a\n", " b\n"))
    with pytest.raises(InputError, match="was scored"):
        merge_run(folder, "b", str(bench.folder / "out-data" / "a.run"))


def test_queries_left_out_are_dropped_only_where_that_is_comparable(bench: Any) -> None:
    folder = bench.make("out", {"a": {}}, missing="drop")
    part = bench.folder / "part.run"
    part.write_text("".join(f"q{n} Q0 good 1 1.0 x\n" for n in range(50)))
    with pytest.raises(IncomparableError, match=r"60 queries .*b over 50"):
        merge_run(folder, "b", str(part))
    zero = bench.make("zero", {"a": {}})
    report = merge_run(zero, "b", str(part)).report
    assert report.modes["b"].measures["R@10"].mean == pytest.approx(50 / 60)
    assert report.modes["b"].diagnostics.status == "incomplete"
    assert json.loads((zero / "BenchmarkReport.json").read_text())["modes"].keys() == {"a"}


def test_standard_input_is_read_once(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = bench.make("out", {"a": {}})
    run = bench.folder / "out-data" / "a.run"
    shown: list[str] = []
    with run.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        report = merge_run(folder, "b", "-", lambda what, done, total: shown.append(what)).report
    assert report.modes["b"].measures == report.modes["a"].measures
    assert report.modes["b"].run.source is None
    assert list(dict.fromkeys(shown)) == [
        "reading the data",
        "reading runs",
        "adding the run",
        "scoring",
        "comparing",
    ]
    strange = bench.folder / "strange.run"
    strange.write_text("other Q0 good 1 1.0 x\n")
    with strange.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(IncomparableError, match="does not have"):
            merge_run(folder, "b", "-")
