"""The data of the drawings in the page: rows of tables, and positions on their axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

from trectools_plus.benchmark.report import BenchmarkReport, Comparison, Latency, StratumResult
from trectools_plus.benchmark.report.parts import ends_of
from trectools_plus.reporting.comparison import ComparisonTable
from trectools_plus.reporting.table import Cell
from trectools_plus.reporting.wording import choose_comparisons, name_difference

WIDTH = 120
"""Width of a drawing in SVG units; the page scales it."""
_EDGE = 14
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_STEPS = 6


@dataclass(frozen=True, slots=True)
class Tick:
    """A position on an axis; its label may be empty."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Whisker:
    """A mean with its interval, as positions on an axis; ``None`` if undefined."""

    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis from ``low`` to ``high``, both round numbers, in steps of ``step``."""

    low: float
    high: float
    step: float

    def place(self, value: float | None) -> float | None:
        """Return the position of a value, from 0 to :data:`WIDTH`, to a tenth."""
        if value is None:
            return None
        fraction = (value - self.low) / (self.high - self.low)
        return round(_EDGE + fraction * (WIDTH - 2 * _EDGE), 1)

    def whisker(self, mean: float | None, low: float | None, high: float | None) -> Whisker:
        """Return a mean and the ends of its interval as positions on this axis."""
        return Whisker(self.place(mean), self.place(low), self.place(high))

    @property
    def ticks(self) -> list[Tick]:
        """One tick per step. The ends have labels, and the middle if there is a tick."""
        count = round((self.high - self.low) / self.step)
        decimals = next(d for d in range(12) if abs(round(self.step, d) - self.step) < 1e-12)
        labelled = (0, count / 2, count)
        return [
            Tick(
                self.place(value) or 0.0,
                f"{value + 0.0:.{decimals}f}" if place in labelled else "",
            )
            for place in range(count + 1)
            if (value := round(self.low + place * self.step, 12)) is not None
        ]


def make_scale(values: Iterable[float | None], *, around_zero: bool = False) -> Scale:
    """Return the smallest axis of at most six round steps that contains all values.

    Args:
        values: The values; ``None`` is ignored.
        around_zero: Put 0 in the middle.
    """
    known = [value for value in values if value is not None]
    if around_zero:
        furthest = max(map(abs, known), default=0.0)
        known = [-furthest, furthest]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if high - low < 1e-9:
        low, high = low - 0.05, high + 0.05
    magnitude = 10.0 ** floor(log10((high - low) / _MOST_STEPS))
    for factor in _STEPS:
        step = factor * magnitude
        first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
        if last - first <= _MOST_STEPS:
            break
    return Scale(first * step, last * step, step)


@dataclass(frozen=True, slots=True)
class AxisColumn:
    """A column of the comparison: one measure.

    Attributes:
        measure: Its name.
        lower_better: Whether less is better.
        scale: The axis of all its intervals.
        best: The best mode with its mark.
    """

    measure: str
    lower_better: bool
    scale: Scale
    best: str


@dataclass(frozen=True, slots=True)
class ModeRow:
    """A mode: one figure with its drawing per measure, and one cell per further column."""

    label: str
    cells: list[tuple[Cell, Whisker]]
    further: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """The table of the comparison.

    Attributes:
        columns: The measures.
        further: Headings of the columns after the measures; lower figures sort first.
        rows: The modes.
    """

    columns: list[AxisColumn]
    further: tuple[str, ...]
    rows: list[ModeRow]


def view_comparison(report: BenchmarkReport, comparison: ComparisonTable) -> ComparisonView:
    """Return the comparison with modes as rows, and an axis for each measure."""
    columns = [
        AxisColumn(
            measure,
            not report.higher_is_better(measure),
            make_scale(end for cell in cells for end in (cell.low, cell.mean, cell.high)),
            best.marked,
        )
        for (measure, cells), best in zip(
            comparison.cells.items(), comparison.best.values(), strict=True
        )
    ]
    letters = comparison.letters()
    further = _further_columns(comparison)
    rows = []
    for place, (mode, label) in enumerate(comparison.labels.items()):
        figures = [cells[place] for cells in comparison.cells.values()]
        drawn = [
            (figure.as_cell(letters), column.scale.whisker(figure.mean, figure.low, figure.high))
            for figure, column in zip(figures, columns, strict=True)
        ]
        rows.append(ModeRow(label, drawn, tuple(cells[mode] for cells in further.values())))
    return ComparisonView(columns, tuple(further), rows)


def _further_columns(comparison: ComparisonTable) -> dict[str, dict[str, Cell]]:
    """Return the columns after the measures: by heading, one cell per mode."""
    columns = {}
    if any(comparison.latencies.values()):
        columns["ms, p50"] = {
            mode: _latency_cell(latency) for mode, latency in comparison.latencies.items()
        }
    return columns


def _latency_cell(latency: Latency | None) -> Cell:
    if latency is None:
        return Cell("–")
    return Cell(f"{latency.p50:.2f}", f"p95 {latency.p95:.2f}", value=latency.p50)


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One comparison.

    Attributes:
        entry: The comparison.
        name: ``Hybrid − Lexical-Only``, with the number of queries if it is not all of them.
        verdict: ``ahead`` or ``behind`` if the difference is significant, else empty.
        whisker: Its difference and interval on the axis of the table.
        p_values: One per test of the table, not adjusted; ``None`` without this test.
    """

    entry: Comparison
    name: str
    verdict: str
    whisker: Whisker
    p_values: list[float | None]


@dataclass(frozen=True, slots=True)
class DifferencesView:
    """The table of differences.

    Attributes:
        rows: The comparisons.
        scale: The axis of all differences, with 0 in the middle.
        tests: Names of the tests, in the order of the report.
        adjusted: A comparison with an adjusted p-value; ``None`` if there is none.
        further: Number of comparisons that are only in the JSON report.
    """

    rows: list[DifferenceRow]
    scale: Scale
    tests: list[str]
    adjusted: Comparison | None
    further: int


def view_differences(report: BenchmarkReport) -> DifferencesView:
    """Return all comparisons; of very many, those with the best mode."""
    entries = choose_comparisons(report)
    dumps = [entry.model_dump() for entry in entries]
    tests = list(dict.fromkeys(name for dump in dumps for name in dump if _is_test(dump[name])))
    scale = make_scale(
        (end for entry in entries for end in (*ends_of(entry.ci), entry.difference)),
        around_zero=True,
    )
    rows = [
        DifferenceRow(
            entry=entry,
            name=name_difference(report, entry),
            verdict=_judge(report, entry),
            whisker=scale.whisker(entry.difference, *ends_of(entry.ci)),
            p_values=[dump[name]["p"] if _is_test(dump[name]) else None for name in tests],
        )
        for entry, dump in zip(entries, dumps, strict=True)
    ]
    return DifferencesView(
        rows=rows,
        scale=scale,
        tests=tests,
        adjusted=next((entry for entry in entries if entry.p_adjusted is not None), None),
        further=len(report.comparisons) - len(entries),
    )


def _judge(report: BenchmarkReport, entry: Comparison) -> str:
    if not entry.significant or not entry.difference:
        return ""
    return "ahead" if (entry.difference > 0) == report.higher_is_better(entry.measure) else "behind"


def _is_test(part: Any) -> bool:
    """Return whether this part of a comparison is a test, with a p-value."""
    return isinstance(part, Mapping) and "p" in part


@dataclass(frozen=True, slots=True)
class StratumRow:
    """A value of a query field, its number of queries, and the mean of each mode over them."""

    value: str
    n: int
    cells: list[tuple[StratumResult | None, Whisker]]


@dataclass(frozen=True, slots=True)
class StrataTable:
    """One measure by the values of one field."""

    field: str
    measure: str
    scale: Scale
    rows: list[StratumRow]


def view_strata(report: BenchmarkReport) -> dict[str, list[StrataTable]]:
    """Return the tables of each query field: one per measure, in the order of the report."""
    return {
        name: [_strata_table(report, name, measure) for measure in report.measure_names]
        for name in report.strata
    }


def _strata_table(report: BenchmarkReport, field: str, measure: str) -> StrataTable:
    found = {
        value: [modes.get(mode, {}).get(measure) for mode in report.modes]
        for value, modes in report.strata[field].items()
    }
    scale = make_scale(
        end
        for results in found.values()
        for each in results
        if each is not None
        for end in (*ends_of(each.ci), each.mean)
    )
    rows = []
    for value, results in found.items():
        n = max((each.n for each in results if each is not None), default=0)
        cells = [(each, _draw_stratum(scale, each)) for each in results]
        rows.append(StratumRow(value, n, cells))
    return StrataTable(field, measure, scale, rows)


def _draw_stratum(scale: Scale, result: StratumResult | None) -> Whisker:
    if result is None:
        return Whisker(None, None, None)
    return scale.whisker(result.mean, *ends_of(result.ci))
