"""The comparison as a table for the terminal, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, TextIO

from trectools_plus.benchmark.report import BenchmarkReport, FindingRecord
from trectools_plus.reporting.comparison_table import (
    Cell,
    Row,
    comparison_rows,
    describe_dataset,
    legend,
)
from trectools_plus.reporting.components_text import component_lines
from trectools_plus.reporting.mode_notes import join_labels, mode_notes, report_notes
from trectools_plus.reporting.near_misses_text import near_sentence
from trectools_plus.reporting.significance import group_lines
from trectools_plus.text import plural

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

WIDEST = 100
_PADDING = 3
_CELL_WIDTH = 14
_MOST_QUERIES = 5


def print_report(report: BenchmarkReport, stream: TextIO, *, width: int | None = None) -> None:
    """Print the comparison table with its legend, and what must not be overlooked.

    Args:
        report: The report.
        stream: Where to; colours and bold are used when it is a terminal.
        width: Columns; the terminal's own, or 100, but never more than 100, when not given.
    """
    from rich.console import Console

    console = Console(file=stream, highlight=False, markup=False, emoji=False, width=width)
    # Not a terminal: rich would take 80 columns, or COLUMNS.
    shown = width or (min(console.width, WIDEST) if console.is_terminal else WIDEST)
    console = Console(file=stream, highlight=False, markup=False, emoji=False, width=shown)
    console.print(describe_dataset(report), style="bold")
    console.print()
    for table in _tables(report, shown):
        console.print(table)
        console.print()
    for line in legend(report):
        console.print(line, style="dim")
    for note in _notes(report):
        console.print(note)


def _tables(report: BenchmarkReport, width: int) -> list[Table]:
    """One table of measures by modes; where that is too wide, modes by measures, folded."""
    rows = comparison_rows(report)
    first = max(len(row.measure) for row in rows) + _PADDING
    labels = [result.label for result in report.modes.values()]
    cells = sum(max(_CELL_WIDTH, min(len(label), 16)) + _PADDING for label in labels)
    best = max(len(row.best) for row in rows) + _PADDING
    if first + cells + best <= width:
        return [_measures_by_modes(report, rows)]
    names = min(max(map(len, labels)), 28) + _PADDING
    fitting = max(1, (width - names) // (_CELL_WIDTH + _PADDING))
    # As many measures in each table as in the others, rather than a full one and a rest.
    size = ceil(len(rows) / ceil(len(rows) / fitting))
    return [
        _modes_by_measures(report, rows[start : start + size])
        for start in range(0, len(rows), size)
    ]


def _measures_by_modes(report: BenchmarkReport, rows: Sequence[Row]) -> Table:
    table = _new_table()
    table.add_column("Metric", no_wrap=True)
    for result in report.modes.values():
        table.add_column(result.label, max_width=24, overflow="fold")
    table.add_column("Best Mode", overflow="fold")
    for row in rows:
        table.add_row(row.measure, *(_show_cell(cell) for cell in row.cells), row.best)
    latencies = [result.latency_ms for result in report.modes.values()]
    if any(latencies):
        shown = [
            _two_lines("–", "") if ms is None else _two_lines(f"{ms.p50:.2f}", f"{ms.p95:.2f}")
            for ms in latencies
        ]
        table.add_section()
        table.add_row("ms/query p50\n         p95", *shown, "")
    return table


def _modes_by_measures(report: BenchmarkReport, rows: Sequence[Row]) -> Table:
    table = _new_table()
    table.add_column("Mode", max_width=28, overflow="fold")
    for row in rows:
        table.add_column(row.measure, overflow="fold")
    for place, result in enumerate(report.modes.values()):
        table.add_row(result.label, *(_show_cell(row.cells[place]) for row in rows))
    table.add_section()
    bests = (row.best.rpartition(" ") for row in rows)
    table.add_row("Best Mode", *(_two_lines(label, mark) for label, _, mark in bests))
    return table


def _new_table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))


def _show_cell(cell: Cell) -> Text:
    mean = " ".join(part for part in (cell.mean_text, cell.marks, cell.n_text) if part)
    return _two_lines(mean, cell.interval_text, "bold green" if cell.best else "")


def _two_lines(first: str, second: str, style: str = "") -> Text:
    from rich.text import Text

    text = Text(first, style=style)
    return text.append(f"\n{second}", style="not bold dim default") if second else text


def _notes(report: BenchmarkReport) -> list[str]:
    """What must not be overlooked: notes on modes, findings, queries that fail everywhere."""
    notes = [f"Cannot be told apart on {line}." for line in group_lines(report)]
    notes += component_lines(report)
    notes += [f"Note: {line}" for line in report_notes(report)]
    notes += [f"Note: {note.subject}: {note.text}." for note in mode_notes(report)]
    serious: dict[str, list[str]] = {}
    for result in report.modes.values():
        codes = sorted({item.code for item in result.diagnostics.findings if _counts(item)})
        if codes:
            serious.setdefault(", ".join(codes), []).append(result.label)
    named = "; ".join(f"{join_labels(labels)} {codes}" for codes, labels in serious.items())
    if named:
        notes.append(f"Note: findings of the validator (see the report): {named}.")
    failing = report.failing_queries
    if failing:
        ids = ", ".join(query.query_id for query in failing[:_MOST_QUERIES])
        more = ", …" if len(failing) > _MOST_QUERIES else ""
        of_all = plural(report.manifest.dataset.queries, "query", "queries")
        score = "scores" if len(failing) == 1 else "score"
        notes.append(
            f"{len(failing)} of {of_all} {score} 0 on {report.measure_names[0]} "
            f"in every mode: {ids}{more}"
        )
    if report.near_misses:
        notes.append(near_sentence(report))
    return notes


def _counts(finding: FindingRecord) -> bool:
    return finding.severity != "info"
