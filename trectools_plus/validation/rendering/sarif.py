"""Render findings as SARIF 2.1.0, the format of code scanning services."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from trectools_plus.text import sentences
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.registry import Rule
from trectools_plus.validation.rendering.json import json_chunks
from trectools_plus.validation.rendering.places import file_uri, iter_occurrences, printable

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
PACKAGE = "trectools-plus"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def iter_sarif(reports: Iterable[FileReport]) -> Iterator[str]:
    """Yield all findings as a SARIF log with one run, in parts."""
    from trectools_plus.validation.catalogue import CATALOGUE

    index = {rule.code: at for at, rule in enumerate(CATALOGUE)}
    results = (
        _result(finding, index[finding.code])
        for report in reports
        for finding in iter_occurrences(report)
    )
    run = {"tool": {"driver": _driver()}, "columnKind": "unicodeCodePoints", "results": results}
    yield from json_chunks({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
    yield "\n"


def documentation_url() -> str | None:
    """Return the documentation URL in the package's metadata; ``None`` if it is missing."""
    named = (url.partition(",") for url in _metadata("Project-URL"))
    return next((url.strip() for label, _, url in named if label == "Documentation"), None)


def _metadata(key: str) -> list[str]:
    """Return the values of a key of the metadata; empty if the package is not installed."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        return metadata(PACKAGE).get_all(key) or []
    except PackageNotFoundError:
        return []


def _driver() -> dict[str, Any]:
    from trectools_plus.validation.catalogue import CATALOGUE

    docs = documentation_url()
    driver: dict[str, Any] = {"name": PACKAGE}
    for version in _metadata("Version"):
        driver["version"] = version
    if docs is not None:
        driver["informationUri"] = docs
    driver["rules"] = [_rule(rule, docs) for rule in CATALOGUE]
    return driver


def _rule(rule: Rule, docs: str | None) -> dict[str, Any]:
    text = f"{rule.rationale} {sentences(rule.remedy)}"
    described: dict[str, Any] = {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in re.split(r"\W", rule.name)),
        "shortDescription": {"text": sentences(rule.checks)},
        "fullDescription": {"text": rule.rationale},
        "help": {
            "text": f"{text}\n\nExample: {rule.example}",
            "markdown": f"{text}\n\n```text\n{rule.example}\n```\n",
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.on], "fix": rule.fix.value},
    }
    if docs is not None:
        described["helpUri"] = f"{docs.rstrip('/')}/rules/#{rule.code}"
    return described


def _result(finding: Finding, rule_index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": file_uri(finding.path)}}
    if finding.line is not None:
        place["region"] = {"startLine": finding.line}
        if finding.column is not None:
            place["region"]["startColumn"] = finding.column
    properties = {
        "count": finding.count,
        "lines": list(finding.lines),
        "fix": finding.fix.value,
        "fixEffect": finding.effect or None,
        "queryId": finding.query_id,
        "docId": finding.doc_id,
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": printable(sentences(finding.message, finding.remedy))},
        "locations": [{"physicalLocation": place}],
        "properties": {key: value for key, value in properties.items() if value is not None},
    }
