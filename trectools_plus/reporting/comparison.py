"""The comparison of a report: measures by modes, with the best mode marked.

Every rendering shows the same :class:`ComparisonTable`, so they cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_lowercase
from typing import Literal

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.verdict import baselines_of
from trectools_plus.display import Cell, Displayed, TableColumn, TableRow, TextTable
from trectools_plus.errors import UsageError
from trectools_plus.reporting.wording import (
    denominator_line,
    describe_difference_intervals,
    describe_test,
    method_line,
    name_interval,
    narrow_lines,
    show,
    show_ci,
    show_p,
)
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval, ends_of
from trectools_plus.text import plural

SUPERSCRIPTS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
"""The letters of modes on the terminal and on the page."""
AHEAD_OF_ALL = "*"
NOT_AHEAD_OF_ALL = "n.s."
_MOST_COLUMNS = 5
"""With more modes than this, tables in files have modes as rows."""
_LABEL = re.compile(r"[A-Za-z0-9:.+/_ -]+")


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
        if self.systems not in (None, "rows", "columns"):
            raise UsageError(f"expected systems 'rows' or 'columns' but got {self.systems!r}")
        if self.label is not None and not _LABEL.fullmatch(self.label):
            raise UsageError(
                f"invalid LaTeX label '{self.label}'",
                remedy="use letters, digits and : . + / _ -, for example tab:main",
            )


@dataclass(frozen=True, slots=True)
class ShownMean:
    """One measure of one mode.

    Attributes:
        mode: The mode.
        measure: The measure's canonical name.
        mean: Mean over the queries; ``None`` when undefined.
        ci: Its interval.
        level: The confidence level of the report, between 0 and 1.
        n: Number of queries averaged over.
        of_all: Whether these are all queries, for every mode.
        best: Whether no other mode has a better mean on the measure. False for all modes if all
            means are equal or not ranked.
        better_than: Modes that this mode is significantly better than.
    """

    mode: str
    measure: str
    mean: float | None
    ci: ConfidenceInterval | None
    level: float
    n: int
    of_all: bool
    best: bool
    better_than: tuple[str, ...]

    @property
    def n_text(self) -> str:
        """The text ``n = 19`` if the mean is not over all queries; else empty."""
        return "" if self.of_all or self.mean is None else f"n = {self.n:,}"

    def as_cell(self, letters: Mapping[str, str], decimals: int | None = None) -> Cell:
        """Return the mean with its interval.

        Args:
            letters: The mark of each mode.
            decimals: Of both; by default four for the mean and three for the interval.
        """
        return Cell(
            show(self.mean, decimals=4 if decimals is None else decimals),
            detail=show_ci(self.ci, decimals=3 if decimals is None else decimals),
            count=self.n_text,
            marks="".join(letters[mode] for mode in self.better_than if mode in letters),
            best=self.best,
            value=self.mean,
            ends=ends_of(self.ci),
        )


@dataclass(frozen=True, slots=True, repr=False)
class ComparisonTable(Displayed):
    """Measures by modes.

    Attributes:
        title: The dataset with its numbers of queries and documents.
        noun: The word for what is compared: ``run`` or ``mode``.
        legend: Explanations of intervals and marks, one sentence or two per item.
        test: The test of significance, in words; empty if no mode is significantly better.
        labels: Labels of the modes, by mode, in the report's order.
        cells: By measure, in the requested order: one figure per mode.
        best: By measure: the best mode's label with its mark; ``tie``; or a dash for a single
            mode and for means over different queries. Empty with a baseline.
        headline: The measures of a table for a paper.
        paper_notes: The explanations below a table for a paper: means, marks and method.
        method: The method of all decisions, in one line; empty without comparisons.
        baselines: The modes that the others are compared with; empty if every pair is compared.
        differences: The comparisons with the baselines, by measure, in the order of the modes.
        pairs: All comparisons, by measure.
    """

    title: str
    noun: str
    legend: list[str]
    test: str
    labels: dict[str, str]
    cells: dict[str, tuple[ShownMean, ...]]
    best: dict[str, Cell]
    headline: tuple[str, ...]
    paper_notes: list[str] = field(default_factory=list)
    method: str = ""
    baselines: tuple[str, ...] = ()
    differences: Mapping[str, tuple[Comparison, ...]] = field(default_factory=dict)
    pairs: Mapping[str, tuple[Comparison, ...]] = field(default_factory=dict)

    def _content(self) -> TextTable:
        table = self.by_measure()
        rows = [
            [" ".join(filter(None, (cell.marked, cell.detail))) for cell in row.cells]
            for row in table.rows
        ]
        return TextTable.of([column.name for column in table.columns], rows, caption=self.title)

    def letters(self, alphabet: str = SUPERSCRIPTS) -> dict[str, str]:
        """Return the letter of each mode; empty if no mode is marked, or there are too few letters.

        With a baseline there are no letters: :meth:`by_mode` shows the differences.

        Args:
            alphabet: The letters to choose from.
        """
        if not self.test or self.baselines or len(self.labels) > len(alphabet):
            return {}
        return dict(zip(self.labels, alphabet, strict=False))

    def by_measure(self) -> TextTable:
        """Return the table with a row per measure, a column per mode, and the best mode."""
        table = self.means("Metric", list(self.cells), self.letters())
        modes = (TableColumn(Cell(label), widest=24) for label in self.labels.values())
        columns = (replace(table.columns[0], whole=True), *modes)
        if not self.best:
            return TextTable(columns, table.rows)
        rows = (
            TableRow((*row.cells, best))
            for row, best in zip(table.rows, self.best.values(), strict=True)
        )
        return TextTable(
            (*columns, TableColumn(Cell(f"Best {self.noun.capitalize()}"))), tuple(rows)
        )

    def means(
        self,
        corner: str,
        measures: Sequence[str],
        letters: Mapping[str, str],
        decimals: int | None = None,
    ) -> TextTable:
        """Return the means with a row per measure, and a column per mode with its letter.

        Args:
            corner: The heading of the measures.
            measures: The measures to show.
            letters: The mark of each mode.
            decimals: Of means and intervals; see :meth:`ShownMean.as_cell`.
        """
        modes = [
            TableColumn(Cell(label, marks=letters.get(mode, "")))
            for mode, label in self.labels.items()
        ]
        rows = (
            [Cell(measure), *(cell.as_cell(letters, decimals) for cell in self.cells[measure])]
            for measure in measures
        )
        return TextTable.of([corner, *modes], rows)

    def by_mode(
        self,
        measure: str,
        further: Sequence[str] = (),
        modes: Sequence[str] | None = None,
        decimals: int | None = None,
    ) -> TextTable:
        """Return the means of a measure with intervals, or differences from the baselines, by mode.

        For differences, the columns are the mean, the difference, its interval, the adjusted
        p-value, and the numbers of queries won, tied and lost; the baseline is the first row. With
        several baselines, each mode has a row for each.

        Args:
            measure: The measure with intervals.
            further: Measures whose means follow; ``*`` marks a significant difference from the
                only baseline.
            modes: The other modes to show, in order, with short labels; by default all.
            decimals: As for a table for a paper.
        """
        entries = {(one.contrast, one.baseline): one for one in self.differences.get(measure, ())}
        level = name_interval(next(iter(entries.values()), None))
        several = len(self.baselines) > 1
        names = ["Δ", level, "Adj. p", "W/T/L"] if entries else [level]
        columns = [TableColumn(Cell(self.noun.capitalize()), widest=28)]
        columns += [TableColumn(Cell("Baseline"), widest=20)] * several
        columns += [
            TableColumn(Cell(name), right=name != level, whole=True)
            for name in (measure, *names, *further)
        ]
        significant = {
            (one.contrast, one.measure)
            for name in further
            for one in self.differences.get(name, ())
            if one.significant and not several
        }
        others = [
            mode for mode in (self.labels if modes is None else modes) if mode not in self.baselines
        ]
        rows = []
        for mode in [*self.baselines, *others]:
            figures = [
                self.cells[name][list(self.labels).index(mode)] for name in (measure, *further)
            ]
            mean, *means = (
                replace(
                    figure.as_cell({}, decimals),
                    detail="",
                    marks="*" if (mode, figure.measure) in significant else "",
                )
                for figure in figures
            )
            label = Cell(self.labels[mode] if modes is None else cut_middle(self.labels[mode]))
            for baseline in self.baselines[: 1 if mode in self.baselines else None] or ("",):
                entry = entries.get((mode, baseline))
                against = [Cell("–" if entry is None else self.labels[baseline])] * several
                cells = [Cell(show_ci(figures[0].ci) or "–")]
                if entries:
                    cells = _difference_cells(entry, decimals)
                rows.append([label, *against, mean, *cells, *means])
        return TextTable.of(columns, rows)

    def for_paper(self, layout: Layout) -> TextTable:
        """Return the headline measures, with the letter of each mode in its heading.

        With a baseline: the differences on the first headline measure, and the means of the others.
        """
        noun = self.noun.capitalize()
        if self.baselines and self.headline and self.differences.get(self.headline[0]):
            table = self.by_mode(self.headline[0], self.headline[1:], decimals=layout.decimals)
            return table.transposed(noun) if layout.systems == "columns" else table
        letters = self.letters(ascii_lowercase)
        table = self.means("Measure", self.headline, letters, layout.decimals)
        if layout.systems is None:
            return fold(table, len(self.labels), noun)
        return table.transposed(noun) if layout.systems == "rows" else table


def cut_middle(text: str, longest: int = 28) -> str:
    """Return a text without its middle, if it is long; the ends of names differ."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[len(text) - half + 1 :]}"


def _difference_cells(entry: Comparison | None, decimals: int | None) -> list[Cell]:
    """Return a difference, its interval, its adjusted p-value, and queries won, tied and lost."""
    if entry is None or entry.difference is None:
        return [Cell("–")] * 4
    mark = "*" if entry.significant else ""
    shown = show(entry.difference, "+", decimals=4 if decimals is None else decimals)
    return [
        Cell(shown, marks=mark, value=entry.difference),
        Cell(show_ci(entry.ci, "+", decimals=3 if decimals is None else decimals) or "–"),
        Cell(show_p(entry.p_adjusted)),
        Cell(f"{entry.wins:,}/{entry.ties:,}/{entry.losses:,}"),
    ]


def fold(table: TextTable, modes: int, corner: str) -> TextTable:
    """Return the table with modes as rows if there are more than five of them."""
    return table.transposed(corner) if modes > _MOST_COLUMNS else table


def report_table(report: BenchmarkReport, measures: Sequence[str] | None = None) -> ComparisonTable:
    """Return the table of means by measure and mode, with the best means and significant leads.

    ``legend`` explains the marks. :func:`write_table` writes the table into a file.

    Args:
        report: A report of a benchmark, for example ``result.report``.
        measures: The measures in order, in any spelling, for example ``report.headline_measures``.
            By default all; tables for a paper then have the headline measures.

    Raises:
        UsageError: If the report does not have a measure.
    """
    names = report.measure_names
    if measures is not None:
        names = list(dict.fromkeys(require_measure(report, name) for name in measures))
    cells = {name: _list_means(report, name) for name in names}
    baselines = baselines_of(report)
    if any(report.best_mode[name] is not None for name in report.measure_names):
        baselines = []  # a report of a version before 0.2, which has a best mode
    pairs = {
        name: tuple(one for one in report.comparisons if one.measure == name) for name in names
    }
    marked = any(cell.better_than for row in cells.values() for cell in row)
    table = ComparisonTable(
        title=describe_dataset(report),
        noun=report.noun,
        legend=[],
        test=describe_test(report.comparisons[0], report.confidence) if marked else "",
        method=method_line(report),
        baselines=tuple(baselines),
        differences=pairs if baselines else {},
        pairs=pairs,
        labels={mode: result.label for mode, result in report.modes.items()},
        cells=cells,
        best={} if baselines else {name: _best_cell(report, name) for name in names},
        headline=tuple(report.headline_measures if measures is None else names),
    )
    means, sizes, marks = _explain_means(table), _explain_sizes(report, table), _explain(table)
    notes = [*means, *_explain_letters(table)]
    if baselines:
        shown = table.differences.get(table.headline[0], ()) if table.headline else ()
        notes = [*narrow_lines(one.ci for one in shown), *sizes, *marks]
    if table.method:
        notes.append(table.method)
    return replace(table, legend=[*means, *sizes, *marks], paper_notes=notes)


def require_measure(report: BenchmarkReport, measure: str) -> str:
    """Return the report's name of a measure in any spelling.

    Raises:
        UsageError: If the report does not have the measure.
    """
    found = report.find_measure(measure)
    if found is None:
        known = ", ".join(report.measure_names)
        raise UsageError(f"the report has no measure {measure!r}", remedy=f"it has {known}")
    return found


def describe_dataset(report: BenchmarkReport) -> str:
    """Return the dataset with its number of queries, on one line."""
    dataset = report.manifest.dataset
    return " · ".join(filter(None, (dataset.id, plural(dataset.queries, "query", "queries"))))


def _list_means(report: BenchmarkReport, measure: str) -> tuple[ShownMean, ...]:
    """Return the means of all modes on a measure.

    On a measure with means over different queries, no mode is better than another: the difference
    is over the queries that both define, so a mark next to the means would be about other queries.
    """
    figures = {mode: result.measures[measure] for mode, result in report.modes.items()}
    means = [one.mean for one in figures.values()]
    defined = [mean for mean in means if mean is not None]
    rising = report.higher_is_better(measure)
    best = (max if rising else min)(defined, default=None)
    leads = {
        (one.contrast, one.baseline)
        if (one.difference > 0) == rising
        else (one.baseline, one.contrast)
        for one in report.comparisons
        if one.measure == measure and one.significant and one.difference
        if measure not in report.unranked
    }
    ranked = len(set(means)) > 1 and _is_ranked(report, measure)
    queries = report.manifest.dataset.queries
    return tuple(
        ShownMean(
            mode=mode,
            measure=measure,
            mean=one.mean,
            ci=one.ci,
            level=report.confidence,
            n=one.n,
            of_all=one.n == queries and measure not in report.unranked,
            best=ranked and one.mean is not None and one.mean == best,
            better_than=tuple(other for other in report.modes if (mode, other) in leads),
        )
        for mode, one in figures.items()
    )


def _is_ranked(report: BenchmarkReport, measure: str) -> bool:
    return len(report.modes) > 1 and measure not in report.unranked


def _best_cell(report: BenchmarkReport, measure: str) -> Cell:
    best = report.best_mode[measure]
    if best is None:
        return Cell("tie" if _is_ranked(report, measure) else "–")
    mark = AHEAD_OF_ALL if report.best_mode_significant[measure] else NOT_AHEAD_OF_ALL
    return Cell(report.modes[best].label, marks=mark)


def _explain_means(table: ComparisonTable) -> list[str]:
    """Explain the means and their intervals."""
    shown = [cell for row in table.cells.values() for cell in row]
    bold = " Bold: best mean." if any(cell.best for cell in shown) else ""
    intervals = [cell.ci for cell in shown if cell.ci is not None]
    if not intervals:
        return [f"Mean. There are no intervals, as for a single query.{bold}"]
    methods = dict.fromkeys(
        f"{ci.method}, {ci.resamples:,} resamples of the queries" if ci.resamples else ci.method
        for ci in intervals
    )
    line = f"Mean with its {intervals[0].level * 100:g}% interval ({'; '.join(methods)}).{bold}"
    return [line, *narrow_lines(intervals)]


def _explain_sizes(report: BenchmarkReport, table: ComparisonTable) -> list[str]:
    """State the queries of the means, and measures that are not ranked."""
    unranked = ", ".join(name for name in table.cells if name in report.unranked)
    lines = {
        denominator_line(report, table.cells): True,
        f"Not ranked, because their means are over different queries (n): {unranked}.": unranked,
    }
    return [line for line, applies in lines.items() if applies]


def _explain(table: ComparisonTable) -> list[str]:
    """Explain the columns of differences, or the letters and the marks of best modes."""
    if table.baselines:
        entry = next((one for pairs in table.pairs.values() for one in pairs), None)
        names = " or ".join(table.labels[mode] for mode in table.baselines)
        line = f"Δ: mean minus that of {names}, with its interval. W/T/L: queries won, tied and "
        line += "lost. *: significant."
        return [] if entry is None else [line, describe_difference_intervals(entry)]
    beaten = {mode for row in table.cells.values() for cell in row for mode in cell.better_than}
    letters = table.letters()
    named = [f"{letters[mode]} {table.labels[mode]}" for mode in letters if mode in beaten]
    lines = [f"Significantly above: {', '.join(named)}."] if named else []
    if table.test and not letters:
        lines.append(LETTERS_ELSEWHERE)
    used = {cell.marks for cell in table.best.values()}
    ahead = f"significantly ahead of every other {table.noun}"
    meanings = {AHEAD_OF_ALL: ahead, NOT_AHEAD_OF_ALL: f"not {ahead}"}
    marks = "; ".join(f"{mark}: {meanings[mark]}" for mark in meanings if mark in used)
    return [*lines, f"{marks}."] if marks else lines


def _explain_letters(table: ComparisonTable) -> list[str]:
    """Explain the letters of a table for a paper."""
    if table.letters(ascii_lowercase):
        return [f"A letter: significantly better than the {table.noun} with that letter."]
    return [LETTERS_ELSEWHERE] if table.test else []


LETTERS_ELSEWHERE = (
    "There are too many modes for letters: the column better_than of the CSV table, and the "
    "comparisons in the JSON, name the significant differences."
)
