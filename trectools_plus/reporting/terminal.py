"""Tables in the terminal, and the report of a benchmark."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, TextIO

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.reporting.comparison import ComparisonTable, report_table
from trectools_plus.reporting.table import Cell, Column, Row, Table, make_row
from trectools_plus.reporting.wording import (
    component_lines,
    group_lines,
    join_labels,
    language_lines,
    mode_notes,
    near_sentence,
    report_notes,
    target_lines,
)
from trectools_plus.text import make_console, plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_PADDING = 3
_CELL_WIDTH = 14
_MOST_QUERIES = 5


def print_table(console: Console, table: Table) -> None:
    """Print a table; cells that are too wide are folded."""
    from rich import box
    from rich.table import Table as RichTable

    shown = RichTable(
        box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0)
    )
    for place, column in enumerate(table.columns):
        shown.add_column(
            column.name if column.short is None else column.short,
            justify="right" if column.right else "left",
            overflow="ellipsis" if column.fills else "fold",
            no_wrap=column.whole or column.fills,
            max_width=_room_left(console, table, place) if column.fills else column.widest,
        )
    for row in table.rows:
        shown.add_row(
            *map(_as_text, row.cells),
            style="bold red" if row.alarming else None,
            end_section=row.ends_section,
        )
    console.print(shown)


def _room_left(console: Console, table: Table, place: int) -> int:
    """Return the width of the console that the other columns of the table leave."""
    others = [other for other in range(len(table.columns)) if other != place]
    lines = [[column.name for column in table.columns]]
    lines += [[cell.text for cell in row.cells] for row in table.rows]
    return console.width - 2 - sum(max(len(line[at]) for line in lines) + 2 for at in others)


def _as_text(cell: Cell) -> Text:
    from rich.text import Text

    first = " ".join(filter(None, (cell.text, cell.marks, cell.count)))
    text = Text(first, style="bold green" if cell.best else "")
    return text.append(f"\n{cell.detail}", style="not bold dim default") if cell.detail else text


def print_report(report: BenchmarkReport, stream: TextIO, *, width: int | None = None) -> None:
    """Print the comparison table with its legend, and the most important notes.

    Args:
        report: The report.
        stream: The output; colours and bold text are used if it is a terminal.
        width: Characters per line; by default the width of the terminal, at most 100.
    """
    console = make_console(stream, width)
    comparison = report_table(report)
    console.print(comparison.title, style="bold")
    console.print()
    for table in _tables(comparison, console.width):
        print_table(console, table)
        console.print()
    for line in comparison.legend:
        console.print(line, style="dim")
    for note in _notes(report):
        console.print(note)


def _tables(comparison: ComparisonTable, width: int) -> list[Table]:
    """Return one table of measures by modes; if it is too wide, tables of modes by measures."""
    measures = list(comparison.cells)
    first = max(map(len, measures)) + _PADDING
    labels = list(comparison.labels.values())
    cells = sum(max(_CELL_WIDTH, min(len(label), 16)) + _PADDING for label in labels)
    best = max(len(cell.marked) for cell in comparison.best.values()) + _PADDING
    if first + cells + best <= width:
        return [_with_latencies(comparison)]
    names = min(max(map(len, labels)), 28) + _PADDING
    fitting = max(1, (width - names) // (_CELL_WIDTH + _PADDING))
    # Distribute the measures evenly, so that no table has only one or two.
    size = ceil(len(measures) / ceil(len(measures) / fitting))
    return [
        _modes_by_measures(comparison.by_measure(measures[start : start + size]))
        for start in range(0, len(measures), size)
    ]


def _with_latencies(comparison: ComparisonTable) -> Table:
    table = comparison.by_measure()
    latencies = list(comparison.latencies.values())
    if not any(latencies):
        return table
    shown = [
        Cell("–") if ms is None else Cell(f"{ms.p50:.2f}", f"{ms.p95:.2f}") for ms in latencies
    ]
    *rows, last = table.rows
    timed = make_row(["ms/query p50\n         p95", *shown, ""])
    return Table(table.columns, (*rows, replace(last, ends_section=True), timed))


def _modes_by_measures(by_measure: Table) -> Table:
    """Return a table with modes as rows, and the best modes with their marks below a line."""
    table = by_measure.transposed("Mode")
    *modes, last, best = table.rows
    split = [best.cells[0]]
    split += [
        Cell(cell.text, cell.marks) if cell.marks else Cell("", cell.text)
        for cell in best.cells[1:]
    ]
    first = Column(Cell("Mode"), widest=28)
    rows = (*modes, replace(last, ends_section=True), Row(tuple(split)))
    return Table((first, *table.columns[1:]), rows)


def _notes(report: BenchmarkReport) -> list[str]:
    """Return notes on groups, components, modes, findings and failing queries."""
    notes = target_lines(report)
    notes += [f"Cannot be told apart on {line}." for line in group_lines(report)]
    notes += component_lines(report)
    notes += language_lines(report)
    notes += [f"Note: {line}" for line in report_notes(report)]
    notes += [f"Note: {subject}: {text}." for subject, text in mode_notes(report)]
    serious: dict[str, list[str]] = {}
    for result in report.modes.values():
        findings = result.diagnostics.findings
        codes = sorted({item.code for item in findings if item.severity != "info"})
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
