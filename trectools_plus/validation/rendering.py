"""Render findings as text, JSON and GitHub annotations."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from trectools_plus.text import plural, sentences, visible
from trectools_plus.validation.findings import FileReport, Finding, Fix, Severity

WIDTH = 100
"""Maximum width of a line, unless a single word (a path, an id) is longer."""

_MARGIN = " " * 26


def printable(text: str) -> str:
    """Return ``text`` with escapes for invisible and control characters."""
    return visible(text, len(text))


def count_severities(reports: Sequence[FileReport]) -> Counter[Severity]:
    """Return the number of findings of each severity."""
    return Counter(finding.severity for report in reports for finding in report.findings)


def summary(reports: Sequence[FileReport]) -> str:
    """Return the numbers of findings and files as a sentence, and how to fix them."""
    counts, files = count_severities(reports), plural(len(reports), "file")
    if not counts:
        return f"No findings in {files}.\n"
    shown = ", ".join(plural(counts[name], name) for name in Severity if counts[name])
    fixes = {finding.fix for report in reports for finding in report.findings}
    hint = "Findings marked * are fixed by --fix OUT.\n" if Fix.SAFE in fixes else ""
    return f"Found {shown} in {files}.\n{hint}"


def render_text(reports: Sequence[FileReport], *, counted: Collection[str] = ()) -> str:
    """Return text: findings by file, worst first, a summary line, and a hint about fixes.

    Args:
        reports: The reports.
        counted: Codes of infos that are only counted.
    """
    lines: list[str] = []
    for report in reports:
        size = f"{plural(report.rows, 'row')}, {plural(report.queries, 'query', 'queries')}"
        verdict = "" if report.findings else "; no findings"
        lines.append(f"{printable(report.path)}: {report.kind}, {size}{verdict}")
        for severity in Severity:
            of_severity = [one for one in report.findings if one.severity is severity]
            hidden = counted if severity is Severity.INFO else ()
            for finding in sorted(of_severity, key=lambda finding: finding.line or 0):
                if finding.code not in hidden:
                    lines += _finding_lines(finding)
            codes = [finding.code for finding in of_severity if finding.code in hidden]
            if named := ", ".join(codes):
                count = plural(len(codes), "info")
                lines.append(f"  {count} not shown: {named} (--select {named})")
        lines.append("")
    return "".join(f"{line}\n" for line in lines) + summary(reports)


def _finding_lines(finding: Finding) -> Iterator[str]:
    place = ":".join(str(number) for number in (finding.line, finding.column) if number) or "-"
    mark = "*" if finding.fix is Fix.SAFE else " "
    head = f"  {place:>7}  {finding.severity:<7}  {finding.code}{mark} "
    where = line_ranges(finding.lines, finding.count)
    message = sentences(finding.message) + (f" [{where}]" if where else "")
    for start, text in ((head, message), (f"{_MARGIN}→ ", sentences(finding.remedy))):
        yield textwrap.fill(
            printable(text),
            WIDTH,
            initial_indent=start,
            subsequent_indent=_MARGIN,
            break_long_words=False,
            break_on_hyphens=False,
        )


def line_ranges(lines: Sequence[int], count: int) -> str:
    """Return ``lines 1, 2, 7, …`` for the first lines of ``count`` places; ``""`` for one line."""
    if len(set(lines)) < 2:
        return ""
    shown = ", ".join(map(str, dict.fromkeys(lines)))
    return f"lines {shown}{', …' if count > len(lines) else ''}"


def as_document(reports: Sequence[FileReport]) -> dict[str, Any]:
    """Return all findings as a JSON document.

    ``{"files": [{"path", "kind", "rows", "queries", "findings": [...]}], "summary": {"errors",
    "warnings", "infos"}}``.
    """
    counts = count_severities(reports)
    return {
        "files": [
            {
                "path": report.path,
                "kind": report.kind,
                "rows": report.rows,
                "queries": report.queries,
                "findings": list(map(_finding_as_dict, report.findings)),
            }
            for report in reports
        ],
        "summary": {f"{severity}s": counts[severity] for severity in Severity},
    }


_KEYS = ("code", "name", "severity", "line", "column", "count", "query_id", "doc_id", "message")


def _finding_as_dict(finding: Finding) -> dict[str, Any]:
    values = {name: getattr(finding, name) for name in (*_KEYS, "remedy", "fix")}
    return {**values, "lines": list(finding.lines)}


def render_github(reports: Sequence[FileReport]) -> str:
    """Return a GitHub annotation ``::error file=…,line=…::message`` for each finding."""
    return "".join(_github_annotation(finding) for report in reports for finding in report.findings)


def _github_annotation(finding: Finding) -> str:
    places = {
        "file": printable(finding.path),
        "line": finding.line,
        "col": finding.column,
        "title": f"{finding.code} {finding.name}",
    }
    properties = ",".join(
        f"{key}={_escape(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in places.items()
        if value
    )
    text = _escape(printable(sentences(finding.message, finding.remedy)))
    command = "notice" if finding.severity is Severity.INFO else finding.severity
    return f"::{command} {properties}::{text}\n"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
