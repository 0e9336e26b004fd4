"""Rules as rows, their fixes, and the registry that rejects duplicate codes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Literal

from trectools_plus.errors import UsageError
from trectools_plus.validation.findings import DropIn, Finding, Fix, Severity
from trectools_plus.validation.views.places import (
    LINES_KEPT,
    Found,
    Places,
    Value,
    places_of,
    sentence,
)

DEFAULT_MAX_DEPTH = 100
"""Default limit of results per query."""

TREC_MAX_DEPTH = 1000
"""Limit of results per query in the profile ``trec``."""

JUDGED_CUTOFF = 10
"""The number of first results of a query among which the share of judged ones is counted."""

MIN_JUDGED = 0.2
"""Minimum share of judged documents in the first ``JUDGED_CUTOFF``; scores with fewer are
unreliable."""

Subject = Literal["file", "run", "qrels", "topics", "testset", "pair"]
SeverityName = Literal["error", "warning", "info"]
FixName = Literal["safe", "ask", "no"]
Phase = Literal["bytes", "rows", "topics", "tsv"]


@dataclass(frozen=True, slots=True)
class Case:
    """A severity of a rule: where a file breaks the rule, and what to say about it.

    The message, the remedy and the effect are templates. Their values are ``count`` and ``more``
    (all places but the first), the fields of the first row (with ``other_`` for the row that it is
    compared with) or the text of the first line, and those of ``shows``. Parts in brackets are for
    several places.

    Attributes:
        severity: The severity.
        message: The problem and its consequence, without a final full stop.
        where: Returns the places in a view that break the rule.
        given: Returns whether these places of the whole file break it.
        shows: Returns further values for templates, given the whole file and its places.
        column: The field (from 1) whose column is reported.
        about: Whether the finding names the query and the document of the first place.
        once: True if only the first place counts.
        remedy: If it differs from the remedy of the rule.
        fix: If it differs from the fix of the rule; or a function of the file that returns it.
        effect: If it differs from that of the fix of the rule.
        blocks: If it differs from the rule: ``False`` if the file can be scored; or a function of
            the file that returns it.
        note: If it differs from the rule.
        drop_in: If it differs from the rule.
    """

    severity: SeverityName
    message: str
    where: Callable[[Any], Found]
    given: Callable[[Any, Places], object] | None = None
    shows: Callable[[Any, Places], Mapping[str, Value]] | None = None
    column: int | None = None
    about: Literal["document", "query", "file"] = "document"
    once: bool = False
    remedy: str | None = None
    fix: FixName | Callable[[Any], FixName] | None = None
    effect: str | None = None
    blocks: bool | Callable[[Any], bool] | None = None
    note: str | None = None
    drop_in: DropIn | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """The places in one file that break a rule, with a message.

    Attributes:
        message: The problem and its consequence, without a final full stop.
        lines: Ascending line numbers in the file, from 1; empty for a whole file or a table.
        count: Number of all places, also of those not in ``lines``.
        total: The highest possible ``count``, if that is useful: 50 in "3 of 50 queries".
        column: Character column of the field on the first line, from 1.
        query_id: The query of the first place.
        doc_id: The document of the first place.
        severity: If it differs from the severity of the rule.
        remedy: If it differs from the remedy of the rule.
        fix: If it differs from the fix of the rule, for example ``no`` if this file has no fix.
        effect: The effect of the fix on this file, if it is known; otherwise that of the rule.
        blocks_scoring: If it differs from the rule: ``False`` if this file can be scored.
        note: If it differs from the rule.
        drop_in: If it differs from the rule.
    """

    message: str
    lines: Sequence[int] = ()
    count: int = 1
    column: int | None = None
    query_id: str | None = None
    doc_id: str | None = None
    severity: SeverityName | None = None
    remedy: str | None = None
    total: int | None = None
    fix: FixName | None = None
    effect: str | None = None
    blocks_scoring: bool | None = None
    note: str | None = None
    drop_in: DropIn | None = None


@dataclass(frozen=True, slots=True)
class RuleFix:
    """The fix of a rule.

    A safe fix does not change the ranking that is evaluated. All others are applied only if the
    user names them, because only the owner of the file knows whether they are correct.

    Attributes:
        kind: The fix that findings of the rule report: ``safe`` or ``ask``.
        what: A description of the change, in the past tense.
        effect: For a fix that can delete rows, or rewrite scores or grades: the change and its
            effect on the figures, in the present tense. Empty for all others. Hints list such a
            fix separately, with its effect.
        kinds: The kinds of files that it applies to; empty for those of the rule.
        by_default: Whether ``--fix OUT`` alone applies it; ``None`` for only the safe ones. Such a
            fix may do less than the same fix requested by name.
        cannot_apply: Returns whether the fix cannot be applied to a file that breaks the rule.
        comes_first: True if no other fix is applied before it.
    """

    kind: Literal["safe", "ask"]
    what: str
    effect: str = ""
    kinds: tuple[str, ...] = ()
    by_default: bool | None = None
    cannot_apply: Callable[[Any], bool] | None = None
    comes_first: bool = False

    @property
    def applied_by_default(self) -> bool:
        """Return whether ``--fix OUT`` alone applies it."""
        return self.kind == "safe" if self.by_default is None else self.by_default


@dataclass(frozen=True, slots=True)
class FixStep:
    """A step of fixing a file.

    Attributes:
        codes: The rules that it fixes.
        order: Its position among the steps of a phase, lowest first. A step must not make an
            earlier one necessary again.
        phase: When it runs, and on what: first on the bytes of a file (``bytes``), then on a draft
            with rows (``rows``). Drafts of topics and test sets: in any form (``topics``), then
            those in TSV (``tsv``).
        apply: The function of the input and the session.
    """

    codes: tuple[str, ...]
    order: int
    phase: Phase
    apply: Callable[[Any, Any], Any]


def fix_step(
    *codes: str, order: int, phase: Phase = "rows"
) -> Callable[[Callable[[Any, Any], Any]], FixStep]:
    """Turn a function into a :class:`FixStep`; the arguments are its attributes."""
    return lambda apply: FixStep(codes, order, phase, apply)


_FIXED_KINDS: dict[Subject, tuple[str, ...]] = {
    "file": ("run", "qrels", "topics"),
    "pair": ("run",),
}


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
        rule_fix: The fix; ``None`` if no program can fix a file that breaks the rule.
        unless: Rules that explain the places: the rule is not reported with them.
        function: In place of cases: returns the places and the message.
        tables: True if it also applies to a table that was not read from a file. Rules on ranks
            do not: a table made from a dict has no ranks.
        chunked: True if its places in chunks of whole queries add up to those of the file.
        blocks_scoring: True if scoring rejects a file with an error of this rule.
        scored_if: For a rule that blocks scoring: the condition under which a file with an error
            is scored nevertheless, in one clause; empty if there is none.
        drop_in: How ``trec-eval`` treats a file that this rule blocks.
        notes: By severity, for findings that do not block scoring but concern the figures, or with
            which C trec_eval has another result: the consequence, in one clause. Each such finding
            gets a note of its own.
        optional: True if it is off unless its code is selected.
        blocks_fixing: True if no fix is applied to a file that breaks this rule without a fix.
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
    rule_fix: RuleFix | None = None
    unless: tuple[Rule, ...] = ()
    function: Callable[[Any], Hit | None] | None = None
    tables: bool = False
    chunked: bool = False
    blocks_scoring: bool = True
    scored_if: str = ""
    drop_in: DropIn = "refuses"
    notes: Mapping[SeverityName, str] = field(default_factory=dict)
    optional: bool = False
    blocks_fixing: bool = False

    def check(self, subject: Any) -> Finding | None:
        """Return the finding on a file, ``None`` if there is none.

        Args:
            subject: The view of a file or of a pair of files.
        """
        if self.function is not None:
            hit = self.function(subject)
        elif any(other.check(subject) is not None for other in self.unless):
            hit = None
        else:
            hit = self._hit(subject)
        view = subject.reported_view
        return None if hit is None else self.finding(hit, view.path, every_line=view.every_line)

    def _hit(self, subject: Any) -> Hit | None:
        known = subject.answers if self.chunked else None
        for number, case in enumerate(self.cases):
            if known is None:
                places = self.ask(subject, case)
            else:
                places = known.get((self.code, number), Places())
            if places.count and (case.given is None or case.given(subject, places)):
                return self._describe(subject, case, places)
        return None

    def ask(self, subject: Any, case: Case) -> Places:
        """Return the places in a view, or in the view of a chunk."""
        return places_of(subject.rows_view, case.where(subject), case.column)

    def _describe(self, subject: Any, case: Case, places: Places) -> Hit:
        if case.once:
            places = replace(places, count=1, lines=places.lines[:1])
        values: dict[str, Value] = {"count": places.count, "more": places.count - 1, **places.first}
        if case.shows is not None:
            values |= case.shows(subject, places)
        effect = case.effect or (self.rule_fix.effect if self.rule_fix else "")
        total = values.get("total")
        return Hit(
            sentence(case.message, values),
            places.lines,
            places.count,
            places.column,
            None if case.about == "file" else places.query_id,
            places.doc_id if case.about == "document" else None,
            case.severity,
            sentence(case.remedy or self.remedy, values),
            int(total) if total is not None else None,
            case.fix(subject) if callable(case.fix) else case.fix,
            sentence(effect, values),
            case.blocks(subject) if callable(case.blocks) else case.blocks,
            case.note,
            case.drop_in,
        )

    def finding(self, hit: Hit, path: str, *, every_line: bool = False) -> Finding:
        """Return the finding for a hit in the file ``path``.

        Args:
            hit: The places and the message.
            path: The file, or the name of a table.
            every_line: Put all line numbers into the finding, not only the first few.
        """
        severity = hit.severity or self.severity
        blocks = self.blocks_scoring if hit.blocks_scoring is None else hit.blocks_scoring
        fix = Fix(hit.fix) if hit.fix else self.fix
        effect = (hit.effect or self.rule_fix.effect) if self.rule_fix else ""
        lines = tuple(int(line) for line in hit.lines[:LINES_KEPT])
        return Finding(
            code=self.code,
            name=self.name,
            severity=Severity(severity),
            path=path,
            message=hit.message,
            remedy=hit.remedy or self.remedy,
            fix=fix,
            effect="" if fix is Fix.NO else effect,
            line=lines[0] if lines else None,
            column=hit.column if lines else None,
            query_id=hit.query_id,
            doc_id=hit.doc_id,
            count=hit.count,
            lines=lines,
            blocks_scoring=blocks and severity == "error",
            note=self.notes.get(severity, "") if hit.note is None else hit.note,
            drop_in=hit.drop_in or self.drop_in,
            total=hit.total,
            every_line=hit.lines if every_line else lines,
        )

    @property
    def may_be_error(self) -> bool:
        """Return whether a finding can be an error."""
        return self.severity == "error" or any(case.severity == "error" for case in self.cases)

    @property
    def can_block_scoring(self) -> bool:
        """Return whether some findings of this rule block scoring."""
        return self.blocks_scoring and self.may_be_error

    @property
    def fix(self) -> Fix:
        """The way in which a program can fix a file that breaks the rule."""
        return Fix.NO if self.rule_fix is None else Fix(self.rule_fix.kind)

    @property
    def fixed_kinds(self) -> tuple[str, ...]:
        """The kinds of files that its fix applies to."""
        if self.rule_fix is None:
            return ()
        return self.rule_fix.kinds or _FIXED_KINDS.get(self.on, (self.on,))


def rule(
    code: str, name: str, *, fix: RuleFix | Literal["no"], **attributes: Any
) -> Callable[[Callable[[Any], Hit | None]], Rule]:
    """Turn a function into a :class:`Rule`; the arguments are the rule's attributes."""
    attributes.pop("scope", None)
    rule_fix = None if fix == "no" else fix
    return lambda function: Rule(code, name, function=function, rule_fix=rule_fix, **attributes)


class Registry:
    """Rules by code, in a fixed order.

    Args:
        rules: The rules, in the order in which they run.
        steps: The steps that fix them.

    Raises:
        ValueError: If two rules have the same code, or two of one subject the same name, or a
            step fixes a rule that does not declare a fix.
    """

    def __init__(self, rules: Iterable[Rule], steps: Iterable[FixStep] = ()) -> None:
        self._rules: dict[str, Rule] = {}
        names: set[tuple[str, str]] = set()
        for row in rules:
            if row.code in self._rules or (row.on, row.name) in names:
                raise ValueError(f"duplicate rule {row.code} {row.name} for {row.on}")
            self._rules[row.code] = row
            names.add((row.on, row.name))
        self._steps = sorted(steps, key=lambda step: (step.order, step.codes))
        for code in (code for step in self._steps for code in step.codes):
            if self[code].rule_fix is None:
                raise ValueError(f"a step fixes {code}, which does not declare a fix")

    @classmethod
    def of_modules(cls, modules: Iterable[ModuleType]) -> Registry:
        """Collect the rules and steps of modules, sorted by code, files first and pairs last."""
        # A module may import a rule of another one, so objects are distinguished by identity.
        values = {id(value): value for module in modules for value in vars(module).values()}
        order = "FRQTP"
        rules = [value for value in values.values() if isinstance(value, Rule)]
        rules.sort(key=lambda row: (order.find(row.code[0]), row.code))
        return cls(rules, [value for value in values.values() if isinstance(value, FixStep)])

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, code: str) -> Rule:
        try:
            return self._rules[code]
        except KeyError:
            raise self._unknown(code, f"unknown rule {code}") from None

    def fixable(self, kind: str) -> list[Rule]:
        """The rules with a fix for a kind of file: ``run``, ``qrels`` or ``topics``."""
        return [row for row in self if kind in row.fixed_kinds]

    def steps(self, kind: str, phase: Phase) -> list[FixStep]:
        """The steps of a phase that fix a kind of file, in their order."""
        return [
            step
            for step in self._steps
            if step.phase == phase and any(kind in self[code].fixed_kinds for code in step.codes)
        ]

    def named(self, text: str) -> list[Rule]:
        """The rule with a code, or the rules with a name, in upper or lower case."""
        return [row for row in self if text.lower() in (row.code.lower(), row.name)]

    def codes(self, texts: Iterable[str]) -> list[str]:
        """Return codes and prefixes of codes, with names replaced by codes.

        Args:
            texts: Codes, prefixes or names, in upper or lower case.

        Raises:
            UsageError: If one of them matches no rule.
        """
        codes: list[str] = []
        for text in texts:
            if any(code.startswith(text.upper()) for code in self._rules):
                codes.append(text.upper())
            elif rules := self.named(text):
                codes += [row.code for row in rules]
            else:
                what = f"no rule has the name '{text}' or a code that starts with it"
                raise self._unknown(text, what)
        return codes

    def _unknown(self, text: str, what: str) -> UsageError:
        names = dict.fromkeys(row.name for row in self)
        near = difflib.get_close_matches(text.lower(), names, 3)
        example = "use a code like R131 or a name like duplicate-document"
        return UsageError(what, remedy=f"did you mean {', '.join(near)}?" if near else example)

    def code_filter(self, select: Sequence[str], ignore: Sequence[str]) -> Callable[[str], bool]:
        """Return a function that tests whether ``--select`` and ``--ignore`` choose a code.

        Args:
            select: Codes, prefixes (``R1``, ``Q``) or names; empty for all. Rules that are off by
                default need their whole code or name.
            ignore: Codes, prefixes or names to leave out; they take precedence over ``select``.

        Raises:
            UsageError: If one of them matches no rule.
        """
        selected, ignored = tuple(self.codes(select)), tuple(self.codes(ignore))

        def chosen(code: str) -> bool:
            by_prefix = not selected or code.startswith(selected)
            is_selected = code in selected or (by_prefix and not self._rules[code].optional)
            return is_selected and not code.startswith(ignored)

        return chosen
