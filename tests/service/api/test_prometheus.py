"""Prometheus itself: rules and dashboard are sound, and a low figure raises the alarm."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from trectools_plus.service.api.metrics import render_metrics
from trectools_plus.service.api.settings import DEFAULT_PREFIX, ServiceSettings
from trectools_plus.service.api.snapshots import read_snapshots

pytestmark = [pytest.mark.process, pytest.mark.slow("starts servers")]

ROOT = Path(__file__).resolve().parents[3]
MONITORING = ROOT / "docs/monitoring"
BIN = Path(sys.executable).parent
SECONDS = 90
Tools = tuple[str, str]


def promtool(tools: Tools, *words: object, cwd: Path = MONITORING) -> str:
    command = [tools[1], *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rules_are_sound(prometheus_tools: Tools) -> None:
    assert "SUCCESS" in promtool(prometheus_tools, "check", "rules", "alerts.yml")
    assert "SUCCESS" in promtool(prometheus_tools, "check", "config", "prometheus.yml")
    promtool(prometheus_tools, "test", "rules", "alerts.test.yml")


def test_the_rule_that_was_promised() -> None:
    groups = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    rules = {rule["alert"]: rule for group in groups for rule in group["rules"]}
    rule = rules["RetrievalRecallLow"]
    assert rule["expr"] == 'trectools_plus_retrieval_recall_at_k{k="10"} < 0.75'
    assert rule["for"] == "15m"
    for one in rules.values():
        assert one["annotations"]["summary"]


@pytest.fixture
def dashboard() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    return document


def expressions(dashboard: dict[str, Any], prefix: str = DEFAULT_PREFIX) -> list[str]:
    """Those of all panels, as they are when everything is chosen and the cutoff is 10."""
    values = {"${prefix}": prefix, "$dataset": ".*", "$mode": ".*", '"$k"': '"10"',
              "$__rate_interval": "5m"}  # fmt: skip
    found = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    for name, value in values.items():
        found = [text.replace(name, value) for text in found]
    assert not [text for text in found if "$" in text]
    return found


def test_the_dashboards_expressions_are_sound(
    dashboard: dict[str, Any], prometheus_tools: Tools, tmp_path: Path
) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": text}
        for number, text in enumerate(expressions(dashboard))
    ]
    assert len(rules) > 10
    path = tmp_path / "panels.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool(prometheus_tools, "check", "rules", path)


def test_dashboard_and_alerts_name_metrics_that_exist(
    dashboard: dict[str, Any], open_service: Any, garden_file: Path
) -> None:
    corpus = str(ROOT / "fixtures/garden-trec/corpus.jsonl")
    settings = ServiceSettings(corpus=corpus, test_file=str(garden_file), modes=("lexical",))
    with open_service(settings) as client:
        assert client.post("/v1/evaluate").status_code == 200
        page = client.get("/metrics").text
    exist = set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE))
    exist |= {f"{name}_{end}" for name in exist for end in ("bucket", "count", "sum")}
    exist.add(f"{DEFAULT_PREFIX}_retrieval_mrr_at_k")  # of reports with RR@10, the default there
    alerts = (MONITORING / "alerts.yml").read_text()
    named = re.findall(rf"\b{DEFAULT_PREFIX}_\w+", " ".join([*expressions(dashboard), alerts]))
    assert set(named) - {f"{DEFAULT_PREFIX}_"} <= exist


def test_panels_do_not_overlap(dashboard: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (place["x"] + dx, place["y"] + dy)
            for dx in range(place["w"])
            for dy in range(place["h"])
        }
        assert not cells & taken
        taken |= cells
        assert panel["title"]
        assert panel["description"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fetch(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


def ask(prometheus: str, expression: str) -> list[dict[str, Any]]:
    """Query Prometheus; its errors fail the test."""
    found = fetch(f"{prometheus}/api/v1/query?query={urllib.request.quote(expression)}")
    assert found["status"] == "success"
    result: list[dict[str, Any]] = found["data"]["result"]
    return result


def wait_until(said: Any, what: str) -> Any:
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        try:
            found = said()
        except (urllib.error.URLError, OSError):
            found = None
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(f"{what}: not within {SECONDS} s")


@pytest.fixture
def service(bench: Any, tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """The service as a process of its own, with a report whose recall is 0."""
    report = bench.make("bad", {"a": dict.fromkeys(range(60), 0), "b": {}})
    port = free_port()
    command = [str(BIN / "trectools-plus"), "serve", "--dataset", "none", "--port", str(port)]
    command += ["--report", str(report), "--prefix", "medicalkg"]
    with (tmp_path / "service.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ})
        try:
            wait_until(lambda: fetch(f"http://127.0.0.1:{port}/healthz"), "the service")
            yield port, report
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture
def prometheus(service: tuple[int, Path], prometheus_tools: Tools, tmp_path: Path) -> Iterator[str]:
    """Prometheus scraping the service each second, with the alerts' waiting time shortened."""
    rules = (MONITORING / "alerts.yml").read_text()
    rules = rules.replace("for: 15m", "for: 3s").replace("trectools_plus_", "medicalkg_")
    assert "for: 3s" in rules
    (tmp_path / "alerts.yml").write_text(rules)
    config = (MONITORING / "prometheus.yml").read_text()
    config = config.replace("1m", "1s").replace("localhost:8000", f"127.0.0.1:{service[0]}")
    (tmp_path / "prometheus.yml").write_text(config)
    promtool(prometheus_tools, "check", "config", "prometheus.yml", cwd=tmp_path)
    port = free_port()
    command = [
        prometheus_tools[0],
        "--config.file=prometheus.yml",
        f"--storage.tsdb.path={tmp_path / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (tmp_path / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def test_a_low_recall_raises_the_alarm_and_a_good_one_ends_it(
    service: tuple[int, Path], prometheus: str, bench: Any, dashboard: dict[str, Any]
) -> None:
    def states(mode: str) -> set[str]:
        alerts = fetch(f"{prometheus}/api/v1/alerts")["data"]["alerts"]
        return {
            alert["state"]
            for alert in alerts
            if alert["labels"]["alertname"] == "RetrievalRecallLow"
            and alert["labels"]["mode"] == mode
        }

    wait_until(lambda: states("a") == {"pending"}, "pending")
    wait_until(lambda: states("a") == {"firing"}, "firing")
    assert states("b") == set(), "the mode with a recall of 1 raises none"
    query = 'medicalkg_retrieval_recall_at_k{k="10",mode="a"}'
    assert [float(one["value"][1]) for one in ask(prometheus, query)] == [0.0]
    with urllib.request.urlopen(f"http://127.0.0.1:{service[0]}/metrics", timeout=5) as answer:
        page = answer.read().decode()
    shown = 0
    for expression in expressions(dashboard, "medicalkg"):
        has_figures = any(name in page for name in re.findall(r"medicalkg_\w+", expression))
        result = ask(prometheus, expression)  # that it can be asked at all is told in any case
        if has_figures and "_stratum_" not in expression:
            assert result, expression
            shown += 1
    assert shown > 5

    better = bench.make("good", {"a": {}, "b": {}})
    shutil.copy(better / "BenchmarkReport.json", service[1] / "BenchmarkReport.json")
    wait_until(lambda: states("a") == set(), "the alarm's end")
    assert render_metrics(read_snapshots(service[1]), "medicalkg")
