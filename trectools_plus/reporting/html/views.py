"""The tables of the page; the figures that the script draws are texts in their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from trectools_plus.benchmark.report import BenchmarkReport, Comparison, Latency, StratumResult
from trectools_plus.benchmark.report.verdict import make_verdict
from trectools_plus.display import Cell
from trectools_plus.reporting.comparison import ComparisonTable
from trectools_plus.reporting.wording import TEST_NAMES, name_difference

MOST_COLUMNS = 6
"""Maximum number of measures in a table."""
_MOST_PAIRS = 60


def spell_values(*values: float | None) -> str:
    """Return the figures that the script draws, as text; those that are undefined as ``-``."""
    return " ".join("-" if value is None else f"{value:.7g}" for value in values)


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A column of a table of means: one measure.

    Attributes:
        measure: Its name.
        lower_better: Whether less is better.
    """

    measure: str
    lower_better: bool


@dataclass(frozen=True, slots=True)
class ModeRow:
    """A mode: one figure per measure, and one cell per further column.

    Attributes:
        label: Its name.
        letter: Its letter in marks of significance; may be empty.
        cells: One per measure, with the values of :func:`spell_values` to draw.
        further: One per further column.
    """

    label: str
    letter: str
    cells: list[tuple[Cell, str]]
    further: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class MeansTable:
    """A table of means with modes as rows.

    Attributes:
        columns: The measures.
        further: Headings of the columns after the measures; lower figures sort first.
        rows: The modes.
    """

    columns: list[MeasureColumn]
    further: tuple[str, ...]
    rows: list[ModeRow]


def view_means(
    report: BenchmarkReport,
    comparison: ComparisonTable,
    measures: Sequence[str],
    *,
    latency: bool = False,
) -> list[MeansTable]:
    """Return tables of at most :data:`MOST_COLUMNS` measures each.

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
            MeasureColumn(measure, not report.higher_is_better(measure))
            for measure in measures[start:end]
        ]
        further = _further_columns(comparison) if latency else {}
        rows = []
        for place, (mode, label) in enumerate(comparison.labels.items()):
            figures = [comparison.cells[column.measure][place] for column in columns]
            drawn = [
                (figure.as_cell(letters), spell_values(figure.mean, figure.low, figure.high))
                for figure in figures
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
        p_values: One per test of the table, not adjusted; ``None`` without this test.
    """

    entry: Comparison | None
    name: str
    verdict: str
    p_values: list[float | None]


@dataclass(frozen=True, slots=True)
class DifferencesView:
    """The table of the differences on one measure.

    Attributes:
        rows: The pairs, the same ones for every measure.
        tests: Names of the tests of its second table; empty if the deciding one is the only one.
        adjusted: A comparison with an adjusted p-value; ``None`` if there is none.
        further: Number of pairs that are only in the JSON report.
    """

    rows: list[DifferenceRow]
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
    rows = [
        _difference_row(report, pair, entry, tests)
        for pair, entry in zip(pairs, entries, strict=True)
    ]
    return DifferencesView(rows, tests, adjusted, len(every) - len(pairs))


def _difference_row(
    report: BenchmarkReport,
    pair: tuple[str, str],
    entry: Comparison | None,
    tests: Sequence[str],
) -> DifferenceRow:
    if entry is None:
        first, second = (report.modes[mode].label for mode in reversed(pair))
        return DifferenceRow(None, f"{first} − {second}", "", [None] * len(tests))
    found = (getattr(entry, name) for name in tests)
    return DifferenceRow(
        entry=entry,
        name=name_difference(report, entry),
        verdict=_judge(report, entry),
        p_values=[None if test is None else test.p for test in found],
    )


def _judge(report: BenchmarkReport, entry: Comparison) -> str:
    if not entry.significant or not entry.difference:
        return ""
    return "ahead" if (entry.difference > 0) == report.higher_is_better(entry.measure) else "behind"


@dataclass(frozen=True, slots=True)
class StratumRow:
    """A value of a query field, its number of queries, and the result of each mode on them."""

    value: str
    n: int
    results: list[StratumResult | None]


@dataclass(frozen=True, slots=True)
class StrataTable:
    """One measure by the values of one field."""

    field: str
    measure: str
    rows: list[StratumRow]


def view_strata(report: BenchmarkReport, measure: str) -> list[StrataTable]:
    """Return the table of each query field."""
    tables = []
    for field, values in report.strata.items():
        rows = []
        for value, modes in values.items():
            results = [modes.get(mode, {}).get(measure) for mode in report.modes]
            n = max((each.n for each in results if each is not None), default=0)
            rows.append(StratumRow(value, n, results))
        tables.append(StrataTable(field, measure, rows))
    return tables
