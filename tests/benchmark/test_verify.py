"""Verification names every figure and file that changed."""

import shutil

import polars as pl
import pytest

from trectools_plus.benchmark import compare_reports, load_report
from trectools_plus.errors import InputError
from trectools_plus.reporting.verify import verify_report


@pytest.fixture(scope="module")
def made(module_bench):
    places = {n: 1 + n % 4 for n in range(60)}
    targets = {"R@10": {"baseline": 0.5, "competitive": 0.6, "strong": 0.7}}
    return module_bench.make("out", {"a": {**places, 7: 0}, "b": {7: 0}}, targets=targets)


@pytest.fixture
def report(made, tmp_path):
    return shutil.copytree(made, tmp_path / "out")


def test_an_unchanged_report_is_verified(report):
    found = verify_report(report)
    assert found.problems == []
    # Two modes and measures: 9 figures each; one pair; every query.
    assert found.figures > 2 * 2 * 60
    assert found.files > 5


def test_each_mode_has_a_report(report):
    """It is what a benchmark of this mode alone reports, and it works wherever a report does."""
    combined = load_report(report / "BenchmarkReport.json")
    for mode, result in combined.modes.items():
        found = load_report(report / f"reports/{mode}.json")
        assert found.modes == {mode: result}
        assert (found.comparisons, found.manifest) == ([], combined.manifest)
        values = pl.read_parquet(report / "per_query.parquet").filter(run=mode, measure="R@10")
        failing = values.filter(pl.col("value") == 0)["query_id"].to_list()
        assert [one.query_id for one in found.failing_queries] == failing
        assert not verify_report(report / f"reports/{mode}.json").problems
    contrast = compare_reports(report / "reports/a.json", report / "reports/b.json")
    assert contrast.modes[0].modes == ("a", "b")


@pytest.mark.parametrize("original_exists", [True, False])
def test_a_changed_run_is_named_with_the_figures_that_differ(bench, original_exists):
    """With the original run, the line is named; without it, the figures differ."""
    report = bench.make("out", {"a": {7: 0}, "b": {}})
    if not original_exists:
        (report.parent / "out-data" / "a.run").unlink()
    path = report / "runs" / "a.run"
    lines = path.read_text().splitlines()
    rest = [line for line in lines if not (line.startswith("q3 ") and " good " in line)]
    path.write_text("\n".join(rest) + "\n")
    found = verify_report(report)
    problems = "\n".join(found.problems)
    assert "runs/a.run: " in problems
    if original_exists:
        assert "runs/a.run: line 40: it differs" in problems
        assert "modes.a.measures" not in problems
        return
    assert "BenchmarkReport.json: modes.a.measures.R@10.mean: reported 0.983" in problems
    assert "per_query.parquet: the bytes differ" in problems
    assert "BenchmarkReport.json: comparisons[1].difference: reported" in problems
    assert "modes.b.measures.R@10.mean" not in problems
    assert any("the run a" in one for one in found.unproven)


def test_what_is_missing_cannot_be_verified(report):
    (report / "BenchmarkComparison.md").unlink()
    assert verify_report(report).problems == ["BenchmarkComparison.md: the file is missing"]
    (report / "qrels.txt").unlink()
    with pytest.raises(InputError, match=r"missing.*qrels\.txt"):
        verify_report(report)


def test_a_source_that_changed_is_named(bench):
    report = bench.make("out", {"a": {}, "b": {7: 0}})
    source = report.parent / "out-data" / "a.run"
    source.write_text(source.read_text() + "\n")
    assert verify_report(report).problems == [f"{source}: the file changed (its hash differs)"]


def test_a_folder_without_its_checksums_is_a_finding(report):
    for name in ("BenchmarkReport.html", "BenchmarkComparison.md"):
        path = report / name
        path.write_text(path.read_text().replace("0.9", "1.9"))
    (report / "SHA256SUMS").unlink()
    problems = verify_report(report).problems
    assert problems[0].startswith("SHA256SUMS: missing")
    assert {one.partition(":")[0] for one in problems[1:]} == {
        "BenchmarkReport.html",
        "BenchmarkComparison.md",
    }
    (report / "SHA256SUMS").write_text("")
    problems = verify_report(report / "BenchmarkReport.json").problems
    assert problems[0].startswith("SHA256SUMS: missing, or lists no file")


@pytest.mark.parametrize(
    "name",
    [
        "BenchmarkReport.json",
        "BenchmarkReport.html",
        "BenchmarkComparison.md",
        "per_query.parquet",
        "qrels.txt",
        "runs/a.run",
    ],
)
def test_a_file_that_the_checksums_leave_out_is_named(report, name):
    path = report / "SHA256SUMS"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.endswith(f"  {name}\n")))
    assert verify_report(report).problems == [f"{name}: not listed in SHA256SUMS"]
