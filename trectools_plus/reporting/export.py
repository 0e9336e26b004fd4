"""The comparison of a report as a file: Markdown, LaTeX, HTML, CSV, JSON or Parquet."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from html import escape
from pathlib import Path

import polars as pl
from pydantic import BaseModel

from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.writing import write_parquet
from trectools_plus.reporting.comparison import ComparisonTable, Layout
from trectools_plus.reporting.latex import DEFAULT_LAYOUT, table_as_latex
from trectools_plus.reporting.markdown.tables import harmless, render_table, show_superscript
from trectools_plus.reporting.table import Cell, Table
from trectools_plus.statistics.comparison import Comparison, ends_of

_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;"
    "max-width:70rem;padding:0 1rem}main{overflow-x:auto}h1{font-size:1.2rem}"
    "table{border-collapse:collapse;border-block:2px solid}thead{border-bottom:1px solid}"
    "th,td{padding:.3rem .8rem;text-align:center}th:first-child{text-align:left}"
    "tbody th{font-weight:normal}p{font-size:.85rem}"
)
_FORMULA = r"^'*[=+@\-\t\r\n＝＋－＠]"
"""Texts that spreadsheet programs run as formulas, also in East Asian input; and those texts with
apostrophes before them."""
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
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
_DIFFERENCE_SCHEMA: dict[str, pl.DataType] = {
    "difference": pl.Float64(),
    "difference_low": pl.Float64(),
    "difference_high": pl.Float64(),
    "p_adjusted": pl.Float64(),
    "significant": pl.Boolean(),
    "borderline": pl.Boolean(),
    "wins": pl.Int64(),
    "ties": pl.Int64(),
    "losses": pl.Int64(),
}


def table_as_markdown(comparison: ComparisonTable, layout: Layout = DEFAULT_LAYOUT) -> str:
    """Return the table as Markdown: mean, interval, letters of significantly worse modes.

    Args:
        comparison: From :func:`report_table`.
        layout: Systems as rows or columns, decimals and caption.
    """
    table = render_table(comparison.for_paper(layout), show_superscript)
    notes = [layout.caption or comparison.title, *comparison.paper_notes]
    return "\n\n".join([table, *map(harmless, notes)]) + "\n"


def table_as_html(comparison: ComparisonTable, layout: Layout = DEFAULT_LAYOUT) -> str:
    """Return the table as a page of HTML: mean, interval, letters of significantly worse modes.

    Args:
        comparison: From :func:`report_table`.
        layout: Systems as rows or columns, decimals and caption.
    """
    title = escape(layout.caption or comparison.title)
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in comparison.paper_notes)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n{html_of_table(comparison.for_paper(layout))}\n{notes}</main>\n"
        "</body>\n</html>\n"
    )


def html_of_table(table: Table, caption: str = "") -> str:
    """Return a table as an HTML element; the best cells are bold, and marks are superscripts."""
    above = f"<caption>{escape(caption)}</caption>\n" if caption else ""
    head = "".join(f'<th scope="col">{_html_cell(one.heading)}</th>' for one in table.columns)
    rows = "".join(
        f'<tr><th scope="row">{_html_cell(row.cells[0])}</th>'
        + "".join(f"<td>{_html_cell(cell)}</td>" for cell in row.cells[1:])
        + "</tr>\n"
        for row in table.rows
    )
    return f"<table>\n{above}<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"


def _html_cell(cell: Cell) -> str:
    text = escape(cell.text)
    text = f"<strong>{text}</strong>" if cell.best else text
    text += f"<sup>{escape(cell.marks)}</sup>" if cell.marks else ""
    below = escape(" ".join(filter(None, (cell.detail, cell.bracketed_count))))
    return f"{text}<br/><small>{below}</small>" if below else text


def table_as_frame(comparison: ComparisonTable) -> pl.DataFrame:
    """Return the table as a Polars frame with a row per mode and measure.

    With one baseline, further columns have the difference from it; null for the baseline itself.
    """
    with_baseline = len(comparison.baselines) == 1
    entries = {
        (one.contrast, name): one
        for name, found in comparison.differences.items()
        for one in found
        if with_baseline
    }
    rows = [
        {key: value for key, value in asdict(cell).items() if key in _SCHEMA}
        | {"label": comparison.labels[cell.mode]}
        | _difference_values(entries.get((cell.mode, cell.measure)))
        for cells in comparison.cells.values()
        for cell in cells
    ]
    schema = {**_SCHEMA, **(_DIFFERENCE_SCHEMA if with_baseline else {})}
    return pl.DataFrame(rows, schema=schema)


def _difference_values(entry: Comparison | None) -> dict[str, float | int | bool | None]:
    """Return the values of the columns of a difference; empty without a comparison."""
    if entry is None:
        return {}
    low, high = ends_of(entry.ci)
    return {
        "difference": entry.difference,
        "difference_low": low,
        "difference_high": high,
        "p_adjusted": entry.p_adjusted,
        "significant": entry.significant,
        "borderline": entry.borderline,
        "wins": entry.wins,
        "ties": entry.ties,
        "losses": entry.losses,
    }


def table_as_csv(comparison: ComparisonTable) -> str:
    """Return the table as CSV with a row per mode and measure.

    Undefined values are empty, and ``better_than`` is joined with semicolons. Floats have their
    shortest exact representation. Texts are safe for spreadsheets; see :func:`frame_as_csv`.

    Args:
        comparison: From :func:`report_table`.
    """
    return frame_as_csv(
        table_as_frame(comparison).with_columns(pl.col("better_than").list.join(";"))
    )


def frame_as_csv(frame: pl.DataFrame) -> str:
    """Return a table as CSV that a spreadsheet program opens without running its texts as formulas.

    A text that starts with ``=``, ``+``, ``-``, ``@``, a tab or a line break, and is not a number,
    gets an apostrophe before it; so does a text that has such an apostrophe already. Removing one
    apostrophe before these characters restores every text.
    """
    texts = [pl.col(name) for name, kind in frame.schema.items() if kind == pl.String]
    return frame.with_columns(
        pl.when(text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER))
        .then(pl.concat_str(pl.lit("'"), text))
        .otherwise(text)
        .alias(text.meta.output_name())
        for text in texts
    ).write_csv()


def table_as_json(comparison: ComparisonTable) -> str:
    """Return the frame as a JSON list of objects; undefined values are null."""
    return json.dumps(table_as_frame(comparison).to_dicts(), indent=2, ensure_ascii=False) + "\n"


_TEXTS: dict[str, Callable[[ComparisonTable, Layout], str]] = {
    ".md": table_as_markdown,
    ".tex": table_as_latex,
    ".html": table_as_html,
    ".csv": lambda table, _: table_as_csv(table),
    ".json": lambda table, _: table_as_json(table),
}


def write_table(
    table: ComparisonTable, *paths: str | Path, layout: Layout = DEFAULT_LAYOUT
) -> None:
    """Write a table into one or several files; the suffix of each decides its format.

    Args:
        table: From :func:`report_table`.
        paths: The files. ``.tex``, ``.md`` and ``.html`` have the layout; ``.csv``, ``.json`` and
            ``.parquet`` have a row per mode and measure.
        layout: Systems as rows or columns, decimals, caption and label.

    Raises:
        UsageError: If a file has another suffix; then no file is written.
        InputError: If a file cannot be written.
    """
    check_suffixes(*paths)
    for path in paths:
        suffix = Path(path).suffix.lower()
        if suffix == ".parquet":
            write_parquet(table_as_frame(table), path)
        else:
            with atomic_write(path) as stream:
                stream.write(_TEXTS[suffix](table, layout))


def check_suffixes(*paths: str | Path) -> None:
    """Check that the suffix of every file is one of a table.

    Raises:
        UsageError: If one is not.
    """
    for path in paths:
        suffix = Path(path).suffix.lower()
        if suffix != ".parquet" and suffix not in _TEXTS:
            raise UsageError(
                f"unsupported table format: {suffix or 'a file without suffix'}",
                where=str(path),
                remedy=f"use {', '.join(_TEXTS)} or .parquet",
            )


def render_json(report: BaseModel) -> str:
    """Return the report as JSON, indented by two spaces.

    Floats have their shortest exact representation.

    Args:
        report: The report of a benchmark, of languages or of an extraction.
    """
    return report.model_dump_json(indent=2) + "\n"
