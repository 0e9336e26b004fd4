"""A benchmark over several languages: the files of each language, and blocks of all."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.benchmark.multilingual import (
    MARKDOWN_FILE,
    REPORT_FILE,
    MultilingualReport,
    MultilingualResult,
)
from trectools_plus.reporting.comparison import difference_row, mean_cell
from trectools_plus.reporting.document import (
    Block,
    Fold,
    Heading,
    Paragraph,
    markdown,
    table_of,
)
from trectools_plus.reporting.export import render_json, write_texts
from trectools_plus.reporting.files import HTML_FILE, write_reports
from trectools_plus.reporting.wording import describe_difference_intervals, describe_test
from trectools_plus.statistics.arrays import DEFAULT_CONFIDENCE

_READING = (
    "Each language has its own evaluation and test set. Mean, variance (ddof 0) and gap (highest "
    "minus lowest) are over the means of the languages, with equal weights. No figure pools "
    "queries of two languages."
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
    sets = (
        {
            "Language": code,
            "Test set": result.test_set,
            "Version": result.version,
            "Queries": result.queries,
            "Report": f"{Path(result.folder).name}/{HTML_FILE}",
        }
        for code, result in report.languages.items()
    )
    means = (
        {
            "Mode": report.mode_names[mode],
            "Metric": measure,
            **{
                code: mean_cell(result.modes[mode][measure], result.queries)
                for code, result in report.languages.items()
            },
            "Mean": across.mean,
            "Variance": across.cross_lingual_variance,
            "Gap": across.gap,
        }
        for mode, measures in report.across.items()
        for measure, across in measures.items()
    )
    differences = (
        {
            "Mode": report.mode_names[mode],
            "Languages": f"{pair.contrast} − {pair.baseline}",
            **difference_row(pair, pair.n),
        }
        for mode, pairs in report.differences.items()
        for pair in pairs
    )
    return [
        Heading("Comparison of languages", 1),
        Paragraph(f"Documents: {report.corpus}."),
        table_of(sets),
        table_of(means),
        Fold("Differences of languages", [table_of(differences)]),
        Paragraph(_READING, "small"),
        Paragraph(_describe_pairs(report), "small"),
        *(
            Paragraph(f"Note on {language}: {note}", "note")
            for language, result in report.languages.items()
            for note in result.notes
        ),
        Paragraph(f"Created by: {report.command}" if report.command else ""),
    ]


def _describe_pairs(report: MultilingualReport) -> str:
    """Return a line on the differences of parallel sets."""
    if not report.differences:
        return "The sets are not parallel, so languages are not compared query by query."
    pair = next(pair for pairs in report.differences.values() for pair in pairs)
    levels = (
        figure.ci.level
        for result in report.languages.values()
        for measures in result.modes.values()
        for figure in measures.values()
        if figure.ci is not None
    )
    test = describe_test(pair, next(levels, DEFAULT_CONFIDENCE))
    return (
        "The sets are parallel: intervals and p-values are of differences query by query. "
        f"{describe_difference_intervals(pair)} Adj. p: {test}."
    )
