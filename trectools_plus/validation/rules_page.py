"""Render the rule catalogue as Markdown."""

from __future__ import annotations

import re

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
    "ask": "can be fixed if the owner of the file names the rule",
    "no": "cannot be fixed from the file alone",
}
"""The meaning of each kind of fix."""


_INTRODUCTION = """\
# Rules of the validators

`runs validate`, `qrels validate`, `topics validate` and `testset validate` report at
most one finding per rule and file, with its first line and a count. `testset validate`
applies the rules for topics and test sets, and the rules T2.

The severity describes the file. **Scoring refuses only findings that would make a
figure wrong or ambiguous**: the last line of each rule says which. All others are
accepted and named in one note on stderr; `--strict-input` refuses every error.
"""


def render_rules_markdown() -> str:
    """Return the catalogue as a Markdown page; the code of each rule is an anchor."""
    parts = [_INTRODUCTION]
    for subject, heading in _HEADINGS.items():
        rules = [rule for rule in CATALOGUE if rule.on == subject]
        rows = "".join(
            f"| [{rule.code}](#{rule.code}) | {rule.name} | {rule.severity} | "
            f"{_escape(rule.checks)} |\n"
            for rule in rules
        )
        parts.append(
            f"\n## {heading}\n\n| code | name | severity | checks |\n|---|---|---|---|\n{rows}"
        )
        parts += map(_section, rules)
    return "".join(parts)


def _section(rule: Rule) -> str:
    return f"""
<a id="{rule.code}"></a>

### {rule.code} {rule.name}

**{rule.severity.capitalize()}**: {_escape(rule.checks)}.

{rule.rationale}

```text
{rule.example}
```

What to do: {sentences(rule.remedy)}

Fix: {FIXES[rule.fix]}.

Scoring: {scoring_of(rule)}.
"""


def _escape(text: str) -> str:
    """Escape what Markdown reads as the end of a cell or as a link."""
    return re.sub(r"([|\[\]])", r"\\\1", text)


def scoring_of(rule: Rule) -> str:
    """Describe whether scoring accepts a file that breaks a rule."""
    if not rule.can_block_scoring:
        return "never blocked"
    blocked = "blocked" if rule.severity == "error" else "blocked if it is an error"
    return f"{blocked}, unless {rule.scored_if}" if rule.scored_if else blocked
