"""Findings: the results of checks; render them as text, JSON and GitHub annotations."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal

from trectools_plus.display import Displayed
from trectools_plus.errors import CheckFailedError
from trectools_plus.text import MinorNote, one_line, plural, sentences, visible

MAX_QUOTED = 3
"""Number of findings that an error message quotes."""


class Severity(StrEnum):
    """The severity of a finding.

    Most errors block scoring. A warning may affect the figures, an info does not.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Fix(StrEnum):
    """The way in which a program can fix a finding.

    A ``safe`` fix does not change the ranking that is evaluated. With ``ask``, the owner of the
    file must decide. With ``no``, the file alone does not contain what a fix needs.
    """

    SAFE = "safe"
    ASK = "ask"
    NO = "no"


DropIn = Literal["refuses", "permissive", "scores"]
"""Treatment of a file by ``trec-eval``, if scoring rejects it elsewhere.

- ``refuses``: C trec_eval stops, crashes or hangs, or the data do not determine its figures.
- ``permissive``: refused too, but scored as C trec_eval does with ``--permissive``.
- ``scores``: scored as C trec_eval does, with a note.
"""


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Displayed):
    """One problem of one file: the rule, its first place, the number of places, and what to do.

    Attributes:
        code: The rule's code, for example ``R131``.
        name: The rule's name, for example ``duplicate-document``.
        severity: The severity of this finding, which may differ from the rule's usual one.
        path: The file as the user named it, or the name of a table that was not read from a file.
        message: The problem and its consequence, in one line without a final full stop.
        remedy: The way to fix it, in one line.
        fix: Whether a program can fix it.
        line: The line number of the first place, from 1; ``None`` for a whole file or a table.
        column: The first character of the affected field on that line, from 1.
        query_id: The query of the first place, where there is one.
        doc_id: The document of the first place, where there is one.
        count: Number of affected places (rows, queries or ids), at least 1.
        lines: The first few line numbers, the first of them ``line``; those of all places if
            requested.
        total: The highest possible ``count``, if known: 50 in "3 of 50 queries".
        blocks_scoring: True if scoring rejects a file with this finding.
        note: If a file with this finding is scored and the finding concerns its figures, or C
            trec_eval has another result: the consequence, in one clause. Otherwise empty.
        drop_in: The treatment of the file by ``trec-eval`` if ``blocks_scoring`` is true.
    """

    code: str
    name: str
    severity: Severity
    path: str
    message: str
    remedy: str
    fix: Fix = Fix.NO
    line: int | None = None
    column: int | None = None
    query_id: str | None = None
    doc_id: str | None = None
    count: int = 1
    lines: Sequence[int] = ()
    blocks_scoring: bool = False
    total: int | None = None
    note: str = ""
    drop_in: DropIn = "refuses"

    def with_note(self, note: str) -> str:
        """Return its place and message, followed by a clause."""
        return f"{self.place}: {self.code} {one_line(self.message)}; {note}"

    @property
    def place(self) -> str:
        """``path``, ``path:line`` or ``path:line:column``, which editors and terminals link."""
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part)


@dataclass(frozen=True, slots=True, repr=False)
class FileReport(Displayed):
    """The findings of one file, with the size of the file.

    Attributes:
        path: The file as the user named it.
        kind: ``run``, ``qrels``, ``topics`` or ``testset``.
        rows: Number of data rows with the right number of columns.
        queries: Number of distinct query ids in them.
        findings: At most one per rule, in the order of the catalogue.
        read_as: The format and the fields of topics that were read, if not the usual ones.
    """

    _entries: ClassVar = "findings"
    _columns: ClassVar = ("severity", "code", "line", "message", "count")

    path: str
    kind: str
    rows: int
    queries: int
    findings: tuple[Finding, ...]
    read_as: str | None = None

    def _text(self) -> str:
        """The text that ``runs validate`` prints."""
        return render_text([self])

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings with severity error."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)


class FindingsError(CheckFailedError):
    """The data cannot be scored because of at least one error (exit code 1).

    Args:
        findings: The refused findings, at least one.

    Attributes:
        findings: These findings, as a tuple.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings, first = tuple(findings), findings[0]
        named = "; ".join(f"{one.code} {one_line(one.message)}" for one in findings[:MAX_QUOTED])
        more = "; …" if len(findings) > MAX_QUOTED else ""
        what = f"{plural(len(findings), 'error')} to fix before scoring: {named}{more}"
        super().__init__(what, where=first.place, remedy=first.remedy)


def refuse_errors(findings: Iterable[Finding], *, strict_input: bool = False) -> None:
    """Raise an error if any finding blocks scoring.

    Args:
        findings: From :func:`check_pair` or a report.
        strict_input: Refuse every error, also those that change no figure.

    Raises:
        FindingsError: With the refused findings.
    """
    refused = [
        finding
        for finding in findings
        if finding.blocks_scoring or (strict_input and finding.severity is Severity.ERROR)
    ]
    if refused:
        raise FindingsError(refused)


NOTHING_JUDGED = "P105"
"""The rule that reports a run without judged documents."""

UNJUDGED = "unjudged documents count as not relevant"
"""The consequence of that rule for the figures."""

_ABOUT_FIGURES = frozenset({"P103", "P111", "Q131"})
"""Rules that report a property of the figures, which is not summarised with problems of files: the
numbers of queries without results (P103) and without a relevant document (Q131) are reported with
the figures."""
_MAY_LOWER = frozenset({"R112", "R114", "Q112", "Q114", "P105", "P106"})
"""Rules on rows that are skipped, and on ids that may be meant as judged ones."""


def notes_on_findings(of_runs: Iterable[Finding], of_qrels: Iterable[Finding] = ()) -> list[str]:
    """Return notes on errors and warnings that do not block scoring, for readers of the figures.

    Args:
        of_runs: The findings on all runs of an evaluation, alone and with the qrels.
        of_qrels: The findings on the qrels.

    Returns:
        A note for each finding that affects figures, or with which C trec_eval has another result;
        then notes with the codes of all other findings: those that may lower figures, and in a
        :class:`~trectools_plus.text.MinorNote` those that change none.
    """
    notes: list[str] = []
    others: dict[bool, list[Finding]] = {True: [], False: []}
    for finding in (*of_runs, *of_qrels):
        is_info = finding.severity is Severity.INFO
        if finding.blocks_scoring or is_info or finding.code in _ABOUT_FIGURES:
            continue
        if finding.note:
            notes.append(finding.with_note(finding.note))
        else:
            others[finding.code in _MAY_LOWER].append(finding)
    for lowers, findings in others.items():
        places = {(finding.code, finding.path) for finding in findings}
        if places:
            changes = "changes" if len(places) == 1 else "change"
            what = "that may lower figures" if lowers else f"that {changes} no figure"
            codes = dict.fromkeys(finding.code for finding in findings)
            kinds = dict.fromkeys(
                "trectools-plus qrels" if code[0] == "Q" else "runs" for code in codes
            )
            see = " and ".join(f"`{kind} validate`" for kind in kinds)
            text = f"{plural(len(places), 'finding')} {what}: {', '.join(codes)}; see {see}"
            notes.append(text if lowers else MinorNote(text))
    return notes


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
        infos = (one.code for one in report.findings if one.severity is Severity.INFO)
        hidden = [code for code in infos if code in counted]
        for finding in sorted(report.findings, key=_by_severity):
            if finding.code not in hidden:
                lines += _finding_lines(finding)
        if named := ", ".join(hidden):
            count = plural(len(hidden), "info")
            lines.append(f"  {count} not shown: {named} (--select {named})")
        lines.append("")
    return "".join(f"{line}\n" for line in lines) + summary(reports)


def _by_severity(finding: Finding) -> tuple[int, int]:
    return list(Severity).index(finding.severity), finding.line or 0


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
                "findings": [
                    {name: getattr(finding, name) for name in _KEYS} for finding in report.findings
                ],
            }
            for report in reports
        ],
        "summary": {f"{severity}s": counts[severity] for severity in Severity},
    }


_KEYS = [
    "code",
    "name",
    "severity",
    "line",
    "column",
    "count",
    "query_id",
    "doc_id",
    "message",
    "remedy",
    "fix",
    "lines",
]


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
