"""The data of the drawings in the page: rows of tables, and positions on their axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

import numpy as np

from trectools_plus.benchmark.report import BenchmarkReport, Latency, StratumResult
from trectools_plus.benchmark.report.verdict import make_verdict
from trectools_plus.reporting.comparison import ComparisonTable
from trectools_plus.reporting.html.per_query import PARTS, Parts
from trectools_plus.reporting.table import Cell
from trectools_plus.reporting.wording import TEST_NAMES, name_difference
from trectools_plus.statistics.comparison import Comparison, ends_of

WIDTH = 120
"""Width of a drawing in SVG units; the page scales it."""
_EDGE = 14
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_STEPS = 6
MOST_COLUMNS = 6
"""Maximum number of measures in a table."""
_MOST_PAIRS = 60
MOST_BARS = 500
"""With more queries than this, a bar of the difference plot is the mean of several."""
_MOST_SEPARATE = 200
"""With more bars than this, there is no space between them."""
PLOT_WIDTH, PLOT_HEIGHT = 1000, 200
"""Size of the difference plot in SVG units; the page stretches it."""


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
                f"{value + 0.0:,.{decimals}f}" if place in labelled else "",
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
    """A column of a table of means: one measure.

    Attributes:
        measure: Its name.
        lower_better: Whether less is better.
        scale: The axis of all its intervals.
    """

    measure: str
    lower_better: bool
    scale: Scale


@dataclass(frozen=True, slots=True)
class ModeRow:
    """A mode: one figure with its drawing per measure, and one cell per further column.

    Attributes:
        label: Its name.
        letter: Its letter in marks of significance; may be empty.
        cells: One per measure.
        further: One per further column.
    """

    label: str
    letter: str
    cells: list[tuple[Cell, Whisker]]
    further: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class MeansTable:
    """A table of means with modes as rows.

    Attributes:
        columns: The measures.
        further: Headings of the columns after the measures; lower figures sort first.
        rows: The modes.
    """

    columns: list[AxisColumn]
    further: tuple[str, ...]
    rows: list[ModeRow]


def view_means(
    report: BenchmarkReport,
    comparison: ComparisonTable,
    measures: Sequence[str],
    *,
    latency: bool = False,
) -> list[MeansTable]:
    """Return tables of at most :data:`MOST_COLUMNS` measures each, with an axis for each measure.

    Args:
        report: The report.
        comparison: Its comparison.
        measures: The measures, in the order of the columns.
        latency: Add the latencies, if there are any, after the measures.
    """
    letters = comparison.letters()
    tables = []
    # Tables of almost the same width: nineteen measures are 5, 5, 5 and 4.
    number = -(-len(measures) // MOST_COLUMNS)
    edges = [place * len(measures) // number for place in range(number + 1)] if number else [0]
    for start, end in pairwise(edges):
        columns = [
            AxisColumn(
                measure,
                not report.higher_is_better(measure),
                make_scale(
                    end
                    for cell in comparison.cells[measure]
                    for end in (cell.low, cell.mean, cell.high)
                ),
            )
            for measure in measures[start:end]
        ]
        further = _further_columns(comparison) if latency else {}
        rows = []
        for place, (mode, label) in enumerate(comparison.labels.items()):
            figures = [comparison.cells[column.measure][place] for column in columns]
            drawn = [
                (
                    figure.as_cell(letters),
                    column.scale.whisker(figure.mean, figure.low, figure.high),
                )
                for figure, column in zip(figures, columns, strict=True)
            ]
            cells = tuple(by_mode[mode] for by_mode in further.values())
            rows.append(ModeRow(label, letters.get(mode, ""), drawn, cells))
        tables.append(MeansTable(columns, tuple(further), rows))
    return tables


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
    count = "" if latency.queries is None else f", n={latency.queries:,}"
    return Cell(f"{latency.p50:,.2f}", f"p95 {latency.p95:,.2f}{count}", value=latency.p50)


@dataclass(frozen=True, slots=True)
class DifferencePlot:
    """The differences of two modes on every query, largest first, as paths.

    Attributes:
        contrast: Position of the mode that is compared.
        baseline: Position of the mode that is subtracted; -1 with a single mode, for its values.
        better: Bars of the queries on which the first mode is better.
        worse: Bars of the others.
        band: The interval of the mean difference; may be empty.
        mean: The mean difference; may be empty.
        mark: The mean difference and its interval on the axis of all pairs of the measure.
        counts: Numbers of better, equal and worse queries.
    """

    contrast: int
    baseline: int
    better: str
    worse: str
    band: str
    mean: str
    mark: Whisker
    counts: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PlotAxis:
    """The axis of all difference plots of one measure, symmetrical about 0.

    Attributes:
        top: The value at its upper end.
        labels: Texts at equal distances, from the upper end.
    """

    top: float
    labels: list[str]


def plot_axis(parts: Parts) -> PlotAxis:
    """Return the axis that contains the differences of all pairs of modes, or a mode's values."""
    if len(parts) > 1:
        known = parts[:, ~np.isnan(parts).any(axis=0)]
        furthest = float(np.ptp(known, axis=0).max(initial=0.0)) / PARTS
    else:
        furthest = float(np.nan_to_num(np.abs(parts)).max(initial=0.0)) / PARTS
    scale = make_scale([furthest or 1.0], around_zero=True)
    count = round(scale.high / scale.step)
    steps = np.arange(count, -count - 1, -1) if count > 1 else np.array([1, 0.5, 0, -0.5, -1])
    labels = [f"{value:+,.12g}" if value else "0" for value in np.round(steps * scale.step, 12)]
    return PlotAxis(scale.high, [label.replace("-", "−") for label in labels])


def plot_differences(
    report: BenchmarkReport, measure: str, parts: Parts, axis: PlotAxis, pair: tuple[int, int]
) -> DifferencePlot:
    """Return the plot of a pair of modes, as positions among the modes.

    Args:
        report: The report.
        measure: The measure.
        parts: Its values.
        axis: Its axis.
        pair: Positions of the first mode, and of the one that is subtracted or -1.
    """
    contrast, baseline = pair
    values = parts[contrast] - (parts[baseline] if baseline >= 0 else 0)
    values = values[~np.isnan(values)]
    values = values[np.argsort(-values, kind="stable")]
    sign = 1 if report.higher_is_better(measure) else -1
    bars = [chunk.mean() for chunk in split_bars(values)]
    width = PLOT_WIDTH / max(1, len(bars))
    filled = width * (1 if len(bars) > _MOST_SEPARATE else 0.8)
    middle = PLOT_HEIGHT / 2

    def height(value: float) -> float:
        return middle - value / axis.top * middle

    def draw(side: int) -> str:
        return "".join(
            f"M{place * width:.1f} {middle:g}V{height(value / PARTS):.1f}h{filled:.2f}V{middle:g}"
            for place, value in enumerate(bars)
            if value * side > 0
        )

    band = mean = ""
    mark = Whisker(None, None, None)
    entry, direction = find_pair(report, measure, pair)
    if entry is not None and entry.difference is not None:
        y = height(entry.difference * direction)
        mean = f"M0 {y:.1f}H{PLOT_WIDTH}"
        low, high = turn_interval(entry, direction)
        mark = difference_scale(report, measure).whisker(entry.difference * direction, low, high)
        if low is not None and high is not None:
            band = f"M0 {height(high):.1f}H{PLOT_WIDTH}V{height(low):.1f}H0z"
    counts = tuple(int((np.sign(values) == side).sum()) for side in (sign, 0, -sign))
    return DifferencePlot(
        contrast=contrast,
        baseline=baseline,
        better=draw(sign),
        worse=draw(-sign),
        band=band,
        mean=mean,
        mark=mark,
        counts=(counts[0], counts[1], counts[2]),
    )


def difference_scale(report: BenchmarkReport, measure: str) -> Scale:
    """Return the axis of the mean differences of all pairs on a measure, around 0."""
    entries = [one for one in report.comparisons if one.measure == measure]
    ends = (end for one in entries for end in (*ends_of(one.ci), one.difference))
    return make_scale(ends, around_zero=True)


def turn_interval(entry: Comparison, direction: int) -> tuple[float | None, float | None]:
    """Return the ends of the interval of the difference, or of its opposite."""
    low, high = ends_of(entry.ci)
    if low is None or high is None or direction > 0:
        return low, high
    return 0.0 - high, 0.0 - low


def split_bars(values: Parts) -> list[Parts]:
    """Split sorted values into at most :data:`MOST_BARS` bars of almost the same size."""
    count = min(len(values), MOST_BARS)
    edges = [place * len(values) // count for place in range(count + 1)] if count else []
    return [values[start:end] for start, end in pairwise(edges)]


def find_pair(
    report: BenchmarkReport, measure: str, pair: tuple[int, int]
) -> tuple[Comparison | None, int]:
    """Return the comparison of two modes, and -1 if it subtracts the first from the second."""
    names = list(report.modes)
    contrast, baseline = names[pair[0]], names[pair[1]]
    if pair[1] < 0:
        return None, 1
    entry = report.find_comparison(baseline, contrast, measure)
    if entry is not None:
        return entry, 1
    return report.find_comparison(contrast, baseline, measure), -1


def choose_pair(report: BenchmarkReport, measure: str) -> tuple[int, int]:
    """Return the positions of the modes of the verdict; without one, of the first two modes.

    For a single mode, the second position is -1.
    """
    if len(report.modes) < 2:
        return 0, -1
    verdict = make_verdict(report, measure)
    if verdict is None or verdict.best is None or verdict.second is None:
        return 1, 0
    names = list(report.modes)
    return names.index(verdict.best), names.index(verdict.second)


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One pair of modes.

    Attributes:
        entry: The comparison; ``None`` if the pair is not compared on the measure.
        name: ``Hybrid − Lexical-Only``, with the number of queries if it is not all of them.
        verdict: ``ahead`` or ``behind`` if the difference is significant, else empty.
        whisker: Its difference and interval on the axis of the table.
        p_values: One per test of the table, not adjusted; ``None`` without this test.
    """

    entry: Comparison | None
    name: str
    verdict: str
    whisker: Whisker
    p_values: list[float | None]


@dataclass(frozen=True, slots=True)
class DifferencesView:
    """The table of the differences on one measure.

    Attributes:
        rows: The pairs, the same ones for every measure.
        scale: The axis of all differences, with 0 in the middle.
        tests: Names of the tests of its second table; empty if the deciding one is the only one.
        adjusted: A comparison with an adjusted p-value; ``None`` if there is none.
        further: Number of pairs that are only in the JSON report.
    """

    rows: list[DifferenceRow]
    scale: Scale
    tests: list[str]
    adjusted: Comparison | None
    further: int


def view_differences(report: BenchmarkReport, measure: str) -> DifferencesView:
    """Return the differences of all pairs on one measure; of very many, those with the best mode.

    The pairs are those of the best mode on the primary measure, so that they do not change with
    the measure.
    """
    every = list(dict.fromkeys((one.baseline, one.contrast) for one in report.comparisons))
    pairs = every
    if len(every) > _MOST_PAIRS:
        best = report.best_mode[report.primary_measure]
        pairs = [pair for pair in every if best is None or best in pair][:_MOST_PAIRS]
    found = {
        (one.baseline, one.contrast): one for one in report.comparisons if one.measure == measure
    }
    entries = [found.get(pair) for pair in pairs]
    tests = [
        name for name in TEST_NAMES if any(getattr(one, name, None) for one in report.comparisons)
    ]
    adjusted = next((one for one in report.comparisons if one.p_adjusted is not None), None)
    if adjusted is not None and tests == [adjusted.test]:
        tests = []
    scale = difference_scale(report, measure)
    rows = [
        _difference_row(report, pair, entry, scale, tests)
        for pair, entry in zip(pairs, entries, strict=True)
    ]
    return DifferencesView(rows, scale, tests, adjusted, len(every) - len(pairs))


def _difference_row(
    report: BenchmarkReport,
    pair: tuple[str, str],
    entry: Comparison | None,
    scale: Scale,
    tests: Sequence[str],
) -> DifferenceRow:
    if entry is None:
        first, second = (report.modes[mode].label for mode in reversed(pair))
        empty = Whisker(None, None, None)
        return DifferenceRow(None, f"{first} − {second}", "", empty, [None] * len(tests))
    found = (getattr(entry, name) for name in tests)
    return DifferenceRow(
        entry=entry,
        name=name_difference(report, entry),
        verdict=_judge(report, entry),
        whisker=scale.whisker(entry.difference, *ends_of(entry.ci)),
        p_values=[None if test is None else test.p for test in found],
    )


def _judge(report: BenchmarkReport, entry: Comparison) -> str:
    if not entry.significant or not entry.difference:
        return ""
    return "ahead" if (entry.difference > 0) == report.higher_is_better(entry.measure) else "behind"


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


def view_strata(report: BenchmarkReport, measure: str) -> list[StrataTable]:
    """Return the table of each query field."""
    return [_strata_table(report, name, measure) for name in report.strata]


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
