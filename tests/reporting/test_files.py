"""All files of a report are written, and JSON keeps every float exactly."""

import json

import polars as pl

from trectools_plus.benchmark import BenchmarkResult, load_report
from trectools_plus.benchmark.run.output_folder import OutputFolder
from trectools_plus.reporting import render_json, write_reports

TABLE = pl.DataFrame(
    {"run": ["a"], "query_id": ["1"], "measure": ["RR@10"], "value": [None]},
    schema_overrides={"value": pl.Float64},
)


def test_every_file_is_written(make_report, tmp_path):
    report = make_report()
    files = write_reports(BenchmarkResult(report, TABLE, {}, OutputFolder(tmp_path)))
    modes = {f"{mode}.json" for mode in report.modes}
    assert {path.name for path in files.values()} | modes == {
        path.name for path in tmp_path.rglob("*") if path.is_file()
    }
    assert load_report(files["json"]) == report
    assert pl.read_parquet(files["per_query"]).equals(TABLE)


def test_floats_survive_json(make_report):
    value = 0.1 + 0.2
    report = make_report({"a": {"RR@10": value}})
    document = json.loads(render_json(report))
    assert document["modes"]["a"]["measures"]["RR@10"]["mean"] == value
    assert "NaN" not in render_json(report)
