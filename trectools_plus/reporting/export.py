"""The comparison of a report as a file: Markdown, LaTeX or CSV; and other files."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from pydantic import BaseModel

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.verdict import baselines_of
from trectools_plus.display import Cell, TextTable
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
from trectools_plus.statistics.comparison import ends_of

if TYPE_CHECKING:
    from trectools_plus.benchmark.comparisons import Comparisons

DEFAULT_LAYOUT = Layout()
TABLE_KINDS = {".tex": "latex", ".md": "markdown", ".csv": "csv"}
"""The format of a table by the suffix of its file."""
COMPARISON_SUFFIXES = (*TABLE_KINDS, ".json")
_IN_DOCUMENT = (
    *("primary_measure", "headline_measures", "verdict", "best_overall", "comparisons"),
    *("best_mode", "best_mode_significant", "unranked", "groups"),
)
_FORMULA = r"^'*[=+@\-\t\r\n＝＋－＠]"
"""Texts that spreadsheet programs run as formulas, also in East Asian input; and those texts with
apostrophes before them."""
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("mode", "label", "measure"), pl.String),
    **dict.fromkeys(("mean", "low", "high", "level"), pl.Float64),
    "n": pl.Int64,
    "best": pl.Boolean,
    "better_than": pl.List(pl.String),
}
_DIFFERENCES: dict[str, Any] = {
    "baseline": pl.String,
    **dict.fromkeys(("difference", "difference_low", "difference_high"), pl.Float64),
    **dict.fromkeys(("p", "p_adjusted"), pl.Float64),
    "significant": pl.Boolean,
    **dict.fromkeys(("wins", "ties", "losses"), pl.Int64),
}
_SIGNS = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\`{}",
        "–": "--",
        "−": r"\(-\)",
        "≤": r"\(\leq\)",
        "Δ": r"\(\Delta\)",
        "†": r"\textdagger{}",
    }
)
_LAST_LETTER = "\u017f"
"""LaTeX reads letters up to this one, those of Latin Extended-A, and further ones as errors."""


def table_as_frame(report: BenchmarkReport, measures: Iterable[str] | None = None) -> pl.DataFrame:
    """Return the comparison as a Polars frame with a row per mode and measure.

    With one baseline, further columns have the difference from it; null for the baseline itself.
    """
    further = _DIFFERENCES if len(baselines_of(report)) == 1 else {}
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
            }
            if further and (pair := pairs.get(mode)) is not None:
                low, high = ends_of(pair.ci)
                row |= {"difference_low": low, "difference_high": high, "p": pair.p}
                row |= pair.model_dump(include={*further})
            rows.append(row)
    return pl.DataFrame(rows, schema={**_COLUMNS, **further})


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


def render_comparisons_latex(
    report: BenchmarkReport, measures: Sequence[str] | None, *layout: Any
) -> str:
    """Return the table of the means as LaTeX.

    Args:
        report: The report of the result.
        measures: The measures in order, in any spelling.
        layout: The arguments of :class:`Layout`.
    """
    return table_as_text(report, "latex", measures, Layout(*layout))


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


def latex_document(table: TextTable, caption: str, notes: str, name: str | None = None) -> str:
    r"""Return a table with caption and notes.

    Args:
        table: The table.
        caption: Text; with a backslash in it, LaTeX.
        notes: The text below the table.
        name: The name for ``\ref``.
    """
    if "\\" not in caption:
        caption = escape_latex(caption)
    return "\n".join(
        [
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{caption}}}",
            *([] if name is None else [rf"  \label{{{name}}}"]),
            r"  \small",
            r"  \setlength{\tabcolsep}{4pt}",
            rf"  \begin{{tabular}}{{{'l' * len(table.columns)}}}",
            r"    \toprule",
            *_latex_lines(column.heading for column in table.columns),
            r"    \midrule",
            *(line for row in table.rows for line in _latex_lines(row.cells)),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"  \par\smallskip",
            rf"  \parbox{{\linewidth}}{{\footnotesize {escape_latex(notes)}}}",
            r"\end{table}",
            "",
        ]
    )


def escape_latex(text: str) -> str:
    """Return text from outside as LaTeX on one line, without commands, comments and formulas.

    Letters beyond Latin ones, which pdfLaTeX refuses, become their code point: U+4E2D.
    """
    escaped = " ".join(unicodedata.normalize("NFC", text).split()).translate(_SIGNS)
    return "".join(
        sign if sign.isprintable() and sign <= _LAST_LETTER else f"U+{ord(sign):04X}"
        for sign in escaped
    )


def _latex_lines(cells: Iterable[Cell]) -> list[str]:
    """Return a line of a table, and one of the intervals below it: \\makecell needs a package."""
    lines = zip_longest(*(_latex_cell(cell).split("\n") for cell in cells), fillvalue="")
    # After the end of a line, LaTeX reads a bracket or a star as its option.
    return [f"    {'{}' * line[0].startswith(('[', '*'))}{' & '.join(line)} \\\\" for line in lines]


def _latex_cell(cell: Cell) -> str:
    text = escape_latex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.best else text
    marks = unicodedata.normalize("NFKC", cell.marks)
    text += rf"\textsuperscript{{{marks}}}" if marks else ""
    below = escape_latex(" ".join(filter(None, (cell.detail, cell.count))))
    return f"{text}\n{{\\scriptsize {below}}}" if below else text
