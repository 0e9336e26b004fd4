"""``benchmark reproduce``: output, formats, the heatmap and exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.cli.app import benchmark_app
from trectools_plus.cli.errors import run_command

Call = Callable[..., tuple[int, str, str]]
Reports = tuple[Path, Path]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["benchmark", "reproduce", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            run_command(benchmark_app, "benchmark")
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return run


@pytest.fixture(scope="module")
def reports(module_bench: Any) -> Reports:
    """Two reports: in B, "mine" improves less over "bm25"."""
    first = {"bm25": {1: 3, 2: 4}, "mine": {1: 2}}
    second = {"bm25": {1: 3, 2: 4}, "mine": {1: 2, 2: 3}}
    options = {"baseline": "bm25", "queries": 20, "measures": ["RR@10", "P@1"]}
    return (
        module_bench.make("a", first, **options),
        module_bench.make("b", second, **options),
    )


def test_the_result_comes_first(call: Call, reports: Reports) -> None:
    code, out, err = call(*reports)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    start = "B has 0.942 on RR@10 instead of 0.975 over 20 queries (RMSE 0.149, paired t-test p ="
    assert lines[0].startswith(start)
    assert " over bm25 is 0.27 times" in " ".join(lines[:3])
    assert len(lines) <= 40
    rows = [line.split() for line in lines if line.lstrip().startswith(("bm25", "mine"))]
    assert rows[0][:3] == ["bm25", "(baseline)", "1.0000"]
    assert rows[1][0] == "mine"
    assert rows[1][-2:] == ["0.27", "+0.036"]


def test_json_has_every_figure(call: Call, reports: Reports) -> None:
    code, out, _ = call(*reports, "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert (found["kind"], found["test"]) == ("reproduction", "paired t-test")
    assert (found["queries_a"], found["queries_b"], found["baseline"]) == (20, 20, "bm25")
    mine = found["modes"][1]
    assert mine["mode_a"] == mine["mode_b"] == mine["label"] == "mine"
    assert set(mine["rankings"]) == {"rbo", "rbo_truncated", "tau", "n", "n_tau"}
    figures = mine["measures"]["RR@10"]
    assert figures["effect_ratio"] == pytest.approx((3 / 12) / (11 / 12))
    assert figures["mean_a"] == pytest.approx(0.975)
    assert found["similarity"]["modes"] == ["A: bm25", "A: mine", "B: bm25", "B: mine"]


def test_markdown_has_a_title_and_the_matrix(call: Call, reports: Reports) -> None:
    _, out, _ = call(*reports, "--format", "markdown")
    assert out.startswith("# Reproduction\n\n**B has 0.942 on RR@10 ")
    assert "| mine | " in out
    assert "| A: bm25 | 1.0000 |" in out


def test_a_long_table_is_cut_unless_all_is_asked_for(call: Call, module_bench: Any) -> None:
    modes: dict[str, Any] = {f"mode{place:02}": {place: 2} for place in range(14)}
    report = module_bench.make("many", modes, queries=20, measures=["RR@10", "P@1"])
    _, out, _ = call(report, report)
    assert len(out.splitlines()) <= 40
    assert "1 further measure: --all." in out
    assert "P@1" not in out
    assert out.startswith("B reproduces all 14 runs")
    _, everything, _ = call(report, report, "--all")
    assert everything.count("P@1") == 14


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_heatmap(call: Call, reports: Reports, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"similarity.{ending}"
    code, _, err = call(*reports, "--plot", path)
    assert code == 0
    assert str(path) in err
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")


def test_runs_with_names(call: Call, reports: Reports) -> None:
    first, second = reports
    code, out, _ = call(
        f"x={first / 'runs' / 'mine.run'}",
        f"x={second / 'runs' / 'mine.run'}",
        "--qrels",
        first / "qrels.txt",
        "--baseline",
        first / "runs" / "bm25.run",
        "--measure",
        "RR@10",
    )
    assert code == 0
    assert " over bm25 is 0.27 times" in " ".join(out.split())


def test_exit_codes(call: Call, reports: Reports, module_bench: Any, tmp_path: Path) -> None:
    other = module_bench.make("other", {"bm25": {}, "mine": {}}, queries=10)
    code, out, err = call(reports[0], other)
    assert (code, out) == (3, "")
    assert err.startswith("error: the reports")
    assert err.count("\n") == 1
    assert "--replication" in err
    code, out, _ = call(reports[0], other, "--replication")
    assert code == 0
    assert "unpaired t-test" in out
    assert "RMSE" not in out
    run = reports[0] / "runs" / "mine.run"
    for arguments in (
        (run, run),
        (run, tmp_path / "missing.run", "--qrels", reports[0] / "qrels.txt"),
        (*reports, "--baseline", "other"),
        (*reports, "--plot", tmp_path / "similarity.pdf"),
        (reports[0], other, "--replication", "--plot", tmp_path / "similarity.png"),
        (*reports, *(["--qrels", "x"] * 3)),
    ):
        code, out, err = call(*arguments)
        assert (code, out) == (2, ""), arguments
        assert err.startswith("error: ")
        assert err.count("\n") == 1
