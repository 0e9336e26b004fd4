"""The comparison as a neutral table: what every file format is made of.

:func:`report_table` makes one of a report; :mod:`trectools_plus.reporting.tables_text` and
:mod:`trectools_plus.reporting.tables_data` turn it into Markdown, LaTeX, CSV, JSON and Parquet.
"""

from __future__ import annotations

from dataclasses import dataclass

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.reporting.comparison_table import (
    Cell,
    comparison_rows,
    describe_dataset,
    is_beaten,
    legend,
)
from trectools_plus.reporting.significance import describe_test


@dataclass(frozen=True, slots=True)
class TableCell:
    """One measure of one mode.

    Attributes:
        mode: The mode.
        measure: The measure's canonical name.
        mean: Mean over the queries; ``None`` when undefined.
        low: Lower end of its interval.
        high: Upper end.
        level: The interval's confidence level, between 0 and 1.
        n: Queries averaged over.
        n_text: ``n = 19`` where these are not all queries; else empty.
        best: Whether it is the best mean of the measure, or one of several equal ones but not of
            all.
        better_than: Modes that it is significantly better than.
    """

    mode: str
    measure: str
    mean: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    n_text: str
    best: bool
    better_than: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Measures by modes.

    Attributes:
        title: What was searched, and for how many queries.
        note: How means and intervals are to be read, one sentence or two.
        test: How significance was decided, in words; empty where no mode is marked.
        labels: The modes' names for people, by mode, in the report's order.
        cells: By measure, in the order asked for; in each one cell per mode.
    """

    title: str
    note: str
    test: str
    labels: dict[str, str]
    cells: dict[str, tuple[TableCell, ...]]

    @property
    def has_marks(self) -> bool:
        """Whether any mode is significantly better than another."""
        return bool(self.test)


def report_table(report: BenchmarkReport) -> ReportTable:
    """The comparison table of a report, significance marks as its comparisons say."""
    cells = {}
    for row in comparison_rows(report):
        cells[row.measure] = tuple(
            _cell(report, mode, row.measure, shown)
            for mode, shown in zip(report.modes, row.cells, strict=True)
        )
    labels = {mode: result.label for mode, result in report.modes.items()}
    marked = any(cell.better_than for row in cells.values() for cell in row)
    test = describe_test(report.comparisons[0], report.confidence) if marked else ""
    return ReportTable(describe_dataset(report), legend(report)[0], test, labels, cells)


def _cell(report: BenchmarkReport, mode: str, measure: str, shown: Cell) -> TableCell:
    figures = report.modes[mode].measures[measure]
    return TableCell(
        mode=mode,
        measure=measure,
        mean=figures.mean,
        low=shown.low,
        high=shown.high,
        level=report.confidence,
        n=figures.n,
        n_text=shown.n_text,
        best=shown.best,
        better_than=tuple(
            other
            for other in report.modes
            if other != mode and is_beaten(report, mode, other, measure)
        ),
    )
