"""A benchmark over several languages: the files of each language, and blocks of all."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.benchmark.multilingual import (
    MARKDOWN_FILE,
    REPORT_FILE,
    CrossLingual,
    MultilingualReport,
    MultilingualResult,
)
from trectools_plus.display import Cell, TextTable
from trectools_plus.reporting.document import (
    Block,
    Heading,
    Paragraph,
    markdown,
)
from trectools_plus.reporting.export import render_json, write_texts
from trectools_plus.reporting.files import HTML_FILE, write_reports
from trectools_plus.reporting.wording import (
    show,
    show_ci,
)

_READING = (
    "Each language has its own evaluation and test set. Mean, variance (ddof 1) and gap (best "
    "minus worst) are over the means of the languages, with equal weights. No figure pools queries "
    "of two languages."
)


def write_multilingual(result: MultilingualResult) -> dict[str, Path]:
    """Write the report of each language into a folder, then the summary of all languages.

    Args:
        result: From :func:`run_multilingual`. It can be written once.

    Returns:
        The files ``json`` and ``markdown``, and the HTML page of each language by its code.

    Raises:
        InputError: If a file cannot be written; reports that are already written remain.
        UsageError: If this result was already written.
    """
    pages = {language: write_reports(one)["html"] for language, one in result.results.items()}
    texts = {
        REPORT_FILE: render_json(result.report),
        MARKDOWN_FILE: markdown(multilingual_blocks(result.report)),
    }
    return (
        dict(zip(("json", "markdown"), write_texts(result.output_dir, texts), strict=True)) | pages
    )


def multilingual_blocks(report: MultilingualReport) -> list[Block]:
    """Return the blocks: the languages, the means of each mode, and differences of languages.

    Args:
        report: The summary of all languages.
    """
    sets = [
        [
            code,
            one.test_set,
            one.version,
            f"{one.queries:,}",
            f"{Path(one.folder).name}/{HTML_FILE}",
        ]
        for code, one in report.languages.items()
    ]
    every = [
        (mode, measure, across)
        for mode, measures in report.across.items()
        for measure, across in measures.items()
    ]
    means: list[list[str | Cell]] = []
    for mode, measure, across in every:
        figures = [one.modes[mode][measure] for one in report.languages.values()]
        cells = [Cell(show(one.mean), detail=show_ci(one.ci)) for one in figures]
        means.append([report.mode_names[mode], measure, *cells, *_across(across)])
    header = ["Mode", "Metric", *report.languages, "Mean", "Variance", "Gap"]
    return [
        Heading("Comparison of languages", 1),
        Paragraph(f"Documents: {report.corpus}."),
        TextTable.of(["Language", "Test set", "Version", "Queries", "Report"], sets),
        TextTable.of(header, means, right=["Mean", "Variance"]),
        Paragraph(_READING, "small"),
        *(Paragraph(note, "note") for note in _list_notes(report)),
        Paragraph(f"Created by: {report.command}" if report.command else ""),
    ]


def _list_notes(report: MultilingualReport) -> list[str]:
    """Return each note of the reports, with its languages."""
    languages_of: dict[str, list[str]] = {}
    for language, one in report.languages.items():
        for note in one.notes:
            languages_of.setdefault(note, []).append(language)
    return [f"Note on {', '.join(names)}: {note}" for note, names in languages_of.items()]


def _across(one: CrossLingual) -> list[str]:
    variance = "–" if one.variance is None else f"{one.variance:.5f}"
    languages = f" {one.best_language}–{one.worst_language}" if one.gap else ""
    return [show(one.mean), variance, show(one.gap) + languages]
