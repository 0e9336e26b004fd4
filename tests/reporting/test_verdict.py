"""The verdict of a report in one sentence, for every kind of result."""

import json

import pytest

from trectools_plus.benchmark import BenchmarkReport
from trectools_plus.benchmark.report import UnscoredMode
from trectools_plus.benchmark.verdict import add_result, make_verdict
from trectools_plus.reporting import render_markdown
from trectools_plus.statistics.comparison import ConfidenceInterval

CONTRACT = (
    "Hybrid scores highest on nDCG@10: 0.342, +0.019 over Lexical-Only [−0.001, +0.039]; not "
    "significant with 225 queries."
)


def changed(report, **fields):
    """The report as read from a document with other fields and without a result."""
    document = report.model_dump(mode="json")
    for name in ("primary_measure", "headline_measures", "verdict", "best_overall"):
        del document[name]
    return add_result(BenchmarkReport.model_validate({**document, **fields}))


def text_of(report):
    assert report.verdict.text.count(".\n") == 0
    return report.verdict.text


def configured(report, **settings):
    manifest = json.loads(report.manifest.model_dump_json())
    return {"manifest": {**manifest, "config": {**manifest["config"], **settings}}}


def test_the_best_mode_the_next_one_and_the_test(make_report):
    report = make_report()
    assert text_of(report) == CONTRACT
    verdict = report.verdict
    assert (verdict.best, verdict.second, verdict.measure) == ("hybrid", "lexical", "nDCG@10")
    assert verdict.value == 0.3417
    assert verdict.difference == pytest.approx(0.019)
    assert (verdict.p_adjusted, verdict.significant, verdict.queries) == (0.4, False, 225)
    assert verdict.ci.low == pytest.approx(-0.001)
    overall = report.best_overall
    assert (overall.mode, overall.settled) == ("hybrid", False)


def test_the_nearest_mode_differs_significantly_and_another_does_not(make_report):
    report = make_report({"a": {"RR": 0.2}, "b": {"RR": 0.5}, "c": {"RR": 0.3}})
    comparisons = [
        one.model_dump(mode="json") | {"significant": (one.baseline, one.contrast) == ("b", "c")}
        for one in report.comparisons
    ]
    partly = changed(report, comparisons=comparisons, best_mode_significant={"RR": False})
    assert text_of(partly) == (
        "b scores highest on RR: 0.500, +0.200 over c [+0.180, +0.220]; significant with 225 "
        "queries."
    )
    assert not partly.best_overall.settled


def test_a_report_of_one_mode_has_a_verdict(make_report):
    alone = make_report({"vector": {"nDCG@10": 0.297}})
    assert text_of(alone) == (
        "Vector-Only has a mean of 0.297 [0.267, 0.327] on nDCG@10 over 225 queries."
    )
    assert alone.best_overall is None
    assert alone.primary_measure == "nDCG@10"


def test_lower_is_better(make_report):
    report = make_report({"near": {"MeanRank": 2.0}, "far": {"MeanRank": 3.5}})
    best = {"best_mode": {"MeanRank": "near"}, "best_mode_significant": {"MeanRank": True}}
    figures = "MeanRank: 2.000, −1.500 over far [−1.520, −1.480]; "
    assert text_of(changed(report, **best)) == (
        f"near is best on {figures}significant with 225 queries."
    )
    (entry,) = report.model_dump(mode="json")["comparisons"]
    best["best_mode_significant"] = {"MeanRank": False}
    unproven = changed(report, **best, comparisons=[{**entry, "significant": False}])
    assert text_of(unproven) == (
        f"near scores lowest (best) on {figures}not significant with 225 queries."
    )


def against(report, *baselines, **fields):
    """The report as if only the comparisons with the baselines had been asked for."""
    pairs = [one.model_dump(mode="json") for one in report.comparisons if one.baseline in baselines]
    family = f"{len(pairs)} comparisons with {' and '.join(baselines)} on one measure"
    pairs = [one | {"family": family} for one in pairs if one["contrast"] not in baselines]
    nothing = {"best_mode": dict.fromkeys(report.best_mode), "comparisons": pairs}
    never = {"best_mode_significant": dict.fromkeys(report.best_mode, False)}
    settings = configured(report, baseline=list(baselines))
    return changed(report, **nothing | never | settings | fields)


def test_the_verdict_with_a_baseline_counts_the_modes(make_report):
    means = {f"s{n}": {"RR": value} for n, value in enumerate((0.3, 0.2, 0.31, 0.5, 0.6))}
    found = against(make_report(means), "s0")
    assert text_of(found) == (
        "s4 is significantly better than s0 on RR with 225 queries: 0.600, +0.300 [+0.280, +0.320]."
    )
    verdict = found.verdict
    assert (verdict.compared, verdict.better, verdict.worse) == (4, 2, 1)
    assert (verdict.best, verdict.second, verdict.significant) == ("s4", "s0", True)
    assert (found.best_overall, set(found.best_mode.values())) == (None, {None})
    assert "compared" not in make_report().verdict.model_dump()
    none = against(make_report({"a": {"RR": 0.3}, "b": {"RR": 0.31}, "c": {"RR": 0.3}}), "a")
    assert text_of(none).startswith("b does not differ significantly from a on RR")
    assert (none.verdict.better, none.verdict.worse) == (0, 0)
    modes = configured(make_report(), modes=["lexical", "vector", "hybrid"], baseline=["lexical"])
    named = against(make_report(), "lexical", **modes)
    assert "significantly from Lexical-Only on" in text_of(named)


def test_the_verdict_with_several_baselines(make_report):
    means = {f"s{n}": {"RR": value} for n, value in enumerate((0.3, 0.4, 0.31, 0.5))}
    verdict = against(make_report(means), "s0", "s1").verdict
    assert (verdict.best, verdict.second) == ("s3", "s1")
    assert (verdict.compared, verdict.better, verdict.worse) == (2, 1, 1)


def test_baselines_of_earlier_reports(make_report):
    """Reports of versions before 0.2 have a best mode, but the verdict is on the best baseline."""
    report = make_report()
    for baselines, best, second in (
        (["vector"], "hybrid", "vector"),
        (["lexical", "vector"], "hybrid", "lexical"),
        (["hybrid"], "lexical", "hybrid"),
    ):
        found = changed(report, **configured(report, baseline=baselines)).verdict
        assert (found.best, found.second) == (best, second)


def test_one_query(make_report):
    document = make_report({"a": {"RR": 0.5}, "b": {"RR": 1.0}}).model_dump(mode="json")
    for mode in document["modes"].values():
        mode["measures"]["RR"] |= {"n": 1, "ci": None}
    document["manifest"]["dataset"]["queries"] = 1
    document["comparisons"][0] |= {"n": 1, "ci": None, "p_adjusted": 1.0, "significant": False}
    found = changed(BenchmarkReport.model_validate(document), best_mode_significant={"RR": False})
    assert text_of(found) == (
        "b scores highest on RR: 1.000, +0.500 over a; not significant with 1 query."
    )
    assert found.verdict.ci is None


def test_modes_that_failed_are_named(make_report):
    failed = UnscoredMode(
        label="SPLADE", status="failed", reason="no model", queries=225, failed_queries={}
    )
    report = changed(make_report(), unscored={"splade": failed.model_dump(mode="json")})
    assert text_of(report) == f"{CONTRACT[:-1]}; not scored: SPLADE."
    markdown = render_markdown(report)
    assert "SPLADE (failed) was neither scored nor compared." in markdown
    assert "- SPLADE: no model\n" in markdown


def test_primary_and_headline_measures(make_report):
    names = ["P@5", "RR", "nDCG@10", "AP", "R@50", "P@10", "P@20", "HitRate@10"]
    report = make_report({"a": dict.fromkeys(names, 0.5), "b": dict.fromkeys(names, 0.7)})
    assert report.primary_measure == "nDCG@10"
    assert report.headline_measures == ["nDCG@10", "R@50", "HitRate@10", "P@5", "RR", "AP"]
    terms = changed(report, **configured(report, dataset="hpo"))
    assert terms.primary_measure == "RR"
    assert terms.headline_measures == ["RR", "HitRate@10", "nDCG@10", "P@5", "AP", "R@50"]
    named = changed(
        report, **configured(report, primary_measure="p.5", headline_measures=["map", "P@20"])
    )
    assert (named.primary_measure, named.headline_measures) == ("P@5", ["P@5", "AP", "P@20"])
    assert named.verdict.measure == "P@5"
    first = make_report({"a": {"P@5": 0.5, "RR": 0.1}, "b": {"P@5": 0.5, "RR": 0.2}})
    assert first.primary_measure == "P@5"
    assert make_verdict(first, "RR").text.startswith("b is best on RR: 0.200, +0.100 over a")


def test_a_note_on_an_interval_is_omitted_while_there_is_none():
    ci = ConfidenceInterval(low=0.1, high=0.2, level=0.95, method="percentile", resamples=100)
    assert "note" not in ci.model_dump()
    assert ci.model_copy(update={"note": "few queries"}).model_dump()["note"] == "few queries"
    assert "note" in ConfidenceInterval.model_json_schema()["properties"]


TIE = {"best_mode": {"RR": None}, "best_mode_significant": {"RR": False}}
FIRST = {"best_mode": {"RR": "a"}, "best_mode_significant": {"RR": False}, "comparisons": []}
EQUAL_TO_A = "b does not differ significantly from a on RR with 225 queries"


@pytest.mark.parametrize(
    ("means", "fields", "text"),
    [
        (
            (0.2, 0.5),
            {},
            "b is best on RR: 0.500, +0.300 over a [+0.280, +0.320]; significant with",
        ),
        ((0.2, 0.5, 0.3), {}, "b is best on RR: 0.500"),
        ((0.31, 0.3), {}, "a scores highest on RR: 0.310, +0.010 over b [−0.010, +0.030]"),
        ((0.5, 0.5, 0.5), TIE, "a, b and c have the same mean on RR: 0.500 with 225 queries."),
        ((0.5, 0.5, 0.1), TIE, "a and b have the same best mean on RR: 0.500 with 225 queries."),
        ((0.5,), {}, "a has a mean of 0.500 [0.470, 0.530] on RR over 225 queries."),
        ((None,), {}, "RR is undefined for every mode."),
        ((None, None), {}, "RR is undefined for every mode."),
        ((0.4, None), FIRST, "a has a mean of 0.400 on RR over 225 queries."),
        ((0.5, 0.5002), {}, "+0.0002 over a [−0.020, +0.020]"),
        ((0.2, 0.5), {"comparisons": []}, "+0.300 over a; not significant"),
    ],
)
def test_the_sentence(make_report, means, fields, text):
    report = changed(
        make_report({mode: {"RR": mean} for mode, mean in zip("abc", means, strict=False)}),
        **fields,
    )
    assert text in text_of(report)
    if report.best_mode["RR"] is None:
        assert (report.best_overall, report.verdict.best) == (None, None)


@pytest.mark.parametrize(
    ("means", "text"),
    [
        (
            (0.2, 0.5),
            "b is significantly better than a on RR with 225 queries: 0.500, +0.300 [+0.28",
        ),
        ((0.5, 0.2), "b is significantly worse than a"),
        ((0.5, 0.51), EQUAL_TO_A),
        ((0.5, 0.5), EQUAL_TO_A),
    ],
)
def test_the_sentence_with_a_baseline(make_report, means, text):
    report = make_report({"a": {"RR": means[0]}, "b": {"RR": means[1]}})
    assert text_of(against(report, "a")).startswith(text)
