"""Tests of ``benchmark compare``, ``verify``, ``merge``, ``list`` and ``show``."""

import json
import shutil
from pathlib import Path

import pytest


@pytest.fixture
def call(call_of):
    return call_of("benchmark")


@pytest.fixture(scope="module")
def made(module_bench):
    """Make two reports in a folder, with their data."""
    module_bench.make("first", {"bm25": {n: 1 + n % 5 for n in range(60)}, "other": {}})
    module_bench.make("second", {"bm25": {}, "other": {}})
    return module_bench.folder


@pytest.fixture
def reports(made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "first", tmp_path / "second"


def test_list_and_show(call, reports, bench):
    bench.make("alone", {"bm25": {}})
    code, out, _ = call("list", ".", "--format", "json")
    found = {one["folder"]: one["best"] for one in json.loads(out)["reports"]}
    assert code == 0
    assert found == {"first": "none, R@10", "second": "none, R@10", "alone": "bm25, R@10 1.0000"}
    assert call("list")[0] == 2
    Path("results").mkdir()
    assert call("list")[:2] == (0, "")
    for form, name in (("markdown", "BenchmarkComparison.md"), ("json", "BenchmarkReport.json")):
        shown = call("show", "first", "--format", form)[1]
        assert shown == Path("first", name).read_text("utf-8")
    assert call("show", "nowhere")[0] == 2


def test_of_a_folder_of_results_the_newest_report_is_used(call, reports, tmp_path):
    first, second = reports
    results = tmp_path / "results"
    results.mkdir()
    for name, folder, created in (("b", first, "2026-03-01"), ("a", second, "2026-03-02")):
        path = folder.rename(results / name) / "BenchmarkReport.json"
        document = json.loads(path.read_text())
        document["manifest"]["created_at"] = f"{created}T12:00:00Z"
        document["manifest"]["experiment_id"] = f"made-{created}"
        path.write_text(json.dumps(document))
    (results / "damaged").mkdir()
    (results / "damaged" / "BenchmarkReport.json").write_text("{")
    code, out, err = call("show", results, "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["manifest"]["experiment_id"] == "made-2026-03-02"
    code, out, _ = call("gate", "--current", results, "--baseline", results / "b")
    assert code in (0, 1)
    (tmp_path / "empty").mkdir()
    code, out, err = call("show", tmp_path / "empty")
    assert (code, out) == (2, "")
    assert "no such file" in err
