"""Prometheus itself: rules and dashboard are sound, and a low figure raises the alarm."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from trectools_plus.service.api.settings import DEFAULT_PREFIX

pytestmark = [pytest.mark.process, pytest.mark.slow("starts servers")]

ROOT = Path(__file__).resolve().parents[3]
MONITORING = ROOT / "docs/monitoring"
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
