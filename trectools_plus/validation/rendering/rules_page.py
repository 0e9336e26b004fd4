"""Render the rule catalogue as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from trectools_plus.text import sentences
from trectools_plus.validation.catalogue import CATALOGUE
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
    yield "most one finding per rule and file, with its first line and a count. An error blocks"
    yield "scoring unless stated otherwise. `testset validate` applies the rules for topics and"
    yield "test sets, and the rules T2."
    for subject, heading in _HEADINGS.items():
        rules = [rule for rule in CATALOGUE if rule.on == subject]
        yield ""
        yield f"## {heading}"
        yield ""
        yield "| code | name | severity | checks |"
        yield "|---|---|---|---|"
        for rule in rules:
            checks = rule.checks.replace("|", "\\|")
            yield f"| [{rule.code}](#{rule.code}) | {rule.name} | {rule.severity} | {checks} |"
        for rule in rules:
            yield from _section(rule)


def _section(rule: Rule) -> Iterator[str]:
    yield ""
    yield f'<a id="{rule.code}"></a>'
    yield ""
    yield f"### {rule.code} {rule.name}"
    yield ""
    yield f"**{rule.severity.capitalize()}**: {rule.checks}."
    yield ""
    yield rule.rationale
    yield ""
    yield "```text"
    yield rule.example
    yield "```"
    yield ""
    yield f"What to do: {sentences(rule.remedy)}"
    yield ""
    scored = "" if rule.blocks_scoring else " It does not block scoring."
    yield f"Fix: {fix_of(rule)}.{scored}"


def fix_of(rule: Rule) -> str:
    """Describe the fix of a rule, with its effect on the figures if it has one."""
    effect = f". It {rule.rule_fix.effect}" if rule.rule_fix and rule.rule_fix.effect else ""
    return f"{FIXES[rule.fix]}{effect}"
