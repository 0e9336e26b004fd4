"""The comparison table as the page draws it: modes as rows, so that their intervals line up."""

from __future__ import annotations

from dataclasses import dataclass

from trectools_plus.benchmark.report import BenchmarkReport, Latency
from trectools_plus.reporting.comparison_table import Cell, comparison_rows
from trectools_plus.reporting.html.whiskers import Scale, Whisker, make_scale


@dataclass(frozen=True, slots=True)
class Column:
    """A measure.

    Attributes:
        measure: Its name.
        lower_better: Whether less is better.
        scale: The axis that all its intervals are drawn on.
        best: The best mode with its mark.
    """

    measure: str
    lower_better: bool
    scale: Scale
    best: str


@dataclass(frozen=True, slots=True)
class ModeRow:
    """A mode: one figure and drawing per column, and its time per query."""

    label: str
    cells: list[tuple[Cell, Whisker]]
    latency: Latency | None


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """The whole table; ``timed`` tells whether any mode has a time per query."""

    columns: list[Column]
    rows: list[ModeRow]
    timed: bool


def view_comparison(report: BenchmarkReport) -> ComparisonView:
    """Turn the rows of the comparison by a quarter, and give each measure its axis."""
    table = comparison_rows(report)
    columns = [
        Column(
            row.measure,
            not report.higher_is_better(row.measure),
            make_scale(end for cell in row.cells for end in (cell.low, cell.mean, cell.high)),
            row.best,
        )
        for row in table
    ]
    rows = []
    for place, result in enumerate(report.modes.values()):
        cells = [row.cells[place] for row in table]
        drawn = [
            (cell, column.scale.whisker(cell.mean, cell.low, cell.high))
            for cell, column in zip(cells, columns, strict=True)
        ]
        rows.append(ModeRow(result.label, drawn, result.latency_ms))
    return ComparisonView(columns, rows, any(row.latency for row in rows))
