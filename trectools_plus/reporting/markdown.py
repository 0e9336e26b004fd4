"""``BenchmarkComparison.md``: the report as people read it on a code host or in a wiki."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.benchmark.report import (
    BenchmarkReport,
    ModeResult,
)
from trectools_plus.benchmark.targets import describe_status
from trectools_plus.formats.atomic import atomic_write
from trectools_plus.reporting.comparison_table import (
    Cell,
    comparison_rows,
    describe_dataset,
    legend,
)
from trectools_plus.reporting.components_text import components_section
from trectools_plus.reporting.markdown_comparisons import differences_section
from trectools_plus.reporting.markdown_evidence import (
    definitions_section,
    diagnostics_section,
    latency_section,
    reproduction_section,
)
from trectools_plus.reporting.markdown_strata import strata_section
from trectools_plus.reporting.markdown_text import MOST_QUERIES, escape, plain, shorten, table
from trectools_plus.reporting.mode_notes import mode_notes, report_notes
from trectools_plus.reporting.near_misses_text import NONE_NEAR, near_rows, near_sentence
from trectools_plus.reporting.report_facts import show_baseline, show_rank
from trectools_plus.text import plural

_MOST_COLUMNS = 5
"""With more modes than this, modes become rows."""


def write_markdown(report: BenchmarkReport, path: str | Path) -> None:
    """Write the report as Markdown, whole or not at all.

    Raises:
        InputError: If the file cannot be written.
    """
    with atomic_write(path) as stream:
        stream.write(render_markdown(report))


def render_markdown(report: BenchmarkReport) -> str:
    """The report as GitHub-flavoured Markdown, opening with the comparison table."""
    sections = [
        _comparison_table(report),
        _introduction(report),
        _targets(report),
        differences_section(report),
        components_section(report),
        strata_section(report),
        _diagnosis(report),
        _failing_queries(report),
        _near_misses(report),
        diagnostics_section(report),
        latency_section(report),
        definitions_section(report),
        reproduction_section(report),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _comparison_table(report: BenchmarkReport) -> str:
    rows = comparison_rows(report)
    labels = [result.label for result in report.modes.values()]
    grid = [
        ["Metric", *labels, "Best Mode"],
        *(
            [row.measure, *(_show_cell(cell) for cell in row.cells), plain(row.best)]
            for row in rows
        ),
    ]
    if len(labels) > _MOST_COLUMNS:
        grid = [list(column) for column in zip(*grid, strict=True)]
        grid[0][0] = "Mode"
    return table(grid[0], grid[1:])


def _show_cell(cell: Cell) -> str:
    text = " ".join(part for part in (cell.mean_text, cell.interval_text) if part)
    text = f"**{text}**" if cell.best else text
    count = f"({cell.n_text})" if cell.n_text else ""
    return " ".join(part for part in (text, count, cell.marks) if part)


def _introduction(report: BenchmarkReport) -> str:
    notes = [f"> **{note.subject}:** {note.text}." for note in mode_notes(report)]
    notes += [f"> **Note:** {line}" for line in report_notes(report)]
    paragraphs = [
        f"**{describe_dataset(report)}**",
        "  \n".join(plain(line) for line in legend(report)),
        *notes,
    ]
    return "\n\n".join(escape(part) for part in paragraphs)


def _targets(report: BenchmarkReport) -> str:
    first = next(iter(report.modes.values()))
    rows = []
    for measure in report.measure_names:
        target = first.measures[measure].target
        if target is None:
            continue
        rows.append(
            [
                measure,
                show_baseline(target),
                f"≥ {target.competitive:g}",
                "–" if target.strong is None else f"≥ {target.strong:g}",
                *(_show_status(result, measure) for result in report.modes.values()),
            ]
        )
    if not rows:
        return ""
    labels = [result.label for result in report.modes.values()]
    return (
        "## Targets\n\n"
        + table(["Metric", "Typical baseline", "Competitive", "Strong", *labels], rows)
        + "\n\nThe default targets are what BM25 typically reaches on ad hoc collections: a rule "
        "of thumb, not a property of these queries. Set your own under `targets:` in "
        "`benchmark.yaml`."
    )


def _show_status(result: ModeResult, measure: str) -> str:
    target = result.measures[measure].target
    return "–" if target is None else describe_status(target)


def _diagnosis(report: BenchmarkReport) -> str:
    if not report.diagnosis:
        return "## Diagnosis\n\nNothing stands out: no measure with a target is below its baseline."
    lines = []
    for item in report.diagnosis:
        label = "" if item.mode is None else f"**{report.modes[item.mode].label}:** "
        lines.append(escape(f"- {label}{item.observed}. It suggests: {item.suggests}."))
    return "## Diagnosis\n\n" + "\n".join(lines)


def _failing_queries(report: BenchmarkReport) -> str:
    title = "## Queries that fail in every mode"
    measure = report.measure_names[0]
    failing = report.failing_queries
    if not report.higher_is_better(measure):
        return ""
    if not failing:
        return f"{title}\n\nNone: some mode scores above 0 on {measure} for every query."
    labels = [f"First relevant, {result.label}" for result in report.modes.values()]
    rows = [
        [
            query.query_id,
            shorten(query.text or "–"),
            *(show_rank(query.first_relevant_rank[mode]) for mode in report.modes),
        ]
        for query in failing[:MOST_QUERIES]
    ]
    total = plural(report.manifest.dataset.queries, "query", "queries")
    more = len(failing) - len(rows)
    score = "scores" if len(failing) == 1 else "score"
    return (
        f"{title}\n\n{len(failing)} of {total} {score} 0 on {measure} everywhere. The rank "
        "of the first relevant document tells whether it was found too far down or not at all.\n\n"
        + table(["Query", "Text", *labels], rows)
        + (f"\n\n{more} more are in `BenchmarkReport.json`." if more else "")
    )


def _near_misses(report: BenchmarkReport) -> str:
    title = "## Near misses"
    if report.near_misses is None:
        return ""
    if not report.near_misses:
        return f"{title}\n\n{NONE_NEAR}"
    rows = [
        [
            row.query_id,
            shorten(row.text),
            row.mode,
            escape(row.first),
            f"{row.relation} of",
            escape(row.expected),
        ]
        for row in near_rows(report)[:MOST_QUERIES]
    ]
    more = len(report.near_misses) - len(rows)
    header = ["Query", "Text", "Mode", "First result", "Relation", "Expected"]
    return (
        f"{title}\n\n{escape(near_sentence(report))}\n\n"
        + table(header, rows)
        + (f"\n\n{more} more are in `BenchmarkReport.json`." if more else "")
    )
