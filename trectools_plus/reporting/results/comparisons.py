"""The result of ``compare`` as text, HTML, JSON and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.display import MAX_BYTES, Cell, TextTable, html_table
from trectools_plus.reporting.comparison import ComparisonTable, Layout, report_table
from trectools_plus.reporting.document import Paragraph, markdown
from trectools_plus.reporting.export import (
    DEFAULT_LAYOUT,
    check_suffixes,
    continued,
    frame_as_csv,
    table_as_csv,
    table_as_frame,
    table_as_latex,
    table_as_markdown,
    write_table,
    write_text,
)
from trectools_plus.reporting.latex import latex_document
from trectools_plus.reporting.wording import show
from trectools_plus.text import plural, visible

if TYPE_CHECKING:
    from trectools_plus.benchmark.compare.comparisons import Comparisons
    from trectools_plus.benchmark.compare.side_by_side import SideBySide

_MOST_ROWS = 12
_LONGEST_NAME = 28
_WIDTH = 100

_IN_DOCUMENT = (
    "primary_measure",
    "headline_measures",
    "verdict",
    "best_overall",
    "comparisons",
    "best_mode",
    "best_mode_significant",
    "unranked",
    "groups",
)


def comparisons_document(found: Comparisons) -> dict[str, Any]:
    """Return the result as JSON values, with the keys of ``BenchmarkReport.json``.

    ``modes`` has label and measures of each system. Undefined figures are null.
    """
    report = found.report
    whole = report.model_dump(mode="json")
    modes = {
        mode: {"label": result["label"], "measures": result["measures"]}
        for mode, result in whole["modes"].items()
    }
    return {
        "qrels": report.manifest.dataset.id or None,
        "queries": report.manifest.dataset.queries,
        "config": report.manifest.config,
        "modes": modes,
        **{key: whole[key] for key in _IN_DOCUMENT},
        "notes": found.evaluation.notes,
    }


def comparisons_table(
    report: BenchmarkReport,
    kind: Literal["latex", "markdown", "csv", "frame"],
    measures: Sequence[str] | None = None,
    layout: Sequence[Any] = (),
) -> str | pl.DataFrame:
    """Return the table of the means as LaTeX, Markdown, CSV or a Polars frame.

    Args:
        report: The report of the result.
        kind: The format.
        measures: The measures in order, in any spelling; see :func:`report_table`.
        layout: The arguments of :class:`Layout`, for LaTeX and Markdown.
    """
    wanted = Layout(*layout)
    table = report_table(report, measures)
    if kind == "latex":
        return table_as_latex(table, wanted)
    if kind == "markdown":
        return table_as_markdown(table, wanted)
    return table_as_csv(table) if kind == "csv" else table_as_frame(table)


def render_comparisons_json(found: Comparisons) -> str:
    """Return :func:`comparisons_document` as text."""
    document = comparisons_document(found)
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_comparisons(
    found: Comparisons, *paths: str | Path, layout: Layout = DEFAULT_LAYOUT
) -> None:
    """Write the result into files; the suffix of each decides its format.

    Args:
        found: The result.
        paths: ``.json`` has the whole result; the others are those of :func:`write_table`.
        layout: The layout of ``.tex``, ``.md`` and ``.html``.

    Raises:
        UsageError: If a file has another suffix; then no file is written.
        InputError: If a file cannot be written.
    """
    check_suffixes(*paths)
    table = report_table(found.report)
    for path in paths:
        if Path(path).suffix.lower() == ".json":
            write_text(path, render_comparisons_json(found))
        else:
            write_table(table, path, layout=layout)


def side_by_side_document(tables: Sequence[SideBySide]) -> list[dict[str, Any]]:
    """Return a JSON object per query or group and measure; undefined values are null."""
    return [
        {
            table.of: label,
            **({} if table.of == "query_id" else {"queries": queries}),
            "measure": table.measure,
            "values": {run: values[place] for run, values in table.values.items()},
            "differences": {pair: values[place] for pair, values in table.differences.items()},
        }
        for table in tables
        for place, (label, queries) in enumerate(table.rows)
    ]


def render_side_by_side(
    tables: Sequence[SideBySide], kind: Literal["text", "markdown", "latex", "csv"]
) -> str:
    """Return a table per measure, or one CSV table of all measures."""
    if kind == "csv":
        return frame_as_csv(pl.concat([table.as_frame() for table in tables]))
    shown = [_side_by_side(table) for table in tables]
    if kind == "latex":
        pairs = zip(tables, shown, strict=True)
        return "".join(latex_document(one, table.measure, "", first=1) for table, one in pairs)
    if kind == "markdown":
        parts = zip(tables, shown, strict=True)
        return "".join(
            f"\n{markdown([Paragraph(table.measure), *continued(one)])}" for table, one in parts
        )
    lines = []
    for table, one in zip(tables, shown, strict=True):
        lines += ["", f"{table.measure} by {table.of}:"]
        lines += list(one.lines(_WIDTH, ruled=True))
    return "".join(f"{line}\n" for line in lines)


def _side_by_side(table: SideBySide) -> TextTable:
    """Return a row per query or group, with a column per run and per difference."""
    columns = [[show(value) for value in values] for values in table.values.values()]
    columns += [[show(value, "+") for value in values] for values in table.differences.values()]
    labels = [
        label if table.of == "query_id" else f"{label} ({queries:,})"
        for label, queries in table.rows
    ]
    heading = "Query" if table.of == "query_id" else f"{table.of} (queries)"
    header = [heading, *table.values, *table.differences]
    return TextTable.of(header, list(zip(labels, *columns, strict=True)), right=header[1:])


def render_comparisons_html(report: BenchmarkReport) -> str:
    """Return the verdict and the headline measures, a row per system, without styles."""
    table = report_table(report)
    shown = html_table(
        replace(table.for_paper(Layout("rows")), caption=_verdict(report)), whole=True
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in table.paper_notes)
    return f"<div>{shown}\n{notes}</div>"


def render_comparisons_text(report: BenchmarkReport) -> str:
    """Return the verdict and the headline means, a line per system, in less than 2 kB."""
    table = report_table(report)
    for measures in range(len(report.headline_measures), 0, -1):
        means = _means(report, table, measures)
        text = "\n".join([_verdict(report), "", *means, "", _legend(report, table, measures)])
        if len(text.encode()) <= MAX_BYTES:
            break
    return text


def _verdict(report: BenchmarkReport) -> str:
    return "" if report.verdict is None else report.verdict.text


def _means(report: BenchmarkReport, table: ComparisonTable, measures: int) -> list[str]:
    """Return aligned lines: the header, and the means of the first systems with their letters."""
    names = report.headline_measures[:measures]
    means = table.means("", names, table.letters()).transposed(report.noun.capitalize())
    rows = [
        [
            f"{visible(row.cells[0].text, _LONGEST_NAME)} {row.cells[0].marks}".rstrip(),
            *map(_brief, row.cells[1:]),
        ]
        for row in means.rows[:_MOST_ROWS]
    ]
    header = [column.name for column in means.columns]
    lines = [line.rstrip() for line in TextTable.of(header, rows).lines(_WIDTH)]
    more = len(report.modes) - len(rows)
    return [*lines, f"… and {plural(more, f'further {report.noun}')}"] if more else lines


def _brief(cell: Cell) -> str:
    return " ".join(filter(None, (f"{cell.text}{cell.marks}", cell.bracketed_count)))


def _legend(report: BenchmarkReport, table: ComparisonTable, measures: int) -> str:
    """Explain the means and letters, or state that no difference is significant."""
    queries = plural(report.manifest.dataset.queries, "query", "queries")
    further = len(report.measure_names) - measures
    more = f"; {plural(further, 'further measure')} in to_pandas()" if further else ""
    line = f"Means over {queries}{more}."
    if not report.comparisons:
        return line
    if table.letters():
        found = f"A letter: significantly above that {report.noun}."
    elif table.test:
        found = "to_pandas() lists significant differences."
    else:
        found = "No significant difference."
    return f"{line} {found} {table.method}"
