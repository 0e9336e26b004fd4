"""Extraction reports, their comparisons and sweeps: blocks, JSON and files."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from trectools_plus.benchmark.run.output_folder import PLOT_ENDINGS
from trectools_plus.display import Cell
from trectools_plus.extraction.inputs import PREDICTIONS_FILE, write_predictions
from trectools_plus.extraction.report import GOLD_FILE, REPORT_FILE, ExtractionReport
from trectools_plus.extraction.runner import ExtractionResult, Sweep
from trectools_plus.extraction.scoring import ExtractionComparison
from trectools_plus.formats.files.guards import refuse_foreign_beside
from trectools_plus.reporting.benchmark import CLAIMS_TITLE, claim_lines
from trectools_plus.reporting.comparison import TEST_NAMES
from trectools_plus.reporting.document import (
    Block,
    Bullets,
    Fold,
    Heading,
    Paragraph,
    show_ci,
    show_p,
    table_of,
)
from trectools_plus.reporting.export import render_json, write_renderings, write_text
from trectools_plus.reporting.plots import can_draw, draw_tradeoff, save_plots
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.text import plural

_MOST = 50
"""Maximum number of mistakes in a list."""
MARKDOWN_FILE = "ExtractionReport.md"
SWEEP_FILE = "sweep.json"
_VIEWS = {
    "present": "present-only: affirmed and uncertain terms",
    "any": "any assertion: assertions ignored",
    "strict": "assertion-strict: term and assertion agree",
}
_MATCHING = {"exact": "exact", "soft": "ontology-aware"}


def extraction_blocks(report: ExtractionReport) -> list[Block]:
    """Return the blocks: scores, mistakes, and the origin of the figures.

    Args:
        report: The report.
    """
    manifest, facts, mistakes = report.manifest, report.dataset, report.mistakes
    interval = report.scores["present"]["exact"]["micro"].f1.ci
    method = "" if interval is None else f"{interval.level:.0%} {interval.method}"
    root = (
        f"Only terms below {manifest.root} are scored, both gold and predicted: {facts.outside} of "
        f"{plural(facts.terms + facts.outside, 'gold term')} not used; "
        f"{plural(facts.unmapped, 'id')} unknown to the ontology."
    )
    return [
        Heading("Extraction", 1),
        Paragraph(
            f"{facts.name}: {plural(facts.documents, 'document')}, "
            f"{plural(facts.annotations, 'annotation')} ({plural(facts.terms, 'term')}); "
            f"system: {report.system.name}",
            "result",
        ),
        *_score_blocks(report, "present"),
        Paragraph(
            f"Intervals: {method or 'none'} over the documents, seed {manifest.seed}. "
            "Ontology-aware: the credit of a term is its highest similarity "
            f"({manifest.similarity}) to a term of the other side. Published figures usually "
            "ignore assertions.",
            "small",
        ),
        Paragraph("" if manifest.root is None else root),
        Paragraph(
            f"Present-only, exact: {len(mistakes.missed):,} missed, {len(mistakes.spurious):,} "
            "spurious."
        ),
        *(Paragraph(f"Note: {note}.", "note") for note in report.notes),
        *(
            Fold(_VIEWS[view].capitalize(), _score_blocks(report, view))
            for view in ("any", "strict")
        ),
        *(
            Fold(
                f"{name}: {len(terms):,}, at most {_MOST} shown",
                [table_of(term.model_dump(exclude={"score"}) for term in terms[:_MOST])],
            )
            for name, terms in (("Missed", mistakes.missed), ("Spurious", mistakes.spurious))
        ),
        Fold(CLAIMS_TITLE, [Bullets(extraction_claims(report))]),
    ]


def _score_blocks(report: ExtractionReport, view: str) -> list[Block]:
    """Return the scores of one way to count terms."""
    rows = (
        {"matching": _MATCHING[matching], "average": average}
        | {name: Cell(f"{figure.value:.3f}", show_ci(figure.ci)) for name, figure in score}
        for matching, averages in report.scores[view].items()
        for average, score in averages.items()
    )
    return [Paragraph(f"{_VIEWS[view].capitalize()}."), table_of(rows)]


def extraction_claims(report: ExtractionReport) -> list[str]:
    """Return what the writer of a report states and ``verify`` cannot derive, a line each."""
    manifest, system = report.manifest, report.system
    facts = {
        "Ontology": manifest.ontology,
        "Documents": report.dataset.path,
        "Predictions": system.predictions or "extracted",
        **({} if system.settings is None else system.settings.model_dump()),
    }
    return [*report.reported, *claim_lines(manifest, facts)]


def check_extraction_folder(folder: str | Path) -> None:
    """Raise an error if :func:`write_extraction` would replace files that it did not write.

    Raises:
        InputError: If a file exists, and no report is beside it.
    """
    names = (REPORT_FILE, MARKDOWN_FILE, PREDICTIONS_FILE, GOLD_FILE)
    refuse_foreign_beside(folder, names, REPORT_FILE, ("manifest", "system", "scores"))


def check_sweep_folder(folder: str | Path) -> None:
    """Do the same for :func:`write_sweep`."""
    plots = (f"precision_recall_tradeoff{ending}" for ending in PLOT_ENDINGS)
    keys = [field.name for field in fields(Sweep)]
    refuse_foreign_beside(folder, (SWEEP_FILE, *plots), SWEEP_FILE, keys)


def write_extraction(result: ExtractionResult, folder: str | Path) -> dict[str, Path]:
    """Write the report as JSON and Markdown, the predictions and the gold terms.

    Args:
        result: From :func:`run_extraction`.
        folder: The output folder; it is created if necessary.

    Returns:
        The files: ``json``, ``md``, ``predictions``, ``gold``.

    Raises:
        InputError: If a file cannot be written.
    """
    check_extraction_folder(folder)
    predictions, gold = Path(folder, PREDICTIONS_FILE), Path(folder, GOLD_FILE)
    blocks = extraction_blocks(result.report)
    files = write_renderings(result.report, blocks, folder, MARKDOWN_FILE, REPORT_FILE)
    write_text(gold, render_json(result.inputs))
    write_predictions(result.predictions, predictions)
    return {"predictions": predictions, "gold": gold, **files}


def write_sweep(sweep: Sweep, folder: str | Path) -> list[Path]:
    """Write ``sweep.json`` and, if Matplotlib is installed, the plot as PNG and SVG.

    Args:
        sweep: The figures by value of the setting.
        folder: The output folder; it is created if necessary.

    Returns:
        The files.

    Raises:
        InputError: If a file cannot be written.
    """
    check_sweep_folder(folder)
    path = Path(folder, SWEEP_FILE)
    figures = {"precision_recall_tradeoff": draw_tradeoff(sweep)} if can_draw() else {}
    plots = save_plots(figures, folder)
    write_text(path, json.dumps(asdict(sweep), indent=2) + "\n")
    return [path, *plots]


def comparison_document(comparison: ExtractionComparison) -> dict[str, Any]:
    """Return the comparison as JSON values.

    Args:
        comparison: From :func:`compare_extractions`.
    """
    f1 = comparison.f1
    low, high = ends_of(f1.ci)
    facts = {"n", "difference", "effect_size", "wins", "ties", "losses"}
    return {
        "a": comparison.first.system.model_dump(mode="json"),
        "b": comparison.second.system.model_dump(mode="json"),
        "dataset": comparison.first.dataset.model_dump(mode="json"),
        "view": "present",
        "matching": "exact",
        **asdict(comparison.resampling),
        "differences": list(map(asdict, comparison.differences)),
        "documents": [
            dict(zip(("doc_id", "a", "b"), row, strict=True))
            for row in comparison.by_document.rows()
        ],
        "f1_over_documents": {
            **f1.model_dump(include=facts),
            "low": low,
            "high": high,
            "tests": {f1.test: f1.p},
        },
    }


def comparison_blocks(comparison: ExtractionComparison) -> list[Block]:
    """Return the blocks: differences with intervals, the test, and F1 of the documents.

    Args:
        comparison: From :func:`compare_extractions`.
    """
    first, second, f1 = comparison.first, comparison.second, comparison.f1
    how = comparison.resampling
    return [
        Paragraph(
            f"{first.dataset.name}: B {second.system.name} against A {first.system.name}", "result"
        ),
        table_of(map(asdict, comparison.differences)),
        Paragraph(
            f"{_VIEWS['present'].capitalize()}; {_MATCHING['exact']} matching. "
            "First: A; second: B; low and high: the interval of B minus A, "
            f"{how.confidence:.0%}, over resampled documents, seed {how.seed}; not adjusted.",
            "small",
        ),
        Paragraph(
            f"F1 of the documents: B is better on {f1.wins:,}, equal on {f1.ties:,}, worse on "
            f"{f1.losses:,}. {TEST_NAMES[f1.test].capitalize()}: p {show_p(f1.p)}."
        ),
    ]


def extraction_sweep_blocks(sweep: Sweep) -> list[Block]:
    """Return the blocks of a sweep.

    Args:
        sweep: The figures by value of the setting.
    """
    rows = (
        {"system": curve.system, **asdict(point)}
        for curve in sweep.curves
        for point in curve.points
    )
    title = (
        f"{sweep.dataset}: {sweep.documents:,} documents, {sweep.parameter} varied "
        f"(micro, exact, {_VIEWS[sweep.view].partition(':')[0]})"
    )
    return [Paragraph(title, "result"), table_of(rows)]
