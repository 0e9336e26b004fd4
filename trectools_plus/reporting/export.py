"""The comparison of a report as a file: Markdown, LaTeX or CSV; and other files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.verdict import baselines_of
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.reporting.comparison import (
    Layout,
    best_modes,
    better_than,
    describe_dataset,
    paper_table,
    require_measure,
)
from trectools_plus.reporting.document import Paragraph, markdown
from trectools_plus.reporting.latex import latex_document
from trectools_plus.statistics.comparison import ends_of

DEFAULT_LAYOUT = Layout()
TABLE_KINDS = {".tex": "latex", ".md": "markdown", ".csv": "csv"}
"""The format of a table by the suffix of its file."""
_FORMULA = r"^'*[=+@\-\t\r\n＝＋－＠]"
"""Texts that spreadsheet programs run as formulas, also in East Asian input; and those texts with
apostrophes before them."""
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_OF_DIFFERENCES = (
    *("baseline", "difference", "difference_low", "difference_high"),
    *("p", "p_adjusted", "significant", "wins", "ties", "losses"),
)
"""Columns of the difference from the baseline: attributes of a comparison, and of its interval."""


def table_as_frame(report: BenchmarkReport, measures: Iterable[str] | None = None) -> pl.DataFrame:
    """Return the comparison as a Polars frame with a row per mode and measure.

    With one baseline, further columns have the difference from it; null for the baseline itself.
    """
    has_baseline = len(baselines_of(report)) == 1
    rows = []
    for measure in report.measure_names if measures is None else measures:
        best, better = best_modes(report, measure), better_than(report, measure)
        pairs = {one.contrast: one for one in report.comparisons if one.measure == measure}
        for mode, result in report.modes.items():
            figure = result.measures[measure]
            row: dict[str, Any] = {"mode": mode, "label": result.label, "measure": measure}
            row["mean"] = figure.mean
            row |= dict(zip(("low", "high"), ends_of(figure.ci), strict=True))
            row |= {"level": report.confidence, "n": figure.n, "best": mode in best}
            row["better_than"] = better[mode]
            if has_baseline:
                pair = pairs.get(mode)
                low, high = ends_of(None if pair is None else pair.ci)
                ends = {"difference_low": low, "difference_high": high}
                row |= {name: ends.get(name, getattr(pair, name, None)) for name in _OF_DIFFERENCES}
            rows.append(row)
    floats = ("mean", "low", "high", "difference", "difference_low", "difference_high")
    kinds = {name: pl.Float64() for name in (*floats, "p", "p_adjusted") if name in rows[0]}
    return pl.DataFrame(
        rows,
        schema_overrides={**kinds, "better_than": pl.List(pl.String())},
        infer_schema_length=None,
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


def table_as_text(
    report: BenchmarkReport,
    kind: str,
    measures: Sequence[str] | None = None,
    layout: Layout = DEFAULT_LAYOUT,
) -> str:
    """Return the comparison as a table: ``markdown``, ``latex`` or ``csv``.

    CSV has the exact figures; the first column is ``run`` if runs are compared. LaTeX is for
    ``\\usepackage{booktabs}``, with intervals below the means. Best means are bold, and a letter
    after a mean names a system that is significantly worse.

    Args:
        report: The report.
        kind: The format.
        measures: The measures in order, in any spelling; by default the headline measures, in CSV
            all.
        layout: Systems as rows or columns, decimals, caption and label, where there is a layout.

    Raises:
        UsageError: If the report does not have a measure.
    """
    names = None
    if measures is not None:
        names = list(dict.fromkeys(require_measure(report, name) for name in measures))
    if kind == "csv":
        frame = table_as_frame(report, names).rename({"mode": report.noun})
        return frame_as_csv(frame.with_columns(pl.col("better_than").list.join(";")))
    table, notes = paper_table(report, names or report.headline_measures, layout)
    caption = layout.caption or describe_dataset(report)
    if kind == "latex":
        return latex_document(table, caption, " ".join(notes), layout.label)
    return markdown([table, *map(Paragraph, (caption, *notes))])


def write_table(
    report: BenchmarkReport,
    *paths: str | Path,
    measures: Sequence[str] | None = None,
    layout: Layout = DEFAULT_LAYOUT,
) -> None:
    """Write the comparison of a report into files; the suffix of each decides its format.

    Args:
        report: The report.
        paths: The files. ``.tex`` and ``.md`` have the layout; ``.csv`` has a row per mode and
            measure.
        measures: The measures; see :func:`table_as_text`.
        layout: Systems as rows or columns, decimals, caption and label.

    Raises:
        UsageError: If a file has another suffix; then no file is written.
        InputError: If a file cannot be written.
    """
    check_suffixes(*paths)
    for path in paths:
        kind = TABLE_KINDS[Path(path).suffix.lower()]
        write_text(path, table_as_text(report, kind, measures, layout))


def check_suffixes(*paths: str | Path, known: Iterable[str] = TABLE_KINDS) -> None:
    """Check that the suffix of every file is a known one.

    Raises:
        UsageError: If one is not.
    """
    for path in paths:
        suffix = Path(path).suffix.lower()
        if suffix not in known:
            raise UsageError(
                f"unsupported table format: {suffix or 'a file without suffix'}",
                where=str(path),
                remedy=f"use {', '.join(known)}",
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
