"""``trectools-plus explain``: the definition of a measure or of a validation rule."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from trectools_plus import measures, validation
from trectools_plus.cli.options.common import TextOrJson
from trectools_plus.cli.printing import WIDTH, shown_name, write_json, write_text
from trectools_plus.cli.verbosity import note
from trectools_plus.errors import UsageError
from trectools_plus.text import sentences

_CODE = re.compile(r"[FRQTP][0-9]{3}", re.IGNORECASE)
_FAMILIES = {
    "Graded gain": ("nDCG", "DCG", "CG", "ERR", "RBP"),
    "Precision and average precision": (
        *("P", "Rprec", "AP", "APcap", "IPrec", "Bpref", "infAP", "F1"),
        *("SetP", "SetR", "SetF", "SetAP"),
    ),
    "Recall": ("R", "RelRet"),
    "The first relevant document": ("RR", "Success", "HitRate", "MinRank", "MeanRank"),
    "Ontologies": ("MaxOntSim",),
    "Counts and coverage": ("NumQ", "NumRel", "NumRet", "Judged"),
}
_TREC_SUM = "(query by query, with -q; its line 'all' is the sum)"


def explain_name(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Name, alias or trec_eval spelling of a measure; or code or name of a rule.  "
            "[default: list the measures]",
            show_default=False,
        ),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the measures by family.")] = False,
    output_format: TextOrJson = "text",
) -> None:
    """For a measure, the output lists the formula, gain, cutoff, denominator, tie order, the
    queries averaged over, the library that computes it, and the trec_eval call that prints the
    same value.

    For a rule, it lists the severity, what the rule checks and why, an example, a remedy, and
    whether --fix fixes it. If several rules have the same name, all of them are shown.

    \b
    Examples:
      trectools-plus explain nDCG@10
      trectools-plus explain "AP(rel=2)@100"
      trectools-plus explain MRR@10 --format json
      trectools-plus explain R131
      trectools-plus explain duplicate-document
    """
    if name is None or list_all:
        list_measures(output_format)
        return
    if name.endswith(("@k", "@K")):
        name = f"{name[:-1]}10"
        note(f"explaining {name}, with 10 as an example of k")
    try:
        definition = measures.explain(name)
    except UsageError:
        rules = _rules(name)
        if not rules:
            raise
    else:
        if output_format == "json":
            also = {"see_also": definition.see_also} if definition.see_also else {}
            write_json({**definition.as_dict(), **also})
        else:
            write_text(_definition_lines(definition))
        return
    if output_format == "json":
        write_json({"rules": [_as_dict(rule) for rule in rules]})
    else:
        write_text(_rule_lines(rules))


def list_measures(output_format: TextOrJson = "text") -> None:
    """Each measure can have a cutoff and parameters, for example nDCG@10 or AP(rel=2)@100.
    trectools-plus explain NAME describes one.

    \b
    Examples:
      trectools-plus measures
      trectools-plus explain nDCG@10
    """
    families = _families()
    if output_format == "json":
        write_json({"families": families})
        return
    lines = []
    for family, labels in families.items():
        shown = textwrap.wrap(", ".join(labels), WIDTH - 2, break_on_hyphens=False)
        lines += [family, *(f"  {line}" for line in shown), ""]
    lines.append("A cutoff follows @, as in nDCG@10; explain NAME has the definition.")
    write_text(iter(lines))


def _families() -> dict[str, list[str]]:
    """Return the labels of all measures by family."""
    labels = measures.measure_labels()
    known = {label for family in _FAMILIES.values() for label in family}
    names = {name.casefold() for name in (*labels, *measures.ALIASES)}
    further = [label for label in measures.ir_measures_labels() if label.casefold() not in names]
    families = {
        **{name: [one for one in family if one in labels] for name, family in _FAMILIES.items()},
        "Others": [label for label in labels if label not in known],
        "Computed by ir_measures, some with a further package": sorted(further, key=str.casefold),
    }
    return {name: family for name, family in families.items() if family}


def _definition_lines(definition: measures.Definition) -> Iterator[str]:
    """Yield the lines of a measure's definition, wrapped to the width."""
    yield shown_name(definition)
    yield ""
    whole = "none: the whole ranking"
    parts = {
        "formula": definition.formula,
        "gain": definition.gain,
        "cutoff": whole if definition.cutoff is None else f"rank {definition.cutoff}",
        "denominator": definition.denominator,
        "relevant": f"grade {definition.relevance_level} or more",
        "see also": definition.see_also,
        "ties": definition.ties,
        "averaged over": definition.averaged_over,
        "provider": definition.provider,
        "trec_eval": definition.trec_eval_call or "no call prints this figure",
        "": _TREC_SUM if definition.trec_eval_sums else None,
    }
    for key, text in parts.items():
        lines = textwrap.wrap(text or "", WIDTH - 17, break_on_hyphens=False)
        for index, line in enumerate(lines):
            yield f"  {key if index == 0 else '':<15}{line}"


def _rules(name: str) -> list[validation.Rule]:
    """Return the rules with a code or name; an empty list if no rule has the name.

    Raises:
        UsageError: If no rule has the code.
    """
    if _CODE.fullmatch(name):
        return [validation.CATALOGUE[name.upper()]]
    return validation.CATALOGUE.named(name)


def _as_dict(rule: validation.Rule) -> dict[str, Any]:
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


def _rule_lines(rules: Sequence[validation.Rule]) -> Iterator[str]:
    """Yield the lines of the rules' documentation, wrapped to the width."""
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
            "fix": validation.FIXES[rule.fix],
        }
        for key, text in parts.items():
            lines = textwrap.wrap(text, WIDTH - 14, break_long_words=False, break_on_hyphens=False)
            for index, line in enumerate(lines):
                yield f"  {key if index == 0 else '':<12}{line}"
