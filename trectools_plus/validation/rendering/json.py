"""Findings as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from trectools_plus.validation.findings import FileReport, Finding
from trectools_plus.validation.rendering.text import Tally

FileExtras = Callable[[FileReport], dict[str, Any]]


def iter_json(
    reports: Iterable[FileReport],
    *,
    statistics: bool = False,
    extras: FileExtras | None = None,
) -> Iterator[str]:
    """Yield all findings as a JSON document.

    ``{"files": [{"path", "kind", "rows", "queries", "findings": [...]}], "summary": {"errors",
    "warnings", "infos"}}``. Invisible characters in ids are JSON escapes.

    Args:
        reports: Read once, one at a time.
        statistics: Add ``statistics``: code, name, severity, count and files per rule.
        extras: Returns additional keys for a file.
    """
    tally = Tally()
    separator = '{"files": [\n'
    for report in tally.count(reports):
        yield separator + json.dumps(_file(report, extras), indent=2)
        separator = ",\n"
    yield '{"files": [' if separator.startswith("{") else "\n"
    totals: dict[str, Any] = {"summary": tally.summary()}
    if statistics:
        totals["statistics"] = tally.as_dicts()
    yield f"],\n{json.dumps(totals, indent=2)[2:]}\n"


def _file(report: FileReport, extras: FileExtras | None) -> dict[str, Any]:
    return {
        "path": report.path,
        "kind": report.kind,
        "rows": report.rows,
        "queries": report.queries,
        "findings": [_finding(finding, report) for finding in report.findings],
        **(extras(report) if extras else {}),
    }


def _finding(finding: Finding, report: FileReport) -> dict[str, Any]:
    lines: Sequence[int] = finding.lines if report.line_text is None else finding.every_line
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "line": finding.line,
        "column": finding.column,
        "lines": list(map(int, lines)),
        "count": finding.count,
        "query_id": finding.query_id,
        "doc_id": finding.doc_id,
        "message": finding.message,
        "remedy": finding.remedy,
        "fix": finding.fix.value,
        **({"fix_effect": finding.effect} if finding.effect else {}),
    }
