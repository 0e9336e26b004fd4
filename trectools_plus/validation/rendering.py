"""Render findings as text, JSON and GitHub annotations."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, TextIO

from trectools_plus.text import plural, sentences, visible
from trectools_plus.validation.findings import FileReport, Finding, Fix, Severity

WIDTH = 100
"""Maximum width of a line, unless a single word (a path, an id) is longer."""

LONGEST_ROW = 80
"""Length to which rows are cut, in characters."""

_NARROWEST = 60
_ORDER = list(Severity)
_COLOURS = {Severity.ERROR: 31, Severity.WARNING: 33, Severity.INFO: 34}
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_MARGIN = " " * 26


def printable(text: str) -> str:
    """Return ``text`` with escapes for invisible and control characters."""
    return text if text.isprintable() else visible(text, len(text))


def count_severities(reports: Sequence[FileReport]) -> Counter[Severity]:
    """Return the number of findings of each severity."""
    return Counter(finding.severity for report in reports for finding in report.findings)


def summary(reports: Sequence[FileReport]) -> str:
    """Return the numbers of findings and files as a sentence, and how to fix them."""
    counts, files = count_severities(reports), plural(len(reports), "file")
    if not counts:
        return f"No findings in {files}.\n"
    *most, last = [plural(counts[name], name) for name in _ORDER if counts[name]]
    n_with_findings = sum(bool(report.findings) for report in reports)
    if n_with_findings < len(reports):
        files = f"{n_with_findings:,} of {files}"
    shown = " and ".join([", ".join(most), last]) if most else last
    fixes = {finding.fix for report in reports for finding in report.findings}
    hint = "Findings marked * are fixed by --fix OUT.\n" if Fix.SAFE in fixes else ""
    return f"Found {shown} in {files}.\n{hint}"


def render_text(
    reports: Sequence[FileReport],
    *,
    width: int = WIDTH,
    is_coloured: bool = False,
    counted: Collection[str] = (),
) -> str:
    """Return text: findings by file, worst first, a summary line, and a hint about fixes.

    Args:
        reports: The reports.
        width: The longest line.
        is_coloured: Use the colours of terminals.
        counted: Codes of infos that are only counted.
    """
    lines: list[str] = []
    for report in reports:
        size = f"{plural(report.rows, 'row')}, {plural(report.queries, 'query', 'queries')}"
        verdict = "" if report.findings else "; no findings"
        lines.append(f"{printable(report.path)}: {report.kind}, {size}{verdict}")
        infos = [finding for finding in report.findings if finding.severity is Severity.INFO]
        codes = [finding.code for finding in infos if finding.code in counted]
        findings = [finding for finding in report.findings if finding.code not in codes]
        for finding in sorted(findings, key=_by_severity):
            lines += _finding_lines(report, finding, width, is_coloured=is_coloured)
        if codes:
            named = ", ".join(codes)
            lines.append(f"  {plural(len(codes), 'info')} not shown: {named} (--select {named})")
        lines.append("")
    return "".join(f"{line}\n" for line in lines) + summary(reports)


def print_text(reports: Sequence[FileReport], stream: TextIO, **options: Any) -> None:
    """Write :func:`render_text` to a stream, with the width and colours of a terminal.

    The environment variable ``NO_COLOR`` turns colours off.
    """
    width = WIDTH
    if stream.isatty():
        width = max(_NARROWEST, min(WIDTH, shutil.get_terminal_size().columns))
    is_coloured = stream.isatty() and not os.environ.get("NO_COLOR")
    stream.write(render_text(reports, width=width, is_coloured=is_coloured, **options))


def _by_severity(finding: Finding) -> tuple[int, int]:
    return _ORDER.index(finding.severity), finding.line or 0


def _finding_lines(
    report: FileReport, finding: Finding, width: int, *, is_coloured: bool
) -> Iterator[str]:
    place = ":".join(str(number) for number in (finding.line, finding.column) if number) or "-"
    mark = "*" if finding.fix is Fix.SAFE else " "
    head = f"  {place:>7}  {finding.severity:<7}  {finding.code}{mark} "
    lists_rows = report.line_text is not None and len(finding.every_line) > 1
    where = "" if lists_rows else line_ranges(finding.lines, finding.count)
    message = sentences(finding.message) + (f" [{where}]" if where else "")
    for start, text in ((head, message), (f"{_MARGIN}→ ", sentences(finding.remedy))):
        wrapped = textwrap.wrap(
            printable(text),
            width - len(_MARGIN) - 2,
            break_long_words=False,
            break_on_hyphens=False,
        )
        shown = f"\x1b[{_COLOURS[finding.severity]}m{start}\x1b[0m" if is_coloured else start
        yield f"\n{_MARGIN}".join([f"{shown}{wrapped[0]}", *wrapped[1:]])
    for line in finding.every_line if lists_rows else ():
        yield f"{_MARGIN}{line:>7} │ {row_text(report, line)}"


def line_ranges(lines: Sequence[int], count: int) -> str:
    """Return ``lines 1, 2, 7, …`` for the first lines of ``count`` places; ``""`` for one line."""
    if len(set(lines)) < 2:
        return ""
    shown = ", ".join(map(str, dict.fromkeys(lines)))
    return f"lines {shown}{', …' if count > len(lines) else ''}"


def row_text(report: FileReport, line: int) -> str:
    """Return a printable, shortened line of the file; ``""`` if it is not available."""
    text = "" if report.line_text is None else report.line_text(line)[: LONGEST_ROW + 1]
    return visible(text.replace("\t", " "), LONGEST_ROW)


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
        "summary": {f"{severity}s": counts[severity] for severity in _ORDER},
    }


_KEYS = ("code", "name", "severity", "line", "column", "count", "query_id", "doc_id", "message")


def _finding_as_dict(finding: Finding) -> dict[str, Any]:
    values = {name: getattr(finding, name) for name in (*_KEYS, "remedy", "fix")}
    return {**values, "lines": list(finding.every_line or finding.lines)}


def render_github(reports: Sequence[FileReport]) -> str:
    """Return one GitHub annotation ``::error file=…,line=…::message`` per finding.

    If all lines were requested, there is one for each; the text of the line replaces the message.
    """
    findings: list[Finding] = []
    for report in reports:
        for finding in report.findings:
            findings.append(finding)
            for line in finding.every_line[1:] if report.line_text is not None else ():
                what = f"{finding.name.replace('-', ' ')}: {row_text(report, line)}"
                findings.append(replace(finding, line=line, column=None, message=what))
    return "".join(map(_github_annotation, findings))


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
    return f"::{_COMMANDS[finding.severity]} {properties}::{text}\n"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
