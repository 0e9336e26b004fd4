"""Render findings as text: grouped by file, worst first, with a summary line and counts by rule."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TextIO

from trectools_plus.display import TextTable
from trectools_plus.text import make_console, plural, sentences
from trectools_plus.validation.findings import FileReport, Finding, Fix, Severity
from trectools_plus.validation.rendering.places import iter_rows, line_ranges, printable

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
    yield from map(_plain, text_lines(reports, statistics=statistics, list_clean=list_clean))


def _plain(line: Line) -> str:
    return "".join(text for text, _ in line).rstrip() + "\n"


def print_text(
    reports: Iterable[FileReport],
    stream: TextIO,
    *,
    statistics: bool = False,
    list_clean: bool = True,
    counted: Collection[str] = (),
) -> None:
    """Write :func:`iter_text` to a stream, with the width and colours of a terminal.

    The environment variable ``NO_COLOR`` turns colours off.
    """
    is_terminal = stream.isatty()
    width = (
        max(_NARROWEST, min(WIDTH, shutil.get_terminal_size().columns)) if is_terminal else WIDTH
    )
    lines = text_lines(
        reports, width, statistics=statistics, list_clean=list_clean, counted=counted
    )
    if not is_terminal:
        stream.writelines(map(_plain, lines))
        return
    from rich.text import Text

    plain, console = bool(os.environ.get("NO_COLOR")), make_console(stream)
    for line in lines:
        parts = ((text, "" if plain else style) for text, style in line)
        console.print(Text.assemble(*parts), soft_wrap=True)


def text_lines(
    reports: Iterable[FileReport],
    width: int = WIDTH,
    *,
    statistics: bool = False,
    list_clean: bool = True,
    counted: Collection[str] = (),
) -> Iterator[Line]:
    """Yield the lines of :func:`iter_text` as parts with styles.

    Infos with the codes ``counted`` are only counted.
    """
    tally = Tally()
    for report in tally.count(reports):
        if not statistics and (report.findings or list_clean):
            yield from _file_lines(report, width, counted)
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


def _file_lines(report: FileReport, width: int, counted: Collection[str]) -> Iterator[Line]:
    size = f"{plural(report.rows, 'row')}, {plural(report.queries, 'query', 'queries')}"
    verdict = "" if report.findings else "; no findings"
    yield [(printable(report.path), "bold"), (f": {report.kind}, {size}{verdict}", "")]
    codes = [one.code for one in report.findings if _is_counted(one, counted)]
    findings = sorted(
        (one for one in report.findings if not _is_counted(one, counted)), key=_urgency
    )
    places = _aligned([(finding.line, finding.column) for finding in findings])
    for finding, place in zip(findings, places, strict=True):
        head = _head(finding, place)
        margin = sum(len(text) for text, _ in head)
        lists_rows = len(finding.every_line) > 1 and report.line_text is not None
        for at, (line, style) in enumerate(_body(finding, width - margin, lists_rows=lists_rows)):
            yield [*(head if at == 0 else [(" " * margin, "")]), (line, style)]
        if lists_rows:
            yield from _row_lines(report, finding, margin, width)
    if codes:
        named = ", ".join(dict.fromkeys(codes))
        yield [(f"  {plural(len(codes), 'info')} not shown: {named} (--select {named})", "dim")]
    yield []


def _is_counted(finding: Finding, counted: Collection[str]) -> bool:
    return finding.severity is Severity.INFO and finding.code in counted


def _head(finding: Finding, place: str) -> Line:
    """Return ``  line:column  severity  code``; ``*`` marks safe fixes."""
    colour = _COLOURS[finding.severity]
    return [
        (f"  {place}  ", "dim"),
        (f"{finding.severity:<{_SEVERITY_WIDTH}}  ", colour),
        (finding.code, f"bold {colour}"),
        ("* " if finding.fix is Fix.SAFE else "  ", "bold green"),
    ]


def _body(finding: Finding, width: int, *, lists_rows: bool) -> Iterator[tuple[str, str]]:
    """Yield lines with their style: the message, with its places unless rows follow; the remedy."""
    where = "" if lists_rows else line_ranges(finding.lines, finding.count)
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


class Tally:
    """Counts of findings and files.

    Attributes:
        n_files: Number of files so far.
        n_with_findings: Number of files with findings.
        findings: Number of findings of each severity.
        fixes: Number of findings that can be fixed in each way.
        needs_decision: For each rule whose fix is applied only by name: its effect, empty for a fix
            that deletes no rows.
    """

    def __init__(self) -> None:
        self.n_files = 0
        self.n_with_findings = 0
        self.findings = dict.fromkeys(Severity, 0)
        self.fixes = dict.fromkeys(Fix, 0)
        self.needs_decision: dict[str, str] = {}
        self._places: Counter[tuple[str, str, Severity]] = Counter()
        self._files: Counter[tuple[str, str, Severity]] = Counter()

    def count(self, reports: Iterable[FileReport]) -> Iterator[FileReport]:
        """Yield reports and count each."""
        for report in reports:
            self.add(report)
            yield report

    def add(self, report: FileReport) -> None:
        """Count one report."""
        self.n_files += 1
        self.n_with_findings += bool(report.findings)
        for finding in report.findings:
            self._add(finding)

    def _add(self, finding: Finding) -> None:
        self.findings[finding.severity] += 1
        self.fixes[finding.fix] += 1
        if finding.fix is Fix.ASK:
            self.needs_decision[finding.code] = finding.effect
        key = finding.code, finding.name, finding.severity
        self._places[key] += finding.count
        self._files[key] += 1

    def summary(self) -> dict[str, int]:
        """Return the number of findings by severity, with the keys of the JSON document."""
        return {f"{severity}s": self.findings[severity] for severity in Severity}

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return a record per rule and severity, worst and most frequent first."""
        keys = sorted(
            self._places, key=lambda key: (_ORDER.index(key[2]), -self._places[key], key[0])
        )
        return [
            {
                "code": code,
                "name": name,
                "severity": severity.value,
                "count": self._places[code, name, severity],
                "files": self._files[code, name, severity],
            }
            for code, name, severity in keys
        ]

    def as_table(self) -> Iterator[str]:
        """Yield the records of :meth:`as_dicts` as lines of a table; nothing without findings."""
        rows = [
            [r["code"], r["name"], r["severity"], f"{r['count']:,}", f"{r['files']:,}"]
            for r in self.as_dicts()
        ]
        header = ["code", "name", "severity", "count", "files"]
        if rows:
            yield from map(printable, TextTable.of(header, rows, right=header[3:]).lines())

    def sentence(self) -> str:
        """Return the summary line: numbers of findings and files."""
        files = plural(self.n_files, "file")
        found = [plural(n, severity) for severity, n in self.findings.items() if n]
        if not found:
            return f"No findings in {files}."
        if self.n_with_findings < self.n_files:
            files = f"{self.n_with_findings:,} of {files}"
        *most, last = found
        return f"Found {' and '.join([', '.join(most), last]) if most else last} in {files}."

    def fix_hints(self) -> list[str]:
        """Return the lines that suggest fixes.

        A fix that deletes rows is offered on its own line with its effect, never with others.
        """
        decisions = sorted(self.needs_decision.items())
        lines = self._command(",".join(code for code, effect in decisions if not effect))
        changing = [f"  {code} {effect}" for code, effect in decisions if effect]
        if changing:
            lines.append("Each of these fixes changes the figures; it is applied only if named:")
        return lines + changing

    def _command(self, codes: str) -> list[str]:
        """Return the line with the command that applies fixes; empty if there is nothing to fix."""
        safe = self.fixes[Fix.SAFE]
        if not safe:
            return [f"Fix with --fix OUT --fix {codes}."] if codes else []
        findings = "the finding" if safe == 1 else f"the {safe:,} findings"
        further = f"; for more, add --fix {codes}" if codes else ""
        return [f"Fix {findings} marked * with --fix OUT{further}."]
