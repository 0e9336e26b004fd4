"""Agreement of annotators: blocks and JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from trectools_plus.display import TextTable
from trectools_plus.reporting.document import Block, Paragraph
from trectools_plus.reporting.wording import show_interval
from trectools_plus.testsets.agreement import GradeAgreement
from trectools_plus.text import plural, visible

_SHOWN = 20


def agreement_document(found: GradeAgreement) -> dict[str, Any]:
    """Return the agreement as JSON values; undefined figures are null.

    Args:
        found: The agreement of two annotators.
    """
    return {
        "accepted": found.accepted,
        "weights": found.weights,
        "threshold": found.threshold,
        "kappa": {name: _finite(asdict(kappa)) for name, kappa in found.kappas.items()},
        "pairs": found.pairs,
        "agreed": found.agreed,
        "only_first": found.only_first,
        "only_second": found.only_second,
        "disagreements": [asdict(pair) for pair in found.disagreements],
    }


def agreement_blocks(found: GradeAgreement, names: tuple[str, str]) -> list[Block]:
    """Return the blocks: the verdict, the kappas and the disagreements.

    Args:
        found: The agreement of two annotators.
        names: The files of the two annotators.
    """
    kappas = [
        [
            "unweighted" if weights == "none" else f"{weights} weights",
            "–" if math.isnan(kappa.value) else f"{kappa.value:.3f}",
            "–" if math.isnan(kappa.low) else show_interval(kappa.low, kappa.high),
        ]
        for weights, kappa in found.kappas.items()
    ]
    shown = found.disagreements[:_SHOWN]
    pairs = [
        [visible(pair.query_id), visible(pair.doc_id), str(pair.first), str(pair.second)]
        for pair in shown
    ]
    more = len(found.disagreements) - len(shown)
    decisive = found.kappas[found.weights].value
    verdict = f"{'Accepted' if found.accepted else 'Not accepted'}: kappa {decisive:.3f}, needed: "
    verdict += f"more than {found.threshold:g}"
    if math.isnan(decisive):
        verdict = "Not accepted: kappa is undefined, because both annotators gave only one grade"
    counts = (
        f"{plural(found.pairs, 'pair')} graded by both, {found.agreed:,} with the same grade. Not "
        f"counted: {found.only_first:,} graded only by A, {found.only_second:,} only by B."
    )
    return [
        Paragraph(verdict, "result"),
        *(Paragraph(f"{place}  {name}") for place, name in zip("AB", names, strict=True)),
        Paragraph(counts),
        TextTable.of(["Kappa", "Value", "Interval"], kappas),
        TextTable.of(["Query", "Term", "A", "B"], pairs),
        Paragraph(f"… {more:,} more: list them with --all" if more else ""),
    ]


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }
