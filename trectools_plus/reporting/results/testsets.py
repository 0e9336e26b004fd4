"""Agreement of annotators and overfitting to a test set: blocks and JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from trectools_plus.benchmark.overfitting import OverfittingCheck, PartContrast
from trectools_plus.display import TextTable
from trectools_plus.reporting.document import Block, Paragraph
from trectools_plus.reporting.wording import show, show_interval, show_p
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


def agreement_blocks(
    found: GradeAgreement, names: tuple[str, str], *, every: bool = False
) -> list[Block]:
    """Return the blocks: the verdict, the kappas and the disagreements.

    Args:
        found: The agreement of two annotators.
        names: The files of the two annotators.
        every: List all disagreements, not only the first 20.
    """
    kappas = [
        [
            "unweighted" if weights == "none" else f"{weights} weights",
            "–" if math.isnan(kappa.value) else f"{kappa.value:.3f}",
            "–" if math.isnan(kappa.low) else show_interval(kappa.low, kappa.high),
        ]
        for weights, kappa in found.kappas.items()
    ]
    shown = found.disagreements if every else found.disagreements[:_SHOWN]
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


def overfitting_document(found: OverfittingCheck) -> dict[str, Any]:
    """Return the check as JSON values; undefined figures are null.

    Args:
        found: From :func:`check_overfitting`.
    """
    return {
        "flagged": found.flagged,
        "contrasts": [
            {
                "mode": one.mode,
                "measure": one.measure,
                "used": one.comparison.first,
                "held_out": one.comparison.second,
                **_finite(
                    {
                        key: value
                        for key, value in asdict(one.comparison).items()
                        if key not in ("first", "second", "n_first", "n_second")
                    }
                ),
                "n_used": one.comparison.n_first,
                "n_held_out": one.comparison.n_second,
                "p_adjusted": one.p_adjusted,
                "flagged": one.flagged,
                "better_used": one.better_used,
            }
            for one in found.contrasts
        ],
        "notes": list(found.notes),
    }


def overfitting_blocks(found: OverfittingCheck) -> list[Block]:
    """Return the blocks: modes that differ by more than chance, the differences, the reading.

    Args:
        found: From :func:`check_overfitting`.
    """
    reading = (
        f"Difference: used minus held out, with Welch's {found.contrasts[0].comparison.level:.0%} "
        "interval. In brackets: the number of queries. p: two-sample permutation test. Adj. p: "
        f"Holm over {len(found.contrasts)}."
    )
    header = ["Mode", "Metric", "Used", "Held out", "Difference", "Unadjusted interval", "p"]
    verdict = [_explain(one) for one in found.contrasts if one.flagged]
    chance = "No mode differs between the parts by more than chance."
    return [
        *(Paragraph(line, "result") for line in verdict or [chance]),
        TextTable.of([*header, "Adj. p", ""], map(_contrast_row, found.contrasts)),
        Paragraph(reading, "small"),
        *(Paragraph(f"Note: {note}.") for note in found.notes),
    ]


def _contrast_row(one: PartContrast) -> list[str]:
    sides = one.comparison
    return [
        one.mode,
        one.measure,
        f"{show(sides.first)} ({sides.n_first:,})",
        f"{show(sides.second)} ({sides.n_second:,})",
        show(sides.difference, "+"),
        show_interval(sides.low, sides.high, "+"),
        show_p(sides.p_permutation),
        show_p(one.p_adjusted),
        "*" if one.flagged else "",
    ]


def _explain(one: PartContrast) -> str:
    part = "used" if one.better_used else "held-out"
    reason = "It may be overfitted" if one.better_used else "The parts differ"
    return f"{one.mode}, {one.measure}: better on the {part} part than chance explains. {reason}."


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }
