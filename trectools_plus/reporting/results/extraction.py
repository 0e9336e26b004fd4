"""Extraction reports, their comparisons and sweeps: files, Markdown, JSON, the terminal."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TextIO

from trectools_plus.benchmark.run.output_folder import PLOT_ENDINGS
from trectools_plus.display import TextTable
from trectools_plus.extraction.comparison import ExtractionComparison
from trectools_plus.extraction.inputs.predictions import PREDICTIONS_FILE, write_predictions
from trectools_plus.extraction.report import REPORT_FILE, ExtractionFigure, ExtractionReport, Score
from trectools_plus.extraction.runner import ExtractionResult, Sweep
from trectools_plus.extraction.scoring import method_over_documents
from trectools_plus.extraction.stored import GOLD_FILE
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.formats.files.outputs import refuse_foreign_beside
from trectools_plus.reporting.export import render_json, write_text
from trectools_plus.reporting.markdown import (
    claims_section,
    escape,
    markdown_table,
    render_table,
    shorten,
)
from trectools_plus.reporting.plots.figures import save_plots
from trectools_plus.reporting.plots.style import can_draw
from trectools_plus.reporting.plots.sweep import draw_tradeoff
from trectools_plus.reporting.terminal import print_table
from trectools_plus.reporting.wording import TEST_NAMES, show_interval, show_p
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.statistics.intervals import METHOD_NAMES
from trectools_plus.text import make_console, plural

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


def render_extraction_markdown(report: ExtractionReport) -> str:
    """Return the report as Markdown: scores, documents, mistakes, and the origin of the figures.

    Args:
        report: The report.
    """
    parts = [
        f"# Extraction: {escape(describe_extraction(report))}",
        describe_assertions(report),
        markdown_table(_SCORES, _score_rows(report, VIEW_WORDS)),
        _explain_scores(report),
        describe_root(report),
        *(f"> {escape(note)}" for note in report.notes),
        "## Documents",
        "Present-only, exact.",
        markdown_table(
            ("Document", "Gold", "Predicted", "Right", "Precision", "Recall", "F1"),
            _score_documents(report),
        ),
        *_mistake_parts(report),
        claims_section(extraction_claims(report)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


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
    """Print scores, near misses and notes, at most 100 characters wide.

    Args:
        report: The report.
        stream: The output.
    """
    console = make_console(stream)
    console.print(describe_extraction(report), style="bold")
    console.print(describe_assertions(report))
    console.print()
    short = {"present": "present-only", "any": "any assertion", "strict": "assertion-strict"}
    rows = _score_rows(report, short)
    for row in rows:  # three intervals do not fit; only that of F1 is shown
        row[3:5] = [cell.partition(" ")[0] for cell in row[3:5]]
    print_table(console, TextTable.of(_SCORES, rows, right=_SCORES[3:]))
    console.print(_explain_scores(report), style="dim")
    if root := describe_root(report):
        console.print(root)
    mistakes = report.mistakes
    console.print(
        f"Present-only, exact: {len(mistakes.missed)} missed, {len(mistakes.spurious)} spurious, "
        f"{plural(len(mistakes.near), 'near pair')}."
    )
    for near in mistakes.near[:_SHOWN_NEAR]:
        console.print(
            f"  {near.doc_id}: {near.spurious_label} is a {near.relation} of {near.missed_label}"
        )
    for note in (*report.reported, *report.notes):
        console.print(f"Note: {note}.")


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


def render_comparison_markdown(comparison: ExtractionComparison) -> str:
    """Return the comparison as Markdown.

    Args:
        comparison: From :func:`compare_extractions`.
    """
    parts = [
        f"# {escape(_heading(comparison))}",
        render_table(_difference_table(comparison)),
        escape(_explain_comparison(comparison)),
        "## F1 of the documents",
        _tests_line(comparison),
        render_table(_document_table(comparison)),
    ]
    return "\n\n".join(parts) + "\n"


def print_comparison(comparison: ExtractionComparison, stream: TextIO) -> None:
    """Print the comparison, at most 100 characters wide.

    Args:
        comparison: From :func:`compare_extractions`.
        stream: The output.
    """
    console = make_console(stream)
    console.print(_heading(comparison), style="bold")
    console.print()
    print_table(console, _difference_table(comparison))
    console.print(_explain_comparison(comparison), style="dim")
    console.print(_tests_line(comparison))
    print_table(console, _document_table(comparison))


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
    console = make_console(stream)
    console.print(
        f"{sweep.dataset}: {sweep.documents:,} documents, {sweep.parameter} varied "
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
                f1 += f" {show_interval(point.low, point.high)}"
            value = f"{point.value:g}{marks}"
            rows.append((curve.system, value, f"{point.precision:.3f}", f"{point.recall:.3f}", f1))
    print_table(console, TextTable.of(_SWEEP, rows, right=_SWEEP[2:]))


def _show_figure(figure: ExtractionFigure) -> str:
    """Return a figure with three decimals and its interval."""
    if figure.ci is None:
        return f"{figure.value:.3f}"
    return f"{figure.value:.3f} {show_interval(figure.ci.low, figure.ci.high)}"


def _score_rows(report: ExtractionReport, views: dict[str, str]) -> list[list[str]]:
    return [
        [views[view], MATCHING_WORDS[matching], average, *_cells(score)]
        for view, by_matching in report.scores.items()
        for matching, by_average in by_matching.items()
        for average, score in by_average.items()
    ]


def _cells(score: Score) -> list[str]:
    return [_show_figure(figure) for figure in (score.precision, score.recall, score.f1)]


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


def _score_documents(report: ExtractionReport) -> list[list[str]]:
    rows = []
    for document in report.documents:
        counts = document.counts["present"]["exact"]
        right = f"{counts.credit_gold:.0f}"
        figures = (f"{value:.3f}" for value in (counts.precision, counts.recall, counts.f1))
        rows.append([document.doc_id, str(counts.gold), str(counts.predicted), right, *figures])
    return rows


def _mistake_parts(report: ExtractionReport) -> list[str]:
    mistakes = report.mistakes
    near = [
        [m.doc_id, m.spurious_label, f"is a {m.relation} of", m.missed_label]
        for m in mistakes.near[:_MOST]
    ]
    missed = [[m.doc_id, m.term_id, m.label, m.assertion] for m in mistakes.missed[:_MOST]]
    spurious = [
        [m.doc_id, m.term_id, m.label, shorten(m.text or "", 60), f"{m.score or 0:.2f}"]
        for m in mistakes.spurious[:_MOST]
    ]
    lists = (
        ("Near", len(mistakes.near), ("Document", "Spurious term", "", "Missed term"), near),
        ("Missed", len(mistakes.missed), ("Document", "Term", "Label", "Gold says"), missed),
        (
            "Spurious",
            len(mistakes.spurious),
            ("Document", "Term", "Label", "Found in", "Score"),
            spurious,
        ),
    )
    parts = []
    for name, total, header, rows in lists:
        parts.append(f"## {name}: {total}")
        if rows:
            parts.append(markdown_table(header, ([escape(cell) for cell in row] for row in rows)))
        if total > _MOST:
            parts.append(f"These are the first {_MOST}. The JSON report has all.")
    return parts


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
