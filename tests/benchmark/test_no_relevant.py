"""Queries without a relevant document in reports: the setting, and reports that lack it."""

import html
import json
import shutil

import pytest

from trectools_plus.benchmark import (
    ReportFolder,
    compare_reports,
    input_notes,
)
from trectools_plus.benchmark.gate import run_gate
from trectools_plus.errors import IncomparableError
from trectools_plus.reporting.verify import verify_report

QUERIES = 16
"""With at most 13, exact p-values of tied differences would take most of the time."""
MEASURES = ["nDCG@10", "RR@10", "MinRank"]


def make(bench, name, *, without=(3, 7), **settings):
    """Compare two runs; only the first finds the document of every second query."""
    ranks = {
        "a": dict.fromkeys(range(QUERIES), 2),
        "b": {n: 0 if n % 2 else 2 for n in range(QUERIES)},
    }
    options = {"measures": MEASURES, "resamples": 100, **settings}
    return bench.make(name, ranks, queries=QUERIES, without=without, **options)


def figures(folder, mode="a"):
    report = ReportFolder(folder).report
    return {name: (one.mean, one.n) for name, one in report.modes[mode].measures.items()}


def as_before(folder):
    """Turn a report into one of a version without the setting, which left such queries out."""
    path = folder / "BenchmarkReport.json"
    document = json.loads(path.read_text())
    assert document["manifest"]["config"].pop("no_relevant") == "drop"
    path.write_text(json.dumps(document))


@pytest.fixture(scope="module")
def shared(module_bench):
    folder = module_bench.folder
    make(module_bench, "zero")
    make(module_bench, "drop", no_relevant="drop")
    as_before(shutil.copytree(make(module_bench, "again", no_relevant="drop"), folder / "before"))
    return folder


def test_the_report_records_the_setting_and_lists_the_queries(shared):
    for name, queries, effect in (
        ("zero", QUERIES, "counted 0, as in trec_eval"),
        ("drop", QUERIES - 2, "left out of every mean"),
    ):
        report = ReportFolder(shared / name).report
        assert report.manifest.config["no_relevant"] == name
        assert report.manifest.dataset.queries == queries
        found, defined = figures(shared / name), QUERIES - 2
        assert found["RR@10"] == (pytest.approx(0.5 * defined / queries), queries)
        assert found["MinRank"] == (2.0, defined)  # undefined without a relevant one
        assert report.modes["a"].diagnostics.queries_without_relevant == ["q3", "q7"]
        assert input_notes(report)[0] == (
            f"2 queries of the qrels without a relevant document: {effect}: q3, q7"
        )
        assert {one.n for one in report.comparisons if one.measure == "RR@10"} == {queries}
        text = (shared / name / "BenchmarkComparison.md").read_text()
        page = (shared / name / "BenchmarkReport.html").read_text()
        for document in (text, page):
            assert f"without a relevant document (missing=zero, no_relevant={name})." in (
                html.unescape(document)
            )


def test_such_queries_are_no_failing_queries(shared):
    """No mode can find anything for them."""
    assert ReportFolder(shared / "zero").report.failing_queries == []


@pytest.mark.parametrize("name", ["zero", "drop"])
def test_a_report_with_the_setting_is_verified(shared, name):
    assert verify_report(shared / name).problems == []


def test_further_measures_are_scored_with_the_setting_of_the_report(shared):
    for name, queries in (("zero", QUERIES), ("drop", QUERIES - 2), ("before", QUERIES - 2)):
        assert ReportFolder(shared / name).score(["P@1"]).n("a", "P@1") == queries


SAME = [("drop", "before"), ("before", "drop"), ("again", "drop")]
OTHER = [("drop", "zero"), ("zero", "before"), ("before", "zero")]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_reports_with_the_same_setting_are_compared(shared, one, other):
    assert run_gate(shared / one, shared / other).passed
    assert compare_reports(shared / one, shared / other)


@pytest.mark.parametrize(("one", "other"), OTHER)
@pytest.mark.parametrize("compare", [run_gate, compare_reports])
def test_reports_with_different_settings_are_not_compared(shared, compare, one, other):
    counted = [{"before": "drop"}.get(name, name) for name in (one, other)]
    message = rf"no_relevant \({counted[0]} and {counted[1]}\)"
    with pytest.raises(IncomparableError, match=message) as refused:
        compare(shared / one, shared / other)
    assert refused.value.exit_code == 3


def test_the_setting_does_not_matter_if_every_query_has_a_relevant_document(bench):
    zero = make(bench, "zero", without=())
    drop = make(bench, "drop", without=(), no_relevant="drop")
    assert figures(zero) == figures(drop)
    assert run_gate(zero, drop).passed
    assert compare_reports(drop, zero)
    assert input_notes(ReportFolder(zero).report) == []
