"""The shared malformed files: expected severity, rule and line of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.validation import CATALOGUE, FileReport, validate_qrels, validate_run

NOT_BUILT_YET = {"R115", "R128"}


def _worst(report: FileReport) -> str:
    severities = {finding.severity.value for finding in report.findings}
    return next((name for name in ("error", "warning") if name in severities), "ok")


def _complaint(folder: Path, entry: dict[str, Any]) -> str | None:
    """What is not as the manifest says; ``None`` if all is."""
    path = folder / entry["file"]
    other = folder / entry["with"] if "with" in entry else None
    run = entry["kind"] == "run"
    report = validate_run(path, qrels=other) if run else validate_qrels(path, run=other)
    if _worst(report) != entry["expect"]:
        return f"{path.name}: {_worst(report)}, expected {entry['expect']}"
    if entry["rule"] is None or entry["rule"] in NOT_BUILT_YET:
        return None
    finding = next((f for f in report.findings if f.code == entry["rule"]), None)
    if finding is None:
        return f"{path.name}: no {entry['rule']}"
    severity = "info" if entry["expect"] == "ok" else entry["expect"]
    if (finding.severity, entry["line"] or finding.line) != (severity, finding.line):
        return f"{path.name}: {finding}"
    return None


def test_every_malformed_file_gets_what_the_manifest_says(shared_data: Path) -> None:
    folder = shared_data / "malformed"
    entries = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert len(entries) > 80
    assert [text for entry in entries if (text := _complaint(folder, entry))] == []


def test_skipped_rules_are_really_not_there() -> None:
    assert not NOT_BUILT_YET & {rule.code for rule in CATALOGUE}


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("oce03noXbmD", {"R123", "R126", "R141", "R143", "R161"}),
        ("humR03dc", set()),
        ("aplrob03a", {"R123", "R126", "R141", "R161"}),
    ],
)
def test_robust_runs_get_the_findings_they_deserve(
    shared_data: Path, name: str, codes: set[str]
) -> None:
    folder = shared_data / "robust03"
    report = validate_run(folder / f"input.{name}.gz", qrels=folder / "qrels.txt.gz")
    assert {finding.code for finding in report.findings} == codes
    assert {finding.code for finding in report.errors} <= {"R161"}
    assert report.queries == 100


def test_robust_ties_are_counted_exactly(shared_data: Path) -> None:
    folder = shared_data / "robust03"
    report = validate_run(folder / "input.oce03noXbmD.gz")
    found = {finding.code: finding for finding in report.findings}
    assert found["R143"].count == 1497
    assert "6,703 ties in all" in next(
        finding.message
        for finding in validate_run(folder / "input.aplrob03a.gz").findings
        if finding.code == "R141"
    )
