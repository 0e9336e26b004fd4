"""Figures for Prometheus: names, labels, files, gateways."""

import importlib
import json
import shutil
import sys

import numpy as np
import pytest
from harness.observe import ROOT
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from trectools_plus.benchmark import load_report
from trectools_plus.benchmark.report import StratumResult
from trectools_plus.cli.app import benchmark_app
from trectools_plus.errors import InputError, MissingExtraError, UsageError
from trectools_plus.measures import measure_labels
from trectools_plus.service import ServiceSettings, read_snapshots, render_metrics, write_textfile
from trectools_plus.service.metrics import BUCKETS, Snapshot, answer_key, split_measure
from trectools_plus.service.models import DEFAULT_PREFIX

GARDEN = ROOT / "fixtures/garden-trec"


def render_report(path, prefix=DEFAULT_PREFIX):
    """The figures of a report in the text format of Prometheus."""
    return render_metrics(read_snapshots(path), prefix)


def samples(text):
    """Values by name and labels; a series that stands there twice is a mistake."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found, key
            found[key] = sample.value
    return found


def key(name, **labels):
    return name, frozenset(labels.items())


@pytest.fixture(scope="module")
def report(module_bench):
    return module_bench.make("low", {"a": dict.fromkeys(range(30), 12), "b": {}})


def test_the_promised_name(report):
    found = samples(render_report(report, "medicalkg").decode())
    labels = {"k": "10", "mode": "a", "dataset": "qrels.txt"}
    assert found[key("medicalkg_retrieval_recall_at_k", **labels)] == 0.5


def test_every_figure_of_a_report_is_there(fetched):
    found = samples(render_report(fetched).decode())
    report = load_report(fetched / "BenchmarkReport.json")
    assert report.strata["query_type"]
    names = {
        "R@10": ("recall_at_k", {"k": "10"}),
        "nDCG@10": ("ndcg_at_k", {"k": "10"}),
        "RR": ("mrr", {}),
        "HitRate@10": ("hit_rate_at_k", {"k": "10"}),
        "AP(rel=2)@100": ("measure", {"measure": "AP(rel=2)@100"}),
    }
    for mode, query_type, measure, one in _figures(report):
        name, labels = names[measure]
        labels = {**labels, "dataset": "corpus.jsonl", "mode": mode}
        if query_type is not None:
            name, labels = f"stratum_{name}", {**labels, "query_type": query_type}
        for ending, value in {"": one.mean, "_low": one.ci.low, "_high": one.ci.high}.items():
            assert found[key(f"trectools_plus_retrieval_{name}{ending}", **labels)] == value
    labels = {"dataset": "corpus.jsonl", "mode": "lexical"}
    timestamp = found[key("trectools_plus_retrieval_run_timestamp_seconds", **labels)]
    assert np.datetime64(int(timestamp), "s") == np.datetime64(report.manifest.created_at[:-1])


def _figures(report):
    for mode, result in report.modes.items():
        for measure, one in result.measures.items():
            yield mode, None, measure, one
    for value, modes in report.strata["query_type"].items():
        for mode, results in modes.items():
            for measure, stratum in results.items():
                yield mode, value, measure, stratum


def test_latencies_are_a_histogram(fetched):
    import polars as pl

    found = samples(render_report(fetched).decode())
    times = pl.read_parquet(fetched / "latency.parquet").filter(run="hybrid")["latency_ms"] / 1000
    labels = {"dataset": "corpus.jsonl", "mode": "hybrid"}
    name = "trectools_plus_retrieval_latency_seconds"
    for end in BUCKETS:
        below = int((times.to_numpy() <= end).sum())
        assert found[key(f"{name}_bucket", **labels, le=str(end))] == below
    assert found[key(f"{name}_bucket", **labels, le="+Inf")] == len(times)
    assert found[key(f"{name}_count", **labels)] == len(times)
    assert found[key(f"{name}_sum", **labels)] == pytest.approx(times.sum())


@pytest.mark.parametrize("label", measure_labels())
def test_every_measure_has_a_name(label):
    from trectools_plus.cli.reference import example_of

    name = example_of(label)
    snapshot = Snapshot("d", "m", 0.0, {None: {name: figure(0.5)}})
    found = samples(render_metrics([snapshot]).decode())
    parts = split_measure(name)
    if parts is None:
        assert answer_key(name) == name
        labels = {"measure": name}
        full = "trectools_plus_retrieval_measure"
    else:
        labels = {} if parts[1] is None else {"k": parts[1]}
        full = f"trectools_plus_retrieval_{parts[0]}{'_at_k' if labels else ''}"
    assert found[key(full, **labels, dataset="d", mode="m")] == 0.5


def figure(mean):
    return StratumResult(mean=mean, n=1, ci=None)


def test_a_report_is_read_again_when_it_changes(bench, open_service, tmp_path):
    folder = bench.make("one", {"a": dict.fromkeys(range(60), 0), "b": {}})
    better = bench.make("two", {"a": {}, "b": {}})
    labels = {"k": "10", "mode": "a", "dataset": "qrels.txt"}
    recall = key("p_retrieval_recall_at_k", **labels)
    settings = ServiceSettings(dataset="none", reports=(str(folder),), prefix="p")
    with open_service(settings) as client:
        found = samples(client.get("/metrics").text)
        assert found[recall] == 0
        (folder / "BenchmarkReport.json").write_text("{")
        found = samples(client.get("/metrics").text)
        assert found[recall] == 0, "the last figures stand"
        good = (better / "BenchmarkReport.json").read_text()
        (folder / "BenchmarkReport.json").write_text(good)
        found = samples(client.get("/metrics").text)
        assert found[recall] == 1


def test_requests_are_counted_by_route(client):
    client.get("/readyz")
    client.get("/some/other/path")
    found = samples(client.get("/metrics").text)
    name = "trectools_plus_http_request_duration_seconds_count"
    assert found[key(name, method="GET", route="/readyz", status="200")] >= 1
    assert found[key(name, method="GET", route="other", status="404")] >= 1


def test_no_label_is_a_path(fetched, open_service, tmp_path):
    """Labels contain no paths, and are the same from any working directory."""
    folder = shutil.copytree(fetched, tmp_path / "a/nightly")
    path = folder / "BenchmarkReport.json"
    document = json.loads(path.read_text())
    document["manifest"]["dataset"]["id"] = str(GARDEN)
    path.write_text(json.dumps(document))
    settings = ServiceSettings(dataset="none", reports=(str(folder), str(fetched)))
    with open_service(settings) as client:
        found = samples(client.get("/metrics").text)
    labels = [dict(labels) for _, labels in found]
    assert {one["dataset"] for one in labels if "dataset" in one} == {"garden-trec", "corpus.jsonl"}
    values = [value for one in labels for name, value in one.items() if name != "route"]
    assert not [value for value in values if "/" in value]


@pytest.mark.parametrize("prefix", ["", "1a", "a-b", "a:b", "é", "x" * 65])
def test_a_prefix_that_is_none(report, prefix):
    with pytest.raises(UsageError):
        render_report(report, prefix)


def call(*words):
    return CliRunner().invoke(benchmark_app, ["metrics", *map(str, words)])


def test_benchmark_metrics_prints(report):
    done = call(report, "--prefix", "medicalkg")
    assert done.exit_code == 0
    assert done.stdout.encode() == render_report(report, "medicalkg")


def test_textfile(report, tmp_path):
    path = tmp_path / "retrieval.prom"
    done = call(report, "--textfile", path)
    assert (done.exit_code, done.stdout) == (0, "")
    assert path.read_bytes() == render_report(report)
    with pytest.raises(UsageError, match=r"\.prom"):
        write_textfile(tmp_path / "retrieval.txt", b"")
    with pytest.raises(InputError):
        write_textfile(tmp_path / "nowhere" / "a.prom", b"")


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.delitem(sys.modules, "trectools_plus.service.metrics")
    with pytest.raises(MissingExtraError, match="service"):
        importlib.import_module("trectools_plus.service.metrics")
