"""``trectools-plus explain``: the definition of a measure or of a validation rule."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from trectools_plus import measures, validation
from trectools_plus.cli.options.common import TextOrJson
from trectools_plus.cli.printing import write_document
from trectools_plus.cli.verbosity import note
from trectools_plus.errors import UsageError

_CODE = re.compile(r"[FRQTP][0-9]{3}", re.IGNORECASE)
_FAMILIES = {
    "Graded gain": ("nDCG", "ERR", "RBP"),
    "Precision and average precision": (
        *("P", "Rprec", "AP", "APcap", "IPrec", "Bpref", "infAP", "F1"),
        *("SetP", "SetR", "SetF", "SetAP"),
    ),
    "Recall": ("R", "RelRet"),
    "The first relevant document": ("RR", "Success", "HitRate", "MinRank", "MeanRank"),
    "Ontologies": ("MaxOntSim",),
    "Coverage": ("Judged",),
}


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
    if name is None:
        list_measures(output_format)
        return
    if name.endswith(("@k", "@K")):
        name = f"{name[:-1]}10"
        note(f"explaining {name}, with 10 as an example of k")
    try:
        definition = measures.explain(name)
    except UsageError:
        rules = list(map(_as_dict, _rules(name)))
        if not rules:
            raise
        for document in [{"rules": rules}] if output_format == "json" else rules:
            write_document(document, output_format)
        return
    write_document(definition.as_dict(), output_format)


def list_measures(output_format: TextOrJson = "text") -> None:
    """Each measure can have a cutoff and parameters, for example nDCG@10 or AP(rel=2)@100.
    trectools-plus explain NAME describes one.

    \b
    Examples:
      trectools-plus measures
      trectools-plus explain nDCG@10
    """
    families = _families()
    write_document({"families": families} if output_format == "json" else families, output_format)


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
