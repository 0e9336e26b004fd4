"""Prometheus itself: rules and dashboard are sound, and a low figure raises the alarm."""

import subprocess

import pytest
from harness.observe import ROOT

pytestmark = [pytest.mark.process, pytest.mark.slow("starts servers")]

MONITORING = ROOT / "docs/monitoring"


def promtool(tools, *words, cwd=MONITORING):
    command = [tools[1], *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rules_are_sound(prometheus_tools):
    assert "SUCCESS" in promtool(prometheus_tools, "check", "rules", "alerts.yml")
    assert "SUCCESS" in promtool(prometheus_tools, "check", "config", "prometheus.yml")
    promtool(prometheus_tools, "test", "rules", "alerts.test.yml")
