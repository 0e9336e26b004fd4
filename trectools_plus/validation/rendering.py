"""Render findings as text, JSON and GitHub annotations, and the rules as a page.

Every renderer reads reports one by one and yields its document in parts, so that thousands of files
need no more memory than one file.
"""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
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

FileExtras = Callable[[FileReport], dict[str, Any]]


def printable(text: str) -> str:
    """Return ``text`` with escapes for invisible and control characters."""
    return text if text.isprintable() else visible(text, len(text))


class Tally:
    """Counts of findings and files.

    Attributes:
        n_files: Number of files so far.
        n_with_findings: Number of files with findings.
        by_severity: The number of findings of each severity.
        fixes: The codes of findings by the way in which they can be fixed, and their numbers.
    """

    def __init__(self) -> None:
        self.n_files = 0
        self.n_with_findings = 0
        self.by_severity = dict.fromkeys(Severity, 0)
        self.fixes: dict[Fix, Counter[str]] = {fix: Counter() for fix in Fix}

    def count(self, reports: Iterable[FileReport]) -> Iterator[FileReport]:
        """Yield reports and count each."""
        for report in reports:
            self.n_files += 1
            self.n_with_findings += bool(report.findings)
            for finding in report.findings:
                self.by_severity[finding.severity] += 1
                self.fixes[finding.fix][finding.code] += 1
            yield report

    def sentence(self) -> str:
        """Return the summary line: numbers of findings and files."""
        files = plural(self.n_files, "file")
        *most, last = [plural(n, name) for name, n in self.by_severity.items() if n] or [""]
        if not last:
            return f"No findings in {files}."
        if self.n_with_findings < self.n_files:
            files = f"{self.n_with_findings:,} of {files}"
        return f"Found {' and '.join([', '.join(most), last]) if most else last} in {files}."

    def fix_hint(self) -> str:
        """Return the command that applies fixes; empty if there is nothing to fix."""
        safe, codes = self.fixes[Fix.SAFE].total(), ",".join(sorted(self.fixes[Fix.ASK]))
        if not safe:
            return f"Fix with --fix OUT --fix {codes}." if codes else ""
        findings = "the finding" if safe == 1 else f"the {safe:,} findings"
        further = f"; for more, add --fix {codes}" if codes else ""
        return f"Fix {findings} marked * with --fix OUT{further}."


def iter_text(
    reports: Iterable[FileReport],
    *,
    width: int = WIDTH,
    is_coloured: bool = False,
    list_clean: bool = True,
    counted: Collection[str] = (),
) -> Iterator[str]:
    """Yield text: findings by file, worst first, a summary line, and a hint about fixes.

    Args:
        reports: Read once, one at a time.
        width: The longest line.
        is_coloured: Use the colours of terminals.
        list_clean: Show files without findings.
        counted: Codes of infos that are only counted.
    """
    tally = Tally()
    for report in tally.count(reports):
        if report.findings or list_clean:
            yield from _file_lines(report, width, is_coloured=is_coloured, counted=counted)
    yield f"{tally.sentence()}\n"
    if hint := tally.fix_hint():
        yield textwrap.fill(hint, width, subsequent_indent="  ", break_on_hyphens=False) + "\n"


def print_text(reports: Iterable[FileReport], stream: TextIO, **options: Any) -> None:
    """Write :func:`iter_text` to a stream, with the width and colours of a terminal.

    The environment variable ``NO_COLOR`` turns colours off.
    """
    width = WIDTH
    if stream.isatty():
        width = max(_NARROWEST, min(WIDTH, shutil.get_terminal_size().columns))
    is_coloured = stream.isatty() and not os.environ.get("NO_COLOR")
    stream.writelines(iter_text(reports, width=width, is_coloured=is_coloured, **options))


def _file_lines(
    report: FileReport, width: int, *, is_coloured: bool, counted: Collection[str]
) -> Iterator[str]:
    size = f"{plural(report.rows, 'row')}, {plural(report.queries, 'query', 'queries')}"
    verdict = "" if report.findings else "; no findings"
    yield f"{printable(report.path)}: {report.kind}, {size}{verdict}\n"
    codes = {
        finding.code: None
        for finding in report.findings
        if finding.severity is Severity.INFO and finding.code in counted
    }
    findings = [finding for finding in report.findings if finding.code not in codes]
    for finding in sorted(findings, key=lambda one: (_ORDER.index(one.severity), one.line or 0)):
        yield from _finding_lines(report, finding, width, is_coloured=is_coloured)
    if codes:
        named = ", ".join(codes)
        yield f"  {plural(len(codes), 'info')} not shown: {named} (--select {named})\n"
    yield "\n"


def _finding_lines(
    report: FileReport, finding: Finding, width: int, *, is_coloured: bool
) -> Iterator[str]:
    place = ":".join(str(number) for number in (finding.line, finding.column) if number) or "-"
    mark = "*" if finding.fix is Fix.SAFE else " "
    head, margin = f"  {place:>7}  {finding.severity:<7}  {finding.code}{mark} ", " " * 26
    lists_rows = report.line_text is not None and len(finding.every_line) > 1
    where = "" if lists_rows else line_ranges(finding.lines, finding.count)
    message = sentences(finding.message) + (f" [{where}]" if where else "")
    for start, text in ((head, message), (f"{margin}→ ", sentences(finding.remedy))):
        lines = textwrap.wrap(
            printable(text),
            width - len(margin) - 2,
            break_long_words=False,
            break_on_hyphens=False,
        )
        shown = f"\x1b[{_COLOURS[finding.severity]}m{start}\x1b[0m" if is_coloured else start
        yield f"\n{margin}".join([f"{shown}{lines[0]}", *lines[1:]]) + "\n"
    for line in finding.every_line if lists_rows else ():
        yield f"{margin}{line:>7} │ {row_text(report, line)}\n"


def line_ranges(lines: Sequence[int], count: int) -> str:
    """Return ``lines 1, 2, 7, …`` for the first lines of ``count`` places; ``""`` for one line."""
    if len(set(lines)) < 2:
        return ""
    shown = ", ".join(map(str, dict.fromkeys(map(int, lines))))
    return f"lines {shown}{', …' if count > len(lines) else ''}"


def row_text(report: FileReport, line: int) -> str:
    """Return a printable, shortened line of the file; ``""`` if it is not available."""
    text = "" if report.line_text is None else report.line_text(line)[: LONGEST_ROW + 1]
    return visible(text.replace("\t", " "), LONGEST_ROW)


def iter_json(reports: Iterable[FileReport], *, extras: FileExtras | None = None) -> Iterator[str]:
    """Yield all findings as a JSON document.

    ``{"files": [{"path", "kind", "rows", "queries", "findings": [...]}], "summary": {"errors",
    "warnings", "infos"}}``. Invisible characters in ids are JSON escapes.

    Args:
        reports: Read once, one at a time.
        extras: Returns additional keys for a file.
    """
    tally = Tally()
    separator = '{"files": [\n'
    for report in tally.count(reports):
        further = extras(report) if extras else {}
        yield separator + json.dumps({**_file_as_dict(report), **further}, indent=2)
        separator = ",\n"
    yield '{"files": [' if separator.startswith("{") else "\n"
    counts = {f"{severity}s": count for severity, count in tally.by_severity.items()}
    yield f"],\n{json.dumps({'summary': counts}, indent=2)[2:]}\n"


def _file_as_dict(report: FileReport) -> dict[str, Any]:
    return {
        "path": report.path,
        "kind": report.kind,
        "rows": report.rows,
        "queries": report.queries,
        "findings": [
            {
                "code": finding.code,
                "name": finding.name,
                "severity": finding.severity.value,
                "line": finding.line,
                "column": finding.column,
                "lines": list(map(int, finding.every_line or finding.lines)),
                "count": finding.count,
                "query_id": finding.query_id,
                "doc_id": finding.doc_id,
                "message": finding.message,
                "remedy": finding.remedy,
                "fix": finding.fix.value,
            }
            for finding in report.findings
        ],
    }


def iter_github(reports: Iterable[FileReport]) -> Iterator[str]:
    """Yield one GitHub annotation ``::error file=…,line=…::message`` per finding.

    If all lines were requested, there is one for each; the text of the line replaces the message.
    """
    for report in reports:
        for finding in report.findings:
            yield _github_annotation(finding)
            for line in finding.every_line[1:] if report.line_text is not None else ():
                what = f"{finding.name.replace('-', ' ')}: {row_text(report, line)}"
                yield _github_annotation(replace(finding, line=line, column=None, message=what))


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


RENDERERS: dict[str, Callable[[Iterable[FileReport]], Iterator[str]]] = {
    "text": iter_text,
    "json": iter_json,
    "github": iter_github,
}
"""Renderers by the name of the output format on the command line."""


def render(reports: Iterable[FileReport], output_format: str = "text") -> str:
    """Return all findings in one of the formats of :data:`RENDERERS`."""
    return "".join(RENDERERS[output_format](reports))
