"""Format files, lines and texts, and split findings by place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trectools_plus.text import visible
from trectools_plus.validation.findings import FileReport, Finding


def printable(text: str) -> str:
    """Return ``text`` with escapes for invisible and control characters."""
    return text if text.isprintable() else visible(text, len(text))


def line_ranges(lines: Sequence[int], count: int) -> str:
    """Return ``lines 1, 2, 7, …`` for the first lines of ``count`` places; ``""`` for one line."""
    if len(set(lines)) < 2:
        return ""
    shown = ", ".join(map(str, dict.fromkeys(map(int, lines))))
    return f"lines {shown}{', …' if count > len(lines) else ''}"


LONGEST_ROW = 80
"""Length to which rows are cut in outputs, in characters."""


def iter_occurrences(report: FileReport) -> Iterator[Finding]:
    """Yield the findings of a report; if all lines were requested, one for each line.

    The message describes the first place. For the others, the text of the line replaces it.
    """
    for finding in report.findings:
        if report.line_text is None or len(finding.every_line) < 2:
            yield finding
            continue
        for at, line in enumerate(map(int, finding.every_line)):
            if at == 0:
                yield replace(finding, count=1, lines=(line,))
            else:
                yield replace(
                    finding,
                    line=line,
                    lines=(line,),
                    count=1,
                    column=None,
                    query_id=None,
                    doc_id=None,
                    message=f"{finding.name.replace('-', ' ')}: {row_text(report, line)}",
                )


def iter_rows(report: FileReport, finding: Finding) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line of a finding, if all lines were requested."""
    if report.line_text is not None:
        for line in map(int, finding.every_line):
            yield line, row_text(report, line)


def row_text(report: FileReport, line: int) -> str:
    """Return a printable, shortened line of the file; ``""`` if it is not available."""
    if report.line_text is None:
        return ""
    text = report.line_text(line)[: LONGEST_ROW + 1]
    return visible(text.replace("\t", " "), LONGEST_ROW)
