"""The comparison of a report as a file: Markdown, LaTeX, CSV, JSON or Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from string import ascii_lowercase

import polars as pl
from pydantic import BaseModel

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
    """Return the table as Markdown: mean, interval, letters of significantly worse modes."""
    table = comparison.for_paper(ascii_lowercase)
    notes = [harmless(note) for note in (comparison.title, *_notes(comparison))]
    return render_table(table, show_superscript) + "\n\n" + "\n\n".join(notes) + "\n"


def table_as_latex(comparison: ComparisonTable) -> str:
    r"""Return the table as LaTeX for ``\usepackage{booktabs}``, with intervals below the means.

    Args:
        comparison: From :func:`report_table`.
    """
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
        # A cell of two lines becomes two rows: \makecell would need another package.
        halves = [_latex_cell(cell).split("\n") for cell in row.cells]
        lines += [f"    {_latex_row(line)}" for line in zip_longest(*halves, fillvalue="")]
    return [*lines, r"    \bottomrule", r"  \end{tabular}"]


def escape_latex(text: str) -> str:
    """Return text from outside as LaTeX on one line, without commands, comments and formulas."""
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
    below = " ".join(filter(None, (cell.detail, cell.bracketed_count)))
    return f"{text}\n{{\\scriptsize {below}}}" if below else text


def _latex_row(cells: Sequence[str]) -> str:
    # After the end of a line, LaTeX reads a bracket or a star as its option.
    guard = "{}" if cells[0].startswith(("[", "*")) else ""
    return guard + " & ".join(cells) + r" \\"


def table_as_frame(comparison: ComparisonTable) -> pl.DataFrame:
    """Return the table as a Polars frame with a row per mode and measure."""
    rows = [
        {key: value for key, value in asdict(cell).items() if key in _SCHEMA}
        | {"label": comparison.labels[cell.mode]}
        for cells in comparison.cells.values()
        for cell in cells
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def table_as_csv(comparison: ComparisonTable) -> str:
    """Return the table as CSV with a row per mode and measure.

    Undefined values are empty, and ``better_than`` is joined with semicolons. Floats have their
    shortest exact representation.

    Args:
        comparison: From :func:`report_table`.
    """
    return table_as_frame(comparison).with_columns(pl.col("better_than").list.join(";")).write_csv()


def table_as_json(comparison: ComparisonTable) -> str:
    """Return the frame as a JSON list of objects; undefined values are null."""
    return json.dumps(table_as_frame(comparison).to_dicts(), indent=2, ensure_ascii=False) + "\n"


_TEXTS = {
    ".md": table_as_markdown,
    ".tex": table_as_latex,
    ".csv": table_as_csv,
    ".json": table_as_json,
}


def write_table(table: ComparisonTable, *paths: str | Path) -> None:
    """Write a table into one or several files; the suffix of each decides its format.

    Args:
        table: From :func:`report_table`.
        paths: The files. ``.md`` and ``.tex`` have a row per measure; ``.csv``, ``.json`` and
            ``.parquet`` have a row per mode and measure.

    Raises:
        UsageError: If a file has another suffix; then no file is written.
        InputError: If a file cannot be written.
    """
    suffixes = [Path(path).suffix.lower() for path in paths]
    for path, suffix in zip(paths, suffixes, strict=True):
        if suffix != ".parquet" and suffix not in _TEXTS:
            raise UsageError(
                f"unsupported table format: {suffix or 'a file without suffix'}",
                where=str(path),
                remedy=f"use {', '.join(_TEXTS)} or .parquet",
            )
    for path, suffix in zip(paths, suffixes, strict=True):
        if suffix == ".parquet":
            with atomic_write(path, "wb") as stream:
                table_as_frame(table).write_parquet(stream)
        else:
            with atomic_write(path) as stream:
                stream.write(_TEXTS[suffix](table))


def render_json(report: BaseModel) -> str:
    """Return the report as JSON, indented by two spaces.

    Floats have their shortest exact representation.

    Args:
        report: The report of a benchmark, of languages or of an extraction.
    """
    return report.model_dump_json(indent=2) + "\n"
