"""The comparison of a report: measures by modes, with the best mode marked.

Every rendering shows the same :class:`ComparisonTable`, so they cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_lowercase
from typing import Literal

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.verdict import baselines_of
from trectools_plus.display import Cell, Displayed, TableColumn, TableRow, TextTable
from trectools_plus.errors import UsageError
from trectools_plus.reporting.wording import (
    NARROW,
    denominator_line,
    describe_difference_intervals,
    describe_test,
    method_line,
    name_interval,
    show,
    show_ci,
    show_p,
)
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval, ends_of
from trectools_plus.text import plural

SUPERSCRIPTS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
"""The letters of modes on the terminal and on the page."""
BEST = "Best "
"""Begins the heading of the best run or mode."""
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
            raise UsageError(
                f"expected decimals between 0 and 12 but got {self.decimals}",
                remedy="use 3 or 4",
            )
        if self.systems not in (None, "rows", "columns"):
            raise UsageError(
                f"expected systems 'rows' or 'columns' but got {self.systems!r}",
                remedy="use rows or columns",
            )
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

    @property
    def note(self) -> str:
        """The explanation of means and intervals."""
        return self.legend[0]

    def letters(self, alphabet: str = SUPERSCRIPTS) -> dict[str, str]:
        """Return the letter of each mode; empty if no mode is marked, or there are too few letters.

        With a baseline there are no letters: :meth:`against_baseline` shows the differences.

        Args:
            alphabet: The letters to choose from.
        """
        if not self.test or self.baselines or len(self.labels) > len(alphabet):
            return {}
        return dict(zip(self.labels, alphabet, strict=False))

    def by_measure(self, measures: Iterable[str] | None = None) -> TextTable:
        """Return the table with a row per measure, a column per mode, and the best mode.

        Args:
            measures: The measures to show; all of them if ``None``.
        """
        names = list(self.cells if measures is None else measures)
        table = self.means("Metric", names, self.letters())
        modes = (TableColumn(Cell(label), widest=24) for label in self.labels.values())
        columns = (replace(table.columns[0], whole=True), *modes)
        if not self.best:
            return TextTable(columns, table.rows)
        best = TableColumn(Cell(BEST + self.noun.capitalize()))
        rows = (
            TableRow((*row.cells, self.best[name]))
            for name, row in zip(names, table.rows, strict=True)
        )
        return TextTable((*columns, best), tuple(rows))

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

    def against_baseline(
        self,
        measure: str,
        further: Sequence[str] = (),
        modes: Sequence[str] | None = None,
        decimals: int | None = None,
    ) -> TextTable:
        """Return the differences from the baseline, a row per mode; the baseline is the first one.

        The columns are the mean, the difference, its interval, the adjusted p-value, and the
        numbers of queries won, tied and lost. With several baselines, each mode has a row for each.

        Args:
            measure: The measure of the differences.
            further: Measures whose means follow; ``*`` marks a significant difference from the
                only baseline.
            modes: The other modes to show, in order; by default all.
            decimals: As for a table for a paper.
        """
        shown = [mode for mode in self.labels if mode not in self.baselines]
        shown = shown if modes is None else [mode for mode in modes if mode in shown]
        entries = {(one.contrast, one.baseline): one for one in self.differences[measure]}
        first = next(iter(entries.values()), None)
        level = name_interval(first)
        several = len(self.baselines) > 1
        header: list[str | TableColumn] = [TableColumn(Cell(self.noun.capitalize()), widest=28)]
        header += [TableColumn(Cell("Baseline"), widest=20)] if several else []
        header += [
            TableColumn(Cell(measure), right=True, whole=True),
            TableColumn(Cell("Δ"), right=True, whole=True),
            TableColumn(Cell(level), whole=True),
            TableColumn(Cell("Adjusted p"), short="Adj. p", right=True, whole=True),
            TableColumn(Cell("W/T/L"), right=True, whole=True),
            *(TableColumn(Cell(name), right=True, whole=True) for name in further),
        ]
        rows = []
        for mode in [*self.baselines, *shown]:
            figure = self._figure(measure, mode)
            for baseline in self.baselines[:1] if mode in self.baselines else self.baselines:
                entry = entries.get((mode, baseline))
                mean = replace(figure.as_cell({}, decimals), detail="")
                rows.append(
                    [
                        Cell(self.labels[mode] if modes is None else cut_middle(self.labels[mode])),
                        *([Cell("–" if entry is None else self.labels[baseline])] * several),
                        mean,
                        *_difference_cells(entry, decimals),
                        *(self._brief_cell(name, mode, decimals) for name in further),
                    ]
                )
        return TextTable.of(header, rows)

    def _brief_cell(self, measure: str, mode: str, decimals: int | None) -> Cell:
        """Return a mean, with ``*`` if it differs significantly from the only baseline."""
        figure = self._figure(measure, mode)
        marked = len(self.baselines) == 1 and any(
            one.contrast == mode and one.significant for one in self.differences.get(measure, ())
        )
        return replace(figure.as_cell({}, decimals), detail="", marks="*" if marked else "")

    def brief(self, primary: str, modes: Sequence[str]) -> TextTable:
        """Return a line per mode, with the interval of the primary measure or of its difference.

        Args:
            primary: The primary measure.
            modes: The modes to show, in order.
        """
        others = [name for name in self.cells if name != primary]
        if self.differences.get(primary):
            return self.against_baseline(primary, others, modes)
        first = TableColumn(Cell(self.noun.capitalize()), widest=28)
        interval = TableColumn(Cell("Interval"), whole=True)
        measures = [TableColumn(Cell(name), right=True, whole=True) for name in (primary, *others)]
        rows = []
        for mode in modes:
            figures = {name: self._figure(name, mode) for name in (primary, *others)}
            means = [Cell(show(one.mean), count=one.n_text) for one in figures.values()]
            shown = Cell(show_ci(figures[primary].ci) or "–")
            rows.append([Cell(cut_middle(self.labels[mode])), means[0], shown, *means[1:]])
        return TextTable.of([first, measures[0], interval, *measures[1:]], rows)

    def _figure(self, measure: str, mode: str) -> ShownMean:
        return self.cells[measure][list(self.labels).index(mode)]

    @property
    def paper_letters(self) -> dict[str, str]:
        """The letter of each mode in a table for a paper."""
        return self.letters(ascii_lowercase)

    @property
    def paper_notes(self) -> list[str]:
        """The explanations below a table for a paper: means, intervals, letters and method."""
        method = [self.method] if self.method else []
        if self.baselines:
            return [*self.difference_notes(self.headline[:1]), *method]
        notes = [self.note, *(line for line in self.legend if line.startswith(NARROW))]
        if self.paper_letters:
            notes.append(f"A letter: significantly better than the {self.noun} with that letter.")
        elif self.test:
            notes.append(LETTERS_ELSEWHERE)
        return [*notes, *method]

    def difference_notes(self, measures: Sequence[str]) -> list[str]:
        """Return the explanations below :meth:`against_baseline` for these measures."""
        entries = [one for name in measures for one in self.differences[name]]
        notes = dict.fromkeys(one.ci.note for one in entries if one.ci is not None and one.ci.note)
        about_means = (self.note, *(line for line in self.legend if line.startswith(NARROW)))
        others = [line for line in self.legend if line not in about_means]
        return [*(f"{NARROW} {note}." for note in notes), *others]

    def for_paper(self, layout: Layout) -> TextTable:
        """Return the headline measures, with the letter of each mode in its heading.

        With a baseline: the differences on the first headline measure, and the means of the others.
        """
        if self.baselines and self.headline and self.differences.get(self.headline[0]):
            further = self.headline[1:]
            table = self.against_baseline(self.headline[0], further, decimals=layout.decimals)
            heading = self.noun.capitalize()
            return table.transposed(heading) if layout.systems == "columns" else table
        table = self.means("Measure", self.headline, self.paper_letters, layout.decimals)
        modes = len(self.labels)
        if layout.systems is None:
            return fold(table, modes, self.noun.capitalize())
        return table.transposed(self.noun.capitalize()) if layout.systems == "rows" else table


def cut_middle(text: str, longest: int = 28) -> str:
    """Return a text without its middle, if it is long; the ends of names differ."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[len(text) - half + 1 :]}"


def _difference_cells(entry: Comparison | None, decimals: int | None) -> list[Cell]:
    """Return a difference, its interval, its adjusted p-value, and queries won, tied and lost."""
    if entry is None or entry.difference is None:
        return [Cell("–")] * 4
    digits = 4 if decimals is None else decimals
    interval = show_ci(entry.ci, "+", decimals=3 if decimals is None else decimals)
    return [
        Cell(
            show(entry.difference, "+", decimals=digits),
            marks="*" if entry.significant else "",
            value=entry.difference,
        ),
        Cell(interval or "–"),
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
    names = report.measure_names if measures is None else _choose(report, measures)
    beaten = _find_beaten(report)
    cells = {
        measure: tuple(_figure(report, mode, measure, beaten) for mode in report.modes)
        for measure in names
    }
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
        best={} if baselines else {measure: _best_cell(report, measure) for measure in names},
        headline=tuple(report.headline_measures if measures is None else names),
    )
    return replace(table, legend=_legend(report, table))


def _choose(report: BenchmarkReport, measures: Sequence[str]) -> list[str]:
    """Return the report's names of measures in any spelling."""
    found = {one: report.find_measure(one) for one in measures}
    for requested, name in found.items():
        if name is None:
            raise UsageError(
                f"the report has no measure '{requested}'",
                remedy=f"it has {', '.join(report.measure_names)}",
            )
    return list(dict.fromkeys(name for name in found.values() if name is not None))


def describe_dataset(report: BenchmarkReport) -> str:
    """Return the dataset with its number of queries, on one line."""
    dataset = report.manifest.dataset
    parts = [plural(dataset.queries, "query", "queries")]
    if dataset.id:
        parts.insert(0, dataset.id)
    return " · ".join(parts)


def _figure(
    report: BenchmarkReport, mode: str, measure: str, beaten: Mapping[tuple[str, str], set[str]]
) -> ShownMean:
    figures = report.modes[mode].measures[measure]
    means = [other.measures[measure].mean for other in report.modes.values()]
    defined = [mean for mean in means if mean is not None]
    best = (max if report.higher_is_better(measure) else min)(defined, default=None)
    ranked = len(set(means)) > 1 and measure not in report.unranked and not report.is_sum(measure)
    worse = beaten.get((mode, measure), set())
    return ShownMean(
        mode=mode,
        measure=measure,
        mean=figures.mean,
        ci=figures.ci,
        level=report.confidence,
        n=figures.n,
        of_all=figures.n == report.manifest.dataset.queries and measure not in report.unranked,
        best=ranked and figures.mean is not None and figures.mean == best,
        better_than=tuple(other for other in report.modes if other in worse),
    )


def _find_beaten(report: BenchmarkReport) -> dict[tuple[str, str], set[str]]:
    """Find, by mode and measure, the modes that it is significantly better than.

    Measures with means over different queries are omitted: the difference is over the queries that
    both modes define, so a mark next to the means would be about other queries.
    """
    beaten: dict[tuple[str, str], set[str]] = {}
    for entry in report.comparisons:
        if entry.measure in report.unranked or not entry.significant or not entry.difference:
            continue
        modes = [entry.contrast, entry.baseline]
        if (entry.difference > 0) != report.higher_is_better(entry.measure):
            modes.reverse()
        beaten.setdefault((modes[0], entry.measure), set()).add(modes[1])
    return beaten


def _best_cell(report: BenchmarkReport, measure: str) -> Cell:
    best = report.best_mode[measure]
    if best is None:
        ranked = len(report.modes) > 1 and measure not in report.unranked
        ranked = ranked and not report.is_sum(measure)
        return Cell("tie" if ranked else "–")
    mark = AHEAD_OF_ALL if report.best_mode_significant[measure] else NOT_AHEAD_OF_ALL
    return Cell(report.modes[best].label, marks=mark)


def _describe_methods(intervals: Iterable[ConfidenceInterval]) -> str:
    """Describe the methods of intervals: ``BCa bootstrap, 10,000 resamples; Wilson``."""
    resamples = {ci.method: ci.resamples for ci in intervals}
    return "; ".join(
        f"{method}, {count:,} resamples of the queries" if count else method
        for method, count in resamples.items()
    )


def _legend(report: BenchmarkReport, table: ComparisonTable) -> list[str]:
    shown = [mode.measures[name].ci for mode in report.modes.values() for name in table.cells]
    intervals = [ci for ci in shown if ci is not None]
    if not intervals:
        alone = report.manifest.dataset.queries < 2
        because = ", because there is only one query" if alone else ""
        lines = [f"Mean. There are no intervals{because}."]
    else:
        level = intervals[0].level
        lines = [f"Mean with its {level * 100:g}% interval ({_describe_methods(intervals)})."]
    notes = dict.fromkeys(ci.note for ci in intervals if ci.note)
    lines += [f"{NARROW} {note}." for note in notes]
    lines.append(denominator_line(report, table.cells))
    sums = [name for name in table.cells if report.is_sum(name)]
    if sums:
        lines.append(f"Sums over the queries, which are not compared: {', '.join(sums)}.")
    if len(report.modes) < 2:
        return lines
    unranked = [name for name in table.cells if name in report.unranked]
    if len(unranked) < len(table.cells):
        lines[0] += " Bold: best mean."
    if unranked:
        lines.append(
            f"Not ranked, because their means are over different queries (n): "
            f"{', '.join(unranked)}."
        )
    beaten = {mode for row in table.cells.values() for cell in row for mode in cell.better_than}
    if table.baselines:
        return [*lines, *_baseline_lines(report, table)]
    named = ", ".join(
        f"{letter} {table.labels[mode]}"
        for mode, letter in table.letters().items()
        if mode in beaten
    )
    if named:
        lines.append(f"Significantly above: {named}.")
    elif table.test:
        lines.append(LETTERS_ELSEWHERE)
    meanings = {AHEAD_OF_ALL: "", NOT_AHEAD_OF_ALL: "not "}
    used = {cell.marks for cell in table.best.values()}
    ahead = f"significantly ahead of every other {report.noun}"
    marks = [f"{mark}: {word}{ahead}" for mark, word in meanings.items() if mark in used]
    return [*lines, f"{'; '.join(marks)}."] if marks else lines


LETTERS_ELSEWHERE = (
    "There are too many modes for letters: the column better_than of the CSV table, and the "
    "comparisons in the JSON, name the significant differences."
)


def _baseline_lines(report: BenchmarkReport, table: ComparisonTable) -> list[str]:
    """Explain the columns of a table with a baseline."""
    entry = next(iter(report.comparisons), None)
    if entry is None:
        return []
    names = " or ".join(table.labels[mode] for mode in table.baselines)
    line = f"Δ: mean minus that of {names}, with its interval. W/T/L: queries won, tied and lost. "
    return [f"{line}*: significant.", describe_difference_intervals(entry)]
