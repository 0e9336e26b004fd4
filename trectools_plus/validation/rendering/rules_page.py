"""Render the rule catalogue as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trectools_plus.text import sentences
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.findings import Severity
from trectools_plus.validation.registry import Rule, Subject

_HEADINGS: dict[Subject, str] = {
    "file": "Files",
    "run": "Runs",
    "qrels": "Qrels",
    "topics": "Topics and test sets",
    "testset": "Test sets, their ontology and their parts",
    "pair": "Run against qrels and topics",
}


FIXES = {
    "safe": "can be fixed without a change to the ranking that is evaluated",
    "ask": "can be fixed after a decision of the owner of the file",
    "no": "cannot be fixed from the file alone",
}
"""The meaning of each kind of fix."""


def render_rules_markdown() -> str:
    """Return the catalogue as a Markdown page; the code of each rule is an anchor."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "# Rules of the validators"
    yield ""
    yield "`runs validate`, `qrels validate`, `topics validate` and `testset validate` report at"
    yield "most one finding per rule and file, with its first line and a count. `testset validate`"
    yield "applies the rules for topics and test sets, and the rules T2."
    yield ""
    yield "The severity describes the file. **Scoring refuses only findings that would make a"
    yield "figure wrong or ambiguous**: the last line of each rule says which. All others are"
    yield "accepted and named in one note on stderr; `--strict-input` refuses every error."
    for subject, heading in _HEADINGS.items():
        rules = [rule for rule in CATALOGUE if rule.on == subject]
        yield ""
        yield f"## {heading}"
        yield ""
        yield "| code | name | severity | checks |"
        yield "|---|---|---|---|"
        for rule in rules:
            cells = [f"[{rule.code}](#{rule.code})", rule.name, rule.severity, _escape(rule.checks)]
            yield f"| {' | '.join(cells)} |"
        for rule in rules:
            yield from _section(rule)


def _section(rule: Rule) -> Iterator[str]:
    yield ""
    yield f'<a id="{rule.code}"></a>'
    yield ""
    yield f"### {rule.code} {rule.name}"
    yield ""
    yield f"**{rule.severity.capitalize()}**: {_escape(rule.checks)}."
    yield ""
    yield rule.rationale
    yield ""
    yield "```text"
    yield rule.example
    yield "```"
    yield ""
    yield f"What to do: {sentences(rule.remedy)}"
    yield ""
    yield f"Fix: {fix_of(rule)}."
    yield ""
    yield f"Scoring: {scoring_of(rule)}."


def _escape(text: str) -> str:
    """Escape what Markdown reads as the end of a cell or as a link."""
    return re.sub(r"([|\[\]])", r"\\\1", text)


def scoring_of(rule: Rule) -> str:
    """Describe whether scoring accepts a file that breaks a rule."""
    if not rule.can_block_scoring:
        return "never blocked"
    blocked = "blocked" if rule.severity is Severity.ERROR else "blocked if it is an error"
    return f"{blocked}, unless {rule.scored_if}" if rule.scored_if else blocked


def fix_of(rule: Rule) -> str:
    """Describe the fix of a rule, with its effect on the figures if it has one."""
    effect = f". It {rule.rule_fix.effect}" if rule.rule_fix and rule.rule_fix.effect else ""
    return f"{FIXES[rule.fix]}{effect}"
