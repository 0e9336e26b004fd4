"""Rules as rows, their fixes, and the registry of rules by code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from trectools_plus.errors import UsageError
from trectools_plus.validation.findings import DropIn, Finding, Fix, Severity
from trectools_plus.validation.views.places import LINES_KEPT, Found, Places, sentence
from trectools_plus.validation.views.tables import TableView

if TYPE_CHECKING:
    import polars as pl

DEFAULT_MAX_DEPTH = 100
"""Default limit of results per query."""

TREC_MAX_DEPTH = 1000
"""Limit of results per query in the profile ``trec``."""

Texts: TypeAlias = "pl.DataFrame"
"""Rows that fixes change: texts, by the names of the columns of a run or of qrels, and ``row``, the
number of the row in the view."""

Subject = Literal["file", "run", "qrels", "topics", "testset", "pair"]
SeverityName = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Case:
    """A severity of a rule: where a file breaks the rule, and what to say about it.

    The message and the remedy are templates. Their values are ``count`` and ``more``
    (all places but the first), the fields of the first row (with ``other_`` for the row that it is
    compared with) or the text of the first line, and the ``view``. Parts in brackets that begin
    with a blank are for several places.

    Attributes:
        severity: The severity.
        message: The problem and its consequence, without a final full stop.
        where: Returns the places in a view that break the rule.
        given: Returns whether these places of the whole file break it.
        column: The field (from 1) whose column is reported.
        remedy: If it differs from the remedy of the rule.
        fixable: Whether the fix of the rule can make the change.
        blocks: If it differs from the rule: ``False`` if the file can be scored; or a function of
            the file that returns it, or ``None``.
        note: If the finding does not block scoring but concerns the figures, or C trec_eval has
            another result: the consequence, in one clause.
        drop_in: If it differs from the rule.
    """

    severity: SeverityName
    message: str
    where: Callable[[Any], Found]
    given: Callable[[Any, Places], object] | None = None
    column: int | None = None
    remedy: str | None = None
    fixable: bool = True
    blocks: bool | Callable[[Any], bool | None] | None = None
    note: str = ""
    drop_in: DropIn | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the catalogue.

    Attributes:
        code: A letter for the subject (F file, R run, Q qrels, T topics, T2 test sets, P pair) and
            three digits.
        name: The name in kebab case, unique within the subject.
        on: The kind of files that the rule is about.
        severity: The usual severity.
        checks: The condition that is reported, in one clause.
        rationale: The consequence: how other tools read such a file.
        example: A line of output.
        remedy: The way to fix it, in one sentence.
        cases: The cases, of which the first that applies is reported.
        fixed: The change that ``--fix`` makes, in the past tense; empty if there is no fix. No
            fix changes a figure.
        fix: If rows do not stay as they are: a function of the view and its rows, which other fixes
            may have changed; it returns the changed rows.
        fix_bytes: In place of this, a function of the content of the file.
        ask: True if the fix is only made if the user names the rule.
        unless: Codes of rules that explain the places: the rule is not reported with them.
        tables: True if it also applies to a table that was not read from a file. Rules on ranks
            do not: a table made from a dict has no ranks.
        chunked: True if its places in chunks of whole queries add up to those of the file.
        blocks_scoring: True if scoring rejects a file with an error of this rule.
        drop_in: How ``trec-eval`` treats a file that this rule blocks.
        optional: True if it is off unless its code is selected.
        blocks_fixing: True if no file that breaks this rule, and has no fix for it, is fixed.
    """

    code: str
    name: str
    on: Subject
    severity: SeverityName
    checks: str
    rationale: str
    example: str
    remedy: str
    cases: tuple[Case, ...] = ()
    fixed: str = ""
    fix: Callable[[Any, Texts], Texts] | None = None
    fix_bytes: Callable[[bytes], bytes] | None = None
    ask: bool = False
    unless: tuple[str, ...] = ()
    tables: bool = False
    chunked: bool = False
    blocks_scoring: bool = True
    drop_in: DropIn = "refuses"
    optional: bool = False
    blocks_fixing: bool = False

    def check(self, subject: Any, view: TableView) -> Finding | None:
        """Return the finding on a file, ``None`` if there is none.

        Args:
            subject: The view of a file or of a pair of files.
            view: The file on which findings are reported.
        """
        known = view.answers if self.chunked else None
        for number, case in enumerate(self.cases):
            if known is None:
                places = view.places(case.where(subject), case.column)
            else:
                places = known.get((self.code, number), Places())
            if places.count and (case.given is None or case.given(subject, places)):
                return self._describe(subject, view, case, places)
        return None

    def answers(self, subject: Any, view: TableView) -> dict[tuple[str, int], Places]:
        """Return the places in a view, or in that of a chunk, by code and number of the case."""
        places = (view.places(case.where(subject), case.column) for case in self.cases)
        return {(self.code, at): found for at, found in enumerate(places) if found.count}

    def _describe(self, subject: Any, view: TableView, case: Case, places: Places) -> Finding:
        count = places.count
        values = {**places.first, "count": count, "more": count - 1, "view": subject}
        return self.finding(
            view.path,
            sentence(case.message, values),
            case.severity,
            sentence(case.remedy or self.remedy, values),
            blocks=case.blocks(subject) if callable(case.blocks) else case.blocks,
            fix=self.fix_kind if case.fixable else Fix.NO,
            column=places.column if len(places.lines) else None,
            query_id=places.query_id,
            doc_id=places.doc_id,
            count=count,
            lines=tuple(map(int, places.lines[: None if view.every_line else LINES_KEPT])),
            total=places.first.get("total"),
            note=sentence(case.note, values),
            drop_in=case.drop_in or self.drop_in,
        )

    def finding(
        self,
        path: str,
        message: str,
        severity: SeverityName | None = None,
        remedy: str | None = None,
        *,
        blocks: bool | None = None,
        lines: Sequence[int] = (),
        **further: Any,
    ) -> Finding:
        """Return a finding.

        Args:
            path: The file, or the name of a table.
            message: The problem and its consequence.
            severity: If it differs from the severity of the rule.
            remedy: If it differs from the remedy of the rule.
            blocks: If it differs from the rule: whether scoring rejects the file.
            lines: The lines of the first places.
            further: Other fields of :class:`Finding`.
        """
        level = Severity(severity or self.severity)
        return Finding(
            self.code,
            self.name,
            level,
            path,
            message,
            remedy or self.remedy,
            line=lines[0] if lines else None,
            lines=lines,
            blocks_scoring=self.blocks_scoring and level == "error" if blocks is None else blocks,
            **{"drop_in": self.drop_in, **further},
        )

    @property
    def fix_kind(self) -> Fix:
        """Return the way in which ``--fix`` fixes files that break the rule."""
        return Fix.ASK if self.ask else Fix.SAFE if self.fixed else Fix.NO

    @property
    def can_block_scoring(self) -> bool:
        """Return whether some findings of this rule block scoring."""
        severities = {self.severity, *(case.severity for case in self.cases)}
        return self.blocks_scoring and "error" in severities


_KINDS: dict[str, Subject] = {
    "F": "file",
    "R": "run",
    "Q": "qrels",
    "P": "pair",
    "T1": "topics",
    "T2": "testset",
}


def rule(
    code: str,
    name: str,
    severity: SeverityName,
    checks: str,
    rationale: str,
    example: str,
    remedy: str,
    *cases: Any,
    **further: Any,
) -> Rule:
    """Return a rule; see :class:`Rule`.

    The places of rules on runs are found in chunks, and rules on pairs apply to tables, unless
    ``further`` says otherwise.

    Args:
        code: Its code.
        name: Its name.
        severity: Its severity.
        checks: Its condition.
        rationale: Its consequence.
        example: A line of output.
        remedy: The way to fix it.
        cases: Its cases; or, of a rule of one case, the message, and the function that returns the
            places; or nothing if the reader of a file finds the places.
        further: Further attributes of the rule, or of its only case.
    """
    of_case = {
        field: further.pop(field)
        for field in {"given", "column", "note", "blocks"} & further.keys()
    }
    if cases and isinstance(cases[0], str):
        cases = (Case(severity, *cases, **of_case),)
    usual = {"chunked": code[0] == "R", "tables": code[0] == "P", **further}
    kind = _KINDS.get(code[:2]) or _KINDS[code[0]]
    return Rule(code, name, kind, severity, checks, rationale, example, remedy, cases, **usual)


class Registry:
    """Rules by code: files first and pairs last."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = {row.code: row for row in sorted(rules, key=in_order)}

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __getitem__(self, code: str) -> Rule:
        return self._rules[code]

    def named(self, text: str) -> list[Rule]:
        """The rule with a code, or the rules with a name, in upper or lower case."""
        return [row for row in self if text.lower() in (row.code.lower(), row.name)]

    def codes(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return the codes of rules; of optional rules, only those that are named.

        Args:
            texts: Codes, prefixes of codes, or names, in upper or lower case.

        Raises:
            UsageError: If one of them matches no rule.
        """
        codes: list[str] = []
        for text in texts:
            rows = self.named(text) or [
                row for row in self if row.code.startswith(text.upper()) and not row.optional
            ]
            if not rows:
                raise UsageError(
                    f"no rule has the name '{text}' or a code that starts with it",
                    remedy="use a code like R131 or a name like duplicate-document",
                )
            codes += [row.code for row in rows]
        return tuple(codes)


def in_order(row: Rule | Finding) -> tuple[int, str]:
    """Return the sort key of rules and findings: files first and pairs last."""
    return "FRQTP".find(row.code[0]), row.code
