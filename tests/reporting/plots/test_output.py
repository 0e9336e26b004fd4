"""Plots in a benchmark's folder: there with the report, gone with it."""

from pathlib import Path

import polars as pl
import pytest

from trectools_plus import BenchmarkConfig, run_benchmark, write_reports
from trectools_plus.benchmark import BenchmarkResult
from trectools_plus.benchmark.run.output_folder import OutputFolder
from trectools_plus.reporting.plots import FORMATS

GARDEN = Path(__file__).parents[3] / "fixtures" / "garden-trec"


@pytest.fixture
def config(tmp_path):
    return BenchmarkConfig(
        dataset=str(GARDEN),
        modes=["lexical", "vector"],
        measures=["nDCG@10"],
        resamples=100,
        output_dir=tmp_path / "out",
    )


def test_a_benchmark_writes_its_plots(config):
    files = write_reports(run_benchmark(config), plots=True)
    folder = files["json"].parent
    found = {path.name for path in (folder / "visualizations").iterdir()}
    drawn = ("measures", "precision_recall", "hit_rate", "differences")
    assert found == {f"{name}.{ending}" for name in drawn for ending in FORMATS}


def test_the_next_benchmark_leaves_no_plot_of_the_last(config, make_report):
    folder = write_reports(run_benchmark(config), plots=True)["json"].parent
    own = folder / "visualizations" / "my_own.png"
    own.write_bytes(b"mine")
    report = make_report({"a": {"RR@10": 0.5}})
    table = pl.DataFrame({"run": ["a"], "query_id": ["1"], "measure": ["RR@10"], "value": [0.5]})
    write_reports(BenchmarkResult(report, table, {}, OutputFolder(folder)), plots=True)
    left = {path.name for path in (folder / "visualizations").iterdir()}
    assert left == {"measures.png", "measures.svg", "my_own.png"}
