"""``trectools-plus explain``: the definition of a measure or of a validation rule."""

from __future__ import annotations

import re
from typing import Annotated, Any

from typer import Argument

from trectools_plus import measures, validation
from trectools_plus.cli.options.common import TextOrJson
from trectools_plus.cli.printing import write_document
from trectools_plus.errors import UsageError


def explain_name(
    name: Annotated[
        str | None,
        Argument(
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
    same value. Each measure can have a cutoff and parameters, for example nDCG@10 or
    AP(rel=2)@100.

    For a rule, it lists the severity, what the rule checks and why, an example, a remedy, and
    whether --fix fixes it. If several rules have the same name, all of them are shown.

    \b
    Examples:
      trectools-plus explain
      trectools-plus explain nDCG@10
      trectools-plus explain "AP(rel=2)@100"
      trectools-plus explain MRR@10 --format json
      trectools-plus explain R131
      trectools-plus explain duplicate-document
    """
    if name is None:
        labels = {*measures.measure_labels(), *measures.ir_measures_labels()}
        write_document({"measures": sorted(labels, key=str.casefold)}, output_format)
        return
    try:
        definition = measures.explain(re.sub("@k$", "@10", name, flags=re.IGNORECASE))
    except UsageError:
        codes = [rule for rule in validation.CATALOGUE if rule.code == name.upper()]
        rules = list(map(_as_dict, codes or validation.CATALOGUE.named(name)))
        if not rules:
            raise
        for document in [{"rules": rules}] if output_format == "json" else rules:
            write_document(document, output_format)
        return
    write_document(definition.as_dict(), output_format)


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
