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
    Fold,
    Heading,
    Paragraph,
    markdown,
)
from trectools_plus.reporting.export import render_json, write_texts
from trectools_plus.reporting.files import HTML_FILE, write_reports
from trectools_plus.reporting.wording import (
    describe_difference_intervals,
    describe_test,
    show,
    show_ci,
)
from trectools_plus.statistics.arrays import DEFAULT_CONFIDENCE

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
    means: list[list[str | Cell]] = []
    for mode, measures in report.across.items():
        for measure, across in measures.items():
            figures = [one.modes[mode][measure] for one in report.languages.values()]
            cells = [Cell(show(one.mean), detail=show_ci(one.ci)) for one in figures]
            means.append([report.mode_names[mode], measure, *cells, *_across(across)])
    differences: list[list[str | Cell]] = [
        [
            report.mode_names[mode],
            one.measure,
            f"{one.contrast} − {one.baseline}",
            Cell(show(one.difference, "+"), detail=show_ci(one.ci, "+")),
            show(one.p_adjusted),
        ]
        for mode, compared in report.differences.items()
        for one in compared
    ]
    header = ["Mode", "Metric", *report.languages, "Mean", "Variance", "Gap"]
    pairs = TextTable.of(["Mode", "Metric", "Languages", "Difference", "Adj. p"], differences)
    return [
        Heading("Comparison of languages", 1),
        Paragraph(f"Documents: {report.corpus}."),
        TextTable.of(["Language", "Test set", "Version", "Queries", "Report"], sets),
        TextTable.of(header, means, right=["Mean", "Variance"]),
        Fold("Differences of languages", [pairs]),
        Paragraph(_READING, "small"),
        Paragraph(_describe_pairs(report), "small"),
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
    languages = f" {one.best_language}–{one.worst_language}" if one.gap else ""
    return [show(one.mean), show(one.variance, decimals=5), show(one.gap) + languages]


def _describe_pairs(report: MultilingualReport) -> str:
    """Return a line on the differences of parallel sets."""
    entry = next((one for compared in report.differences.values() for one in compared), None)
    if entry is None and report.parallel is None:
        return ""
    if entry is None:
        return "The sets are not parallel, so languages are not compared query by query."
    modes = (modes for language in report.languages.values() for modes in language.modes.values())
    intervals = (one.ci for measures in modes for one in measures.values())
    level = next((ci.level for ci in intervals if ci is not None), DEFAULT_CONFIDENCE)
    return (
        "The sets are parallel: intervals and p-values are of differences query by query. "
        f"{describe_difference_intervals(entry)} Adj. p: {describe_test(entry, level)}."
    )
