"""Findings as one line each: for ``grep`` and editors, and as annotations for GitHub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trectools_plus.text import sentences
from trectools_plus.validation.findings import FileReport, Finding, Severity
from trectools_plus.validation.rendering.places import iter_occurrences, printable


def iter_concise(reports: Iterable[FileReport]) -> Iterator[str]:
    """One line ``path:line:column: severity code: message`` per finding; none without findings."""
    for report in reports:
        for finding in iter_occurrences(report):
            text = sentences(finding.message, finding.remedy)
            yield f"{printable(f'{finding.place}: {finding.severity} {finding.code}: {text}')}\n"


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def iter_github(reports: Iterable[FileReport]) -> Iterator[str]:
    """One ``::error file=…,line=…::message`` line per finding; nothing without findings."""
    for report in reports:
        for finding in iter_occurrences(report):
            yield f"{_annotation(finding)}\n"


def _annotation(finding: Finding) -> str:
    places = {
        "file": printable(finding.path),
        "line": finding.line,
        "col": finding.column,
        "title": f"{finding.code} {finding.name}",
    }
    properties = ",".join(
        f"{key}={_escape_property(str(value))}" for key, value in places.items() if value
    )
    text = _escape(printable(sentences(finding.message, finding.remedy)))
    return f"::{_COMMANDS[finding.severity]} {properties}::{text}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
