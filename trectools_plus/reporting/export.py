"""The comparison of a report as a file: Markdown, LaTeX for papers, CSV, JSON and Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from string import ascii_lowercase

import polars as pl

from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.reporting.comparison import ComparisonTable
from trectools_plus.reporting.markdown.tables import harmless, render_table, show_superscript
from trectools_plus.reporting.table import Cell, Table

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

_SCHEMA: dict[str, pl.DataType] = {
    "mode": pl.String(),
    "label": pl.String(),
    "measure": pl.String(),
    "mean": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "level": pl.Float64(),
    "n": pl.Int64(),
    "best": pl.Boolean(),
    "better_than": pl.List(pl.String()),
}


def table_as_markdown(comparison: ComparisonTable) -> str:
    """The table as Markdown: mean, interval, letters of the modes that are significantly worse."""
    table = comparison.for_paper(ascii_lowercase)
    notes = [harmless(note) for note in (comparison.title, *_notes(comparison))]
    return render_table(table, show_superscript) + "\n\n" + "\n\n".join(notes) + "\n"


def table_as_latex(comparison: ComparisonTable) -> str:
    r"""The table as LaTeX, for ``\usepackage{booktabs}``: intervals below the means."""
    caption = escape_latex(" ".join([f"{comparison.title}.", *_notes(comparison)]))
    return "\n".join(
        [
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{caption}}}",
            *_latex_lines(comparison.for_paper(ascii_lowercase)),
            r"\end{table}",
            "",
        ]
    )


def _latex_lines(table: Table) -> list[str]:
    lines = [
        rf"  \begin{{tabular}}{{l{'c' * (len(table.columns) - 1)}}}",
        r"    \toprule",
        f"    {_latex_row([_latex_cell(column.heading) for column in table.columns])}",
        r"    \midrule",
    ]
    for row in table.rows:
        # A cell of two lines becomes two rows: \makecell would ask for one more package.
        halves = [_latex_cell(cell).split("\n") for cell in row.cells]
        lines += [f"    {_latex_row(line)}" for line in zip_longest(*halves, fillvalue="")]
    return [*lines, r"    \bottomrule", r"  \end{tabular}"]


def escape_latex(text: str) -> str:
    """Text from outside as LaTeX on one line: no command, no comment, no formula."""
    return " ".join("".join(_LATEX.get(sign, sign) for sign in text).split())


def _notes(comparison: ComparisonTable) -> list[str]:
    if not comparison.letters(ascii_lowercase):
        return [comparison.note]
    mark = f"A letter: significantly better than the mode with that letter ({comparison.test})."
    return [comparison.note, mark]


def _latex_cell(cell: Cell) -> str:
    text = escape_latex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.best else text
    text += rf"\textsuperscript{{{cell.marks}}}" if cell.marks else ""
    below = " ".join(
        part for part in (cell.detail, f"({cell.count})" if cell.count else "") if part
    )
    return f"{text}\n{{\\scriptsize {below}}}" if below else text


def _latex_row(cells: Sequence[str]) -> str:
    # Behind a line's end LaTeX would take a bracket or a star for an option of it.
    guard = "{}" if cells[0].startswith(("[", "*")) else ""
    return guard + " & ".join(cells) + r" \\"


def table_as_frame(comparison: ComparisonTable) -> pl.DataFrame:
    """``mode, label, measure, mean, low, high, level, n, best, better_than``: a row per figure."""
    rows = [
        {key: value for key, value in asdict(cell).items() if key in _SCHEMA}
        | {"label": comparison.labels[cell.mode]}
        for cells in comparison.cells.values()
        for cell in cells
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def table_as_csv(comparison: ComparisonTable) -> str:
    """The frame as CSV: undefined is empty, ``better_than`` is joined with semicolons.

    Floats have their shortest exact spelling.
    """
    return table_as_frame(comparison).with_columns(pl.col("better_than").list.join(";")).write_csv()


def table_as_json(comparison: ComparisonTable) -> str:
    """The frame as a JSON list of objects; undefined is null."""
    return json.dumps(table_as_frame(comparison).to_dicts(), indent=2, ensure_ascii=False) + "\n"


def table_as_parquet(comparison: ComparisonTable, path: str | Path) -> None:
    """Write the frame as Parquet, whole or not at all.

    Raises:
        InputError: If the file cannot be written.
    """
    with atomic_write(path, "wb") as stream:
        table_as_frame(comparison).write_parquet(stream)


_TEXTS = {
    ".md": table_as_markdown,
    ".tex": table_as_latex,
    ".csv": table_as_csv,
    ".json": table_as_json,
}


def write_table(report_table: ComparisonTable, path: str | Path) -> None:
    """Write a table in the format of the file's ending: .md, .tex, .csv, .json or .parquet.

    Args:
        report_table: From :func:`trectools_plus.reporting.comparison.report_table`.
        path: Where to; the file is there whole or not at all.

    Raises:
        UsageError: If the ending is another one.
        InputError: If the file cannot be written.
    """
    write_tables(report_table, [path])


def write_tables(comparison: ComparisonTable, paths: Sequence[str | Path]) -> None:
    """Write a table into several files, each in the format of its ending.

    Raises:
        UsageError: If an ending is another one; nothing is written then.
        InputError: If a file cannot be written.
    """
    for path in paths:
        ending = _ending(path)
        if ending != ".parquet" and ending not in _TEXTS:
            raise UsageError(
                f"no table can be written as {ending or 'a file without ending'}",
                where=str(path),
                remedy=f"use {', '.join(_TEXTS)} or .parquet",
            )
    for path in paths:
        if _ending(path) == ".parquet":
            table_as_parquet(comparison, path)
        else:
            with atomic_write(path) as stream:
                stream.write(_TEXTS[_ending(path)](comparison))


def _ending(path: str | Path) -> str:
    return Path(path).suffix.lower()
