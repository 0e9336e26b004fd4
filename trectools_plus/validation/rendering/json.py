"""Findings as one JSON document with the keys that scripts rely on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from trectools_plus.validation.findings import FileReport, Finding, Severity, count_severities


def render_json(reports: Sequence[FileReport]) -> str:
    """All findings as a JSON document, ending in a newline.

    ``{"files": [{"path", "kind", "rows", "queries", "findings": [...]}], "summary": {"errors",
    "warnings", "infos"}}``. Invisible characters in ids are JSON escapes.
    """
    counts = count_severities(finding for report in reports for finding in report.findings)
    document = {
        "files": [
            {
                "path": report.path,
                "kind": report.kind,
                "rows": report.rows,
                "queries": report.queries,
                "findings": [finding_as_dict(finding) for finding in report.findings],
            }
            for report in reports
        ],
        "summary": {
            "errors": counts[Severity.ERROR],
            "warnings": counts[Severity.WARNING],
            "infos": counts[Severity.INFO],
        },
    }
    return json.dumps(document, indent=2) + "\n"


def finding_as_dict(finding: Finding) -> dict[str, Any]:
    """One finding with the keys of the JSON document; reports of benchmarks hold the same."""
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "line": finding.line,
        "column": finding.column,
        "lines": list(finding.lines),
        "count": finding.count,
        "query_id": finding.query_id,
        "doc_id": finding.doc_id,
        "message": finding.message,
        "remedy": finding.remedy,
        "fix": finding.fix.value,
    }
