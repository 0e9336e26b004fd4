"""Every line of a finding, in each output."""

from __future__ import annotations

from pathlib import Path

from harness.files import write

from trectools_plus.validation import FileReport, validate_run
from trectools_plus.validation.findings import as_document, render_text


def test_all_lines_are_listed_on_request_only(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.run",
        "# comment\n" + "".join(f"1 0\td{n} {n} {9 - n} t\n" for n in range(1, 8)),
    )

    def lines_of(report: FileReport) -> list[int]:
        findings = as_document([report])["files"][0]["findings"]
        return next(finding["lines"] for finding in findings if finding["code"] == "R107")

    report = validate_run(path, every_line=True)
    assert lines_of(report) == list(range(2, 9))
    assert lines_of(validate_run(path)) == list(range(2, 7))
    assert "[lines 2, 3, 4, 5, 6, 7, 8]" in " ".join(render_text([report]).split())
    assert "[lines 2, 3, 4, 5, 6, …]" in render_text([validate_run(path)])
