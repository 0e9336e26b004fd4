"""From one finding per rule to one for each place, for ``--all``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trectools_plus.text import visible
from trectools_plus.validation.findings import FileReport, Finding

LONGEST_ROW = 80
"""Characters of a row that are shown beside its line number."""


def iter_occurrences(report: FileReport) -> Iterator[Finding]:
    """The findings of a report; where every line was asked for, one for each line.

    What a rule says is about the first place. Each further one is shown by its row.
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
    """Number and text of each line of a finding, if every line was asked for; else nothing."""
    if report.line_text is not None:
        for line in map(int, finding.every_line):
            yield line, row_text(report, line)


def row_text(report: FileReport, line: int) -> str:
    """A line of the file with nothing invisible in it, cut when long; ``""`` if not at hand."""
    if report.line_text is None:
        return ""
    text = report.line_text(line)[: LONGEST_ROW + 1]
    return visible(text.replace("\t", " "), LONGEST_ROW)
