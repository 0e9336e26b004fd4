"""The comparison of a report: means by measure and mode, with the best mode marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.verdict import baselines_of
from trectools_plus.display import Cell, TableColumn, TableRow, TextTable
from trectools_plus.errors import UsageError
from trectools_plus.reporting.wording import (
    denominator_line,
    describe_difference_intervals,
    method_line,
    name_interval,
    narrow_lines,
    show,
    show_ci,
    show_p,
    show_wins,
)
from trectools_plus.statistics.comparison import Comparison
from trectools_plus.text import plural

SUPERSCRIPTS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
"""The letters of modes."""
MOST_COLUMNS = 5
"""With more modes than this, tables in files have modes as rows."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a table for a paper.

    Attributes:
        systems: The runs or modes as ``rows`` or as ``columns``; by default columns, or rows if
            there are more than five.
        decimals: Decimals of means and intervals; by default four for means, three for intervals.
        caption: The caption, instead of a description of the dataset. It is text; with a backslash
            in it, it is LaTeX.
        label: The name for LaTeX's ``\\ref``, for example ``tab:main``; by default none.
    """

    systems: Literal["rows", "columns"] | None = None
    decimals: int | None = None
    caption: str | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        if self.decimals is not None and not 0 <= self.decimals <= 12:
            raise UsageError(f"expected decimals between 0 and 12 but got {self.decimals}")


def require_measure(report: BenchmarkReport, measure: str) -> str:
    """Return the report's name of a measure in any spelling.

    Raises:
        UsageError: If the report does not have the measure.
    """
    name = report.find_measure(measure)
    if name is None:
        known = ", ".join(report.measure_names)
        raise UsageError(f"the report has no measure {measure!r}", remedy=f"it has {known}")
    return name


def describe_dataset(report: BenchmarkReport) -> str:
    """Return the dataset with its number of queries, on one line."""
    dataset = report.manifest.dataset
    return " · ".join(filter(None, (dataset.id, plural(dataset.queries, "query", "queries"))))


def best_first(report: BenchmarkReport) -> list[str]:
    """Return the modes by their primary mean; unchanged if they are not ranked."""
    measure = report.primary_measure
    if measure in report.unranked:
        return [*report.modes]
    sign = -1.0 if report.higher_is_better(measure) else 1.0
    means = {mode: result.measures[measure].mean for mode, result in report.modes.items()}
    return sorted(
        means, key=lambda mode: float("inf") if (mean := means[mode]) is None else sign * mean
    )


def best_modes(report: BenchmarkReport, measure: str) -> set[str]:
    """Return the modes with the best mean on a measure; none if all are equal or not ranked."""
    means = {mode: result.measures[measure].mean for mode, result in report.modes.items()}
    defined = [mean for mean in means.values() if mean is not None]
    if len({*means.values()}) < 2 or not defined or measure in report.unranked:
        return set()
    best = (max if report.higher_is_better(measure) else min)(defined)
    return {mode for mode, mean in means.items() if mean == best}


def better_than(report: BenchmarkReport, measure: str) -> dict[str, list[str]]:
    """Return the modes that each mode is significantly better than on a measure.

    On a measure with means over different queries, no mode is better than another: the difference
    is over the queries that both define, so a mark next to the means would be about other queries.
    """
    rising = report.higher_is_better(measure)
    leads = {
        (one.contrast, one.baseline)
        if (one.difference > 0) == rising
        else (one.baseline, one.contrast)
        for one in report.comparisons
        if one.measure == measure and one.significant and one.difference
        if measure not in report.unranked
    }
    return {
        mode: [other for other in report.modes if (mode, other) in leads] for mode in report.modes
    }


def name_letters(report: BenchmarkReport, measures: Sequence[str]) -> dict[str, str]:
    """Return the letter of each mode; empty if no mode is marked, or there are too few letters.

    With a baseline there are no letters: :func:`differences_table` shows the differences.
    """
    is_marked = any(others for name in measures for others in better_than(report, name).values())
    if not is_marked or baselines_of(report) or len(report.modes) > len(SUPERSCRIPTS):
        return {}
    return dict(zip(report.modes, SUPERSCRIPTS, strict=False))


def mean_cells(
    report: BenchmarkReport,
    measure: str,
    letters: Mapping[str, str],
    decimals: int | None = None,
) -> dict[str, Cell]:
    """Return the mean of each mode with its interval; by default with four and three decimals."""
    best, better = best_modes(report, measure), better_than(report, measure)
    cells = {}
    for mode, result in report.modes.items():
        figure = result.measures[measure]
        is_whole = figure.n == report.manifest.dataset.queries and measure not in report.unranked
        cells[mode] = Cell(
            show(figure.mean, decimals=4 if decimals is None else decimals),
            detail=show_ci(figure.ci, decimals=3 if decimals is None else decimals),
            count="" if is_whole or figure.mean is None else f"(n = {figure.n:,})",
            marks="".join(letters[other] for other in better[mode] if other in letters),
            best=mode in best,
        )
    return cells


def means_table(
    report: BenchmarkReport,
    measures: Sequence[str],
    letters: Mapping[str, str],
    decimals: int | None = None,
) -> TextTable:
    """Return the means with a row per measure, and a column per mode with its letter."""
    modes = [
        TableColumn(Cell(result.label, marks=letters.get(mode, "")), widest=24)
        for mode, result in report.modes.items()
    ]
    rows = (
        [Cell(name), *mean_cells(report, name, letters, decimals).values()] for name in measures
    )
    return TextTable.of([TableColumn(Cell("Metric"), whole=True), *modes], rows)


def headline_table(report: BenchmarkReport, measures: Sequence[str]) -> TextTable:
    """Return the means with a column for the best mode, unless there is a baseline."""
    table = means_table(report, measures, name_letters(report, measures))
    if baselines_of(report):
        return table
    best = TableColumn(Cell(f"Best {report.noun.capitalize()}"))
    rows = (
        TableRow((*row.cells, _best_cell(report, name)))
        for row, name in zip(table.rows, measures, strict=True)
    )
    return TextTable((*table.columns, best), tuple(rows))


def _best_cell(report: BenchmarkReport, measure: str) -> Cell:
    best = report.best_mode[measure]
    if best is None:
        is_ranked = len(report.modes) > 1 and measure not in report.unranked
        return Cell("tie" if is_ranked else "–")
    mark = "*" if report.best_mode_significant[measure] else "n.s."
    return Cell(report.modes[best].label, marks=mark)


def fold(report: BenchmarkReport, table: TextTable, by: str = "") -> TextTable:
    """Return the table with modes as rows if there are more than five of them."""
    too_many = len(report.modes) > MOST_COLUMNS
    return table.transposed(f"{report.noun.capitalize()}{by}") if too_many else table


def differences_table(
    report: BenchmarkReport,
    measure: str,
    further: Sequence[str] = (),
    modes: Sequence[str] | None = None,
    decimals: int | None = None,
) -> TextTable:
    """Return the means of a measure with intervals, or differences from the baselines, by mode.

    For differences, the columns are the mean, the difference, its interval, the adjusted p-value,
    and the numbers of queries won, tied and lost; the baseline is the first row. With several
    baselines, each mode has a row for each.

    Args:
        report: The report.
        measure: The measure with intervals.
        further: Measures whose means follow; ``*`` marks a significant difference from the only
            baseline.
        modes: The other modes to show, in order, with short labels; by default all.
        decimals: As for a table for a paper.
    """
    baselines = baselines_of(report)
    entries = {(one.contrast, one.baseline, one.measure): one for one in report.comparisons}
    level = name_interval(next(iter(report.comparisons), None) if baselines else None)
    header = [measure, *(["Δ", level, "Adj. p", "W/T/L"] if baselines else [level])]
    means = {name: mean_cells(report, name, {}, decimals) for name in (measure, *further)}
    rows = []
    for mode in [*baselines, *(one for one in modes or report.modes if one not in baselines)]:
        for baseline in (baselines if mode not in baselines else baselines[:1]) or [mode]:
            pairs = {name: entries.get((mode, baseline, name)) for name in means}
            shown = [Cell(means[measure][mode].detail or "–")]
            if baselines:
                shown = _difference_cells(pairs[measure], decimals)
            cells = [
                replace(
                    by_mode[mode],
                    detail="",
                    marks="*" if name in further and pair and pair.significant else "",
                )
                for (name, by_mode), pair in zip(means.items(), pairs.values(), strict=True)
            ]
            name = (
                report.modes[mode].label if modes is None else cut_middle(report.modes[mode].label)
            )
            if len(baselines) > 1 and mode not in baselines:
                name += f" − {report.modes[baseline].label}"
            rows.append([Cell(name), cells[0], *shown, *cells[1:]])
    columns = (TableColumn(Cell(name), right=True, whole=True) for name in (*header, *further))
    return TextTable.of([TableColumn(Cell(report.noun.capitalize()), widest=28), *columns], rows)


def cut_middle(text: str, longest: int = 28) -> str:
    """Return a text without its middle, if it is long; the ends of names differ."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[len(text) - half + 1 :]}"


def _difference_cells(pair: Comparison | None, decimals: int | None) -> list[Cell]:
    """Return a difference, its interval, its adjusted p-value, and queries won, tied and lost."""
    if pair is None or pair.difference is None:
        return [Cell("–")] * 4
    shown = show(pair.difference, "+", decimals=4 if decimals is None else decimals)
    return [
        Cell(shown, marks="*" if pair.significant else ""),
        Cell(show_ci(pair.ci, "+", decimals=3 if decimals is None else decimals) or "–"),
        Cell(show_p(pair.p_adjusted)),
        Cell(show_wins(pair, "/")),
    ]


def paper_table(
    report: BenchmarkReport, measures: Sequence[str], layout: Layout
) -> tuple[TextTable, list[str]]:
    """Return means with the letter of each mode in its heading, and the notes below them.

    With a baseline: the differences on the first measure, and the means of the others.
    """
    noun, method = report.noun.capitalize(), method_line(report)
    if baselines_of(report) and report.comparisons:
        table = differences_table(report, measures[0], measures[1:], decimals=layout.decimals)
        notes = explain(report, measures, {}, intervals=False)
        return table.transposed(noun) if layout.systems == "columns" else table, [*notes, method]
    letters = name_letters(report, measures)
    table = means_table(report, measures, letters, layout.decimals)
    notes = [*explain(report, measures, letters), *filter(None, [method])]
    if layout.systems is None:
        return fold(report, table), notes
    return table.transposed(noun) if layout.systems == "rows" else table, notes


def explain(
    report: BenchmarkReport,
    measures: Sequence[str],
    letters: Mapping[str, str],
    *,
    intervals: bool = True,
) -> list[str]:
    """Explain the means, their intervals and marks, and the columns of differences.

    Args:
        report: The report.
        measures: The measures of the table.
        letters: Its letters of modes.
        intervals: Whether it has intervals of means.
    """
    results = (result.measures[name] for result in report.modes.values() for name in measures)
    shown = [result.ci for result in results if result.ci is not None]
    methods = "; ".join(
        dict.fromkeys(
            f"{ci.method}, {ci.resamples:,} resamples of the queries" if ci.resamples else ci.method
            for ci in shown
        )
    )
    lines = []
    if intervals:
        bold = " Bold: best mean." if len(report.modes) > 1 else ""
        level = f" with its {shown[0].level * 100:g}% interval" if shown else ""
        lines = [f"Mean{level}{f' ({methods})' if methods else ''}.{bold}"]
        lines += narrow_lines(shown)
    lines.append(denominator_line(report, measures))
    if baselines := [report.modes[mode].label for mode in baselines_of(report)]:
        lines.append(
            f"Δ: mean minus that of {' or '.join(baselines)}, with its interval. W/T/L: queries "
            "won, tied and lost. *: significant."
        )
        lines += map(describe_difference_intervals, report.comparisons[:1])
        lines += narrow_lines(pair.ci for pair in report.comparisons if pair.measure == measures[0])
    elif letters:
        lines.append(f"A letter: significantly better than the {report.noun} with that letter.")
    return lines
