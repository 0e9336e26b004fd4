"""Extraction reports, their comparisons and sweeps: blocks, JSON and files."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from trectools_plus.benchmark.run.output_folder import PLOT_ENDINGS
from trectools_plus.display import Cell, TextTable
from trectools_plus.extraction.comparison import ExtractionComparison
from trectools_plus.extraction.inputs import PREDICTIONS_FILE, write_predictions
from trectools_plus.extraction.report import GOLD_FILE, REPORT_FILE, ExtractionReport
from trectools_plus.extraction.runner import ExtractionResult, Sweep
from trectools_plus.extraction.scoring import method_over_documents
from trectools_plus.formats.files.outputs import refuse_foreign_beside
from trectools_plus.reporting.document import (
    Block,
    Bullets,
    Fold,
    Heading,
    Paragraph,
    markdown,
)
from trectools_plus.reporting.export import render_json, write_text, write_texts
from trectools_plus.reporting.plots.figures import save_plots
from trectools_plus.reporting.plots.style import can_draw
from trectools_plus.reporting.plots.sweep import draw_tradeoff
from trectools_plus.reporting.wording import (
    CLAIMS_TITLE,
    TEST_NAMES,
    list_versions,
    show_ci,
    show_interval,
    show_p,
)
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.statistics.intervals import METHOD_NAMES
from trectools_plus.text import plural, visible

_MOST = 50
MARKDOWN_FILE = "ExtractionReport.md"
SWEEP_FILE = "sweep.json"

_VIEWS = {
    "present": "present-only: affirmed and uncertain terms",
    "any": "any assertion: assertions ignored",
    "strict": "assertion-strict: term and assertion agree",
}
_MATCHING = {"exact": "exact", "soft": "ontology-aware"}
_SCORES = ("Terms that count", "Matching", "Average", "Precision", "Recall", "F1")
_DIFFERENCES = ("Average", "Figure", "A", "B", "B − A", "Unadjusted interval")
_SWEEP = ("System", "Value", "Precision", "Recall", "F1")


def extraction_blocks(report: ExtractionReport) -> list[Block]:
    """Return the blocks: scores, documents, mistakes, and the origin of the figures.

    Args:
        report: The report.
    """
    manifest, facts, mistakes = report.manifest, report.dataset, report.mistakes
    scores: list[list[str | Cell]] = [
        [
            _VIEWS[view],
            _MATCHING[matching],
            average,
            *(
                Cell(f"{figure.value:.3f}", detail=show_ci(figure.ci))
                for figure in (score.precision, score.recall, score.f1)
            ),
        ]
        for view, by_matching in report.scores.items()
        for matching, by_average in by_matching.items()
        for average, score in by_average.items()
    ]
    interval = report.scores["present"]["exact"]["micro"].f1.ci
    method = "" if interval is None else f"In brackets: {interval.level:.0%} {interval.method} "
    if interval is not None:
        method += f"over the documents, seed {manifest.seed}. "
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
        TextTable.of(_SCORES, scores, right=_SCORES[3:]),
        Paragraph(
            f"{method}Ontology-aware: the credit of a term is its highest similarity "
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
        *_list_mistakes(report),
        Fold(CLAIMS_TITLE, [Bullets(extraction_claims(report))]),
    ]


def extraction_claims(report: ExtractionReport) -> list[str]:
    """Return what the writer of a report states and ``verify`` cannot derive, a line each."""
    manifest, system = report.manifest, report.system
    facts = {
        "Created": manifest.created_at,
        "Command": manifest.command or "called from Python",
        "Machine": f"{manifest.python} on {manifest.platform}; {list_versions(manifest.packages)}",
        "Ontology": manifest.ontology,
        "Documents": report.dataset.path,
        "SHA-256 of the documents": report.dataset.sha256,
        "SHA-256 of the predictions": system.sha256,
        **({"Predictions": system.predictions} if system.predictions else {}),
        **({} if system.settings is None else system.settings.model_dump()),
    }
    return [*report.reported, *(f"{name}: {value}" for name, value in facts.items())]


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
    keys = [one.name for one in fields(Sweep)]
    refuse_foreign_beside(folder, (SWEEP_FILE, *plots), SWEEP_FILE, keys)


def write_extraction(result: ExtractionResult, folder: str | Path) -> dict[str, Path]:
    """Write the report as JSON and Markdown, the predictions and the gold terms.

    Args:
        result: From :func:`run_extraction`.
        folder: The output folder; it is created if necessary.

    Returns:
        The files: ``json``, ``markdown``, ``predictions``, ``gold``.

    Raises:
        InputError: If a file cannot be written.
    """
    check_extraction_folder(folder)
    texts = {
        GOLD_FILE: render_json(result.inputs),
        MARKDOWN_FILE: markdown(extraction_blocks(result.report)),
        REPORT_FILE: render_json(result.report),
    }
    files = dict(zip(("gold", "markdown", "json"), write_texts(folder, texts), strict=True))
    write_predictions(result.predictions, Path(folder, PREDICTIONS_FILE))
    return {"predictions": Path(folder, PREDICTIONS_FILE), **files}


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
    plots = save_plots([draw_tradeoff(sweep)], folder) if can_draw() else []
    write_text(path, json.dumps(asdict(sweep), indent=2) + "\n")
    return [path, *plots]


def comparison_document(comparison: ExtractionComparison) -> dict[str, Any]:
    """Return the comparison as JSON values.

    Args:
        comparison: From :func:`compare_extractions`.
    """
    found = comparison.f1
    low, high = ends_of(found.ci)
    return {
        "a": comparison.first.system.model_dump(mode="json"),
        "b": comparison.second.system.model_dump(mode="json"),
        "dataset": comparison.first.dataset.model_dump(mode="json"),
        "view": comparison.view,
        "matching": comparison.matching,
        "confidence": comparison.resampling.confidence,
        "resamples": comparison.resampling.resamples,
        "seed": comparison.resampling.seed,
        "interval": comparison.resampling.interval,
        "differences": [asdict(one) for one in comparison.differences],
        "documents": [
            {"doc_id": doc_id, "a": a, "b": b} for doc_id, a, b in comparison.by_document.rows()
        ],
        "f1_over_documents": {
            "n": found.n,
            "difference": found.difference,
            "low": low,
            "high": high,
            "effect_size": found.effect_size,
            "wins": found.wins,
            "ties": found.ties,
            "losses": found.losses,
            "tests": {found.test: found.p},
        },
    }


def comparison_blocks(comparison: ExtractionComparison) -> list[Block]:
    """Return the blocks: differences with intervals, the test, and F1 of the documents.

    Args:
        comparison: From :func:`compare_extractions`.
    """
    first, second, f1 = comparison.first, comparison.second, comparison.f1
    how = comparison.resampling
    differences = [
        [
            one.average,
            one.figure,
            f"{one.first:.3f}",
            f"{one.second:.3f}",
            f"{one.difference:+.3f}",
            show_interval(one.low, one.high, "+"),
        ]
        for one in comparison.differences
    ]
    return [
        Paragraph(
            f"{first.dataset.name}: B {second.system.name} against A {first.system.name}", "result"
        ),
        TextTable.of(_DIFFERENCES, differences, right=_DIFFERENCES[2:]),
        Paragraph(
            f"{_VIEWS[comparison.view].capitalize()}; {_MATCHING[comparison.matching]} matching. "
            f"Intervals: {how.confidence:.0%} {METHOD_NAMES[method_over_documents(how.interval)]} "
            f"over documents. Seed {how.seed}.",
            "small",
        ),
        Paragraph(
            f"F1 of the documents: B is better on {f1.wins:,}, equal on {f1.ties:,}, worse on "
            f"{f1.losses:,}. {TEST_NAMES[f1.test]}: p {show_p(f1.p)}."
        ),
    ]


def extraction_sweep_blocks(sweep: Sweep) -> list[Block]:
    """Return the blocks of a sweep; the best F1 of each system is marked.

    Args:
        sweep: The figures by value of the setting.
    """
    rows: list[list[str | Cell]] = [
        [
            curve.system,
            f"{point.value:g}{' default' * point.is_default}",
            f"{point.precision:.3f}",
            f"{point.recall:.3f}",
            Cell(
                f"{point.f1:.3f}",
                detail=show_interval(point.low, point.high),
                best=point.f1 == max(other.f1 for other in curve.points),
            ),
        ]
        for curve in sweep.curves
        for point in curve.points
    ]
    title = (
        f"{sweep.dataset}: {sweep.documents:,} documents, {sweep.parameter} varied "
        f"(micro, exact, {_VIEWS[sweep.view].partition(':')[0]})"
    )
    return [Paragraph(title, "result"), TextTable.of(_SWEEP, rows, right=_SWEEP[2:])]


def _list_mistakes(report: ExtractionReport) -> list[Block]:
    """Return missed and spurious terms, at most 50 of each."""
    mistakes = report.mistakes
    missed = [[one.doc_id, one.term_id, one.label, one.assertion] for one in mistakes.missed]
    spurious = [
        [one.doc_id, one.term_id, one.label, visible(one.text or "", 60)]
        for one in mistakes.spurious
    ]
    return [
        Fold(
            f"{name}: {len(rows):,}, at most {_MOST} shown",
            [TextTable.of(["Document", "Term", "Label", last], rows[:_MOST])],
        )
        for name, last, rows in (
            ("Missed", "Gold says", missed),
            ("Spurious", "Found in", spurious),
        )
    ]
