"""A comparison table for programs: one row per mode and measure, as CSV, JSON or Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl

from trectools_plus.errors import UsageError
from trectools_plus.formats.atomic import atomic_write
from trectools_plus.reporting.tables import ReportTable
from trectools_plus.reporting.tables_text import table_as_latex, table_as_markdown

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


def table_as_frame(report_table: ReportTable) -> pl.DataFrame:
    """``mode, label, measure, mean, low, high, level, n, best, better_than``: a row per figure."""
    rows = [
        {key: value for key, value in asdict(cell).items() if key in _SCHEMA}
        | {"label": report_table.labels[cell.mode]}
        for cells in report_table.cells.values()
        for cell in cells
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def table_as_csv(report_table: ReportTable) -> str:
    """The frame as CSV: undefined is empty, ``better_than`` is joined with semicolons.

    Floats have their shortest exact spelling.
    """
    return (
        table_as_frame(report_table).with_columns(pl.col("better_than").list.join(";")).write_csv()
    )


def table_as_json(report_table: ReportTable) -> str:
    """The frame as a JSON list of objects; undefined is null."""
    return json.dumps(table_as_frame(report_table).to_dicts(), indent=2, ensure_ascii=False) + "\n"


def table_as_parquet(report_table: ReportTable, path: str | Path) -> None:
    """Write the frame as Parquet, whole or not at all.

    Raises:
        InputError: If the file cannot be written.
    """
    with atomic_write(path, "wb") as stream:
        table_as_frame(report_table).write_parquet(stream)


_TEXTS = {
    ".md": table_as_markdown,
    ".tex": table_as_latex,
    ".csv": table_as_csv,
    ".json": table_as_json,
}


def write_table(report_table: ReportTable, path: str | Path) -> None:
    """Write a table in the format of the file's ending: .md, .tex, .csv, .json or .parquet.

    Args:
        report_table: From :func:`trectools_plus.reporting.tables.report_table`.
        path: Where to; the file is there whole or not at all.

    Raises:
        UsageError: If the ending is another one.
        InputError: If the file cannot be written.
    """
    write_tables(report_table, [path])


def write_tables(report_table: ReportTable, paths: Sequence[str | Path]) -> None:
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
            table_as_parquet(report_table, path)
        else:
            with atomic_write(path) as stream:
                stream.write(_TEXTS[_ending(path)](report_table))


def _ending(path: str | Path) -> str:
    return Path(path).suffix.lower()
