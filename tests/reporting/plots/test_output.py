"""Plots in a benchmark's folder: there with the report, gone with it."""

import polars as pl
import pytest
from harness.observe import ROOT

from trectools_plus import write_reports
from trectools_plus.benchmark import BenchmarkResult
from trectools_plus.benchmark.run.output_folder import OutputFolder
from trectools_plus.reporting.plots import FORMATS

GARDEN = str(ROOT / "fixtures/garden-trec")


@pytest.fixture
def folder(tmp_path, write_benchmark):
    options = {"dataset": GARDEN, "modes": ["lexical", "vector"], "measures": ["nDCG@10"]}
    return write_benchmark(tmp_path / "out", plots=True, **options).output_dir


def test_a_benchmark_writes_its_plots(folder):
    found = {path.name for path in (folder / "visualizations").iterdir()}
    drawn = ("measures", "precision_recall", "hit_rate", "differences")
    assert found == {f"{name}.{ending}" for name in drawn for ending in FORMATS}


def test_the_next_benchmark_leaves_no_plot_of_the_last(folder, make_report):
    own = folder / "visualizations" / "my_own.png"
    own.write_bytes(b"mine")
    report = make_report({"a": {"RR@10": 0.5}})
    table = pl.DataFrame({"run": ["a"], "query_id": ["1"], "measure": ["RR@10"], "value": [0.5]})
    write_reports(BenchmarkResult(report, table, {}, OutputFolder(folder)), plots=True)
    left = {path.name for path in (folder / "visualizations").iterdir()}
    assert left == {"measures.png", "measures.svg", "my_own.png"}
