"""Real runs and test sets: their findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.validation import validate_run, validate_topics


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
