"""Findings for people: grouped by file, worst first, one summary line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from trectools_plus.validation.findings import FileReport, Finding, Severity, count_severities
from trectools_plus.validation.wording import plural, sentences

WIDTH = 100
"""Columns that no line exceeds, unless a single word (a path, an id) does."""

_ORDER = list(Severity)
_STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}


def render_text(reports: Sequence[FileReport]) -> str:
    """All findings as plain text, ending in a newline.

    Each finding starts with ``path:line:column: severity code:`` so that editors can jump to it.
    """
    return "".join(f"{line}\n" for line, _ in _lines(reports))


def print_text(reports: Sequence[FileReport], stream: TextIO) -> None:
    """Write :func:`render_text` to a stream, in colour if that is a terminal."""
    if not stream.isatty():
        stream.write(render_text(reports))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, soft_wrap=True)
    for line, severity in _lines(reports):
        text = Text(line)
        if severity is not None:
            text.highlight_words([f" {severity} "], _STYLES[severity])
        console.print(text)


def _lines(reports: Sequence[FileReport]) -> Iterator[tuple[str, Severity | None]]:
    """Lines of the report, each with the severity of the finding that begins on it."""
    for report in reports:
        size = f"{plural(report.rows, 'row')}, {plural(report.queries, 'query', 'queries')}"
        verdict = "" if report.findings else "; no findings"
        yield f"{report.path}: {report.kind}, {size}{verdict}", None
        for finding in sorted(report.findings, key=_urgency):
            first, *rest = _wrap(finding)
            yield first, finding.severity
            yield from ((line, None) for line in rest)
        yield "", None
    yield _summary(reports), None


def _urgency(finding: Finding) -> tuple[int, int]:
    return _ORDER.index(finding.severity), finding.line or 0


def _wrap(finding: Finding) -> list[str]:
    text = sentences(finding.message, finding.remedy)
    if len(finding.lines) > 1:
        more = ", …" if finding.count > len(finding.lines) else ""
        text += f" [lines {', '.join(map(str, finding.lines))}{more}]"
    return textwrap.wrap(
        f"{finding.place}: {finding.severity} {finding.code}: {text}",
        WIDTH,
        initial_indent="  ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summary(reports: Sequence[FileReport]) -> str:
    counts = count_severities(finding for report in reports for finding in report.findings)
    parts = [plural(counts[severity], severity) for severity in Severity]
    files = plural(len(reports), "file")
    return f"{', '.join(parts)} in {files}." if any(counts.values()) else f"No findings in {files}."
