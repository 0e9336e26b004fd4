"""The comparison of a report as a file: Markdown, LaTeX, HTML, CSV, JSON or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
from pydantic import BaseModel

from trectools_plus.display import TextTable
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.writing import write_parquet
from trectools_plus.reporting.comparison import ComparisonTable, Layout
from trectools_plus.reporting.document import Heading, Paragraph, html_page, markdown
from trectools_plus.reporting.latex import PAGE_WIDTH, latex_document
from trectools_plus.statistics.comparison import Comparison, ends_of

DEFAULT_LAYOUT = Layout()
_KINDS = {
    ".md": "markdown",
    ".tex": "latex",
    ".html": "html",
    ".csv": "csv",
    ".json": "json",
    ".parquet": "parquet",
}
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
    "baseline": pl.String(),
    "difference": pl.Float64(),
    "difference_low": pl.Float64(),
    "difference_high": pl.Float64(),
    "p": pl.Float64(),
    "p_adjusted": pl.Float64(),
    "significant": pl.Boolean(),
    "wins": pl.Int64(),
    "ties": pl.Int64(),
    "losses": pl.Int64(),
}


def continued(table: TextTable, first: int = 1) -> Iterator[TextTable]:
    """Yield the columns of a table in parts of at most 100 characters a line.

    Args:
        table: The table.
        first: The number of columns that are repeated at the left.
    """
    return table.blocks(_fits_line, first)


def _fits_line(table: TextTable) -> bool:
    """Return whether the columns have at most 100 characters, with details beside the figures."""
    lines = [[column.heading for column in table.columns], *(row.cells for row in table.rows)]
    widths = ([len(f"{cell.marked} {cell.detail}".strip()) for cell in line] for line in lines)
    columns: list[int] = [max(column) for column in zip(*widths, strict=True)]
    return sum(columns) + 3 * len(columns) <= PAGE_WIDTH


def table_as_frame(comparison: ComparisonTable) -> pl.DataFrame:
    """Return the table as a Polars frame with a row per mode and measure.

    With one baseline, further columns have the difference from it; null for the baseline itself.
    """
    with_baseline = len(comparison.baselines) == 1
    entries = {
        (one.contrast, one.measure): _difference_values(one)
        for pairs in comparison.differences.values()
        for one in pairs
        if with_baseline
    }
    rows = [
        {
            "mode": cell.mode,
            "label": comparison.labels[cell.mode],
            "measure": cell.measure,
            "mean": cell.mean,
            **dict(zip(("low", "high"), ends_of(cell.ci), strict=True)),
            "level": cell.level,
            "n": cell.n,
            "best": cell.best,
            "better_than": cell.better_than,
            **entries.get((cell.mode, cell.measure), {}),
        }
        for cells in comparison.cells.values()
        for cell in cells
    ]
    schema = {**_SCHEMA, **(_DIFFERENCE_SCHEMA if with_baseline else {})}
    return pl.DataFrame(rows, schema=schema)


def _difference_values(entry: Comparison) -> dict[str, str | float | int | bool | None]:
    """Return the values of the columns of a difference."""
    low, high = ends_of(entry.ci)
    return {
        "baseline": entry.baseline,
        "difference": entry.difference,
        "difference_low": low,
        "difference_high": high,
        "p": entry.p,
        "p_adjusted": entry.p_adjusted,
        "significant": entry.significant,
        "wins": entry.wins,
        "ties": entry.ties,
        "losses": entry.losses,
    }


def table_with_pairs(comparison: ComparisonTable) -> pl.DataFrame:
    """Return the table of a file: the first column is ``run`` if runs are compared.

    Unless there is one baseline, a row per pair and measure follows: the run or mode, the measure,
    the ``baseline`` that is subtracted, and the columns of the difference.
    """
    frame = table_as_frame(comparison).rename({"mode": comparison.noun})
    rows = [
        {
            comparison.noun: entry.contrast,
            "label": comparison.labels[entry.contrast],
            "measure": entry.measure,
            "n": entry.n,
            **_difference_values(entry),
        }
        for entries in comparison.pairs.values()
        for entry in entries
    ]
    if not rows or len(comparison.baselines) == 1:
        return frame
    schema = {**frame.schema, **_DIFFERENCE_SCHEMA}
    return pl.concat([frame, pl.DataFrame(rows, schema=schema)], how="diagonal")


def table_as_csv(comparison: ComparisonTable) -> str:
    """Return the table of :func:`table_with_pairs` as CSV.

    Undefined values are empty, and ``better_than`` is joined with semicolons. Floats have their
    shortest exact representation. Texts are safe for spreadsheets; see :func:`frame_as_csv`.

    Args:
        comparison: From :func:`report_table`.
    """
    return frame_as_csv(
        table_with_pairs(comparison).with_columns(pl.col("better_than").list.join(";"))
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


def table_as_text(comparison: ComparisonTable, kind: str, layout: Layout = DEFAULT_LAYOUT) -> str:
    """Return the table in a format: ``markdown``, ``latex``, ``html``, ``csv`` or ``json``.

    Args:
        comparison: From :func:`report_table`.
        kind: The format.
        layout: Systems as rows or columns, decimals, caption and label, where there is a layout.
    """
    if kind in ("csv", "json"):
        return table_as_csv(comparison) if kind == "csv" else table_as_json(comparison)
    table, caption = comparison.for_paper(layout), layout.caption or comparison.title
    first = 2 if len(comparison.baselines) > 1 and layout.systems != "columns" else 1
    notes = comparison.paper_notes
    if kind == "latex":
        return latex_document(table, caption, " ".join(notes), layout.label, first=first)
    if kind == "html":
        small = (Paragraph(note, "small") for note in notes)
        return html_page([Heading(caption, 1), table, *small])
    return markdown([*continued(table, first), *map(Paragraph, (caption, *notes))])


def table_as_markdown(comparison: ComparisonTable, layout: Layout = DEFAULT_LAYOUT) -> str:
    """Return the table as Markdown: mean, interval, letters of significantly worse modes.

    Args:
        comparison: From :func:`report_table`.
        layout: Systems as rows or columns, decimals and caption.
    """
    return table_as_text(comparison, "markdown", layout)


def table_as_latex(comparison: ComparisonTable, layout: Layout = DEFAULT_LAYOUT) -> str:
    r"""Return the table as LaTeX for ``\usepackage{booktabs}``, with intervals below the means.

    Best means are bold. A superscript letter after a mean names a system that is significantly
    worse. The explanations are below the table.

    Args:
        comparison: From :func:`report_table`.
        layout: Systems as rows or columns, decimals, caption and label.
    """
    return table_as_text(comparison, "latex", layout)


def write_table(
    table: ComparisonTable, *paths: str | Path, layout: Layout = DEFAULT_LAYOUT
) -> None:
    """Write a table into one or several files; the suffix of each decides its format.

    Args:
        table: From :func:`report_table`.
        paths: The files. ``.tex``, ``.md`` and ``.html`` have the layout; ``.csv``, ``.json`` and
            ``.parquet`` have a row per mode and measure; ``.csv`` and ``.parquet`` also one per
            pair, unless there is one baseline.
        layout: Systems as rows or columns, decimals, caption and label.

    Raises:
        UsageError: If a file has another suffix; then no file is written.
        InputError: If a file cannot be written.
    """
    check_suffixes(*paths)
    for path in paths:
        kind = _KINDS[Path(path).suffix.lower()]
        if kind == "parquet":
            write_parquet(table_with_pairs(table), path)
        else:
            write_text(path, table_as_text(table, kind, layout))


def check_suffixes(*paths: str | Path) -> None:
    """Check that the suffix of every file is one of a table.

    Raises:
        UsageError: If one is not.
    """
    for path in paths:
        suffix = Path(path).suffix.lower()
        if suffix not in _KINDS:
            raise UsageError(
                f"unsupported table format: {suffix or 'a file without suffix'}",
                where=str(path),
                remedy=f"use {', '.join(_KINDS)}",
            )


def write_text(path: str | Path, text: str) -> None:
    """Write a text into a file, whole or not at all.

    Raises:
        InputError: If the file cannot be written.
    """
    with atomic_write(path) as stream:
        stream.write(text)


def write_texts(folder: str | Path, texts: Mapping[str, str]) -> list[Path]:
    """Write texts by the names of their files into a folder, which is created; return the files.

    Raises:
        InputError: If a file cannot be written.
    """
    make_folder(Path(folder))
    for name, text in texts.items():
        write_text(Path(folder, name), text)
    return [Path(folder, name) for name in texts]


def render_json(report: BaseModel) -> str:
    """Return the report as JSON, indented by two spaces.

    Floats have their shortest exact representation.

    Args:
        report: The report of a benchmark, of languages or of an extraction.
    """
    return report.model_dump_json(indent=2) + "\n"
