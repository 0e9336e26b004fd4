"""Render findings as GitHub annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trectools_plus.text import sentences
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.rendering.places import (
    iter_occurrences,
    printable,
)

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
