"""Measures are labelled as requested and compared by their canonical names."""

import json

import polars as pl
import pytest

from trectools_plus.benchmark import GateRules, compare_reports, load_report, run_gate
from trectools_plus.errors import UsageError

RANKS = {"a": {n: 1 + n % 4 for n in range(60)}, "b": {}}
TYPED = ["MRR@10", "MAP@100", "nDCG@10", "Recall@50", "recall_100", "HitRate@10"]
CANONICAL = ["RR@10", "AP@100", "nDCG@10", "R@50", "R@100", "HitRate@10"]


@pytest.fixture(scope="module")
def folders(module_bench):
    typed = module_bench.make("typed", RANKS, measures=TYPED, targets="trec-2025")
    worse = {"a": {n: 2 + n % 4 for n in range(60)}, "b": {0: 3}}
    canonical = module_bench.make("canonical", worse, measures=CANONICAL, targets="trec-2025")
    return typed, canonical


def test_a_report_labels_measures_with_the_names_requested(folders):
    folder, _ = folders
    report = json.loads((folder / "BenchmarkReport.json").read_text())
    assert list(report["best_mode"]) == TYPED
    for result in report["modes"].values():
        assert list(result["measures"]) == TYPED
        names = [one["definition"]["name"] for one in result["measures"].values()]
        assert names == CANONICAL
    assert [one["measure"] for one in report["comparisons"]] == TYPED
    assert report["failing_queries"] == []
    per_query = pl.read_parquet(folder / "per_query.parquet")
    assert per_query["measure"].unique(maintain_order=True).to_list() == TYPED
    markdown = (folder / "BenchmarkComparison.md").read_text()
    page = (folder / "BenchmarkReport.html").read_text()
    for name in TYPED:
        assert name in page
        assert name in markdown


def test_accessors_accept_every_spelling(folders):
    report = load_report(folders[0] / "BenchmarkReport.json")
    for spelling in ("MAP@100", "AP@100", "map@100", "map_cut_100", "ap@100"):
        assert report.find_measure(spelling) == "MAP@100"
        assert report.find_comparison("a", "b", spelling).measure == "MAP@100"
        assert report.higher_is_better(spelling)
    assert report.find_measure("P@5") is None
    report.plot(["ap@100"])
    with pytest.raises(UsageError, match=r"P@5.*MRR@10"):
        report.plot(["P@5"])


def test_reports_with_other_labels_are_compared(folders):
    typed, canonical = folders
    contrast = compare_reports(typed, canonical)
    assert [one.measure for one in contrast.modes[0].comparisons] == TYPED
    assert compare_reports(canonical, typed).modes[0].comparisons[1].measure == "AP@100"
    changes = [one.difference for one in contrast.modes[0].comparisons]
    back = [one.difference for one in compare_reports(canonical, typed).modes[0].comparisons]
    assert changes == pytest.approx([-one for one in back if one is not None])


def test_a_gate_names_measures_in_any_spelling(folders):
    typed, canonical = folders
    for spelling in ("AP@100", "map@100", "map_cut.100"):
        result = run_gate(canonical, typed, GateRules((spelling,)))
        assert [entry.measure for entry in result.entries] == [spelling, spelling]
        assert not result.passed
        assert result.entries[0].comparison.p_adjusted is not None
    assert run_gate(typed, canonical, GateRules(("P@5", "MAP@100"))).passed


def test_two_spellings_are_one_measure(bench):
    folder = bench.make("twice", {"a": {}, "b": {1: 2}}, measures=["MRR@10", "RR@10", "recip_rank"])
    report = load_report(folder / "BenchmarkReport.json")
    assert report.measure_names == ["MRR@10", "recip_rank"]
