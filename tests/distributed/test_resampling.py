"""A seed gives the same draws, intervals and reports with a scheduler and without."""

from __future__ import annotations

import functools
from datetime import UTC, datetime

import pytest

from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.benchmark.run.runner import run_benchmark
from trectools_plus.distributed import use_scheduler
from trectools_plus.reporting.files import write_reports

pytestmark = [pytest.mark.process, pytest.mark.slow("starts a cluster")]

NOON = datetime(2025, 1, 31, 12, tzinfo=UTC)


def test_a_benchmark_writes_the_same_files(scheduler, collection, tmp_path):
    given = collection(6)
    written = {}
    for name, address in (("here", None), ("spread", scheduler)):
        folder = tmp_path / name / "report"  # reports count others beside them
        options = {
            "runs": {f"m{number}": path for number, path in enumerate(given.runs)},
            "qrels": given.qrels,
            "measures": ["nDCG@10", "AP", "RR@10"],
            "resamples": 30_000,
            "baseline": ["m0"],
            "output_dir": str(folder),
        }
        reported = []
        with use_scheduler(address):
            progress = functools.partial(_record, reported)
            result = run_benchmark(load_config(options=options), progress, clock=lambda: NOON)
        write_reports(result, plots=False)
        assert ("reading runs", 6, 6) in reported
        assert ("scoring", 6, 6) in reported
        assert {run.path for run in result.runs.values()} == {
            str(folder / "runs" / f"m{number}.run") for number in range(6)
        }
        written[name] = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
    assert len(written["here"]) > 10
    assert written["spread"].keys() == written["here"].keys()
    for name, content in written["here"].items():
        assert written["spread"][name] == content, name


def _record(reported, *call):
    reported.append(call)
