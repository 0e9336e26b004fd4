"""The gate: what fails, passes or is refused, and that no error passes."""

import math
import shutil

import numpy as np
import pytest
from harness.forging import edit_json

from trectools_plus.benchmark import GateRules, compare_reports, parse_drop
from trectools_plus.benchmark.gate import run_gate
from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.statistics.paired_tests import non_inferiority_interval

R10 = GateRules(("R@10",))


@pytest.fixture(scope="module")
def reports():
    """The reports that are made once, by their arguments."""
    return {}


@pytest.fixture
def pair(module_bench, reports, tmp_path):
    """Returns copies of a current and a baseline report, as arguments of the gate."""

    def make(name, ranks, settings):
        key = repr((ranks, settings))
        if key not in reports:
            reports[key] = module_bench.make(f"report{len(reports)}", ranks, **settings)
        return shutil.copytree(reports[key], tmp_path / name)

    def both(after, before=None, /, *, of_after=None, **settings):
        settings = {"judged": tuple(range(12)), **settings}
        current = make("after", {"x": after}, {**settings, **(of_after or {})})
        return current, make("before", {"x": before or {}}, settings)

    return both


def lost(count):
    return dict.fromkeys(range(count), 0)


def test_a_drop_beyond_what_is_allowed_fails_and_names_the_queries(pair):
    result = run_gate(*pair(lost(4)), R10)
    (entry,) = result.entries
    assert not result.passed
    assert (entry.baseline, entry.current) == (1.0, pytest.approx(56 / 60))
    assert entry.drop == pytest.approx(4 / 60)
    assert [(one.query_id, one.before, one.after) for one in entry.fallen] == [
        (f"q{n}", 1.0, 0.0) for n in range(4)
    ]


SLOWER = dict.fromkeys(range(20), 2)
"""The relevant documents of 20 queries fall to rank 3."""


@pytest.mark.parametrize(
    ("measure", "before", "after", "rules", "passes"),
    [
        # A drop of exactly what is allowed, as a share of the baseline or an absolute one.
        ("R@10", {}, lost(3), {}, True),
        ("R@10", {}, lost(2), {}, True),
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
def test_each_rule_alone_and_together(pair, measure, before, after, rules, passes):
    folders = pair(after, before, measures=[measure])
    assert run_gate(*folders, GateRules((measure,), **rules)).passed is passes


@pytest.mark.parametrize(("after", "higher"), [({}, True), (lost(10), False)])
def test_the_baseline_should_be_raised(pair, after, higher):
    assert run_gate(*pair(after, lost(10)), R10).entries[0].higher is higher


def test_values_of_another_benchmark_are_refused(pair):
    after, before = pair(lost(4))
    (after / "per_query.parquet").write_bytes((before / "per_query.parquet").read_bytes())
    with pytest.raises(InputError):
        run_gate(after, before, R10)
    (before / "per_query.parquet").unlink()
    with pytest.raises(InputError, match="per_query"):
        run_gate(after, before, R10)


def test_a_mean_that_is_not_a_number_is_refused(pair):
    after, before = pair(lost(4))
    edit_json(lambda d: d["modes"]["x"]["measures"]["R@10"].update(mean=math.nan))(before)
    with pytest.raises(InputError, match="the report has nan"):
        run_gate(after, before, R10)


def test_a_measure_that_the_report_lacks_is_scored_from_its_runs(pair):
    after, before = pair(lost(4), measures=["RR@10"])
    result = run_gate(after, before)
    assert not result.passed
    assert [one.query_id for one in result.entries[0].fallen] == ["q0", "q1", "q2", "q3"]
    (before / "runs" / "x.run").unlink()
    with pytest.raises(UsageError, match=r"R@10.*x\.run"):
        run_gate(after, before)


def test_a_mean_does_not_improve_by_leaving_out_queries(pair):
    places = {**dict.fromkeys(range(10), 0), **dict.fromkeys(range(10, 20), 2)}
    folders = pair(places, dict.fromkeys(range(10), 9), measures=["MeanRank"])
    result = run_gate(*folders, GateRules(("MeanRank",)))
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
def test_other_data_are_refused(pair, settings, words):
    with pytest.raises(IncomparableError, match=words):
        run_gate(*pair({}, of_after=settings), R10)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda d: d["modes"].clear(), InputError, "empty"),
        (lambda d: d["best_mode"].clear(), InputError, "empty"),
        (
            lambda d: d["modes"].update(other=d["modes"].pop("x")),
            IncomparableError,
            "current report",
        ),
        (
            lambda d: d["modes"]["x"]["measures"]["R@10"].update(mean=None),
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
def test_nothing_is_green_by_accident(pair, change, error, words):
    after, before = pair({})
    edit_json(change)(after)
    with pytest.raises(error, match=words):
        run_gate(after, before, R10)


def test_a_baseline_of_zero_and_wrong_arguments_are_refused(pair):
    after, before = pair({}, lost(60))
    with pytest.raises(IncomparableError):
        run_gate(after, before, R10)
    for other, rules in (
        (after / "BenchmarkReport.json", R10),
        (before, GateRules(())),
        (before, GateRules(("nosuch@10",))),
        *((before, GateRules(("R@10",), non_inferior=margin)) for margin in (0.0, 1.0, -0.1)),
        (before, GateRules(("R@10",), require_significant=True, non_inferior=0.05)),
    ):
        with pytest.raises(UsageError):
            run_gate(after, other, rules)


def test_drops_are_read_as_shares():
    assert parse_drop("5%") == parse_drop("0.05") == 0.05
    assert parse_drop("0") == 0
    for text in ("5", "-1%", "100%", "nan", "x", ""):
        with pytest.raises(UsageError):
            parse_drop(text)


def test_non_inferiority_compares_the_interval_with_the_margin(pair):
    after, before = pair({**lost(18), 0: 1}, lost(10))
    (entry,) = run_gate(after, before, R10).entries
    assert entry.ci == compare_reports(before, after).modes[0].comparisons[0].ci
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


RR = GateRules(("RR@10",))
SHIFTED = dict.fromkeys(range(60), 3)
"""Two documents that nobody judged come before the relevant one."""
FEW = (5,)


@pytest.mark.parametrize(
    ("judged", "after", "rules", "condensed", "failed", "decidable"),
    [
        # A drop that only unjudged documents explain is not decidable, by any condition.
        ((3, 4, 5), SHIFTED, {}, (1.0, 1.0), False, False),
        (FEW, SHIFTED, {"require_significant": True}, (1.0, 1.0), False, False),
        (FEW, SHIFTED, {"non_inferior": 0.05}, (1.0, 1.0), False, False),
        ((0, 1, 4), SHIFTED, {}, (1, 1 / 3), True, True),
        # Nearly complete judgments decide, and qrels of relevant documents alone.
        (tuple(range(1, 12)), SHIFTED, {}, None, True, True),
        ((), SHIFTED, {}, None, True, True),
        (FEW, lost(30), {"measures": ("Judged@10",)}, None, True, True),
    ],
)
def test_drops_are_decided_on_judged_documents(
    pair, judged, after, rules, condensed, failed, decidable
):
    result = run_gate(*pair(after, judged=judged), GateRules(**{"measures": ("RR@10",), **rules}))
    (entry,) = result.entries
    assert entry.condensed == (condensed and pytest.approx(condensed))
    assert (entry.failed, entry.decidable) == (failed, decidable)
    assert (result.passed, result.decidable) == (False, decidable)
    if judged == (3, 4, 5):
        assert (entry.baseline, entry.current) == pytest.approx((1, 1 / 3))
        assert result.judged == {"x": (0.4, 0.4)}
    assert judged or result.judged == {}


def test_another_failure_decides_the_gate(bench):
    before = bench.make("before", {"x": {}, "y": {}}, judged=FEW)
    after = bench.make("after", {"x": SHIFTED, "y": lost(60)}, judged=FEW)
    result = run_gate(after, before, RR)
    assert [(entry.failed, entry.decidable) for entry in result.entries] == [
        (False, False),
        (True, True),
    ]
    assert (result.passed, result.decidable) == (False, True)


def test_without_the_runs_a_drop_fails(pair):
    after, before = pair(SHIFTED, judged=FEW)
    shutil.rmtree(after / "runs")
    (entry,) = run_gate(after, before, RR).entries
    assert (entry.failed, entry.condensed) == (True, None)
