"""Extraction reports, their comparisons and sweeps: files, Markdown, JSON, the terminal."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TextIO

from trectools_plus.benchmark.run.output_folder import PLOT_ENDINGS
from trectools_plus.display import Cell, TextTable
from trectools_plus.extraction.comparison import ExtractionComparison
from trectools_plus.extraction.inputs.predictions import PREDICTIONS_FILE, write_predictions
from trectools_plus.extraction.report import REPORT_FILE, ExtractionFigure, ExtractionReport
from trectools_plus.extraction.runner import ExtractionResult, Sweep
from trectools_plus.extraction.scoring import method_over_documents
from trectools_plus.extraction.stored import GOLD_FILE
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.formats.files.outputs import refuse_foreign_beside
from trectools_plus.reporting.document import (
    Block,
    Bullets,
    Fold,
    Heading,
    Paragraph,
    markdown,
    print_blocks,
)
from trectools_plus.reporting.export import render_json, write_text
from trectools_plus.reporting.plots.figures import save_plots
from trectools_plus.reporting.plots.style import can_draw
from trectools_plus.reporting.plots.sweep import draw_tradeoff
from trectools_plus.reporting.wording import (
    CLAIMS_TITLE,
    TEST_NAMES,
    show_ci,
    show_interval,
    show_p,
)
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.statistics.intervals import METHOD_NAMES
from trectools_plus.text import plural, visible

_MOST = 50
_SHOWN_NEAR = 5
MARKDOWN_FILE = "ExtractionReport.md"
SWEEP_FILE = "sweep.json"

VIEW_WORDS = {
    "present": "present-only: affirmed and uncertain terms",
    "any": "any assertion: assertions ignored",
    "strict": "assertion-strict: term and assertion agree",
}
MATCHING_WORDS = {"exact": "exact", "soft": "ontology-aware"}
_SCORES = ("Terms that count", "Matching", "Average", "Precision", "Recall", "F1")
_DIFFERENCES = ("Average", "Figure", "A", "B", "B − A", "Unadjusted interval")
_DOCUMENTS = ("Document", "A", "B", "B − A")
_SWEEP = ("System", "Value", "Precision", "Recall", "F1")


def describe_extraction(report: ExtractionReport) -> str:
    """Return dataset and system on one line."""
    facts = report.dataset
    return (
        f"{facts.name}: {plural(facts.documents, 'document')}, "
        f"{plural(facts.annotations, 'annotation')} ({plural(facts.terms, 'term')}); "
        f"system: {report.system.name}"
    )


def describe_assertions(report: ExtractionReport) -> str:
    """Return F1 with and without assertions, on one line."""
    present, any_of = (report.scores[view]["exact"]["micro"].f1 for view in ("present", "any"))
    return (
        f"F1 (exact, micro): {_show_figure(present)} present-only, {_show_figure(any_of)} any "
        "assertion. Published figures usually ignore assertions."
    )


def describe_root(report: ExtractionReport) -> str:
    """Return which terms are scored; empty if all are."""
    manifest, facts = report.manifest, report.dataset
    if manifest.root is None:
        return ""
    unmapped = f" (of these, {plural(facts.unmapped, 'id')} unknown to the ontology)"
    return (
        f"Only terms below {manifest.root} are scored, both gold and predicted: "
        f"{facts.outside} of {plural(facts.terms + facts.outside, 'gold term')} not used"
        f"{unmapped if facts.unmapped else ''}."
    )


def extraction_blocks(report: ExtractionReport) -> list[Block]:
    """Return the blocks: scores, documents, mistakes, and the origin of the figures.

    Args:
        report: The report.
    """
    mistakes = report.mistakes
    counts = (
        f"Present-only, exact: {len(mistakes.missed):,} missed, {len(mistakes.spurious):,} "
        f"spurious, {plural(len(mistakes.near), 'near pair')}."
    )
    lines = (describe_assertions(report), describe_root(report))
    return [
        Paragraph(describe_extraction(report), "result"),
        *(Paragraph(line) for line in lines if line),
        TextTable.of(_SCORES, _score_rows(report), right=_SCORES[3:]),
        Paragraph(_explain_scores(report), "small"),
        Paragraph(counts),
        *(Paragraph(f"Note: {note}.", "note") for note in report.notes),
        Fold("Documents", [Paragraph("Present-only, exact."), _documents(report)]),
        *_mistakes(report),
    ]


def render_extraction_markdown(report: ExtractionReport) -> str:
    """Return the report as Markdown."""
    claims = Fold(CLAIMS_TITLE, [Bullets(extraction_claims(report))])
    return markdown([Heading("Extraction", 1), *extraction_blocks(report), claims])


def extraction_claims(report: ExtractionReport) -> list[str]:
    """Return what the writer of a report states and ``verify`` cannot derive, a line each."""
    manifest, system = report.manifest, report.system
    versions = ", ".join(f"{name} {version}" for name, version in manifest.packages.items())
    settings = {} if system.settings is None else system.settings.model_dump()
    facts = {
        "Created": manifest.created_at,
        "Command": manifest.command or "called from Python",
        "Machine": f"{manifest.python} on {manifest.platform}; {versions}",
        "Ontology": manifest.ontology,
        "Documents": report.dataset.path,
        "SHA-256 of the documents": report.dataset.sha256,
        "SHA-256 of the predictions": system.sha256,
        **({"Predictions": system.predictions} if system.predictions else {}),
        **settings,
    }
    return [*report.reported, *(f"{name}: {value}" for name, value in facts.items())]


def print_extraction(report: ExtractionReport, stream: TextIO) -> None:
    """Print scores and notes, at most 100 characters wide."""
    near = [
        f"{one.doc_id}: {one.spurious_label} is a {one.relation} of {one.missed_label}"
        for one in report.mistakes.near[:_SHOWN_NEAR]
    ]
    notes = (Paragraph(f"Note: {note}.") for note in report.reported)
    print_blocks([*extraction_blocks(report), Bullets(near), *notes], stream)


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
    target = Path(folder)
    check_extraction_folder(target)
    make_folder(target)
    files = {
        "predictions": target / PREDICTIONS_FILE,
        "gold": target / GOLD_FILE,
        "markdown": target / MARKDOWN_FILE,
        "json": target / REPORT_FILE,
    }
    markdown = render_extraction_markdown(result.report)
    write_predictions(result.predictions, files["predictions"])
    write_text(files["gold"], render_json(result.inputs))
    write_text(files["markdown"], markdown)
    write_text(files["json"], render_json(result.report))
    return files


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
    write_text(path, json.dumps(sweep_document(sweep), indent=2) + "\n")
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
    return [
        _difference_table(comparison),
        Paragraph(_explain_comparison(comparison), "small"),
        Heading("F1 of the documents"),
        Paragraph(_tests_line(comparison)),
        _document_table(comparison),
    ]


def render_comparison_markdown(comparison: ExtractionComparison) -> str:
    """Return the comparison as Markdown."""
    return markdown([Heading(_heading(comparison), 1), *comparison_blocks(comparison)])


def print_comparison(comparison: ExtractionComparison, stream: TextIO) -> None:
    """Print the comparison, at most 100 characters wide."""
    print_blocks(
        [Paragraph(_heading(comparison), "result"), *comparison_blocks(comparison)], stream
    )


def sweep_document(sweep: Sweep) -> dict[str, Any]:
    """Return a sweep as JSON values.

    Args:
        sweep: The figures by value of the setting.
    """
    return asdict(sweep)


def print_sweep(sweep: Sweep, stream: TextIO) -> None:
    """Print a sweep, at most 100 characters wide; the best F1 of each system is marked.

    Args:
        sweep: The figures by value of the setting.
        stream: The output.
    """
    title = (
        f"{sweep.dataset}: {sweep.documents:,} documents, {sweep.parameter} varied "
        f"(micro, exact, {VIEW_WORDS[sweep.view].partition(':')[0]})"
    )
    rows = []
    for curve in sweep.curves:
        best = max(point.f1 for point in curve.points)
        for point in curve.points:
            marks = ("*" if point.f1 == best else "") + (" default" if point.is_default else "")
            interval = "" if point.low is None else f" {show_interval(point.low, point.high)}"
            figures = f"{point.precision:.3f}", f"{point.recall:.3f}", f"{point.f1:.3f}{interval}"
            rows.append((curve.system, f"{point.value:g}{marks}", *figures))
    print_blocks([Paragraph(title, "result"), TextTable.of(_SWEEP, rows, right=_SWEEP[2:])], stream)


def _show_figure(figure: ExtractionFigure) -> str:
    """Return a figure with three decimals and its interval."""
    return f"{figure.value:.3f} {show_ci(figure.ci)}".rstrip()


def _score_rows(report: ExtractionReport) -> list[list[str | Cell]]:
    return [
        [
            VIEW_WORDS[view],
            MATCHING_WORDS[matching],
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


def _explain_scores(report: ExtractionReport) -> str:
    interval = report.scores["present"]["exact"]["micro"].f1.ci
    about = ""
    if interval:
        drawn = f"{interval.resamples:,} resamples, " if interval.resamples else ""
        about = (
            f"In brackets: {interval.level:.0%} {interval.method} over the documents, "
            f"{drawn}seed {report.manifest.seed}. "
        )
    return (
        f"{about}Ontology-aware: the credit of a term is its highest similarity "
        f"({report.manifest.similarity}) to a term of the other side."
    )


def _documents(report: ExtractionReport) -> TextTable:
    rows = []
    for document in report.documents:
        counts = document.counts["present"]["exact"]
        figures = (f"{value:.3f}" for value in (counts.precision, counts.recall, counts.f1))
        sizes = (str(counts.gold), str(counts.predicted), f"{counts.credit_gold:.0f}")
        rows.append([document.doc_id, *sizes, *figures])
    header = ("Document", "Gold", "Predicted", "Right", "Precision", "Recall", "F1")
    return TextTable.of(header, rows)


def _mistakes(report: ExtractionReport) -> list[Block]:
    """Return near, missed and spurious terms, at most 50 of each."""
    mistakes = report.mistakes
    near = [
        [one.doc_id, one.spurious_label, f"is a {one.relation} of", one.missed_label]
        for one in mistakes.near
    ]
    missed = [[one.doc_id, one.term_id, one.label, one.assertion] for one in mistakes.missed]
    spurious = [
        [one.doc_id, one.term_id, one.label, visible(one.text or "", 60), f"{one.score or 0:.2f}"]
        for one in mistakes.spurious
    ]
    lists: list[tuple[str, tuple[str, ...], list[list[str]]]] = [
        ("Near", ("Document", "Spurious term", "", "Missed term"), near),
        ("Missed", ("Document", "Term", "Label", "Gold says"), missed),
        ("Spurious", ("Document", "Term", "Label", "Found in", "Score"), spurious),
    ]
    return [
        Fold(
            f"{name}: {len(rows):,}",
            [
                TextTable.of(header, rows[:_MOST]),
                Paragraph(
                    f"The first {_MOST}; the JSON report has all." if len(rows) > _MOST else ""
                ),
            ],
        )
        for name, header, rows in lists
        if rows
    ]


def _heading(comparison: ExtractionComparison) -> str:
    first, second = comparison.first, comparison.second
    return f"{first.dataset.name}: B {second.system.name} against A {first.system.name}"


def _difference_table(comparison: ExtractionComparison) -> TextTable:
    rows = [
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
    return TextTable.of(_DIFFERENCES, rows, right=_DIFFERENCES[2:])


def _document_table(comparison: ExtractionComparison) -> TextTable:
    rows = [
        [doc_id, f"{a:.3f}", f"{b:.3f}", f"{b - a:+.3f}"]
        for doc_id, a, b in comparison.by_document.rows()
    ]
    return TextTable.of(_DOCUMENTS, rows, right=_DOCUMENTS[1:])


def _explain_comparison(comparison: ExtractionComparison) -> str:
    how = comparison.resampling
    method = METHOD_NAMES[method_over_documents(how.interval)]
    return (
        f"{VIEW_WORDS[comparison.view].capitalize()}; {MATCHING_WORDS[comparison.matching]} "
        f"matching. Intervals: {how.confidence:.0%} {method} over documents. Seed {how.seed}."
    )


def _tests_line(comparison: ExtractionComparison) -> str:
    found = comparison.f1
    counts = f"B is better on {found.wins:,}, equal on {found.ties:,}, worse on {found.losses:,}"
    return f"{counts}. {TEST_NAMES[found.test]}: p {show_p(found.p)}."
