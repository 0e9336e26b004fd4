"""Findings as one JSON document with the keys that scripts rely on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from trectools_plus.validation.findings import FileReport, Finding
from trectools_plus.validation.rendering.chunks import json_chunks
from trectools_plus.validation.rendering.tally import Tally

FileExtras = Callable[[FileReport], dict[str, Any]]


def iter_json(
    reports: Iterable[FileReport],
    *,
    statistics: bool = False,
    extras: FileExtras | None = None,
) -> Iterator[str]:
    """All findings as a JSON document.

    ``{"files": [{"path", "kind", "rows", "queries", "findings": [...]}], "summary": {"errors",
    "warnings", "infos"}}``. Invisible characters in ids are JSON escapes.

    Args:
        reports: Read once, one at a time.
        statistics: Whether to add ``statistics``: code, name, severity, count and files per rule.
        extras: Further keys for a file.
    """
    tally = Tally()
    document: dict[str, Any] = {
        "files": (_file(report, extras) for report in tally.count(reports)),
        "summary": tally.summary,
    }
    if statistics:
        document["statistics"] = tally.as_dicts
    yield from json_chunks(document)
    yield "\n"


def _file(report: FileReport, extras: FileExtras | None) -> dict[str, Any]:
    return {
        "path": report.path,
        "kind": report.kind,
        "rows": report.rows,
        "queries": report.queries,
        "findings": (_finding(finding, report) for finding in report.findings),
        **(extras(report) if extras else {}),
    }


def _finding(finding: Finding, report: FileReport) -> dict[str, Any]:
    # An array of line numbers would double in size as a list.
    lines: Sequence[int] = finding.lines if report.line_text is None else finding.every_line
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "line": finding.line,
        "column": finding.column,
        "lines": map(int, lines),
        "count": finding.count,
        "query_id": finding.query_id,
        "doc_id": finding.doc_id,
        "message": finding.message,
        "remedy": finding.remedy,
        "fix": finding.fix.value,
    }
