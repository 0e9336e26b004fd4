"""The gate: what fails, passes or is refused, and that no error passes."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trectools_plus.benchmark import GateRules, compare_reports, parse_drop
from trectools_plus.benchmark.gate import run_gate
from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.statistics.paired_tests import non_inferiority_interval

R10 = GateRules(("R@10",))


@dataclass
class Made:
    """Makes each report once, and copies it for each test."""

    bench: Any
    reports: dict[str, Path] = field(default_factory=dict)

    def copy(self, folder, *arguments, **settings):
        key = repr((arguments, settings))
        if key not in self.reports:
            name = f"report{len(self.reports)}"
            self.reports[key] = self.bench.make(name, *arguments, **settings)
        return shutil.copytree(self.reports[key], folder)


@pytest.fixture(scope="module")
def made(module_bench):
    return Made(module_bench)


@pytest.fixture
def bench(made, tmp_path):
    def make(name, *arguments, **settings):
        complete = {"judged": tuple(range(12))}
        return made.copy(tmp_path / name, *arguments, **complete | settings)

    return SimpleNamespace(make=make)


def lost(count):
    return dict.fromkeys(range(count), 0)


def edit(folder, change):
    path = folder / "BenchmarkReport.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return folder


def test_a_drop_beyond_what_is_allowed_fails_and_names_the_queries(bench):
    before = bench.make("before", {"bm25": {}})
    after = bench.make("after", {"bm25": lost(4)})
    result = run_gate(after, before, R10)
    (entry,) = result.entries
    assert not result.passed
    assert (entry.baseline, entry.current) == (1.0, pytest.approx(56 / 60))
    assert entry.drop == pytest.approx(4 / 60)
    assert [(one.query_id, one.before, one.after) for one in entry.fallen] == [
        (f"q{n}", 1.0, 0.0) for n in range(4)
    ]
    assert run_gate(bench.make("less", {"bm25": lost(2)}), before, R10).passed


SLOWER = dict.fromkeys(range(20), 2)
"""The relevant documents of 20 queries fall to rank 3."""


@pytest.mark.parametrize(
    ("measure", "before", "after", "rules", "passes"),
    [
        # A drop of exactly what is allowed, as a share of the baseline or an absolute one.
        ("R@10", {}, lost(3), {}, True),
        ("R@10", {}, lost(3), {"max_drop": 0.049}, False),
        ("R@10", lost(30), lost(32), {}, False),
        ("R@10", lost(30), lost(32), {"max_drop": 0.05, "absolute": True}, True),
        # Four losses and no win are too few to be significant.
        ("R@10", {}, lost(4), {"require_significant": True}, True),
        ("R@10", {}, lost(9), {"require_significant": True}, False),
        ("MinRank", {}, SLOWER, {}, False),
        ("MinRank", SLOWER, {}, {}, True),
        ("MinRank", {}, SLOWER, {"non_inferior": 0.3}, False),
        ("MinRank", {}, SLOWER, {"non_inferior": 0.6}, True),
        # Both conditions must hold.
        ("R@10", {}, lost(9), {"non_inferior": 0.3}, True),
        ("R@10", {}, lost(9), {"max_drop": 0.05, "non_inferior": 0.3}, False),
        ("R@10", {}, lost(9), {"max_drop": 0.3, "non_inferior": 0.05}, False),
        # The exact upper loss is 8.9 points; without a loss, it is 6.0.
        ("R@10", {}, lost(1), {"non_inferior": 0.08}, False),
        ("R@10", {}, lost(1), {"non_inferior": 0.10}, True),
        ("R@10", {}, {}, {"non_inferior": 0.05}, False),
        ("R@10", {}, {}, {"non_inferior": 0.07}, True),
        # Fewer than ten changes show nothing.
        ("RR@10", SLOWER, {**SLOWER, **dict.fromkeys(range(9), 3)}, {"non_inferior": 0.5}, False),
        ("RR@10", SLOWER, {**SLOWER, **dict.fromkeys(range(10), 3)}, {"non_inferior": 0.5}, True),
    ],
)
def test_each_rule_alone_and_together(
    bench,
    measure,
    before,
    after,
    rules,
    passes,
):
    folders = [
        bench.make(name, {"bm25": places}, measures=[measure])
        for name, places in (("after", after), ("before", before))
    ]
    assert run_gate(*folders, GateRules((measure,), **rules)).passed is passes


def test_the_baseline_should_be_raised(bench):
    before, after = bench.make("before", {"bm25": lost(10)}), bench.make("after", {"bm25": {}})
    assert run_gate(after, before, R10).entries[0].higher
    assert not run_gate(bench.make("same", {"bm25": lost(10)}), before, R10).entries[0].higher


def test_values_of_another_benchmark_are_refused(bench):
    before = bench.make("before", {"bm25": {}})
    after = bench.make("after", {"bm25": lost(4)})
    (after / "per_query.parquet").write_bytes((before / "per_query.parquet").read_bytes())
    with pytest.raises(InputError):
        run_gate(after, before, R10)


def test_a_measure_that_the_report_lacks_is_scored_from_its_runs(bench):
    before = bench.make("before", {"bm25": {}}, measures=["RR@10"])
    after = bench.make("after", {"bm25": lost(4)}, measures=["RR@10"])
    result = run_gate(after, before)
    assert not result.passed
    assert [one.query_id for one in result.entries[0].fallen] == ["q0", "q1", "q2", "q3"]
    (before / "runs" / "bm25.run").unlink()
    with pytest.raises(UsageError, match=r"R@10.*bm25\.run"):
        run_gate(after, before)


def test_a_mean_does_not_improve_by_leaving_out_queries(bench):
    before = bench.make("before", {"bm25": dict.fromkeys(range(10), 9)}, measures=["MeanRank"])
    places = {**dict.fromkeys(range(10), 0), **dict.fromkeys(range(10, 20), 2)}
    after = bench.make("after", {"bm25": places}, measures=["MeanRank"])
    result = run_gate(after, before, GateRules(("MeanRank",)))
    (entry,) = result.entries
    assert (entry.baseline, entry.current) == pytest.approx((1.0, 1.2))
    assert entry.failed
    assert "the comparison is over the 50 that both define" in result.notes[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"grade": 2}, "different qrels"),
        ({"queries": 59}, "numbers of queries .59 and 60."),
        ({"missing": "drop"}, "drop and zero"),
    ],
)
def test_other_data_are_refused(bench, settings, words):
    before = bench.make("before", {"bm25": {}})
    after = bench.make("after", {"bm25": {}}, **settings)
    with pytest.raises(IncomparableError, match=words):
        run_gate(after, before, R10)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda d: d["modes"].clear(), InputError, "empty"),
        (lambda d: d["best_mode"].clear(), InputError, "empty"),
        (
            lambda d: d["modes"].update(other=d["modes"].pop("bm25")),
            IncomparableError,
            "current report",
        ),
        (
            lambda d: d["modes"]["bm25"]["measures"]["R@10"].update(mean=None),
            InputError,
            "not those of the report",
        ),
        (
            lambda d: d["manifest"]["dataset"].update(version="2"),
            IncomparableError,
            "versions of the dataset",
        ),
        (
            lambda d: d["manifest"]["dataset"]["contents"].clear(),
            IncomparableError,
            "no hash",
        ),
        (lambda d: d.pop("modes"), InputError, "benchmark report"),
    ],
)
def test_nothing_is_green_by_accident(bench, change, error, words):
    before = bench.make("before", {"bm25": {}})
    after = edit(bench.make("after", {"bm25": {}}), change)
    with pytest.raises(error, match=words):
        run_gate(after, before, R10)


def test_a_baseline_of_zero_is_refused(bench):
    before = bench.make("before", {"bm25": lost(60)})
    after = bench.make("after", {"bm25": {}})
    with pytest.raises(IncomparableError):
        run_gate(after, before, R10)
    with pytest.raises(UsageError):
        run_gate(after, after / "BenchmarkReport.json", R10)
    with pytest.raises(UsageError):
        run_gate(after, before, GateRules(()))
    with pytest.raises(UsageError, match="nosuch"):
        run_gate(after, before, GateRules(("nosuch@10",)))


def test_drops_are_read_as_shares():
    assert parse_drop("5%") == parse_drop("0.05") == 0.05
    assert parse_drop("0") == 0
    for text in ("5", "-1%", "100%", "nan", "x", ""):
        with pytest.raises(UsageError):
            parse_drop(text)


def test_non_inferiority_compares_the_interval_with_the_margin(bench):
    before = bench.make("before", {"bm25": lost(10)})
    after = bench.make("after", {"bm25": {**lost(18), 0: 1}})
    (entry,) = run_gate(after, before, R10).entries
    contrast = compare_reports(before, after).modes[0].comparisons[0]
    assert entry.ci == contrast.ci
    assert (entry.margin, entry.non_inferior) == (None, None)
    low, high, _ = non_inferiority_interval(*hits(60, gains=1, losses=8), 0.95) or (0.0, 0.0, "")
    for absolute, unit in ((True, 1.0), (False, entry.baseline)):
        for factor, passes in ((0.999, False), (1.0, False), (1.001, True)):
            margin = -low / unit * factor
            rules = GateRules(("R@10",), absolute=absolute, non_inferior=margin)
            assert rules.max_drop is None
            (entry,) = run_gate(after, before, rules).entries
            assert (entry.non_inferior, entry.failed) == (passes, not passes)
            assert entry.margin == pytest.approx(margin * unit)
            assert (entry.ci.low, entry.ci.high) == pytest.approx((low, high))


def hits(queries, gains, losses):
    """Return 0/1 scores of a contrast and a baseline; the other queries have 1 in both."""
    contrast, baseline = np.ones((2, queries))
    contrast[:losses] = 0.0
    baseline[losses : losses + gains] = 0.0
    return contrast, baseline


def test_what_non_inferiority_cannot_be_combined_with(bench):
    before = bench.make("before", {"bm25": {}}, measures=["R@10"])
    after = bench.make("after", {"bm25": lost(1)}, measures=["R@10"])
    for margin in (0.0, 1.0, -0.1):
        with pytest.raises(UsageError, match=r"0.*1"):
            run_gate(after, before, GateRules(("R@10",), non_inferior=margin))
    rules = GateRules(("R@10",), require_significant=True, non_inferior=0.05)
    with pytest.raises(UsageError):
        run_gate(after, before, rules)
    (before / "per_query.parquet").unlink()
    with pytest.raises(InputError, match="per_query"):
        run_gate(after, before, R10)


RR = GateRules(("RR@10",))
SHIFTED = dict.fromkeys(range(60), 3)
"""Two documents that nobody judged come before the relevant one."""


def test_a_drop_that_only_unjudged_documents_explain_is_not_decidable(bench):
    before = bench.make("before", {"x": {}}, judged=(3, 4, 5))
    after = bench.make("after", {"x": SHIFTED}, judged=(3, 4, 5))
    result = run_gate(after, before, RR)
    (entry,) = result.entries
    assert (entry.baseline, entry.current) == pytest.approx((1, 1 / 3))
    assert entry.condensed == (1.0, 1.0)
    assert (entry.failed, entry.decidable) == (False, False)
    assert (result.passed, result.decidable) == (False, False)
    assert result.judged == {"x": (0.4, 0.4)}


def test_a_drop_on_judged_documents_fails(bench):
    before = bench.make("before", {"x": {}}, judged=(0, 1, 4))
    after = bench.make("after", {"x": SHIFTED}, judged=(0, 1, 4))
    result = run_gate(after, before, RR)
    (entry,) = result.entries
    assert entry.condensed == pytest.approx((1, 1 / 3))
    assert (entry.failed, entry.decidable, result.decidable) == (True, True, True)


def test_another_failure_decides_the_gate(bench):
    before = bench.make("before", {"x": {}, "y": {}}, judged=(5,))
    after = bench.make("after", {"x": SHIFTED, "y": lost(60)}, judged=(5,))
    result = run_gate(after, before, RR)
    assert [(entry.failed, entry.decidable) for entry in result.entries] == [
        (False, False),
        (True, True),
    ]
    assert (result.passed, result.decidable) == (False, True)


def test_nearly_complete_judgments_decide(bench):
    before = bench.make("before", {"x": {}}, judged=tuple(range(1, 12)))
    after = bench.make("after", {"x": SHIFTED}, judged=tuple(range(1, 12)))
    (entry,) = run_gate(after, before, RR).entries
    assert (entry.failed, entry.condensed) == (True, None)


def test_qrels_of_relevant_documents_alone_decide(bench):
    before = bench.make("before", {"x": {}}, judged=())
    after = bench.make("after", {"x": SHIFTED}, judged=())
    result = run_gate(after, before, RR)
    assert (result.entries[0].failed, result.judged) == (True, {})


def test_without_the_runs_a_drop_fails(bench):
    before = bench.make("before", {"x": {}}, judged=(5,))
    after = bench.make("after", {"x": SHIFTED}, judged=(5,))
    shutil.rmtree(after / "runs")
    (entry,) = run_gate(after, before, RR).entries
    assert (entry.failed, entry.condensed) == (True, None)


@pytest.mark.parametrize("rules", [{"require_significant": True}, {"non_inferior": 0.05}])
def test_every_condition_is_checked_on_judged_documents(bench, rules):
    before = bench.make("before", {"x": {}}, judged=(5,))
    after = bench.make("after", {"x": SHIFTED}, judged=(5,))
    (entry,) = run_gate(after, before, GateRules(("RR@10",), **rules)).entries
    assert (entry.failed, entry.decidable) == (False, False)


def test_fewer_judged_documents_fail_a_gate_on_judged_documents(bench):
    before = bench.make("before", {"x": {}}, judged=(5,))
    after = bench.make("after", {"x": lost(30)}, judged=(5,))
    (entry,) = run_gate(after, before, GateRules(("Judged@10",))).entries
    assert (entry.failed, entry.decidable) == (True, True)
