"""``trectools-plus explain``: what a measure computes, or what a rule of the validators means."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    from trectools_plus.validation.registry import Rule

_CODE = re.compile(r"[FRQTP][0-9]{3}", re.IGNORECASE)


def explain_name(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A measure's name, alias or trec_eval spelling; or a rule's code or name.",
        ),
    ],
    output_format: Annotated[
        Literal["text", "json"],
        typer.Option("--format", help="text to read, json for programs."),
    ] = "text",
) -> None:
    """Say exactly what a measure computes, or what a rule of the validators is about.

    Of a measure: formula, gain, cutoff, denominator, tie order, the queries averaged over, who
    computes it, and the trec_eval call that prints the same figure.
    Of a rule: what it checks and why, an example, what to do, how severe it is, and whether --fix
    mends it. A name that several rules have gives all of them.

    \b
    Examples:
      trectools-plus explain nDCG@10
      trectools-plus explain "AP(rel=2)@100"
      trectools-plus explain MRR@10 --format json
      trectools-plus explain R131
      trectools-plus explain duplicate-document
    """
    from trectools_plus.cli import printing, score_output
    from trectools_plus.measures.parser import explain

    try:
        definition = explain(name)
    except UsageError:
        rules = _rules(name)
        if not rules:
            raise
    else:
        if output_format == "json":
            printing.write_json(definition.as_dict())
        else:
            printing.write_text(score_output.definition_lines(definition))
        return
    if output_format == "json":
        printing.write_json({"rules": [_as_dict(rule) for rule in rules]})
    else:
        printing.write_text(_rule_lines(rules, score_output.WIDTH))


def _rules(name: str) -> list[Rule]:
    """The rules of a name; none if it may be that of a measure.

    Raises:
        UsageError: If it looks like a rule's code and is none.
    """
    from trectools_plus.validation.catalogue import CATALOGUE

    if _CODE.fullmatch(name):
        return [CATALOGUE[name.upper()]]
    return CATALOGUE.named(name)


def _as_dict(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": str(rule.severity),
        "checks": rule.checks,
        "rationale": rule.rationale,
        "example": rule.example,
        "remedy": rule.remedy,
        "fix": str(rule.fix),
        "stops_scoring": rule.can_block_scoring,
    }


def _rule_lines(rules: Sequence[Rule], width: int) -> Iterator[str]:
    """Rules as lists of their parts, wrapped to the width."""
    from trectools_plus.text import sentences
    from trectools_plus.validation.rendering.rules_page import fix_of

    for at, rule in enumerate(rules):
        if at:
            yield ""
        yield f"{rule.code} {rule.name}"
        yield ""
        parts = {
            "severity": rule.severity,
            "checks": rule.checks,
            "why": rule.rationale,
            "example": rule.example,
            "what to do": sentences(rule.remedy),
            "fix": fix_of(rule),
        }
        for key, text in parts.items():
            lines = textwrap.wrap(text, width - 14, break_long_words=False, break_on_hyphens=False)
            for index, line in enumerate(lines):
                yield f"  {key if index == 0 else '':<12}{line}"
