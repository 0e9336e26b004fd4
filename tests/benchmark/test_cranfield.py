"""The whole benchmark on Cranfield: reference figures, and every figure against ir_measures."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tests.benchmark.run.test_runner import IR_MEASURES, check_with_ir_measures
from trectools_plus.benchmark import BenchmarkConfig, load_report, run_benchmark
from trectools_plus.reporting import write_reports
from trectools_plus.reporting.verification.verify import verify_report


@pytest.fixture(scope="module")
def result(ir_datasets_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cranfield")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
        config = BenchmarkConfig(dataset="irds:cranfield", output_dir=str(folder / "out"))
        result = run_benchmark(config)
    write_reports(result, plots=False)
    return result


def test_reference_figures(result):
    means = {
        mode: {name: figures.mean or 0 for name, figures in entry.measures.items()}
        for mode, entry in result.report.modes.items()
    }
    for mode, least in (("lexical", 0.32), ("vector", 0.29), ("hybrid", 0.34)):
        assert means[mode]["nDCG@10"] >= least
    for name in ("nDCG@10", "AP@100", "RR@10"):
        assert means["hybrid"][name] > max(means["lexical"][name], means["vector"][name])


def test_the_verdict_is_one_sentence(result, tmp_path):
    report = result.report
    entry = report.find_comparison("lexical", "hybrid", "nDCG@10")
    assert report.verdict.ci == entry.ci
    ends = f"[{report.verdict.ci.low:+.3f}, {report.verdict.ci.high:+.3f}]".replace("-", "−")
    assert report.verdict.text == (
        f"Hybrid is best on nDCG@10: 0.353, +0.030 over Lexical-Only {ends}; significant against "
        "every other mode with 225 queries."
    )
    assert all(mode.measures["nDCG@10"].target is None for mode in report.modes.values())
    again = load_report(result.output_dir / "BenchmarkReport.json")
    assert (again.verdict, again.best_overall) == (report.verdict, report.best_overall)
    document = json.loads((result.output_dir / "BenchmarkReport.json").read_text())
    for name in ("primary_measure", "headline_measures", "verdict", "best_overall"):
        del document[name]
    earlier = tmp_path / "BenchmarkReport.json"
    earlier.write_text(json.dumps(document))
    assert load_report(earlier) == report


def test_every_figure_equals_ir_measures_on_the_written_files(result):
    check_with_ir_measures(result, IR_MEASURES)


def test_summaries_equal_numpy_on_the_per_query_file(result):
    table = pl.read_parquet(result.output_dir / "per_query.parquet")
    assert table.columns == ["run", "query_id", "measure", "value"]
    for mode, entry in result.report.modes.items():
        for name, figures in entry.measures.items():
            values = table.filter(run=mode, measure=name)["value"].to_numpy()
            assert figures.n == len(values) == 225
            assert figures.mean == pytest.approx(values.mean(), abs=1e-12)
            assert figures.median == pytest.approx(np.median(values), abs=1e-12)
            assert figures.std == pytest.approx(values.std(ddof=1), abs=1e-12)
            # The normal approximation holds for 225 values between 0 and 1.
            half = 1.96 * values.std(ddof=1) / np.sqrt(225)
            assert figures.ci.low == pytest.approx(values.mean() - half, abs=0.01)
            assert figures.ci.high == pytest.approx(values.mean() + half, abs=0.01)


def test_differences_equal_those_of_the_means(result):
    modes = result.report.modes
    for entry in result.report.comparisons:
        means = [
            modes[mode].measures[entry.measure].mean or 0
            for mode in (entry.contrast, entry.baseline)
        ]
        assert entry.difference == pytest.approx(means[0] - means[1], abs=1e-12)
        assert entry.wins + entry.ties + entry.losses == entry.n == 225


def test_few_judged_results_are_diagnosed(result):
    report = result.report
    for mode in report.modes.values():
        assert 0.25 < (mode.diagnostics.judged["Judged@10"] or 0) < 0.31
    assert "few-judged" in {one.sign for one in report.diagnosis}


def test_hybrid_against_lexical_as_scipy_has_it(result):
    table = pl.read_parquet(result.output_dir / "per_query.parquet").sort("query_id")
    hybrid, lexical = (
        table.filter(run=run, measure="nDCG@10")["value"].to_numpy()
        for run in ("hybrid", "lexical")
    )
    entry = result.report.find_comparison("lexical", "hybrid", "nDCG@10")
    assert entry.difference == pytest.approx((hybrid - lexical).mean(), abs=1e-12)
    student = stats.ttest_rel(hybrid, lexical)
    assert entry.t_test.t == pytest.approx(student.statistic, rel=1e-9)
    assert entry.t_test.p == pytest.approx(student.pvalue, rel=1e-9)
    interval = student.confidence_interval(entry.ci.level)
    assert (entry.ci.low, entry.ci.high) == pytest.approx((interval.low, interval.high))
    # Holm by hand: the three pairs on this measure.
    family = [one for one in result.report.comparisons if one.measure == "nDCG@10"]
    raw = sorted(one.t_test.p for one in family if one.t_test is not None)
    by_hand = [0.0]
    for place, p in enumerate(raw):
        by_hand.append(min(1.0, max(by_hand[-1], p * (3 - place))))
    assert sorted(one.p_adjusted or 0 for one in family) == pytest.approx(by_hand[1:])


def test_the_report_proves_itself(result):
    assert verify_report(result.output_dir).problems == []
