"""The whole benchmark on Cranfield: reference figures, and every figure against ir_measures."""

import pytest

from tests.benchmark.run.test_runner import IR_MEASURES, check_with_ir_measures
from trectools_plus.reporting.verify import verify_report


@pytest.fixture(scope="module")
def result(ir_datasets_home, tmp_path_factory, write_benchmark):
    folder = tmp_path_factory.mktemp("cranfield")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
        return write_benchmark(folder / "out", dataset="irds:cranfield")


def test_reference_figures(result):
    means = {
        mode: {name: figures.mean or 0 for name, figures in entry.measures.items()}
        for mode, entry in result.report.modes.items()
    }
    for mode, least in (("lexical", 0.32), ("vector", 0.29), ("hybrid", 0.34)):
        assert means[mode]["nDCG@10"] >= least
    for name in ("nDCG@10", "AP@100", "RR@10"):
        assert means["hybrid"][name] > max(means["lexical"][name], means["vector"][name])


def test_every_figure_equals_ir_measures_on_the_written_files(result):
    check_with_ir_measures(result, IR_MEASURES)


def test_the_report_proves_itself(result):
    assert verify_report(result.output_dir).problems == []
