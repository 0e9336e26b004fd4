"""A comparison table for people: Markdown, and LaTeX for papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from string import ascii_lowercase

from trectools_plus.reporting.comparison_table import show
from trectools_plus.reporting.markdown_text import escape, plain, table
from trectools_plus.reporting.tables import ReportTable, TableCell

MOST_COLUMNS = 5
"""With more modes than this, modes become rows."""

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "·": r"\textperiodcentered{}",
    "–": "--",
    "−": r"\(-\)",
    "≤": r"\(\leq\)",
    "≥": r"\(\geq\)",
}

Mark = Callable[[str], str]


def table_as_markdown(report_table: ReportTable) -> str:
    """The table as Markdown: mean, interval, letters of the modes that are significantly worse."""
    grid = _grid(report_table, _markdown_cell, lambda letters: f"<sup>{letters}</sup>", _harmless)
    notes = [_harmless(note) for note in (report_table.title, *_notes(report_table))]
    return table(grid[0], grid[1:]) + "\n\n" + "\n\n".join(notes) + "\n"


def table_as_latex(report_table: ReportTable) -> str:
    r"""The table as LaTeX, for ``\usepackage{booktabs}``: intervals below the means."""
    grid = _grid(report_table, _latex_cell, _latex_mark, escape_latex)
    caption = escape_latex(" ".join([f"{report_table.title}.", *_notes(report_table)]))
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{caption}}}",
        rf"  \begin{{tabular}}{{l{'c' * (len(grid[0]) - 1)}}}",
        r"    \toprule",
        f"    {_latex_row(grid[0])}",
        r"    \midrule",
    ]
    for row in grid[1:]:
        # A cell of two lines becomes two rows: \makecell would ask for one more package.
        halves = [cell.split("\n") for cell in row]
        lines += [f"    {_latex_row(line)}" for line in zip_longest(*halves, fillvalue="")]
    lines += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def escape_latex(text: str) -> str:
    """Text from outside as LaTeX on one line: no command, no comment, no formula."""
    return " ".join("".join(_LATEX.get(sign, sign) for sign in text).split())


def _grid(
    report_table: ReportTable,
    show_cell: Callable[[TableCell, str], str],
    mark: Mark,
    clean: Callable[[str], str],
) -> list[list[str]]:
    """Header and rows: modes as columns, or as rows when there are many."""
    letters = _letters(report_table)
    modes = [
        clean(label) + (mark(letters[mode]) if mode in letters else "")
        for mode, label in report_table.labels.items()
    ]
    grid = [["Metric", *modes]]
    for measure, cells in report_table.cells.items():
        marks = [
            "".join(letters[other] for other in cell.better_than if other in letters)
            for cell in cells
        ]
        shown = [
            show_cell(cell, mark(letters) if letters else "")
            for cell, letters in zip(cells, marks, strict=True)
        ]
        grid.append([clean(measure), *shown])
    if len(modes) > MOST_COLUMNS:
        grid = [list(column) for column in zip(*grid, strict=True)]
        grid[0][0] = "Mode"
    return grid


def _letters(report_table: ReportTable) -> dict[str, str]:
    """The letter of each mode; none where nothing is marked, or letters run out."""
    if not report_table.has_marks or len(report_table.labels) > len(ascii_lowercase):
        return {}
    return dict(zip(report_table.labels, ascii_lowercase, strict=False))


def _notes(report_table: ReportTable) -> list[str]:
    if not _letters(report_table):
        return [report_table.note]
    mark = f"A letter: significantly better than the mode with that letter ({report_table.test})."
    return [report_table.note, mark]


def _interval(cell: TableCell) -> str:
    if cell.low is None or cell.high is None:
        return ""
    return f"[{cell.low:.3f}, {cell.high:.3f}]"


def _count(cell: TableCell) -> str:
    return f"({cell.n_text})" if cell.n_text else ""


def _harmless(text: str) -> str:
    return plain(escape(text))


def _markdown_cell(cell: TableCell, mark: str) -> str:
    text = " ".join(part for part in (show(cell.mean), _interval(cell), _count(cell)) if part)
    return (f"**{text}**" if cell.best else text) + mark


def _latex_cell(cell: TableCell, mark: str) -> str:
    mean = escape_latex(show(cell.mean))
    mean = (rf"\textbf{{{mean}}}" if cell.best else mean) + mark
    interval = " ".join(part for part in (_interval(cell), _count(cell)) if part)
    return f"{mean}\n{{\\scriptsize {interval}}}" if interval else mean


def _latex_mark(letters: str) -> str:
    return rf"\textsuperscript{{{letters}}}"


def _latex_row(cells: Sequence[str]) -> str:
    # Behind a line's end LaTeX would take a bracket or a star for an option of it.
    guard = "{}" if cells[0].startswith(("[", "*")) else ""
    return guard + " & ".join(cells) + r" \\"
