"""Render findings as text: grouped by file, worst first, with a summary line."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from trectools_plus.text import make_console, plural, sentences
from trectools_plus.validation.findings import FileReport, Finding, Fix, Severity
from trectools_plus.validation.rendering.places import iter_rows, line_ranges, printable
from trectools_plus.validation.rendering.tally import Tally

WIDTH = 100
"""Maximum width of a line, unless a single word (a path, an id) is longer."""

_NARROWEST = 60
_ORDER = list(Severity)
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
_SEVERITY_WIDTH = max(map(len, Severity))

Line = list[tuple[str, str]]
"""Parts of a line, each with its Rich style (empty for none)."""


def iter_text(
    reports: Iterable[FileReport], *, statistics: bool = False, list_clean: bool = True
) -> Iterator[str]:
    """Yield plain text, line by line.

    Args:
        reports: Read once, one at a time.
        statistics: Show a table of counts by rule instead of the findings.
        list_clean: Show files without findings.
    """
    lines = text_lines(reports, statistics=statistics, list_clean=list_clean)
    for line in lines:
        yield "".join(text for text, _ in line).rstrip() + "\n"


def print_text(
    reports: Iterable[FileReport],
    stream: TextIO,
    *,
    statistics: bool = False,
    list_clean: bool = True,
) -> None:
    """Write :func:`iter_text` to a stream, with the width and colours of a terminal.

    The environment variable ``NO_COLOR`` turns colours off.
    """
    if not stream.isatty():
        stream.writelines(iter_text(reports, statistics=statistics, list_clean=list_clean))
        return
    from rich.text import Text

    width = max(_NARROWEST, min(WIDTH, shutil.get_terminal_size().columns))
    plain = bool(os.environ.get("NO_COLOR"))
    console = make_console(stream)
    for line in text_lines(reports, width, statistics=statistics, list_clean=list_clean):
        parts = ((text, "" if plain else style) for text, style in line)
        console.print(Text.assemble(*parts), soft_wrap=True)


def text_lines(
    reports: Iterable[FileReport],
    width: int = WIDTH,
    *,
    statistics: bool = False,
    list_clean: bool = True,
) -> Iterator[Line]:
    """Yield the lines of :func:`iter_text` as parts with styles."""
    tally = Tally()
    for report in tally.count(reports):
        if not statistics and (report.findings or list_clean):
            yield from _file_lines(report, width)
    if statistics:
        yield from _table_lines(tally)
    worst = next((severity for severity in Severity if tally.findings[severity]), None)
    yield [(tally.sentence(), f"bold {_COLOURS[worst]}" if worst else "bold green")]
    for hint in () if statistics else tally.fix_hints():
        wrapped = textwrap.wrap(hint, width, subsequent_indent="  ", break_on_hyphens=False)
        yield from ([(line, "")] for line in wrapped)


def _table_lines(tally: Tally) -> Iterator[Line]:
    """Yield the table of ``--statistics`` and a blank line; nothing without findings."""
    for at, row in enumerate(tally.as_table()):
        yield [(row, "" if at else "bold")]
    if any(tally.findings.values()):
        yield []


def _file_lines(report: FileReport, width: int) -> Iterator[Line]:
    size = f"{plural(report.rows, 'row')}, {plural(report.queries, 'query', 'queries')}"
    verdict = "" if report.findings else "; no findings"
    yield [(printable(report.path), "bold"), (f": {report.kind}, {size}{verdict}", "")]
    findings = sorted(report.findings, key=_urgency)
    places = _aligned([(finding.line, finding.column) for finding in findings])
    for finding, place in zip(findings, places, strict=True):
        head = _head(finding, place)
        margin = sum(len(text) for text, _ in head)
        every = len(finding.every_line) > 1 and report.line_text is not None
        for at, (line, style) in enumerate(_body(finding, width - margin, every=every)):
            yield [*(head if at == 0 else [(" " * margin, "")]), (line, style)]
        if every:
            yield from _row_lines(report, finding, margin, width)
    yield []


def _head(finding: Finding, place: str) -> Line:
    """Return ``  line:column  severity  code``; ``*`` marks safe fixes."""
    colour = _COLOURS[finding.severity]
    return [
        (f"  {place}  ", "dim"),
        (f"{finding.severity:<{_SEVERITY_WIDTH}}  ", colour),
        (finding.code, f"bold {colour}"),
        ("* " if finding.fix is Fix.SAFE else "  ", "bold green"),
    ]


def _body(finding: Finding, width: int, *, every: bool) -> Iterator[tuple[str, str]]:
    """Yield the message and the remedy."""
    where = "" if every else line_ranges(finding.lines, finding.count)
    for line in _wrap(sentences(finding.message) + (f" [{where}]" if where else ""), width):
        yield line, ""
    for at, line in enumerate(_wrap(sentences(finding.remedy), width - 2)):
        yield f"{' ' if at else '→'} {line}", "cyan"


def _row_lines(report: FileReport, finding: Finding, margin: int, width: int) -> Iterator[Line]:
    """Yield number and text of each line of a finding."""
    digits = len(str(max(finding.every_line)))
    left = max(0, width - margin - digits - 3)
    for number, text in iter_rows(report, finding):
        yield [(f"{'':{margin}}{number:>{digits}} │ ", "dim"), (text[:left], "")]


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(printable(text), width, break_long_words=False, break_on_hyphens=False)


def _aligned(places: Sequence[tuple[int | None, int | None]]) -> list[str]:
    """Return ``line:column`` for each place, with aligned colons; ``-`` for a whole file."""
    lines = [str(line or "-") for line, _ in places]
    columns = [f":{column}" if column else "" for _, column in places]
    before, after = max(map(len, lines), default=0), max(map(len, columns), default=0)
    return [
        f"{line:>{before}}{column:<{after}}" for line, column in zip(lines, columns, strict=True)
    ]


def _urgency(finding: Finding) -> tuple[int, int]:
    return _ORDER.index(finding.severity), finding.line or 0
