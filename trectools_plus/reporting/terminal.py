"""Tables in the terminal, and the report of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, TextIO

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.display import Cell, TableColumn, TableRow, TextTable
from trectools_plus.reporting.analyses import analysis_sections
from trectools_plus.reporting.comparison import BEST, ComparisonTable, ShownMean, report_table
from trectools_plus.reporting.wording import (
    component_lines,
    count_claims,
    denominator_line,
    equal_line,
    group_lines,
    language_lines,
    list_claims,
    method_line,
    mode_notes,
    near_sentence,
    numeric_columns,
    report_notes,
    show_interval,
    target_lines,
)
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.text import make_console, plural, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

MOST_LINES = 40
"""The greatest number of lines of a report, unless everything is printed."""
_PADDING = 3
_CELL_WIDTH = 14
_LABEL = 14
"""Characters of a label; a longer one is broken where columns would not fit otherwise."""
_LEAST_MODES = 3
"""At least so many modes are shown, however little room there is."""
_LEAST_NOTES = 6
"""Lines for notes below a table of modes that does not show all modes."""


def print_table(console: Console, table: TextTable) -> None:
    """Print a table; cells that are too wide are folded."""
    console.print(_as_rich(console, table))


def _as_rich(console: Console, table: TextTable) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable

    shown = RichTable(
        box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0)
    )
    numeric = numeric_columns([[cell.text for cell in row.cells] for row in table.rows])
    widths = [0] * len(table.columns)
    for place, column in enumerate(table.columns):
        cells = [row.cells[place] for row in table.rows]
        # Marks and intervals of different length would shift figures that are aligned on the right.
        if numeric and numeric[place] and any(cell.marks or cell.detail for cell in cells):
            widths[place] = max(len(cell.text) for cell in cells)
        shown.add_column(
            printable(column.name if column.short is None else column.short),
            justify="right"
            if column.right or (numeric and numeric[place] and not widths[place])
            else "left",
            overflow="ellipsis" if column.fills else "fold",
            no_wrap=column.whole or column.fills,
            max_width=_room_left(console, table, place) if column.fills else column.widest,
        )
    for row in table.rows:
        shown.add_row(
            *map(_as_text, row.cells, widths),
            style="bold red" if row.alarming else None,
            end_section=row.ends_section,
        )
    return shown


def _room_left(console: Console, table: TextTable, place: int) -> int:
    """Return the width of the console that the other columns of the table leave."""
    others = [other for other in range(len(table.columns)) if other != place]
    lines = [[column.name for column in table.columns]]
    lines += [[cell.text for cell in row.cells] for row in table.rows]
    return console.width - 2 - sum(max(len(line[at]) for line in lines) + 2 for at in others)


def _as_text(cell: Cell, width: int) -> Text:
    """Return a cell; its figure is aligned on the right of so many characters."""
    from rich.text import Text

    first = " ".join(filter(None, (printable(cell.text).rjust(width), cell.marks, cell.count)))
    text = Text(first, style="bold green" if cell.best else "")
    detail = printable(cell.detail, breaks=True)
    return text.append(f"\n{detail}", style="not bold dim default") if detail else text


def print_report(
    report: BenchmarkReport,
    stream: TextIO,
    *,
    width: int | None = None,
    full: bool = False,
    notes: bool = True,
    lines_after: int = 0,
) -> None:
    """Print the verdict, the table of the headline measures, and what to look at next.

    Args:
        report: The report.
        stream: The output; colours and bold text are used if it is a terminal.
        width: Characters per line; by default the width of the terminal, at most 100.
        full: Print all measures and all notes, on any number of lines.
        notes: Print what to look at next.
        lines_after: The number of lines that the caller prints afterwards. Together, there are at
            most :data:`MOST_LINES` lines without ``full``: modes and notes that do not fit are
            counted.
    """
    console = make_console(stream, width)
    if full:
        lines = _list_everything(console, report, notes=notes)
    else:
        lines = _list_headlines(console, report, MOST_LINES - lines_after, notes=notes)
    stream.write("".join(f"{line}\n" for line in lines))


def _list_everything(console: Console, report: BenchmarkReport, *, notes: bool) -> list[str]:
    """Return the lines with all measures, all notes and the analyses."""
    comparison = report_table(report, list(report.shown_measures))
    lines = _head(console, report, comparison)
    for measure, entries in comparison.differences.items():
        if entries:
            lines += [*_render(console, comparison.against_baseline(measure)), ""]
    for table in _tables(console, comparison):
        lines += [*_render(console, table), ""]
    for line in [*comparison.legend, equal_line(report)]:
        lines += _paragraph(console, line, "dim")
    if notes:
        for note in list_notes(report):
            lines += _item(console, note)
        for line in group_lines(report):
            lines += _item(console, f"No significant difference on {line}.")
        lines += _count_claims(console, report)
    for section in analysis_sections(report):
        lines += ["", *_paragraph(console, section.title, "bold")]
        lines += [*_render(console, section.table), *_paragraph(console, section.text, "dim")]
    return lines


def _list_headlines(
    console: Console, report: BenchmarkReport, most_lines: int, *, notes: bool
) -> list[str]:
    """Return at most so many lines with the headline measures, and the notes that fit."""
    comparison = report_table(report, report.headline_measures)
    lines, claims = _head(console, report, comparison), _count_claims(console, report)
    against = bool(comparison.differences.get(report.primary_measure))
    table = _measures_by_modes(comparison)
    fits = not against and _natural_width(console, table) <= console.width
    legend = comparison.legend
    if against:
        legend = comparison.difference_notes([report.primary_measure])
    elif not fits:
        legend = [comparison.note, denominator_line(report, comparison.cells)]
        if comparison.test:
            legend.append(
                f"Letters of significance: {'--all' if comparison.letters() else '--format json'}."
            )
    explained = [line for text in legend for line in _paragraph(console, text, "dim")]
    if fits:
        lines += _render(console, table)
    else:
        reserved = _LEAST_NOTES + len(claims) if notes else 0
        room = most_lines - len(lines) - len(explained) - reserved
        lines += _fit_modes(console, report, comparison, room)
    lines += explained
    if not notes:
        return lines
    return [*lines, *_fit_notes(console, report, most_lines - len(lines) - len(claims)), *claims]


def _head(console: Console, report: BenchmarkReport, comparison: ComparisonTable) -> list[str]:
    """Return the lines of the verdict and of the dataset."""
    lines = []
    if report.verdict is not None:
        lines += _paragraph(console, report.verdict.text, "bold")
    lines += _paragraph(console, method_line(report), "dim")
    return [*lines, "", *_paragraph(console, comparison.title, "dim")]


def _count_claims(console: Console, report: BenchmarkReport) -> list[str]:
    return ["", *_paragraph(console, count_claims(list_claims(report)), "dim")]


def _fit_notes(console: Console, report: BenchmarkReport, room: int) -> list[str]:
    """Return the notes that fit into so many lines, and the number of the others."""
    notes = list_notes(report)
    lines = ["", "Look at next:"]
    for place, note in enumerate(notes):
        shown = _item(console, note)
        others = len(notes) - place
        if len(lines) + len(shown) + (others > 1) > room:
            return [*lines, f"- {plural(others, 'more note')}: --all"] if len(lines) < room else []
        lines += shown
    return lines if notes else []


def _fit_modes(
    console: Console, report: BenchmarkReport, comparison: ComparisonTable, room: int
) -> list[str]:
    """Return the lines of a table with modes as rows, as many as fit, the best first.

    Columns that exceed the width follow below.
    """
    baselines = comparison.baselines
    order = _best_first(report, [mode for mode in comparison.labels if mode not in baselines])
    for count in range(min(len(order), max(_LEAST_MODES, room)), 0, -1):
        if comparison.differences.get(report.primary_measure):
            others = [name for name in comparison.cells if name != report.primary_measure]
            table = comparison.against_baseline(report.primary_measure, others, order[:count])
        else:
            table = _headlines_by_mode(console, report, comparison, order[:count])
        lines = _render_blocks(console, table, 2 if len(baselines) > 1 else 1)
        rest = len(order) - count
        if rest:
            lines.append(f"… {plural(rest, f'more {report.noun}')}: --all")
        if len(lines) <= room or count <= _LEAST_MODES:
            return lines
    return []


def _best_first(report: BenchmarkReport, modes: list[str]) -> list[str]:
    """Return the modes by their mean on the primary measure; unchanged if they are not ranked."""
    measure = report.primary_measure
    if measure in report.unranked or report.is_sum(measure):
        return modes
    sign = -1.0 if report.higher_is_better(measure) else 1.0
    means = {mode: report.modes[mode].measures[measure].mean for mode in modes}
    undefined = float("inf")
    return sorted(
        modes, key=lambda mode: undefined if (mean := means[mode]) is None else sign * mean
    )


def _headlines_by_mode(
    console: Console, report: BenchmarkReport, comparison: ComparisonTable, modes: Sequence[str]
) -> TextTable:
    """Return a table of modes by headline measures, one line per mode.

    The interval of the primary measure has its own column if there is room for it.
    """
    places = [list(comparison.labels).index(mode) for mode in modes]

    def table(*, with_interval: bool) -> TextTable:
        header = [TableColumn(Cell(report.noun.capitalize()), widest=28)]
        columns: list[list[Cell]] = []
        for measure, cells in comparison.cells.items():
            header.append(TableColumn(Cell(measure), right=True, whole=True))
            columns.append([_brief_cell(cells[place]) for place in places])
            if with_interval and measure == report.primary_measure:
                header.append(
                    TableColumn(Cell(f"{report.confidence * 100:g}% interval"), whole=True)
                )
                shown = (show_interval(*ends_of(cells[place].ci)) for place in places)
                columns.append([Cell(text or "–") for text in shown])
        labels = [Cell(comparison.labels[mode]) for mode in modes]
        return TextTable.of(header, [list(row) for row in zip(labels, *columns, strict=True)])

    full = table(with_interval=True)
    return full if _natural_width(console, full) <= console.width else table(with_interval=False)


def _brief_cell(figure: ShownMean) -> Cell:
    """Return a mean without its interval and marks."""
    return replace(figure.as_cell({}), detail="", marks="")


def _natural_width(console: Console, table: TextTable) -> int:
    """Return the width at which no line of the table is broken."""
    from rich.measure import Measurement

    options = console.options.update(max_width=10_000)
    return Measurement.get(console, options, _as_rich(console, table)).maximum


def _render_blocks(console: Console, table: TextTable, first: int) -> list[str]:
    """Return the lines of a table; columns that exceed the width follow in further tables."""
    labels, others = table.columns[:first], table.columns[first:]
    narrow = replace(table, columns=(*(replace(one, widest=_LABEL) for one in labels), *others))
    lines: list[str] = []
    for block in narrow.blocks(lambda one: _natural_width(console, one) <= console.width, first):
        block = replace(block, columns=(*labels, *block.columns[first:]))
        lines += [*([""] if lines else []), *_render(console, block)]
    return lines


def _render(console: Console, table: TextTable) -> list[str]:
    """Return the lines of a table, without the blank lines around it."""
    with console.capture() as capture:
        print_table(console, table)
    lines = capture.get().rstrip("\n").split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip() for line in lines]


def _paragraph(console: Console, text: str, style: str | None = None) -> list[str]:
    """Return the lines of a text; empty for an empty text."""
    if not text:
        return []
    with console.capture() as capture:
        console.print(text, style=style)
    return [line.rstrip() for line in capture.get().rstrip("\n").split("\n")]


def _item(console: Console, text: str) -> list[str]:
    """Return the lines of an item of a list, of which all but the first are indented."""
    from rich.padding import Padding

    with console.capture() as capture:
        console.print(Padding(text, (0, 0, 0, 2)))
    first, *others = capture.get().rstrip("\n").split("\n")
    return [f"- {first[2:].rstrip()}", *(line.rstrip() for line in others)]


def _measures_by_modes(comparison: ComparisonTable) -> TextTable:
    """Return the table of measures by modes, with the marks of the best modes below them."""
    table = comparison.by_measure()
    if not comparison.best:
        return table
    rows = [
        replace(row, cells=(*row.cells[:-1], _split_marks(row.cells[-1]))) for row in table.rows
    ]
    return TextTable(table.columns, tuple(rows))


def _split_marks(cell: Cell) -> Cell:
    """Return the best mode with its mark below."""
    return Cell(cell.text, detail=cell.marks)


def _tables(console: Console, comparison: ComparisonTable) -> list[TextTable]:
    """Return one table of measures by modes; if it is too wide, tables of modes by measures."""
    table = _measures_by_modes(comparison)
    if _natural_width(console, table) <= console.width:
        return [table]
    measures = list(comparison.cells)
    labels = list(comparison.labels.values())
    names = min(max(map(len, labels)), 28) + _PADDING
    fitting = max(1, (console.width - names) // (_CELL_WIDTH + _PADDING))
    # Distribute the measures evenly, so that no table has only one or two.
    size = ceil(len(measures) / ceil(len(measures) / fitting))
    return [
        _modes_by_measures(comparison, measures[start : start + size])
        for start in range(0, len(measures), size)
    ]


def _modes_by_measures(comparison: ComparisonTable, measures: Sequence[str]) -> TextTable:
    """Return a table with modes as rows, and the best modes with their marks below a line."""
    noun = comparison.noun.capitalize()
    table = comparison.by_measure(measures).transposed(noun)
    first = TableColumn(Cell(noun), widest=28)
    if not table.rows[-1].cells[0].text.startswith(BEST):
        return TextTable((first, *table.columns[1:]), table.rows)
    *modes, last, best = table.rows
    split = [best.cells[0], *map(_split_marks, best.cells[1:])]
    rows = (*modes, replace(last, ends_section=True), TableRow(tuple(split)))
    return TextTable((first, *table.columns[1:]), rows)


def list_notes(report: BenchmarkReport) -> list[str]:
    """Return what to look at next, the most important first, a sentence or two each."""
    notes = report_notes(report)
    notes += [f"{subject}: {text}." for subject, text in mode_notes(report)]
    notes += [] if report.verdict is None else report.verdict.next_steps
    notes += target_lines(report)
    notes += component_lines(report)
    notes += language_lines(report)
    notes += [near_sentence(report)] if report.near_misses else []
    return notes
