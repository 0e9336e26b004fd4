"""Results as files: JSON, and comparisons as Markdown, LaTeX and CSV."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from pydantic import BaseModel

from trectools_plus.benchmark.report import ComparisonReport
from trectools_plus.benchmark.verdict import baselines_of
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.files.guards import hash_original
from trectools_plus.reporting.comparison import (
    Layout,
    best_modes,
    better_than,
    describe_dataset,
    paper_table,
    require_measure,
)
from trectools_plus.reporting.document import Block, Paragraph, html_page, latex_document, markdown
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.comparison import ends_of

if TYPE_CHECKING:
    from trectools_plus.benchmark.comparisons import Comparisons
    from trectools_plus.formats import NamedRun
    from trectools_plus.measures import Evaluation

DEFAULT_LAYOUT = Layout()
TABLE_KINDS = {".tex": "latex", ".md": "markdown", ".csv": "csv"}
"""The format of a table by the suffix of its file."""
COMPARISON_SUFFIXES = (*TABLE_KINDS, ".json")
_FORMULA = r"^'*[=+@\-\t\r\n＝＋－＠]"
"""Texts that spreadsheet programs run as formulas, also in East Asian input; and those texts with
apostrophes before them."""
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DIFFERENCES = (
    "baseline",
    "difference",
    "difference_low",
    "difference_high",
    "p",
    "p_adjusted",
    "significant",
    "wins",
    "ties",
    "losses",
)
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("mean", "low", "high", *_DIFFERENCES[1:6]), pl.Float64),
    "better_than": pl.List(pl.String),
}
"""Types of columns that can be empty."""


def table_as_frame(report: ComparisonReport, measures: Iterable[str] | None = None) -> pl.DataFrame:
    """Return the comparison as a Polars frame with a row per mode and measure.

    With one baseline, further columns have the difference from it; null for the baseline itself.
    """
    further = _DIFFERENCES if len(baselines_of(report)) == 1 else ()
    rows = []
    for measure in report.measure_names if measures is None else measures:
        best, better = best_modes(report, measure), better_than(report, measure)
        pairs = {pair.contrast: pair for pair in report.comparisons if pair.measure == measure}
        for mode, result in report.modes.items():
            figure = result.measures[measure]
            low, high = ends_of(figure.ci)
            row: dict[str, Any] = {
                "mode": mode,
                "label": result.label,
                "measure": measure,
                "mean": figure.mean,
                "low": low,
                "high": high,
                "level": report.confidence,
                "n": figure.n,
                "best": mode in best,
                "better_than": better[mode],
                **dict.fromkeys(further),
            }
            if further and (pair := pairs.get(mode)):
                low, high = ends_of(pair.ci)
                row |= {**pair.model_dump(include={*further}), "p": pair.p}
                row |= {"difference_low": low, "difference_high": high}
            rows.append(row)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.cast({name: kind for name, kind in _TYPES.items() if name in frame.columns})


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
    report: ComparisonReport,
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
    names = measures and [*dict.fromkeys(require_measure(report, name) for name in measures)]
    if kind == "csv":
        frame = table_as_frame(report, names).rename({"mode": report.setup.noun})
        return frame_as_csv(frame.with_columns(pl.col("better_than").list.join(";")))
    table, notes = paper_table(report, names or report.headline_measures, layout)
    caption = layout.caption or describe_dataset(report)
    if kind == "latex":
        return latex_document(table, caption, " ".join(notes), layout.label)
    return markdown([table, *map(Paragraph, (caption, *notes))])


def write_table(
    report: ComparisonReport,
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


def render_comparisons_latex(
    report: ComparisonReport, measures: Sequence[str] | None, *layout: Any
) -> str:
    """Return the table of the means as LaTeX.

    Args:
        report: The report of the result.
        measures: The measures in order, in any spelling.
        layout: The arguments of :class:`Layout`.
    """
    return table_as_text(report, "latex", measures, Layout(*layout))


def write_comparisons(
    found: Comparisons, *paths: str | Path, layout: Layout = DEFAULT_LAYOUT
) -> None:
    """Write the result into files; the suffix of each decides its format.

    Args:
        found: The result.
        paths: ``.json`` has the whole result; the others are those of :func:`write_table`.
        layout: The layout of ``.tex`` and ``.md``.

    Raises:
        UsageError: If a file has another suffix; then no file is written.
        InputError: If a file cannot be written.
    """
    check_suffixes(*paths, known=COMPARISON_SUFFIXES)
    for path in paths:
        if Path(path).suffix.lower() == ".json":
            write_text(path, render_json(found.report))
        else:
            write_table(found.report, path, layout=layout)


def write_text(path: str | Path, text: str) -> None:
    """Write a text into a file, whole or not at all.

    Raises:
        InputError: If the file cannot be written.
    """
    with atomic_write(path) as stream:
        stream.write(text)


def write_renderings(
    report: BaseModel, blocks: Sequence[Block], folder: str | Path, *names: str
) -> dict[str, Path]:
    """Write a result into a folder, which is created; return the files by their suffixes.

    Args:
        report: The content of files ending in ``.json``.
        blocks: The content of files ending in ``.md`` and ``.html``.
        folder: The folder.
        names: The names of the files.

    Raises:
        InputError: If a file cannot be written.
    """
    make_folder(Path(folder))
    files = {Path(name).suffix[1:]: Path(folder, name) for name in names}
    for kind, path in files.items():
        rendered = {"md": markdown, "html": html_page}.get(kind)
        write_text(path, rendered(blocks) if rendered else render_json(report))
    return files


def render_json(report: BaseModel) -> str:
    """Return the report as JSON, indented by two spaces.

    Floats have their shortest exact representation.

    Args:
        report: The report of a benchmark, a comparison, languages or an extraction.
    """
    return report.model_dump_json(indent=2) + "\n"


def evaluation_document(
    qrels_path: str,
    runs: Mapping[str, NamedRun],
    evaluation: Evaluation,
    *,
    per_query: bool,
) -> dict[str, Any]:
    """Return the JSON document of ``eval``: means with their ``n``, counts, definitions, hashes.

    An undefined mean is ``null``. ``undefined`` is the number of queries without a value, which the
    mean omits.

    Args:
        qrels_path: The file of the judgments.
        runs: The scored runs, by name.
        evaluation: Their scores.
        per_query: Include the values of all queries.
    """
    names, documents = evaluation.measure_names, []
    for run, file in runs.items():
        counts = evaluation.counts[run]
        measures: dict[str, dict[str, Any]] = {}
        for name in names:
            n, mean = evaluation.n(run, name), none_if_nan(evaluation.mean(run, name))
            measures[name] = {"mean": mean, "n": n, "undefined": counts.n_scored - n}
            if per_query:
                values = map(none_if_nan, evaluation.values(run, name).tolist())
                queries = zip(evaluation.query_ids[run], values, strict=True)
                measures[name]["per_query"] = dict(queries)
        documents.append(
            {
                "name": run,
                "path": file.path,
                "sha256": file.path and hash_original(file.path, sys.maxsize),
                "counts": counts.as_dict(),
                "measures": measures,
            }
        )
    return {
        "qrels": {
            "path": qrels_path,
            "sha256": hash_original(qrels_path, sys.maxsize),
            "queries": next(iter(evaluation.counts.values())).n_qrels,
            "queries_without_relevant": evaluation.queries_without_relevant,
        },
        **evaluation.averaging._asdict(),
        "notes": evaluation.notes,
        "runs": documents,
        "definitions": {name: evaluation.definition(name).as_dict() for name in names},
    }
