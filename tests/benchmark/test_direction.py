"""Lower is better: a measure's direction from its class to the report, the gate and every text."""

import json

import pytest

from trectools_plus.benchmark import load_report
from trectools_plus.benchmark.report import MeasureDefinition
from trectools_plus.benchmark.run.targets import Target, judge_mean
from trectools_plus.measures import BaseMeasure, explain

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
def costs(tmp_path_factory):
    modules = tmp_path_factory.mktemp("modules")
    (modules / "costs.py").write_text(COSTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(modules))
        yield


@pytest.fixture(scope="module")
def folder(costs, module_bench):
    return module_bench.make("before", MODES, measures=[NAME, "RR@10"], judged=COMPLETE)


def test_a_cost_is_ranked_with_its_lowest_mean_first(folder):
    report = load_report(folder / "BenchmarkReport.json")
    assert not report.higher_is_better("Cost")
    assert report.higher_is_better("RR@10")
    assert report.best_mode == {"Cost": "near", "RR@10": "near"}
    assert report.groups["Cost"] == []
    (entry,) = [one for one in report.comparisons if one.measure == "Cost"]
    assert (entry.baseline, entry.contrast, entry.wins, entry.losses) == ("far", "near", 60, 0)
    assert entry.difference == pytest.approx(2 - 6)  # the better mode minus the other one
    assert report.failing_queries == []


def test_the_direction_is_in_the_report_only_where_lower_is_better(folder):
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


def test_a_target_of_a_cost_is_reached_from_above():
    result = judge_mean(2.5, Target(competitive=3.0), (2.0, 3.5), higher_is_better=False)
    assert (result.status, result.status_low, result.status_high) == (
        "competitive",
        "below_competitive",
        "competitive",
    )


def test_higher_is_better_unless_a_class_says_otherwise():
    assert BaseMeasure.higher_is_better
