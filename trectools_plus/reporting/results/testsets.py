"""Agreement of annotators and overfitting to a test set, for the terminal and as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, TextIO

from trectools_plus.benchmark.overfitting import OverfittingCheck, PartContrast
from trectools_plus.display import TextTable
from trectools_plus.reporting.document import Block, Paragraph, print_blocks
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
        "kappa": {name: _finite(asdict(one)) for name, one in found.kappas.items()},
        "pairs": found.pairs,
        "agreed": found.agreed,
        "only_first": found.only_first,
        "only_second": found.only_second,
        "disagreements": [asdict(one) for one in found.disagreements],
    }


def print_agreement(
    found: GradeAgreement, names: tuple[str, str], stream: TextIO, *, every: bool = False
) -> None:
    """Print the agreement, at most 100 characters wide.

    Args:
        found: The agreement of two annotators.
        names: The files of the two annotators.
        stream: The output.
        every: List all disagreements, not only the first 20.
    """
    print_blocks(agreement_blocks(found, names, every=every), stream)


def agreement_blocks(
    found: GradeAgreement, names: tuple[str, str], *, every: bool = False
) -> list[Block]:
    """Return the blocks: the verdict, the kappas and the disagreements."""
    kappas = [
        [
            "unweighted" if weights == "none" else f"{weights} weights",
            _figure(one.value),
            _interval(one.low, one.high),
        ]
        for weights, one in found.kappas.items()
    ]
    shown = found.disagreements if every else found.disagreements[:_SHOWN]
    pairs = [
        [visible(pair.query_id), visible(pair.doc_id), str(pair.first), str(pair.second)]
        for pair in shown
    ]
    more = len(found.disagreements) - len(shown)
    decisive = found.kappas[found.weights].value
    if math.isnan(decisive):
        verdict = "Not accepted: kappa is undefined, because both annotators gave only one grade"
    else:
        word, relation = ("Accepted", "above") if found.accepted else ("Not accepted", "not above")
        verdict = f"{word}: kappa {decisive:.3f} is {relation} {found.threshold:g}"
    counts = (
        f"{plural(found.pairs, 'pair')} graded by both, {found.agreed:,} with the same grade. Not "
        f"counted: {found.only_first:,} graded only by A, {found.only_second:,} only by B."
    )
    return [
        Paragraph(verdict, "result"),
        *(Paragraph(f"{place}  {name}") for place, name in zip("AB", names, strict=True)),
        Paragraph(counts),
        TextTable.of(["Kappa", "Value", "Interval"], kappas),
        *([TextTable.of(["Query", "Term", "A", "B"], pairs)] if pairs else []),
        *([Paragraph(f"… {more:,} more: list them with --all")] if more else []),
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


def print_overfitting(found: OverfittingCheck, stream: TextIO) -> None:
    """Print the check, at most 100 characters wide.

    Args:
        found: From :func:`check_overfitting`.
        stream: The output.
    """
    level = found.contrasts[0].comparison.level
    reading = (
        f"Difference: used minus held out, with Welch's {level * 100:g}% interval. In brackets: "
        "the number of queries. p: two-sample permutation test. Adj. p: Holm over "
        f"{len(found.contrasts)}."
    )
    verdict = (Paragraph(line, "result") for line in _verdict(found))
    notes = (Paragraph(f"Note: {note}.") for note in found.notes)
    print_blocks([*verdict, _contrast_table(found), Paragraph(reading, "small"), *notes], stream)


def _contrast_table(found: OverfittingCheck) -> TextTable:
    header = ["Mode", "Metric", "Used", "Held out", "Difference", "Unadjusted interval", "p"]
    header += ["Adj. p", ""]
    rows = []
    for one in found.contrasts:
        sides = one.comparison
        cells = [
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
        rows.append(cells)
    return TextTable.of(header, rows)


def _verdict(found: OverfittingCheck) -> list[str]:
    flagged = [one for one in found.contrasts if one.flagged]
    if not flagged:
        return ["No mode differs between the parts by more than chance."]
    return [_explain(one) for one in flagged]


def _explain(one: PartContrast) -> str:
    what = f"{one.mode}, {one.measure}:"
    if one.better_used:
        return f"{what} better on the used part than chance explains. It may be overfitted."
    return f"{what} better on the held-out part than chance explains. The parts differ."


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def _figure(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _interval(low: float, high: float) -> str:
    return "–" if math.isnan(low) else f"[{_figure(low)}, {_figure(high)}]"
