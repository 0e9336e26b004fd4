"""Findings: the result of a check, collected as objects and rendered late.

A finding is a value. Nothing here prints: :mod:`trectools_plus.validation.rendering` turns the
same objects into text, JSON, GitHub annotations, SARIF or JUnit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from trectools_plus.errors import CheckFailedError
from trectools_plus.text import one_line, plural

NAMED_IN_ERROR = 3
"""Number of findings that the one-line error message spells out."""


class Severity(StrEnum):
    """The severity of a finding: warnings may change a number, infos do not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Fix(StrEnum):
    """Return whether a finding can be fixed by a program.

    ``safe`` leaves the ranking that evaluation sees as it is, ``ask`` needs a decision that only
    the owner of the file can take, ``no`` cannot be fixed from the file alone.
    """

    SAFE = "safe"
    ASK = "ask"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of one file: a rule, where it was broken first, how often, what to do.

    Attributes:
        code: The rule's code, such as ``R131``.
        name: The rule's name, such as ``duplicate-document``.
        severity: Of this finding; it may be lower or higher than the rule's usual one.
        path: The file as the user named it, or the name of a table that never was a file.
        message: What is seen and why it matters, in one line without a final full stop.
        remedy: What to do about it, in one line.
        fix: Whether a program can fix it.
        line: The file's own line number of the first place, from 1; ``None`` when the whole file
            is meant or there is no file.
        column: The first character of the field meant on that line, from 1.
        query_id: The query of the first place, where there is one.
        doc_id: The document of the first place, where there is one.
        count: How many places (rows, queries, ids) the finding stands for.
        lines: The first few line numbers, the first of them ``line``.
        every_line: The line number of each place, when all were asked for; else as ``lines``.
        total: How many there are of what ``count`` counts, where that is known: 3 of 50 queries.
        blocks_scoring: Whether scoring refuses a file with this finding.
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
    lines: tuple[int, ...] = ()
    blocks_scoring: bool = False
    total: int | None = None
    every_line: Sequence[int] = field(default=(), compare=False, repr=False)

    @property
    def place(self) -> str:
        """``path``, ``path:line`` or ``path:line:column``: what editors and terminals link."""
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part)


@dataclass(frozen=True, slots=True)
class FileReport:
    """The findings of one file, with what was looked at.

    Attributes:
        path: The file as the user named it.
        kind: ``run``, ``qrels``, ``topics`` or ``testset``.
        rows: Number of data rows of the right shape.
        queries: Number of distinct query ids in them.
        findings: In the order of the catalogue: one per rule.
        line_text: The text of a line of the file, by its number; only where every line of a
            finding was asked for, because it keeps the content of the file in memory.
    """

    path: str
    kind: str
    rows: int
    queries: int
    findings: tuple[Finding, ...]
    line_text: Callable[[int], str] | None = field(default=None, compare=False, repr=False)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings with severity error."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)


class FindingsError(CheckFailedError):
    """Scoring refuses these data: they hold at least one error (exit code 1).

    Args:
        findings: The findings that block scoring, at least one.

    Attributes:
        findings: The same, as a tuple.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        first = self.findings[0]
        named = "; ".join(
            f"{finding.code} {finding.message}" for finding in self.findings[:NAMED_IN_ERROR]
        )
        further = len(self.findings) - NAMED_IN_ERROR
        more = f"; and {further} more" if further > 0 else ""
        n_errors = plural(len(self.findings), "error")
        super().__init__(
            f"{n_errors} to mend before scoring: {one_line(named)}{more}",
            where=first.place,
            remedy=first.remedy,
        )


def refuse_errors(findings: Iterable[Finding]) -> None:
    """Raise if any finding blocks scoring.

    Args:
        findings: From :func:`check_run`, :func:`check_qrels`, :func:`check_pair` or a report.

    Raises:
        FindingsError: With the findings that block it.
    """
    blocking = [finding for finding in findings if finding.blocks_scoring]
    if blocking:
        raise FindingsError(blocking)
