"""Render findings for build servers: GitHub annotations, SARIF 2.1.0 and JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from trectools_plus.text import sentences
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.registry import Rule
from trectools_plus.validation.rendering.json import json_chunks
from trectools_plus.validation.rendering.places import (
    file_uri,
    iter_occurrences,
    iter_rows,
    line_ranges,
    printable,
)

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
PACKAGE = "trectools-plus"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def iter_github(reports: Iterable[FileReport]) -> Iterator[str]:
    """Yield one GitHub annotation ``::error file=…,line=…::message`` per finding."""
    for report in reports:
        for finding in iter_occurrences(report):
            yield f"{_github_annotation(finding)}\n"


def _github_annotation(finding: Finding) -> str:
    places = {
        "file": printable(finding.path),
        "line": finding.line,
        "col": finding.column,
        "title": f"{finding.code} {finding.name}",
    }
    properties = ",".join(
        f"{key}={_escape_github_property(str(value))}" for key, value in places.items() if value
    )
    text = _escape_github(printable(sentences(finding.message, finding.remedy)))
    return f"::{_GITHUB_COMMANDS[finding.severity]} {properties}::{text}"


def _escape_github(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_github_property(text: str) -> str:
    return _escape_github(text).replace(":", "%3A").replace(",", "%2C")


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


def iter_junit(reports: Iterable[FileReport], *, strict: bool = False) -> Iterator[str]:
    """Yield all findings as a JUnit document.

    An error is a failed case; with ``strict``, a warning too. Other findings are passed cases with
    their text as output. A file without findings is one passed case.
    """
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="trectools-plus">\n'
    for report in reports:
        yield from _suite(report, failing)
    yield "</testsuites>\n"


def _suite(report: FileReport, failing: set[Severity]) -> Iterator[str]:
    failures = sum(finding.severity in failing for finding in report.findings)
    tests = max(1, len(report.findings))
    name = _attribute(report.path)
    yield f'  <testsuite name={name} tests="{tests}" failures="{failures}" errors="0">\n'
    yield "    <properties>\n"
    for key in ("kind", "rows", "queries"):
        yield f'      <property name="{key}" value="{getattr(report, key)}"/>\n'
    yield "    </properties>\n"
    if not report.findings:
        yield f'    <testcase classname={name} name="no findings"/>\n'
    for finding in report.findings:
        yield from _case(finding, report, failed=finding.severity in failing)
    yield "  </testsuite>\n"


def _case(finding: Finding, report: FileReport, *, failed: bool) -> Iterator[str]:
    path, title = _attribute(finding.path), _attribute(f"{finding.code} {finding.name}")
    line = "" if finding.line is None else f' line="{finding.line}"'
    yield f"    <testcase classname={path} name={title} file={path}{line}>\n"
    message = sentences(finding.message, finding.remedy)
    if failed:
        yield f'      <failure type="{finding.code}" message={_attribute(message)}>'
    else:
        yield "      <system-out>"
    where = line_ranges(finding.lines, finding.count)
    more = f" [{where}]" if where else ""
    yield _text(f"{finding.place}: {finding.severity} {finding.code}: {message}{more}")
    for number, text in iter_rows(report, finding):
        yield f"\n{number}: {_text(text)}"
    yield "</failure>\n" if failed else "</system-out>\n"
    yield "    </testcase>\n"


def _attribute(text: str) -> str:
    from xml.sax.saxutils import quoteattr

    return quoteattr(printable(text))


def _text(text: str) -> str:
    from xml.sax.saxutils import escape

    # Control characters and lone surrogates, which XML cannot contain, are escaped.
    return escape(printable(text))
