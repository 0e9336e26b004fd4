"""Lower is better: a measure's direction from its class to the report, the gate and every text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from trectools_plus.benchmark.compare.compare_reports import compare_reports, state_verdict
from trectools_plus.benchmark.gate import GateRules, run_gate
from trectools_plus.benchmark.report import load_report
from trectools_plus.benchmark.report.model import MeasureDefinition
from trectools_plus.benchmark.run.targets import Target, judge_mean
from trectools_plus.measures import BaseMeasure, explain
from trectools_plus.reporting import render_markdown
from trectools_plus.reporting.comparison import headline_table, name_letters
from trectools_plus.reporting.plots import draw_plot

mpl.use("Agg")

COSTS = '''
from trectools_plus.measures import BaseMeasure


class Cost(BaseMeasure):
    """Documents read until a good one is found."""

    higher_is_better = False
    value_without_results = 100.0

    def score_query(self, ranked_doc_ids, qrels_of_query):
        good = [place for place, one in enumerate(ranked_doc_ids, 1) if qrels_of_query.get(one)]
        return float(min(good, default=100))
'''
NAME = "costs:Cost"
COMPLETE = tuple(range(12))
"""All documents are judged."""
MODES = {
    "near": dict.fromkeys(range(60), 2),
    "far": dict.fromkeys(range(60), 6) | {0: 5, 1: 7},
}


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    modules = tmp_path_factory.mktemp("modules")
    (modules / "costs.py").write_text(COSTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(modules))
        yield


@pytest.fixture(scope="module")
def folder(costs: None, module_bench: Any) -> Path:
    made: Path = module_bench.make(
        "before", MODES, measures=[NAME, "RR@10"], judged=COMPLETE, plots=True
    )
    return made


def test_a_cost_is_ranked_with_its_lowest_mean_first(folder: Path) -> None:
    report = load_report(folder / "BenchmarkReport.json")
    assert not report.higher_is_better("Cost")
    assert report.higher_is_better("RR@10")
    assert report.best_mode == {"Cost": "near", "RR@10": "near"}
    assert report.groups["Cost"] == []
    (entry,) = [one for one in report.comparisons if one.measure == "Cost"]
    assert (entry.baseline, entry.contrast, entry.wins, entry.losses) == ("far", "near", 60, 0)
    assert entry.difference == pytest.approx(2 - 6)  # the better mode minus the other one
    assert report.failing_queries == []


def test_marks_verdict_texts_and_plots_follow(folder: Path) -> None:
    report = load_report(folder / "BenchmarkReport.json")
    _, *cells, best = headline_table(report, report.measure_names).rows[0].cells
    assert [cell.best for cell in cells] == [True, False]
    assert [cell.marks for cell in cells] == [name_letters(report, report.measure_names)["far"], ""]
    assert best.marked == "near *"
    assert report.verdict.text.startswith("near is best")
    assert "| **2.0000** ᵇ | 6.0000" in render_markdown(report)
    assert "fail in every" not in render_markdown(report)
    html = (folder / "BenchmarkReport.html").read_text()
    assert '"lower":[true,false]' in html
    source = load_report(folder / "BenchmarkReport.json")
    from trectools_plus.benchmark.report.folder import ReportFolder

    table = ReportFolder(folder).per_query
    figure = draw_plot(source, table, "differences", "Cost").figure
    shown = figure.axes[0].get_legend_handles_labels()[1]
    assert shown[:2] == ["second run better", "first run better"]


def test_only_a_rising_cost_fails_the_gate(folder: Path, bench: Any) -> None:
    higher = bench.make(
        "higher",
        {"near": dict.fromkeys(range(60), 3), "far": MODES["far"]},
        measures=[NAME],
        judged=COMPLETE,
    )
    lower = bench.make(
        "lower",
        {"near": dict.fromkeys(range(60), 1), "far": MODES["far"]},
        measures=[NAME],
        judged=COMPLETE,
    )
    rules = GateRules((NAME,))
    result = run_gate(higher, folder, rules)
    near, far = result.entries
    assert not result.passed
    assert (near.failed, near.drop, far.failed) == (True, pytest.approx(0.5), False)
    assert near.fallen is not None
    assert len(near.fallen) == 60
    result = run_gate(lower, folder, rules)
    assert result.passed
    assert result.entries[0].higher  # the baseline should be raised
    verdict = state_verdict(compare_reports(folder, higher))
    assert " by 1.0000 on Cost" in verdict


def test_a_cost_that_the_report_lacks_is_scored_and_gated(costs: None, bench: Any) -> None:
    before = bench.make("old", MODES, measures=["RR@10"], judged=COMPLETE)
    after = bench.make(
        "new", {**MODES, "near": dict.fromkeys(range(60), 4)}, measures=["RR@10"], judged=COMPLETE
    )
    near, far = run_gate(after, before, GateRules((NAME,))).entries
    assert (near.failed, far.failed) == (True, False)


def test_the_direction_is_in_the_report_only_where_lower_is_better(folder: Path) -> None:
    document = json.loads((folder / "BenchmarkReport.json").read_text())
    definitions = {
        name: figures["definition"]
        for name, figures in document["modes"]["near"]["measures"].items()
    }
    assert definitions["Cost"]["higher_is_better"] is False
    assert "higher_is_better" not in definitions["RR@10"]
    assert explain("MinRank").as_dict()["higher_is_better"] is False
    assert "higher_is_better" not in explain("RR@10").as_dict()
    assert "higher_is_better" in MeasureDefinition.model_json_schema()["properties"]


def test_earlier_reports_have_their_ranks_read_as_lower_is_better(folder: Path, bench: Any) -> None:
    path = bench.make("ranks", MODES, measures=["MeanRank", "MinRank(rel=1)@10"])
    document = json.loads((path / "BenchmarkReport.json").read_text())
    for mode in document["modes"].values():
        for figures in mode["measures"].values():
            assert figures["definition"].pop("higher_is_better") is False
    (path / "BenchmarkReport.json").write_text(json.dumps(document))
    report = load_report(path / "BenchmarkReport.json")
    assert not report.higher_is_better("MeanRank")
    assert not report.higher_is_better("MinRank@10")


def test_a_target_of_a_cost_is_reached_from_above() -> None:
    target = Target(competitive=3.0)
    result = judge_mean(2.5, target, (2.0, 3.5), higher_is_better=False)
    assert (result.status, result.status_low, result.status_high) == (
        "competitive",
        "below_competitive",
        "competitive",
    )


def test_higher_is_better_unless_a_class_says_otherwise() -> None:
    assert BaseMeasure.higher_is_better
