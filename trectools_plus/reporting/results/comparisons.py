"""The result of ``compare`` as text, HTML, JSON and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.display import TextTable
from trectools_plus.reporting.comparison import Layout, means_table, name_letters, paper_table
from trectools_plus.reporting.document import Paragraph, html
from trectools_plus.reporting.export import (
    DEFAULT_LAYOUT,
    TABLE_KINDS,
    check_suffixes,
    table_as_frame,
    table_as_text,
    write_table,
    write_text,
)
from trectools_plus.reporting.wording import method_line
from trectools_plus.text import plural, visible

if TYPE_CHECKING:
    from trectools_plus.benchmark.compare.comparisons import Comparisons

COMPARISON_SUFFIXES = (*TABLE_KINDS, ".json")
_MOST_CELLS, _MOST_ROWS = 40, 12
_LONGEST_NAME = 28
_IN_DOCUMENT = (
    *("primary_measure", "headline_measures", "verdict", "best_overall", "comparisons"),
    *("best_mode", "best_mode_significant", "unranked", "groups"),
)


def comparisons_document(found: Comparisons) -> dict[str, Any]:
    """Return the result as JSON values, with the keys of ``BenchmarkReport.json``.

    ``modes`` has label and measures of each system. Undefined figures are null.
    """
    report = found.report
    whole = report.model_dump(mode="json")
    modes = {
        mode: {"label": result["label"], "measures": result["measures"]}
        for mode, result in whole["modes"].items()
    }
    return {
        "qrels": report.manifest.dataset.id or None,
        "queries": report.manifest.dataset.queries,
        "config": report.manifest.config,
        "modes": modes,
        **{key: whole[key] for key in _IN_DOCUMENT},
        "notes": found.evaluation.notes,
    }


def comparisons_table(
    report: BenchmarkReport,
    kind: Literal["latex", "markdown", "frame"],
    measures: Sequence[str] | None = None,
    layout: Sequence[Any] = (),
) -> str | pl.DataFrame:
    """Return the table of the means as LaTeX, Markdown or a Polars frame.

    Args:
        report: The report of the result.
        kind: The format.
        measures: The measures in order, in any spelling.
        layout: The arguments of :class:`Layout`, for LaTeX and Markdown.
    """
    if kind == "frame":
        return table_as_frame(report)
    return table_as_text(report, kind, measures, Layout(*layout))


def render_comparisons_json(found: Comparisons) -> str:
    """Return :func:`comparisons_document` as text."""
    document = comparisons_document(found)
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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
            write_text(path, render_comparisons_json(found))
        else:
            write_table(found.report, path, layout=layout)


def render_comparisons_html(report: BenchmarkReport) -> str:
    """Return the verdict and the headline measures, a row per system, without styles."""
    table, notes = paper_table(report, report.headline_measures, Layout("rows"))
    shown = html([Paragraph(_verdict(report)), table, *map(Paragraph, notes)])
    return f"<div>{shown}</div>"


def render_comparisons_text(report: BenchmarkReport) -> str:
    """Return the verdict and the means of the first systems and measures, a line per system."""
    systems = min(len(report.modes), _MOST_ROWS)
    names = report.headline_measures[: _MOST_CELLS // systems]
    letters = name_letters(report, names)
    means = means_table(report, names, letters).transposed(report.noun.capitalize())
    rows = [
        [f"{visible(row.cells[0].text, _LONGEST_NAME)} {row.cells[0].marks}".rstrip(),
         *(f"{cell.text}{cell.marks} {cell.bracketed_count}".rstrip() for cell in row.cells[1:])]
        for row in means.rows[:systems]
    ]  # fmt: skip
    lines = TextTable.of([column.name for column in means.columns], rows).lines()
    others, measures = len(means.rows) - systems, len(report.measure_names) - len(names)
    more = [f"… and {plural(others, f'further {report.noun}')}"] if others else []
    further = f"; {plural(measures, 'further measure')} in to_pandas()" if measures else ""
    legend = f"Means over {plural(report.manifest.dataset.queries, 'query', 'queries')}{further}."
    if report.comparisons:
        listed = "to_pandas() lists significant differences."
        if letters:
            listed = f"A letter: significantly above that {report.noun}."
        elif not any(pair.significant for pair in report.comparisons):
            listed = "No significant difference."
        legend += f" {listed} {method_line(report)}"
    return "\n".join([_verdict(report), "", *(line.rstrip() for line in lines), *more, "", legend])


def _verdict(report: BenchmarkReport) -> str:
    return "" if report.verdict is None else report.verdict.text
