"""Comparisons on Cranfield: every test of hybrid against lexical, and a gate on real reports."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from scipy import stats

from trectools_plus.benchmark.gate import GateRules, run_gate
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.runner import BenchmarkResult, run_benchmark
from trectools_plus.errors import IncomparableError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.formats.trec_files import write_qrels, write_run
from trectools_plus.reporting.files import write_reports
from trectools_plus.reporting.verification.verify import verify_report
from trectools_plus.validation.loading import load_qrels, load_run


@pytest.fixture(scope="module")
def result(ir_datasets_home: Path, tmp_path_factory: pytest.TempPathFactory) -> BenchmarkResult:
    folder = tmp_path_factory.mktemp("cranfield")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
        config = BenchmarkConfig(
            dataset="irds:cranfield",
            measures=("nDCG@10", "AP@100", "R@10"),
            correction="holm",
            output_dir=str(folder / "out"),
        )
        result = run_benchmark(config)
    write_reports(result, plots=False)
    return result


def test_hybrid_against_lexical_as_scipy_has_it(result: BenchmarkResult) -> None:
    table = pl.read_parquet(result.output_dir / "per_query.parquet").sort("query_id")
    hybrid, lexical = (
        table.filter(run=run, measure="nDCG@10")["value"].to_numpy()
        for run in ("hybrid", "lexical")
    )
    entry = result.report.find_comparison("lexical", "hybrid", "nDCG@10")
    assert entry is not None
    assert entry.difference == pytest.approx((hybrid - lexical).mean(), abs=1e-12)
    student = stats.ttest_rel(hybrid, lexical)
    assert entry.t_test is not None
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


def test_the_report_proves_itself(result: BenchmarkResult) -> None:
    assert verify_report(result.output_dir).problems == []


def degrade(result: BenchmarkResult, folder: Path, share: float) -> tuple[Path, list[str], float]:
    """A report of the lexical run in which queries lost their relevant documents.

    Queries are emptied of relevant documents until R@10 has lost at least ``share``.
    """
    source = result.output_dir
    qrels = load_qrels(source / "qrels.txt")
    relevant = qrels.frame.filter(pl.col("relevance") > 0).select("query_id", "doc_id")
    values = result.per_query.filter(run="lexical", measure="R@10").sort("value")
    mean = values["value"].mean()
    assert isinstance(mean, float)
    lost, chosen = 0.0, []
    for query_id, value in values.select("query_id", "value").iter_rows():
        if value > 0 and lost < share * mean * values.height:
            lost += value
            chosen.append(query_id)
    run = load_run(source / "runs" / "lexical.run")
    touched = run.frame.join(relevant, on=["query_id", "doc_id"], how="semi")
    touched = touched.filter(pl.col("query_id").is_in(chosen))
    path = folder / "degraded.run"
    write_run(Run(run.frame.join(touched, on=["query_id", "doc_id"], how="anti")), path)
    return path, chosen, lost / values.height / mean


def bench(run: Path, qrels: Path, output: Path) -> Path:
    config = BenchmarkConfig(
        runs={"lexical": str(run)}, qrels=str(qrels), measures=("R@10",), output_dir=str(output)
    )
    write_reports(run_benchmark(config), plots=False)
    return output


@pytest.mark.parametrize(("share", "passes"), [(0.06, False), (0.04, True)])
def test_a_gate_on_real_reports(
    result: BenchmarkResult, tmp_path: Path, share: float, passes: bool
) -> None:
    source = result.output_dir
    path, chosen, lost = degrade(result, tmp_path, share)
    assert share <= lost < share + 0.01
    before = bench(source / "runs" / "lexical.run", source / "qrels.txt", tmp_path / "before")
    after = bench(path, source / "qrels.txt", tmp_path / "after")
    outcome = run_gate(after, before, GateRules(("R@10",), 0.05))
    (entry,) = outcome.entries
    assert outcome.passed is passes
    assert entry.drop == pytest.approx(lost)
    assert entry.fallen is not None
    assert {one.query_id for one in entry.fallen} == set(chosen)


def test_a_gate_refuses_other_judgments(result: BenchmarkResult, tmp_path: Path) -> None:
    source = result.output_dir
    before = bench(source / "runs" / "lexical.run", source / "qrels.txt", tmp_path / "before")
    other = tmp_path / "other.txt"
    write_qrels(Qrels(load_qrels(source / "qrels.txt").frame[:-1]), other)
    after = bench(source / "runs" / "lexical.run", other, tmp_path / "after")
    with pytest.raises(IncomparableError):
        run_gate(after, before)
