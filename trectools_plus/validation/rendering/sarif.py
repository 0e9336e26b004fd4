"""Findings as SARIF 2.1.0, the format that code scanning services read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.registry import Rule
from trectools_plus.validation.wording import sentences

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render_sarif(reports: Sequence[FileReport]) -> str:
    """All findings as a SARIF log with one run, ending in a newline."""
    index = {rule.code: at for at, rule in enumerate(CATALOGUE)}
    results = [
        _result(finding, index[finding.code]) for report in reports for finding in report.findings
    ]
    driver = {"name": "trectools-plus", "rules": [_rule(rule) for rule in CATALOGUE]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.checks},
        "fullDescription": {"text": rule.rationale},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding, rule_index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.path)}}
    if finding.line is not None:
        place["region"] = {"startLine": finding.line}
        if finding.column is not None:
            place["region"]["startColumn"] = finding.column
    return {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": sentences(finding.message, finding.remedy)},
        "locations": [{"physicalLocation": place}],
        "properties": {"count": finding.count, "lines": list(finding.lines)},
    }
