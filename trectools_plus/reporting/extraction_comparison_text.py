"""Two extractions held against each other, and sweeps: Markdown, terminal, JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TextIO

from trectools_plus.extraction.comparison import ExtractionComparison
from trectools_plus.extraction.sweep import LeftOut, Sweep
from trectools_plus.reporting.extraction_text import (
    MATCHING_WORDS,
    VIEW_WORDS,
    console_for,
    print_table,
)
from trectools_plus.reporting.markdown_text import escape, table
from trectools_plus.reporting.significance import show_p

_HEADER = ("Average", "Figure", "A", "B", "B − A", "Interval", "p")
_DOCUMENT_HEADER = ("Document", "A", "B", "B − A")
_SWEEP_HEADER = ("System", "Value", "Precision", "Recall", "F1")


def comparison_document(comparison: ExtractionComparison) -> dict[str, Any]:
    """The comparison as JSON values."""
    tests = comparison.f1_tests
    return {
        "a": comparison.first.system.model_dump(mode="json"),
        "b": comparison.second.system.model_dump(mode="json"),
        "dataset": comparison.first.dataset.model_dump(mode="json"),
        "view": comparison.view,
        "matching": comparison.matching,
        "confidence": comparison.resampling.confidence,
        "resamples": comparison.resampling.resamples,
        "seed": comparison.resampling.seed,
        "differences": [asdict(one) for one in comparison.differences],
        "documents": [
            {"doc_id": doc_id, "a": a, "b": b} for doc_id, a, b in comparison.by_document
        ],
        "f1_over_documents": {
            "n": tests.n,
            "difference": tests.difference,
            "low": tests.low,
            "high": tests.high,
            "effect_size": tests.effect_size,
            "wins": tests.wins,
            "ties": tests.ties,
            "losses": tests.losses,
            "tests": {name: test.p_value for name, test in tests.tests.items()},
        },
    }


def render_comparison_markdown(comparison: ExtractionComparison) -> str:
    """The comparison as a page."""
    parts = [
        f"# {escape(_heading(comparison))}",
        table(_HEADER, _rows(comparison)),
        escape(_explanation(comparison)),
        "## F1 of the documents",
        _tests_line(comparison),
        table(_DOCUMENT_HEADER, _document_rows(comparison)),
    ]
    return "\n\n".join(parts) + "\n"


def print_comparison(comparison: ExtractionComparison, stream: TextIO) -> None:
    """The comparison for the terminal, at most 100 columns wide."""
    console = console_for(stream)
    console.print(_heading(comparison), style="bold")
    console.print()
    print_table(console, _HEADER, _rows(comparison), left=2)
    console.print(_explanation(comparison), style="dim")
    console.print(_tests_line(comparison))
    print_table(console, _DOCUMENT_HEADER, _document_rows(comparison), left=1)


def sweep_document(sweep: Sweep) -> dict[str, Any]:
    """A sweep as JSON values."""
    return asdict(sweep)


def print_sweep(sweep: Sweep, stream: TextIO) -> None:
    """A sweep for the terminal, at most 100 columns wide; each system's best F1 is marked."""
    console = console_for(stream)
    console.print(
        f"{sweep.dataset}: {sweep.documents} documents, {sweep.parameter} varied "
        f"(micro, exact, {VIEW_WORDS[sweep.view].partition(':')[0]})",
        style="bold",
    )
    rows = []
    for curve in sweep.curves:
        best = max(point.f1 for point in curve.points)
        for point in curve.points:
            marks = ("*" if point.f1 == best else "") + (" default" if point.is_default else "")
            f1 = f"{point.f1:.3f}"
            if point.low is not None:
                f1 += f" [{point.low:.3f}, {point.high:.3f}]"
            value = f"{point.value:g}{marks}"
            rows.append((curve.system, value, f"{point.precision:.3f}", f"{point.recall:.3f}", f1))
    print_table(console, _SWEEP_HEADER, rows, left=2)
    for curve in sweep.curves:
        if curve.left_out is not None:
            console.print(f"{curve.system}: {_left_out_line(curve.left_out)}")


def _left_out_line(found: LeftOut) -> str:
    chosen = ", ".join(f"{value:g} ({times}×)" for value, times in found.chosen.items())
    return (
        f"each document with the value best on the others: F1 {found.f1:.3f} "
        f"({found.precision:.3f} / {found.recall:.3f}); chosen: {chosen}"
    )


def _heading(comparison: ExtractionComparison) -> str:
    first, second = comparison.first, comparison.second
    return f"{first.dataset.name}: B {second.system.name} against A {first.system.name}"


def _rows(comparison: ExtractionComparison) -> list[list[str]]:
    return [
        [
            one.average,
            one.figure,
            f"{one.first:.3f}",
            f"{one.second:.3f}",
            f"{one.difference:+.3f}",
            f"[{one.low:+.3f}, {one.high:+.3f}]",
            show_p(one.p_value),
        ]
        for one in comparison.differences
    ]


def _document_rows(comparison: ExtractionComparison) -> list[list[str]]:
    return [
        [doc_id, f"{a:.3f}", f"{b:.3f}", f"{b - a:+.3f}"] for doc_id, a, b in comparison.by_document
    ]


def _explanation(comparison: ExtractionComparison) -> str:
    how = comparison.resampling
    return (
        f"{VIEW_WORDS[comparison.view].capitalize()}; {MATCHING_WORDS[comparison.matching]} "
        f"matching. Intervals: {how.confidence:.0%} bootstrap over documents. p: approximate "
        f"randomisation over documents. Seed {how.seed}."
    )


def _tests_line(comparison: ExtractionComparison) -> str:
    tests = comparison.f1_tests
    p_values = ", ".join(
        f"{name.replace('_', ' ')} p {show_p(test.p_value)}" for name, test in tests.tests.items()
    )
    return f"B ahead on {tests.wins}, equal on {tests.ties}, behind on {tests.losses}. {p_values}."
