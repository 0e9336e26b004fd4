"""An estimate from judgments of people and of a model: its files, page and text."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any, TextIO

from trectools_plus.display import Cell, TextTable, make_row
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.files.outputs import refuse_foreign_beside
from trectools_plus.judging.estimates.combined import simultaneous_level
from trectools_plus.judging.estimates.estimate import QRELS_FILES
from trectools_plus.judging.estimates.report import (
    REPORT_FILE,
    JudgmentReport,
    RunEstimate,
    ShownInterval,
    show_interval,
    show_mean,
)
from trectools_plus.reporting.document import (
    Block,
    Fold,
    Heading,
    Paragraph,
    html_page,
    markdown,
    print_blocks,
)
from trectools_plus.reporting.export import render_json
from trectools_plus.text import plural

MARKDOWN_FILE = "JudgmentReport.md"
HTML_FILE = "JudgmentReport.html"
_HEADINGS = {
    "like these": "For queries like these, of which these are a sample",
    "these": "For these queries only",
}
_TITLE = "Judgments of people and a model"


def check_judgment_folder(folder: str | Path) -> None:
    """Raise an error if files of an estimate would replace files that are none.

    Raises:
        InputError: If a file exists, and no report of an estimate is beside it.
    """
    names = (REPORT_FILE, MARKDOWN_FILE, HTML_FILE, *QRELS_FILES)
    refuse_foreign_beside(folder, names, REPORT_FILE, ("counts", "estimates", "measures"))


def write_judgment_report(report: JudgmentReport, folder: str | Path) -> dict[str, Path]:
    """Write JSON, Markdown and page of an estimate.

    Args:
        report: The estimate.
        folder: The folder, which is created.

    Returns:
        The files by suffix.

    Raises:
        InputError: If a file cannot be written.
    """
    check_judgment_folder(folder)
    make_folder(Path(folder))
    texts = {
        REPORT_FILE: render_json(report),
        MARKDOWN_FILE: render_judgment_markdown(report),
        HTML_FILE: render_judgment_page(report),
    }
    for name, text in texts.items():
        with atomic_write(Path(folder) / name) as stream:
            stream.write(text)
    return {Path(name).suffix.removeprefix("."): Path(folder) / name for name in texts}


def judgment_lines(report: JudgmentReport) -> list[str]:
    """Return the lines below the tables: warnings, what was missing, and how to read them."""
    counts = report.counts
    pairs = math.comb(len(report.runs), 2)
    lines = [f"Warning: {warning}" for warning in report.warnings]
    if counts.left_out:
        shown = ", ".join(f"{one.query_id} ({one.reason})" for one in counts.left_out[:3])
        more = f" and {len(counts.left_out) - 3} more" if len(counts.left_out) > 3 else ""
        left = plural(len(counts.left_out), "query", "queries")
        lines.append(f"People could not judge {left}: {shown}{more}.")
    lines.append(
        f"Judged: {counts.people:,} of {counts.planned:,} planned queries by people, "
        f"{plural(counts.pairs, 'pair')} of {plural(counts.queries, 'query', 'queries')} by "
        f"{report.model.model}. No grade: {plural(counts.missing_people, 'pair')} of people, "
        f"{plural(counts.missing_model, 'answer')} of the model; these count as unjudged."
    )
    if report.agreement is not None:
        lines.append(_agreement_line(report.agreement))
    lines.append(
        f"{report.confidence * 100:g}% intervals; those of differences are simultaneous for the "
        f"{plural(pairs, 'pair')} of runs on a measure (each at "
        f"{simultaneous_level(report.confidence, pairs) * 100:.4g}%). No interval covers the error "
        "of the model alone. "
        "Effective: the queries that people alone would have to judge for the combined width."
    )
    return lines


def _agreement_line(found: dict[str, Any]) -> str:
    kappa = found["kappas"]["none"]
    value = "undefined" if kappa["value"] is None else f"{kappa['value']:.2f}"
    ends = "" if kappa["low"] is None else f" [{kappa['low']:.2f}, {kappa['high']:.2f}]"
    runs = ", ".join(f"{name} {one['difference']:+.2f}" for name, one in found["runs"].items())
    return (
        f"Agreement of people and the model on {plural(found['pairs'], 'pair')}: "
        f"{found['agreed'] / found['pairs']:.0%} equal grades, kappa {value}{ends}. The model's "
        f"mean grade differs by {found['difference']:+.2f} ({runs})."
    )


def make_judgment_table(report: JudgmentReport, population: int = 0) -> TextTable:
    """Return the means of runs and the differences of pairs.

    Args:
        report: The estimate.
        population: 0 for queries like these, 1 for these queries.
    """
    counts = report.counts
    header = [
        "",
        f"People ({counts.people:,})",
        f"Model alone ({counts.queries:,})",
        "Combined",
        "Effective",
    ]
    rows = []
    for one in report.estimates:
        found = one.estimates[population]
        rows.append(
            make_row(
                [
                    _name(one),
                    _cell(found.people, one.baseline),
                    _cell(found.model, one.baseline),
                    _cell(found.combined, one.baseline),
                    "–" if found.effective is None else f"{found.effective:.0f}",
                ]
            )
        )
    return TextTable.of(header, rows, right=["Effective"])


def _name(one: RunEstimate) -> str:
    against = "" if one.baseline is None else f" − {one.baseline}"
    return f"{one.measure}: {one.run}{against}"


def _cell(interval: ShownInterval | None, baseline: str | None) -> Cell:
    if interval is None:
        return Cell("–")
    return Cell(
        show_mean(interval, baseline),
        detail=show_interval(interval, baseline),
        value=interval.mean,
        ends=(interval.low, interval.high),
    )


def judgment_blocks(report: JudgmentReport) -> list[Block]:
    """Return the blocks of an estimate: the result, a table for each population, the reading."""
    blocks: list[Block] = [Paragraph(report.result, "result")]
    for place, population in enumerate(report.estimates[0].estimates):
        table = make_judgment_table(report, place)
        if place:
            blocks.append(Fold(_HEADINGS[population.population], [table]))
        else:
            blocks += [Heading(_HEADINGS[population.population]), table]
    return [*blocks, *map(Paragraph, judgment_lines(report))]


def print_judgment_report(report: JudgmentReport, stream: TextIO = sys.stdout) -> None:
    """Print the result: the sentence, the table for queries like these, and how to read it."""
    print_blocks(judgment_blocks(report), stream)


def render_judgment_markdown(report: JudgmentReport) -> str:
    """Return the estimate as GitHub-flavoured Markdown."""
    return markdown([Heading(_TITLE, 1), *judgment_blocks(report)])


def render_judgment_page(report: JudgmentReport) -> str:
    """Return the estimate as one HTML file."""
    return html_page(_TITLE, judgment_blocks(report))
