"""The spelling of files, lines and texts in outputs, and one finding for each place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from urllib.parse import quote

from trectools_plus.text import visible
from trectools_plus.validation.findings import FileReport, Finding


def printable(text: str) -> str:
    """``text`` in full, with escapes for all that has no shape or steers a terminal."""
    return text if text.isprintable() else visible(text, len(text))


def file_uri(path: str) -> str:
    """A URI reference for a file: relative as it was named, ``file:`` for an absolute path.

    Bytes of a name that are not UTF-8 keep their value as percent escapes.
    """
    try:
        name = os.fsencode(PurePath(path).as_posix())
    except UnicodeEncodeError:  # half a character, which only Windows allows in a name
        path = path.encode("utf-8", "replace").decode()
        name = path.encode()
    return Path(path).as_uri() if PurePath(path).is_absolute() else quote(name)


def line_ranges(lines: Sequence[int], count: int) -> str:
    """``lines 1–3, 7, …``: the lines kept of a finding with ``count`` places; ``""`` for one."""
    if len(lines) < 2:
        return ""
    spans: list[list[int]] = []
    for line in lines:
        if spans and line == spans[-1][-1]:
            continue  # another place on the same line
        if spans and line == spans[-1][-1] + 1:
            spans[-1][1:] = [line]
        else:
            spans.append([line])
    if len(set(lines)) == 1:
        return ""
    shown = ", ".join("–".join(map(str, span)) for span in spans)
    return f"lines {shown}{', …' if count > len(lines) else ''}"


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
