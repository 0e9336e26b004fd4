"""The shared malformed files: expected severity, rule and line of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.validation import FileReport, validate_qrels, validate_run, validate_topics


def _worst(report: FileReport) -> str:
    severities = {finding.severity.value for finding in report.findings}
    return next((name for name in ("error", "warning") if name in severities), "ok")


def _report(folder: Path, entry: dict[str, Any]) -> FileReport:
    path = folder / entry["file"]
    other = folder / entry["with"] if "with" in entry else None
    if entry["kind"] == "run":
        return validate_run(path, qrels=other, optional_rules=True)
    if entry["kind"] == "qrels":
        return validate_qrels(path, run=other)
    return validate_topics(path)


def _complaint(folder: Path, entry: dict[str, Any]) -> str | None:
    """The difference from the manifest; ``None`` if there is none."""
    name, report = entry["file"], _report(folder, entry)
    if (report.kind, _worst(report)) != (entry["kind"], entry["expect"]):
        return f"{name}: {report.kind} {_worst(report)}, expected {entry['expect']}"
    if entry["rule"] is None:
        return None
    finding = next((f for f in report.findings if f.code == entry["rule"]), None)
    if finding is None:
        return f"{name}: no {entry['rule']}"
    severity = "info" if entry["expect"] == "ok" else entry["expect"]
    if (finding.severity, entry["line"] or finding.line) != (severity, finding.line):
        return f"{name}: {finding}"
    return None


@pytest.mark.parametrize(("name", "least"), [("malformed", 80), ("malformed_topics", 15)])
def test_every_malformed_file_gets_what_the_manifest_says(
    name: str, least: int, shared_data: Path
) -> None:
    folder = shared_data / name
    entries = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert len(entries) > least
    assert [text for entry in entries if (text := _complaint(folder, entry))] == []


@pytest.mark.parametrize("name", ["tiny_v1.json", "70cases_gemini_v1.json"])
def test_real_test_sets_have_no_errors(name: str, shared_data: Path) -> None:
    report = validate_topics(shared_data / "phentrieve" / "german" / name)
    assert report.kind == "testset"
    assert report.rows in (9, 70)
    assert report.errors == ()


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
