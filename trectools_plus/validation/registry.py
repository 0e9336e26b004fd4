"""Rules as values, and the registry that holds them and refuses two of the same code.

A rule is a function with a decorator::

    @rule(
        "R107", "second-column", on="run", scope="row", severity="warning",
        fix=RuleFix("safe", "wrote Q0 in column 2"),
        checks="column 2 is not 'Q0'",
        rationale="…", example="…", remedy="…",
    )
    def second_column(run: RunView) -> Hit | None: ...

    @fix_step("R107", order=70)
    def write_q0(draft: Draft, job: Job) -> Draft: ...

The check looks at a view (:mod:`trectools_plus.validation.views`) and returns what it saw, or
``None``. Everything that is the same for each break of the rule stands in the decorator. The step
beside it is what ``--fix`` does; a step may fix several rules.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, Protocol, get_args

from trectools_plus.errors import UsageError
from trectools_plus.validation.findings import Finding, Fix, Severity

Subject = Literal["file", "run", "qrels", "topics", "testset", "pair"]
Scope = Literal["row", "query", "file", "pair"]
SeverityName = Literal["error", "warning", "info"]
FixName = Literal["safe", "ask", "no"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""All scopes, the narrowest first."""

LINES_KEPT = 5
"""Number of lines that a finding keeps."""


@dataclass(frozen=True, slots=True)
class Hit:
    """The places in one file that break a rule.

    Attributes:
        message: What is seen and why it matters; no full stop at the end.
        lines: Line numbers in the file, first ones first; empty for a whole file or a table.
        count: How many places there are in all.
        total: How many there could be at most, where that adds something: 3 of 50 queries.
        column: Character column of the field on the first line, from 1.
        query_id: The query of the first place.
        doc_id: The document of the first place.
        severity: Where it differs from the rule's own.
        remedy: Where it differs from the rule's own.
        fix: Where it differs from the rule's own: no program may be able to fix this file.
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


class ChunkCount(Protocol):
    """A rule about a whole run, added up over chunks of whole queries."""

    def add(self, view: Any) -> Hit | None:
        """Add a chunk; return the places in it, whose message may be empty."""

    def message(self, first: str, count: int) -> str | None:
        """Return the message for the whole run.

        Args:
            first: The message of the first chunk that has a place.
            count: The number of places in all chunks.

        Returns:
            The message; ``None`` if the run as a whole does not break the rule.
        """


@dataclass(frozen=True, slots=True)
class RuleFix:
    """The fix of a rule.

    A safe fix leaves the ranking that evaluation sees as it is. All others are applied only when
    they are named, for only the owner of the file knows whether they are right.

    Attributes:
        kind: What findings of the rule say about it: ``safe`` or ``ask``.
        what: What it does, in the past tense.
        effect: For a fix that can delete rows, or rewrite scores or grades: what it changes and
            what that does to the figures, in the present tense. Empty for all others. No hint
            suggests a command with such a fix.
        kinds: The kinds of files it is for; empty for those of the rule.
        unasked: Whether ``--fix OUT`` alone applies it, where ``kind`` does not say so. Such a fix
            may do less than when it is named.
        refused: Tests whether the fix would be refused for a file that breaks the rule.
        comes_first: Whether no other fix is applied before it.
    """

    kind: Literal["safe", "ask"]
    what: str
    effect: str = ""
    kinds: tuple[str, ...] = ()
    unasked: bool | None = None
    refused: Callable[[Any], bool] | None = None
    comes_first: bool = False

    @property
    def safe(self) -> bool:
        """Return whether ``--fix OUT`` alone applies it."""
        return self.kind == "safe" if self.unasked is None else self.unasked


Phase = Literal["bytes", "format", "rows"]


@dataclass(frozen=True, slots=True)
class FixStep:
    """A step of fixing a file.

    Attributes:
        codes: The rules that it fixes.
        order: Its place among the steps of a phase, lower ones first. What makes a later step see
            more comes first: a step never makes work for one before it.
        phase: What it is given: the bytes of any file, a draft in another format than columns, or
            a draft with rows.
        apply: The function: of the bytes or the draft, and the job.
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
        name: Kebab-case, unique within the subject.
        on: The kind of files that the rule is about.
        scope: What the check has to see at once: single rows (or lines), whole queries, the whole
            file, or another file as well. The findings of a rule of scope ``row`` or ``query`` in
            chunks of whole queries add up to that in the file.
        severity: Its usual severity.
        repair: Its fix; ``None`` if no program can fix a break.
        checks: The condition, in one clause.
        rationale: Why it matters: what other tools do with such a file.
        example: A whole line of output.
        remedy: What to do, in one sentence.
        check: The function.
        tables: Whether it also makes sense for a table that never was a file. Rank columns do
            not: a table built from a dict has no ranks of its own.
        blocks_scoring: Whether scoring refuses an error of this rule.
        optional: Whether it is off unless its code is selected.
        may_be_error: Whether a bad case of it is an error, where the usual one is less.
        chunk_count: Creates what adds up a rule of scope ``file`` over the chunks of a run;
            ``None`` if the beginning of the file decides.
        blocks_fixing: Whether nothing in a file is fixed while this rule is broken in a way that
            cannot be fixed.
    """

    code: str
    name: str
    on: Subject
    scope: Scope
    severity: Severity
    repair: RuleFix | None
    checks: str
    rationale: str
    example: str
    remedy: str
    check: Callable[[Any], Hit | None]
    tables: bool
    blocks_scoring: bool
    optional: bool = False
    may_be_error: bool = False
    chunk_count: Callable[[], ChunkCount] | None = None
    blocks_fixing: bool = False

    @property
    def fix(self) -> Fix:
        """Return whether a program can fix a break, by itself or when asked."""
        return Fix.NO if self.repair is None else Fix(self.repair.kind)

    @property
    def fixed_kinds(self) -> tuple[str, ...]:
        """The kinds of files that its fix is for."""
        if self.repair is None:
            return ()
        return self.repair.kinds or _FIXED_KINDS.get(self.on, (self.on,))

    @property
    def can_block_scoring(self) -> bool:
        """Return whether some break of this rule blocks scoring."""
        return self.blocks_scoring and (self.severity is Severity.ERROR or self.may_be_error)

    def finding(self, hit: Hit, path: str, *, every_line: bool = False) -> Finding:
        """The finding for what :attr:`check` saw in the file ``path``.

        Args:
            hit: What was seen.
            path: The file, or the name of a table.
            every_line: Whether the finding keeps all line numbers and not only the first few.

        Raises:
            ValueError: If it is an error by a rule that does not declare that.
        """
        severity = Severity(hit.severity) if hit.severity else self.severity
        if severity is Severity.ERROR and self.severity is not severity and not self.may_be_error:
            raise ValueError(f"{self.code} is an error, which it does not declare")
        lines = tuple(int(line) for line in hit.lines[:LINES_KEPT])
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity,
            path=path,
            message=hit.message,
            remedy=hit.remedy or self.remedy,
            fix=Fix(hit.fix) if hit.fix else self.fix,
            line=lines[0] if lines else None,
            column=hit.column if lines else None,
            query_id=hit.query_id,
            doc_id=hit.doc_id,
            count=hit.count,
            lines=lines,
            blocks_scoring=self.blocks_scoring and severity is Severity.ERROR,
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
    optional: bool = False,
    may_be_error: bool = False,
    chunk_count: Callable[[], ChunkCount] | None = None,
    blocks_fixing: bool = False,
) -> Callable[[Callable[[Any], Hit | None]], Rule]:
    """Turn a function into a :class:`Rule`; the arguments are the rule's attributes."""

    def declare(check: Callable[[Any], Hit | None]) -> Rule:
        return Rule(
            code=code,
            name=name,
            on=on,
            scope=scope,
            severity=Severity(severity),
            repair=None if fix == "no" else fix,
            checks=checks,
            rationale=rationale,
            example=example,
            remedy=remedy,
            check=check,
            tables=tables,
            blocks_scoring=blocks_scoring,
            optional=optional,
            may_be_error=may_be_error,
            chunk_count=chunk_count,
            blocks_fixing=blocks_fixing,
        )

    return declare


class Registry:
    """Rules by code, in a fixed order.

    Args:
        rules: In the order in which they run and report.
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
                raise ValueError(f"two rules {one.code} {one.name} for {one.on}")
            self._rules[one.code] = one
            names.add((one.on, one.name))
        self._steps = sorted(steps, key=lambda step: (step.order, step.codes))
        for code in (code for step in self._steps for code in step.codes):
            if self[code].repair is None:
                raise ValueError(f"a step fixes {code}, which does not declare a fix")

    @classmethod
    def of_modules(cls, modules: Iterable[ModuleType]) -> Registry:
        """All rules and steps in ``modules``, by code, files first and pairs last."""
        # By identity: a module may import the rule of another.
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
            raise self._unknown(code, f"there is no rule {code}") from None

    def fixable(self, kind: str) -> list[Rule]:
        """The rules that have a fix for a kind of file: ``run``, ``qrels`` or ``topics``."""
        return [one for one in self if kind in one.fixed_kinds]

    def steps(self, kind: str, phase: Phase) -> list[FixStep]:
        """The steps of a phase that fix a kind of file, in their order."""
        return [
            step
            for step in self._steps
            if step.phase == phase and any(kind in self[code].fixed_kinds for code in step.codes)
        ]

    def named(self, text: str) -> list[Rule]:
        """The rule with a code, or the rules with a name; in any case, none if there are none."""
        return [one for one in self if text.lower() in (one.code.lower(), one.name)]

    def codes(self, texts: Iterable[str]) -> list[str]:
        """Codes and prefixes of codes for what a user wrote, who may write names of rules too.

        Args:
            texts: Codes, prefixes or names, in any case.

        Raises:
            UsageError: If one of them names no rule.
        """
        codes: list[str] = []
        for text in texts:
            if any(code.startswith(text.upper()) for code in self._rules):
                codes.append(text.upper())
            elif found := self.named(text):
                codes += [one.code for one in found]
            else:
                what = f"no rule's code starts with '{text}', and none is called so"
                raise self._unknown(text, what)
        return codes

    def _unknown(self, text: str, what: str) -> UsageError:
        names = dict.fromkeys(one.name for one in self)
        near = difflib.get_close_matches(text.lower(), names, 3)
        first = next(iter(self), None)
        example = f"a code such as {first.code}, or a name such as {first.name}" if first else None
        return UsageError(what, remedy=f"did you mean {', '.join(near)}?" if near else example)

    def chooser(self, select: Sequence[str], ignore: Sequence[str]) -> Callable[[str], bool]:
        """A test of codes for ``--select`` and ``--ignore``.

        Args:
            select: Codes, prefixes (``R1``, ``Q``) or names; empty for all. Rules that are off by
                default are chosen by their whole code, or name, only.
            ignore: Codes, prefixes or names to leave out; they win over ``select``.

        Raises:
            UsageError: If one of them names no rule.
        """
        wanted, unwanted = tuple(self.codes(select)), tuple(self.codes(ignore))

        def chosen(code: str) -> bool:
            by_prefix = not wanted or code.startswith(wanted)
            selected = code in wanted or (by_prefix and not self._rules[code].optional)
            return selected and not code.startswith(unwanted)

        return chosen
