"""A benchmark over several languages: the files of each language, and the summary of all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from trectools_plus.benchmark.multilingual import (
    MARKDOWN_FILE,
    REPORT_FILE,
    CrossLingual,
    MultilingualReport,
    MultilingualResult,
)
from trectools_plus.benchmark.report import StratumResult
from trectools_plus.display import Cell, TextTable, make_row
from trectools_plus.reporting.document import (
    Block,
    Fold,
    Heading,
    Paragraph,
    markdown,
    print_blocks,
)
from trectools_plus.reporting.export import render_json, write_text
from trectools_plus.reporting.files import HTML_FILE, write_reports
from trectools_plus.reporting.wording import (
    describe_difference_intervals,
    describe_test,
    show,
    show_ci,
)
from trectools_plus.statistics.arrays import DEFAULT_CONFIDENCE
from trectools_plus.statistics.comparison import ConfidenceInterval

READING = (
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
    files = {"json": result.output_dir / REPORT_FILE, "markdown": result.output_dir / MARKDOWN_FILE}
    write_text(files["json"], render_json(result.report))
    write_text(files["markdown"], render_multilingual_markdown(result.report))
    return {**files, **pages}


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
    means = [
        make_row(
            [
                report.mode_names[mode],
                measure,
                *(_with_interval(one) for one in _of_languages(report, mode, measure)),
                *_across(across),
            ],
            ends_section=measure == list(measures)[-1],
        )
        for mode, measures in report.across.items()
        for measure, across in measures.items()
    ]
    header = ["Mode", "Metric", *report.languages, "Mean", "Variance", "Gap"]
    blocks: list[Block] = [
        TextTable.of(["Language", "Test set", "Version", "Queries", "Report"], sets),
        TextTable.of(header, means, right=["Mean", "Variance"]),
    ]
    if report.parallel:
        paired = [
            [report.mode_names[mode], *cells]
            for mode, measures in report.across.items()
            for cells in _paired_rows(measures)
        ]
        blocks.append(TextTable.of(_PAIRED_HEADER, paired))
        blocks.append(Fold("Differences of languages", [_differences(report)]))
    blocks += [Paragraph(READING, "small"), *map(Paragraph, _on_pairs(report))]
    return blocks + [
        Paragraph(f"{languages}: {note}", "note") for languages, note in _notes(report)
    ]


def _differences(report: MultilingualReport) -> TextTable:
    rows: list[list[str | Cell]] = [
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
    return TextTable.of(["Mode", "Metric", "Languages", "Difference", "Adj. p"], rows)


def render_multilingual_markdown(report: MultilingualReport) -> str:
    """Return the report as GitHub-flavoured Markdown."""
    head: list[Block] = [
        Heading("Comparison of languages", 1),
        Paragraph(f"Documents: {report.corpus}."),
    ]
    command = [Paragraph(f"Created by: {report.command}")] if report.command else []
    return markdown([*head, *multilingual_blocks(report), *command])


def print_multilingual(report: MultilingualReport, stream: TextIO) -> None:
    """Print the report, at most 100 characters wide."""
    print_blocks([Paragraph(report.corpus, "result"), *multilingual_blocks(report)], stream)


def _notes(report: MultilingualReport) -> list[tuple[str, str]]:
    """Return each note of the reports, with its languages."""
    languages_of: dict[str, list[str]] = {}
    for language, one in report.languages.items():
        for note in one.notes:
            languages_of.setdefault(note, []).append(language)
    return [(f"Note on {', '.join(languages)}", note) for note, languages in languages_of.items()]


def _of_languages(report: MultilingualReport, mode: str, measure: str) -> list[StratumResult]:
    return [one.modes[mode][measure] for one in report.languages.values()]


def _across(one: CrossLingual) -> list[str]:
    variance = "–" if one.variance is None else f"{one.variance:.5f}"
    gap = show(one.gap)
    if one.gap:
        gap += f" {one.best_language}–{one.worst_language}"
    return [show(one.mean), variance, gap]


_PAIRED_HEADER = ["Mode", "Metric", "Interval of the gap", "Adj. p", "Interval of the variance"]


def _paired_rows(measures: Mapping[str, CrossLingual]) -> list[list[str]]:
    """Return the rows of :data:`_PAIRED_HEADER` without the mode."""
    return [
        [
            measure,
            show_ci(one.gap_ci) or "–",
            show(one.gap_p_adjusted),
            _variance_interval(one.variance_ci),
        ]
        for measure, one in measures.items()
    ]


def _variance_interval(ci: ConfidenceInterval | None) -> str:
    return "–" if ci is None else f"[{ci.low:.5f}, {ci.high:.5f}]"


def _on_pairs(report: MultilingualReport) -> list[str]:
    """Return a line on parallel sets; nothing for reports of schema version 1.0."""
    if report.parallel:
        entry = next((one for found in report.differences.values() for one in found), None)
        line = "The sets are parallel: intervals and p-values are of differences query by query."
        if entry is None:
            return [line]
        levels = [
            one.ci.level
            for language in report.languages.values()
            for measures in language.modes.values()
            for one in measures.values()
            if one.ci is not None
        ]
        test = describe_test(entry, next(iter(levels), DEFAULT_CONFIDENCE))
        return [f"{line} {describe_difference_intervals(entry)}", f"Adj. p: {test}."]
    if report.not_parallel is None:
        return []
    why = report.not_parallel
    return [f"The sets are not parallel, so gap and variance have no intervals: {why}."]


def _with_interval(one: StratumResult) -> Cell:
    return Cell(show(one.mean), detail=show_ci(one.ci))
