"""Rules, the places where files break them, and the registry that rejects duplicate codes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Literal, get_args

from trectools_plus.errors import UsageError
from trectools_plus.validation.findings import DropIn, Finding, Fix, Severity

DEFAULT_MAX_DEPTH = 100
"""Default limit of results per query."""

TREC_MAX_DEPTH = 1000
"""Limit of results per query in the profile ``trec``."""

JUDGED_CUTOFF = 10
"""The number of first results of a query among which the share of judged ones is counted."""

MIN_JUDGED = 0.2
"""Minimum share of judged documents in the first ``JUDGED_CUTOFF``; scores with fewer are
unreliable."""


Value = str | int | float


class LineNumber(int):
    """The number of a line, from 1, which depends on the lines before a part of the file."""

    def __str__(self) -> str:
        return f"line {int(self)}"


class RowNumber(int):
    """The number of a row of a table, from 1."""

    def __str__(self) -> str:
        return f"row {int(self)}"


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a file, or of a part of one, that break a rule.

    Attributes:
        count: The number of places.
        lines: Their lines, or the first few; empty for a table.
        column: The character column of the first place, from 1.
        query_id: The query of the first place.
        doc_id: The document of the first place.
        first: What the message says about the first place.
        sums: Further numbers of places, by what they count.
    """

    count: int = 0
    lines: Sequence[int] = ()
    column: int | None = None
    query_id: str | None = None
    doc_id: str | None = None
    first: Mapping[str, Value] = field(default_factory=dict)
    sums: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Value:
        return self.first[name]

    def __add__(self, later: Places) -> Places:
        """Return the places of two parts of a file, given in the order of the file."""
        sums = {
            name: self.sums.get(name, 0) + later.sums.get(name, 0)
            for name in {**self.sums, **later.sums}
        }
        first = self if self.count else later
        lines = (*self.lines, *later.lines)[:LINES_KEPT]
        return replace(first, count=self.count + later.count, lines=lines, sums=sums)

    def moved(self, n_lines: int) -> Places:
        """Return the places in a file with ``n_lines`` lines before this part."""
        if not n_lines or not (self.lines or self.first):
            return self
        first = {
            name: LineNumber(value + n_lines) if isinstance(value, LineNumber) else value
            for name, value in self.first.items()
        }
        lines = tuple(line + n_lines for line in self.lines)
        return replace(self, lines=lines, first=first)

    def hit(self, message: str, **further: Any) -> Hit:
        """Return the hit at these places; ``further`` are attributes of :class:`Hit`."""
        given: dict[str, Any] = {
            "lines": self.lines,
            "count": self.count,
            "column": self.column,
            "query_id": self.query_id,
            "doc_id": self.doc_id,
        }
        return Hit(message, **given | further)


@dataclass(frozen=True, slots=True)
class Kinds:
    """Places of several kinds, for a rule whose finding depends on more than one.

    Attributes:
        places: The places of each kind.
    """

    places: Mapping[str, Places]

    @classmethod
    def of(cls, **places: Places) -> Kinds:
        """Return the kinds that have places."""
        return cls({kind: one for kind, one in places.items() if one.count})

    def __getitem__(self, kind: str) -> Places:
        return self.places.get(kind, Places())

    @property
    def count(self) -> int:
        """The number of places."""
        return sum(one.count for one in self.places.values())

    def __add__(self, later: Kinds) -> Kinds:
        """Return the places of two parts of a file, given in the order of the file."""
        return Kinds({kind: self[kind] + later[kind] for kind in {**self.places, **later.places}})

    def moved(self, n_lines: int) -> Kinds:
        """Return the places in a file with ``n_lines`` lines before this part."""
        return Kinds({kind: one.moved(n_lines) for kind, one in self.places.items()})


Subject = Literal["file", "run", "qrels", "topics", "testset", "pair"]
Scope = Literal["row", "query", "file", "pair"]
SeverityName = Literal["error", "warning", "info"]
FixName = Literal["safe", "ask", "no"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""All scopes, the narrowest first."""

LINES_KEPT = 5
"""Number of line numbers in a finding, unless all lines are requested."""


@dataclass(frozen=True, slots=True)
class Hit:
    """The places in one file that break a rule.

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


Phase = Literal["bytes", "rows", "topics", "tsv"]


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

    def declare(apply: Callable[[Any, Any], Any]) -> FixStep:
        return FixStep(codes, order, phase, apply)

    return declare


_FIXED_KINDS: dict[Subject, tuple[str, ...]] = {
    "file": ("run", "qrels", "topics"),
    "pair": ("run",),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the catalogue.

    Attributes:
        code: A letter for the subject (F file, R run, Q qrels, T topics, T2 test sets, P pair) and
            three digits.
        name: The name in kebab case, unique within the subject.
        on: The kind of files that the rule is about.
        scope: The data that the check needs at once: single rows (or lines), whole queries, the
            whole file, or also another file. With scope ``row`` or ``query``, the counts in chunks
            of whole queries add up to the count in the file.
        severity: The usual severity.
        rule_fix: The fix; ``None`` if no program can fix a file that breaks the rule.
        checks: The condition that is reported, in one clause.
        rationale: The consequence: how other tools read such a file.
        example: A line of output.
        remedy: The way to fix it, in one sentence.
        function: Returns the hit; its arguments are those of :meth:`decide`.
        tables: True if it also applies to a table that was not read from a file. Rules on ranks
            do not: a table made from a dict has no ranks.
        blocks_scoring: True if scoring rejects a file with an error of this rule.
        scored_if: For a rule that blocks scoring: the condition under which a file with an error
            is scored nevertheless, in one clause; empty if there is none.
        drop_in: How ``trec-eval`` treats a file that this rule blocks.
        notes: By severity, for findings that do not block scoring but concern the figures, or with
            which C trec_eval has another result: the consequence, in one clause. Each such finding
            gets a note of its own.
        optional: True if it is off unless its code is selected.
        may_be_error: True if a finding can be an error although the usual severity is lower.
        collect: For a rule on the rows of a run: returns the places that break it, which are added
            if the run is read in chunks. ``decide`` then returns the hit.
        blocks_fixing: True if no fix is applied to a file that breaks this rule without a fix.
    """

    code: str
    name: str
    on: Subject
    scope: Scope
    severity: Severity
    rule_fix: RuleFix | None
    checks: str
    rationale: str
    example: str
    remedy: str
    function: Callable[..., Hit | None]
    tables: bool
    blocks_scoring: bool
    scored_if: str = ""
    drop_in: DropIn = "refuses"
    notes: Mapping[SeverityName, str] = field(default_factory=dict)
    optional: bool = False
    may_be_error: bool = False
    collect: Callable[[Any], Any] | None = None
    blocks_fixing: bool = False

    def check(self, subject: Any) -> Hit | None:
        """Return the hit on a file, ``None`` if there is none."""
        if self.collect is None:
            return self.function(subject)
        known = subject.collected
        found = self.collect(subject) if known is None else known.get(self.code)
        return None if found is None else self.decide(subject, found)

    def decide(self, subject: Any, found: Any) -> Hit | None:
        """Return the hit of a rule with ``collect``, ``None`` if there is none.

        Args:
            subject: The view of the file, whose rows may be unknown.
            found: The sum of what ``collect`` returned for the parts of the file.
        """
        return self.function(subject, found) if found.count else None

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

    @property
    def can_block_scoring(self) -> bool:
        """Return whether some findings of this rule block scoring."""
        return self.blocks_scoring and (self.severity is Severity.ERROR or self.may_be_error)

    def finding(self, hit: Hit, path: str, *, every_line: bool = False) -> Finding:
        """Return the finding for a hit in the file ``path``.

        Args:
            hit: The result of :meth:`check`.
            path: The file, or the name of a table.
            every_line: Put all line numbers into the finding, not only the first few.

        Raises:
            ValueError: If it is an error, but the rule does not declare ``may_be_error``; or if it
                can be scored, but the rule does not declare ``scored_if``.
        """
        severity = Severity(hit.severity) if hit.severity else self.severity
        if severity is Severity.ERROR and self.severity is not severity and not self.may_be_error:
            raise ValueError(f"rule {self.code} must declare may_be_error to report an error")
        if hit.blocks_scoring is False and self.blocks_scoring and not self.scored_if:
            raise ValueError(f"rule {self.code} must declare scored_if to accept an error")
        blocks = self.blocks_scoring if hit.blocks_scoring is None else hit.blocks_scoring
        fix = Fix(hit.fix) if hit.fix else self.fix
        effect = (hit.effect or self.rule_fix.effect) if self.rule_fix else ""
        lines = tuple(int(line) for line in hit.lines[:LINES_KEPT])
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity,
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
            blocks_scoring=blocks and severity is Severity.ERROR,
            note=self.notes.get(severity.value, "") if hit.note is None else hit.note,
            drop_in=hit.drop_in or self.drop_in,
            total=hit.total,
            every_line=hit.lines if every_line else lines,
        )


def rule(
    code: str,
    name: str,
    *,
    on: Subject,
    scope: Scope,
    severity: SeverityName,
    fix: RuleFix | Literal["no"],
    checks: str,
    rationale: str,
    example: str,
    remedy: str,
    tables: bool = False,
    blocks_scoring: bool = True,
    scored_if: str = "",
    drop_in: DropIn = "refuses",
    notes: Mapping[SeverityName, str] | None = None,
    optional: bool = False,
    may_be_error: bool = False,
    collect: Callable[[Any], Any] | None = None,
    blocks_fixing: bool = False,
) -> Callable[[Callable[..., Hit | None]], Rule]:
    """Turn a function into a :class:`Rule`; the arguments are the rule's attributes."""

    def declare(function: Callable[..., Hit | None]) -> Rule:
        return Rule(
            code=code,
            name=name,
            on=on,
            scope=scope,
            severity=Severity(severity),
            rule_fix=None if fix == "no" else fix,
            checks=checks,
            rationale=rationale,
            example=example,
            remedy=remedy,
            function=function,
            tables=tables,
            blocks_scoring=blocks_scoring,
            scored_if=scored_if,
            drop_in=drop_in,
            notes=notes or {},
            optional=optional,
            may_be_error=may_be_error,
            collect=collect,
            blocks_fixing=blocks_fixing,
        )

    return declare


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
        for one in rules:
            if one.code in self._rules or (one.on, one.name) in names:
                raise ValueError(f"duplicate rule {one.code} {one.name} for {one.on}")
            self._rules[one.code] = one
            names.add((one.on, one.name))
        self._steps = sorted(steps, key=lambda step: (step.order, step.codes))
        for code in (code for step in self._steps for code in step.codes):
            if self[code].rule_fix is None:
                raise ValueError(f"a step fixes {code}, which does not declare a fix")

    @classmethod
    def of_modules(cls, modules: Iterable[ModuleType]) -> Registry:
        """Collect the rules and steps of modules, sorted by code, files first and pairs last."""
        # A module may import a rule of another one, so objects are distinguished by identity.
        found = {id(one): one for module in modules for one in vars(module).values()}.values()
        order = "FRQTP"
        rules = [one for one in found if isinstance(one, Rule)]
        rules.sort(key=lambda one: (order.find(one.code[0]), one.code))
        return cls(rules, [one for one in found if isinstance(one, FixStep)])

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, code: str) -> Rule:
        try:
            return self._rules[code]
        except KeyError:
            raise self._unknown(code, f"unknown rule {code}") from None

    def place(self, code: str) -> int:
        """Return the position of a rule in the order in which the rules run."""
        return list(self._rules).index(code)

    def fixable(self, kind: str) -> list[Rule]:
        """The rules with a fix for a kind of file: ``run``, ``qrels`` or ``topics``."""
        return [one for one in self if kind in one.fixed_kinds]

    def steps(self, kind: str, phase: Phase) -> list[FixStep]:
        """The steps of a phase that fix a kind of file, in their order."""
        return [
            step
            for step in self._steps
            if step.phase == phase and any(kind in self[code].fixed_kinds for code in step.codes)
        ]

    def named(self, text: str) -> list[Rule]:
        """The rule with a code, or the rules with a name, in upper or lower case."""
        return [one for one in self if text.lower() in (one.code.lower(), one.name)]

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
            elif found := self.named(text):
                codes += [one.code for one in found]
            else:
                what = f"no rule has the name '{text}' or a code that starts with it"
                raise self._unknown(text, what)
        return codes

    def _unknown(self, text: str, what: str) -> UsageError:
        names = dict.fromkeys(one.name for one in self)
        near = difflib.get_close_matches(text.lower(), names, 3)
        first = next(iter(self), None)
        example = f"use a code like {first.code} or a name like {first.name}" if first else None
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
