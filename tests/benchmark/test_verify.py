"""A report's figures hold, or what does not is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trectools_plus.benchmark.verify import verify_report
from trectools_plus.errors import InputError


@pytest.fixture
def report(bench: Any) -> Path:
    folder: Path = bench.make("out", {"a": {n: 1 + n % 4 for n in range(60)}, "b": {}})
    return folder


def edit(folder: Path, change: Any) -> None:
    path = folder / "BenchmarkReport.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_an_untouched_report_holds(report: Path) -> None:
    found = verify_report(report)
    assert found.problems == []
    # Two modes and measures: 9 figures each; one pair; every query.
    assert found.figures > 2 * 2 * 60
    assert found.files > 5


def test_a_changed_run_is_named_with_the_figures_that_fell(report: Path) -> None:
    path = report / "runs" / "a.run"
    lines = path.read_text().splitlines()
    rest = [line for line in lines if not (line.startswith("q3 ") and " good " in line)]
    path.write_text("\n".join(rest) + "\n")
    problems = "\n".join(verify_report(report).problems)
    assert f"{path}: the file changed" in problems
    assert "a R@10 mean: 1.0 is 0.98" in problems
    assert "per_query.parquet: a q3 R@10: 1.0 is 0.0" in problems
    assert "b against a RR@10 difference" in problems
    assert "b R@10 mean" not in problems


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["modes"]["a"]["measures"]["RR@10"].update(mean=0.9), "a RR@10 mean: 0.9 is"),
        (lambda d: d["modes"]["a"]["measures"]["RR@10"]["ci"].update(low=0.1), "a RR@10 ci low"),
        (lambda d: d["comparisons"][1]["t_test"].update(p=0.5), "b against a RR@10 t_test p: 0.5"),
        (lambda d: d["comparisons"][1].update(significant=False), "significant: False is True"),
        (lambda d: d["comparisons"].pop(), "comparisons: 1 are 2"),
        (lambda d: d["best_mode"].update({"RR@10": "a"}), "best_mode RR@10: a is b"),
        (lambda d: d["modes"]["a"]["run"].update(sha256="0" * 64), "a.run: the file changed"),
        (
            lambda d: d["manifest"]["dataset"]["contents"].update(qrels="0" * 64),
            "other judgments",
        ),
    ],
)
def test_an_edited_figure_is_named(report: Path, change: Any, words: str) -> None:
    edit(report, change)
    problems = verify_report(report).problems
    assert any(words in problem for problem in problems), problems
    assert any("BenchmarkReport.json: the file changed" in problem for problem in problems)


def test_values_per_query_are_compared(report: Path) -> None:
    path = report / "per_query.parquet"
    table = pl.read_parquet(path)
    table.with_columns(
        value=pl.when(query_id="q5", run="b", measure="RR@10").then(0.25).otherwise("value")
    ).write_parquet(path)
    assert "per_query.parquet: b q5 RR@10: 0.25 is 1.0" in verify_report(report).problems
    table[1:].write_parquet(path)
    assert any("None is" in problem for problem in verify_report(report).problems)


def test_what_is_missing_cannot_be_verified(report: Path) -> None:
    (report / "BenchmarkComparison.md").unlink()
    assert verify_report(report).problems == [
        f"{report / 'BenchmarkComparison.md'}: the file is missing"
    ]
    (report / "qrels.txt").unlink()
    with pytest.raises(InputError, match=r"missing.*qrels\.txt"):
        verify_report(report)


def test_a_source_that_changed_is_named(report: Path) -> None:
    source = report.parent / "out-data" / "a.run"
    source.write_text(source.read_text() + "\n")
    assert verify_report(report).problems == [f"{source}: the file changed (its hash is another)"]
