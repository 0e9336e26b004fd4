"""Agreement of annotators: blocks and JSON."""

from __future__ import annotations

from dataclasses import asdict
from math import isnan
from typing import Any

from trectools_plus.reporting.document import Block, Paragraph, table_of
from trectools_plus.testsets.agreement import GradeAgreement
from trectools_plus.text import plural

_SHOWN = 20


def agreement_document(agreement: GradeAgreement) -> dict[str, Any]:
    """Return the agreement as JSON values; undefined figures are null.

    Args:
        agreement: The agreement of two annotators.
    """
    document = asdict(agreement)
    del document["queries"]
    kappas = document.pop("kappas")
    for figures in kappas.values():
        figures.update({name: None if isnan(value) else value for name, value in figures.items()})
    return {"accepted": agreement.accepted, "kappa": kappas, **document}


def agreement_blocks(agreement: GradeAgreement, names: tuple[str, str]) -> list[Block]:
    """Return the blocks: the verdict, the kappas and the disagreements.

    Args:
        agreement: The agreement of two annotators.
        names: The files of the two annotators.
    """
    document = agreement_document(agreement)
    kappas, differing = document["kappa"], document["disagreements"]
    decisive, more = kappas[agreement.weights]["value"], len(differing) - _SHOWN
    verdict = (
        f"{'Accepted' if agreement.accepted else 'Not accepted'}: kappa {decisive:.3f}, needed: "
        f"more than {agreement.threshold:g}"
        if decisive is not None
        else "Not accepted: kappa is undefined, because both annotators gave only one grade"
    )
    return [
        Paragraph(verdict, "result"),
        Paragraph(f"First: {names[0]}; second: {names[1]}."),
        Paragraph(
            f"{plural(agreement.pairs, 'pair')} graded by both, {agreement.agreed:,} with the same "
            f"grade. Not counted: {agreement.only_first:,} graded only by the first, "
            f"{agreement.only_second:,} only by the second."
        ),
        table_of({"weights": name, **figures} for name, figures in kappas.items()),
        table_of(differing[:_SHOWN]),
        Paragraph(f"… {more:,} more: list them with --format json" if more > 0 else ""),
    ]
