"""Comparisons: means by measure and mode, differences, and the names of tests and intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Literal

from trectools_plus.benchmark.report import ComparisonReport, MeasureResult, StratumResult
from trectools_plus.benchmark.verdict import baselines_of
from trectools_plus.display import Cell, TableColumn, TextTable
from trectools_plus.errors import UsageError
from trectools_plus.reporting.document import NARROW, show, show_ci, show_p, table_of
from trectools_plus.statistics.comparison import (
    DEFAULT_CORRECTION,
    DEFAULT_TEST,
    Comparison,
    ConfidenceInterval,
    alpha_of,
)
from trectools_plus.text import plural

if TYPE_CHECKING:
    from trectools_plus.benchmark.sweep import Advantage

TEST_NAMES = {
    "t_test": "paired t-test",
    "paired_bootstrap": "paired bootstrap test",
    "randomisation": "randomisation test",
    "wilcoxon": "Wilcoxon test",
}
CORRECTION_NAMES = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "no correction"}
SUPERSCRIPTS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
"""The letters of modes."""
MOST_COLUMNS = 5
"""With more modes than this, tables in files have modes as rows."""


@dataclass(frozen=True)
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


def require_measure(report: ComparisonReport, measure: str) -> str:
    """Return the report's name of a measure in any spelling.

    Raises:
        UsageError: If the report does not have the measure.
    """
    name = report.find_measure(measure)
    if name is None:
        remedy = f"it has {', '.join(report.measure_names)}"
        raise UsageError(f"the report has no measure {measure!r}", remedy=remedy)
    return name


def describe_dataset(report: ComparisonReport) -> str:
    """Return the dataset with its number of queries, on one line."""
    setup = report.setup
    return " · ".join(filter(None, (setup.data, plural(setup.queries, "query", "queries"))))


def best_first(report: ComparisonReport) -> list[str]:
    """Return the modes by their primary mean; unchanged if they are not ranked."""
    name = report.primary_measure
    sign = 0.0 if name in report.unranked else -1.0 if report.higher_is_better(name) else 1.0
    means = {mode: result.measures[name].mean for mode, result in report.modes.items()}
    return sorted(means, key=lambda mode: (means[mode] is None, sign * (means[mode] or 0.0)))


def best_modes(report: ComparisonReport, measure: str) -> set[str]:
    """Return the modes with the best mean on a measure; none if all are equal or not ranked."""
    means = {mode: result.measures[measure].mean for mode, result in report.modes.items()}
    if len({*means.values()}) < 2 or measure in report.unranked:
        return set()
    choose = max if report.higher_is_better(measure) else min
    best = choose(mean for mean in means.values() if mean is not None)
    return {mode for mode, mean in means.items() if mean == best}


def better_than(report: ComparisonReport, measure: str) -> dict[str, list[str]]:
    """Return the modes that each mode is significantly better than on a measure.

    On a measure with means over different queries, no mode is better than another: the difference
    is over the queries that both define, so a mark next to the means would be about other queries.
    """
    rising = report.higher_is_better(measure)
    leads = {
        (pair.contrast, pair.baseline)
        if (pair.difference > 0) == rising
        else (pair.baseline, pair.contrast)
        for pair in report.comparisons
        if pair.measure == measure and pair.significant and pair.difference
        if measure not in report.unranked
    }
    return {
        mode: [other for other in report.modes if (mode, other) in leads] for mode in report.modes
    }


def name_letters(report: ComparisonReport, measures: Sequence[str]) -> dict[str, str]:
    """Return the letter of each mode; empty if no mode is marked, or there are too few letters.

    With a baseline there are no letters: :func:`differences_table` shows the differences.
    """
    is_marked = any(others for name in measures for others in better_than(report, name).values())
    if not is_marked or baselines_of(report) or len(report.modes) > len(SUPERSCRIPTS):
        return {}
    return dict(zip(report.modes, SUPERSCRIPTS, strict=False))


def mean_cell(
    figure: MeasureResult | StratumResult, queries: int, decimals: int | None = None
) -> Cell:
    """Return a mean with its interval, and its number of queries if that is another one."""
    count = "" if figure.mean is None or figure.n == queries else f"(n = {figure.n:,})"
    return Cell(show(figure.mean, "", decimals), show_ci(figure.ci, "", decimals), count)


def mean_cells(
    report: ComparisonReport,
    measure: str,
    letters: Mapping[str, str],
    decimals: int | None = None,
) -> dict[str, Cell]:
    """Return the mean of each mode with its interval; by default with four and three decimals."""
    best, better = best_modes(report, measure), better_than(report, measure)
    queries = 0 if measure in report.unranked else report.setup.queries
    return {
        mode: replace(
            mean_cell(result.measures[measure], queries, decimals),
            marks="".join(letters.get(other, "") for other in better[mode]),
            best=mode in best,
        )
        for mode, result in report.modes.items()
    }


def means_table(
    report: ComparisonReport,
    measures: Sequence[str],
    letters: Mapping[str, str],
    decimals: int | None = None,
) -> TextTable:
    """Return the means with a row per measure, and a column per mode with its letter."""
    columns = [TableColumn(Cell("Metric"), whole=True)]
    for mode, result in report.modes.items():
        columns.append(TableColumn(Cell(result.label, marks=letters.get(mode, "")), widest=24))
    rows: list[list[str | Cell]] = [
        [name, *mean_cells(report, name, letters, decimals).values()] for name in measures
    ]
    return TextTable.of(columns, rows)


def headline_table(report: ComparisonReport, measures: Sequence[str]) -> TextTable:
    """Return the means with a column for the best mode, unless there is a baseline.

    Modes are rows if there are more than five of them.
    """
    table = means_table(report, measures, name_letters(report, measures))
    if not baselines_of(report):
        rows = []
        for row, name in zip(table.rows, measures, strict=True):
            is_tie = len(report.modes) > 1 and name not in report.unranked
            cell = Cell("tie" if is_tie else "–")
            if (best := report.best_mode[name]) is not None:
                mark = "*" if report.best_mode_significant[name] else "n.s."
                cell = Cell(report.modes[best].label, marks=mark)
            rows.append((*row.cells, cell))
        table = TextTable.of([*table.columns, f"Best {report.setup.noun.capitalize()}"], rows)
    return fold(report, table)


def fold(report: ComparisonReport, table: TextTable, by: str = "") -> TextTable:
    """Return the table with modes as rows if there are more than five of them."""
    too_many = len(report.modes) > MOST_COLUMNS
    return table.transposed(f"{report.setup.noun.capitalize()}{by}") if too_many else table


def differences_table(
    report: ComparisonReport,
    measures: Sequence[str],
    modes: Sequence[str] | None = None,
    decimals: int | None = None,
) -> TextTable:
    """Return the means of the first measure with intervals, or differences from the baselines.

    For differences, the columns are the mean, the difference, its interval, the adjusted p-value,
    and the numbers of queries won, tied and lost; the baseline is the first row. With several
    baselines, each mode has a row for each. The means of the other measures follow; ``*`` marks a
    significant difference.

    Args:
        report: The report.
        measures: The measures.
        modes: The other modes to show, in order, with short labels; by default all.
        decimals: As for a table for a paper.
    """
    baselines, first = baselines_of(report), measures[0]
    interval = name_interval(report.comparisons)
    entries = {(pair.contrast, pair.baseline, pair.measure): pair for pair in report.comparisons}
    means = {name: mean_cells(report, name, {}, decimals) for name in measures}
    others = [mode for mode in modes or report.modes if mode not in baselines]
    pairs = [*zip(baselines, baselines, strict=True), *product(others, baselines or [""])]
    rows = []
    for mode, baseline in pairs:
        label = report.modes[mode].label
        label = label if modes is None else cut_middle(label)
        if len(baselines) > 1 and mode != baseline:
            label += f" − {report.modes[baseline].label}"
        row: dict[str, object] = {report.setup.noun.capitalize(): label}
        for name in measures:
            pair, mean = entries.get((mode, baseline, name)), means[name][mode]
            marks = "*" * (name != first and pair is not None and pair.significant)
            row[name] = replace(mean, detail="", marks=marks)
            if name == first and baselines:
                row |= difference_cells(pair, interval, decimals)
                row["W/T/L"] = show_wins(pair) if pair else "–"
            elif name == first:
                row["Interval"] = mean.detail or "–"
        rows.append(row)
    return table_of(rows)


def cut_middle(text: str, longest: int = 28) -> str:
    """Return a text without its middle, if it is long; the ends of names differ."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[len(text) - half + 1 :]}"


def difference_cells(
    pair: Comparison | Advantage | None, interval: str, decimals: int | None = None
) -> dict[str, object]:
    """Return a difference, its interval and its adjusted p-value; dashes without a comparison."""
    if pair is None:
        return dict.fromkeys(("Δ", interval, "Adj. p"), "–")
    return {
        "Δ": Cell(show(pair.difference, "+", decimals), marks="*" * pair.significant),
        interval: show_ci(pair.ci, "+", decimals) or "–",
        "Adj. p": show_p(pair.p_adjusted),
    }


def difference_row(pair: Comparison, queries: int) -> dict[str, object]:
    """Return a comparison as a row of a table of all comparisons of a result."""
    return {
        "Metric": pair.measure + f" (n = {pair.n:,})" * (pair.n != queries),
        **difference_cells(pair, name_interval([pair]), 4),
        "W/T/L": show_wins(pair),
        "p": show_p(pair.p),
        "d_z": show(pair.effect_size, "+", 2),
    }


def paper_table(
    report: ComparisonReport, measures: Sequence[str], layout: Layout
) -> tuple[TextTable, list[str]]:
    """Return means with the letter of each mode in its heading, and the notes below them.

    With a baseline: the differences on the first measure, and the means of the others.
    """
    letters = name_letters(report, measures)
    has_baseline = bool(baselines_of(report))
    notes = [*explain(report, measures, letters, intervals=not has_baseline), method_line(report)]
    rows = has_baseline or len(report.modes) > MOST_COLUMNS
    systems = layout.systems or ("rows" if rows else "columns")
    if has_baseline:
        table = differences_table(report, measures, decimals=layout.decimals)
    else:
        table = means_table(report, measures, letters, layout.decimals)
    turned = (systems == "columns") == has_baseline
    return table.transposed(report.setup.noun.capitalize()) if turned else table, notes


def explain(
    report: ComparisonReport,
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
    lines = []
    if intervals:
        bold = " Bold: best mean." * (len(report.modes) > 1)
        methods = dict.fromkeys(
            ci.method + f", {ci.resamples:,} resamples of the queries" * bool(ci.resamples)
            for ci in shown
        )
        level = f"{report.confidence * 100:g}% interval ({'; '.join(methods)})"
        lines = [f"Mean{f' with its {level}' if shown else ''}.{bold}", *narrow_lines(shown)]
    lines += (
        f"{name} is not ranked: its means are over different queries."
        for name in measures
        if name in report.unranked
    )
    if labels := [report.modes[mode].label for mode in baselines_of(report)]:
        lines.append(
            f"Δ: mean minus that of {' or '.join(labels)}, with its interval. W/T/L: queries won, "
            "tied and lost. *: significant."
        )
        lines += map(describe_difference_intervals, report.comparisons[:1])
        lines += narrow_lines(pair.ci for pair in report.comparisons if pair.measure == measures[0])
    elif letters:
        lines.append(
            f"A letter: significantly better than the {report.setup.noun} with that letter."
        )
    return lines


def show_wins(entry: Comparison) -> str:
    """Return the numbers of queries won, tied and lost."""
    return f"{entry.wins:,}/{entry.ties:,}/{entry.losses:,}"


def narrow_lines(intervals: Iterable[ConfidenceInterval | None]) -> list[str]:
    """Explain the mark of intervals that may be too narrow, a line for each reason."""
    notes = dict.fromkeys(ci.note for ci in intervals if ci is not None and ci.note)
    return [f"{NARROW} {note}." for note in notes]


def name_interval(family: Iterable[Comparison]) -> str:
    """Return the heading of a column of intervals of differences."""
    return "Interval" if all(pair.has_own_level for pair in family) else "Unadjusted interval"


def describe_difference_intervals(entry: Comparison) -> str:
    """Return a sentence on the intervals of a family, of which one comparison is given."""
    if entry.has_own_level and entry.test == "t_test":
        return "An interval excludes 0 exactly if the difference is significant."
    return (
        "The intervals are those of a t-test, so one may exclude 0 although the difference is not "
        "significant."
    )


def name_test(family: str, test: str = DEFAULT_TEST, correction: str = DEFAULT_CORRECTION) -> str:
    """Name test, correction and family: ``paired t-test, Holm over 19 comparisons with bm25``.

    Args:
        family: A description of the family.
        test: The test.
        correction: The correction.
    """
    adjusted = f"{CORRECTION_NAMES.get(correction, correction)} over "
    over = "" if family.startswith("1 comparison") else adjusted
    return f"{TEST_NAMES.get(test, test)}, {over}{family}"


def method_line(report: ComparisonReport, pair: Comparison | None = None, family: str = "") -> str:
    """Name test, correction, family and number of queries, and which queries count 0; one line.

    Args:
        report: The report.
        pair: A comparison of the family; by default the first one of the report. Without any, the
            line is empty.
        family: A description of the family, if the comparison has none.
    """
    for first in [pair] if pair else report.comparisons[:1]:
        test = name_test(family or first.family, first.test, first.correction)
        queries, config = report.setup.queries, report.setup.config
        counted = {"zero": "count 0", "drop": "are left out"}
        missing = counted[config.get("missing", "zero")]
        none = counted[config.get("no_relevant", "drop")]
        counts = f"those without results {missing}, those without a relevant document {none}"
        if missing == none:
            counts = f"those without results or without a relevant document {none}"
        return (
            f"{test[:1].upper()}{test[1:]}, p ≤ {alpha_of(report.confidence):g}; "
            f"{plural(queries, 'query', 'queries')}; {counts}."
        )
    return ""
