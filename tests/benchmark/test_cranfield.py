"""The whole benchmark on Cranfield: reference figures, and every figure against ir_measures."""

from tests.benchmark.run.test_runner import IR_MEASURES, check_with_ir_measures
from trectools_plus.reporting.verify import verify_report


def test_cranfield(ir_datasets_home, tmp_path, monkeypatch, write_benchmark):
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    result = write_benchmark(tmp_path / "out", dataset="irds:cranfield")
    modes = result.report.modes
    for mode, least in (("lexical", 0.32), ("vector", 0.29), ("hybrid", 0.34)):
        assert modes[mode].measures["nDCG@10"].mean >= least
    for name in ("nDCG@10", "AP@100", "RR@10"):
        others = [modes[mode].measures[name].mean for mode in ("lexical", "vector")]
        assert modes["hybrid"].measures[name].mean > max(others)
    check_with_ir_measures(result, IR_MEASURES)
    assert verify_report(result.output_dir).problems == []
