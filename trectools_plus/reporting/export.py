"""The comparison of a report as a file: Markdown, LaTeX, HTML, CSV, JSON or Parquet."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Sequence
from html import escape
from itertools import zip_longest
from pathlib import Path

import polars as pl
from pydantic import BaseModel

from trectools_plus.display import Cell, TextTable, html_table
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.writing import write_parquet
from trectools_plus.reporting.comparison import ComparisonTable, Layout
from trectools_plus.reporting.markdown import (
    harmless,
    render_table,
    show_cell,
    show_superscript,
)
from trectools_plus.statistics.comparison import Comparison, ends_of

DEFAULT_LAYOUT = Layout()
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
_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\`{}",
    "·": r"\(\cdot\)",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "−": r"\(-\)",
    "±": r"\(\pm\)",
    "×": r"\(\times\)",
    "≤": r"\(\leq\)",
    "≥": r"\(\geq\)",
    "→": r"\(\rightarrow\)",
    "∞": r"\(\infty\)",
    "†": r"\(\dagger\)",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
}
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030b": "H",
    "\u030c": "v",
    "\u0323": "d",
    "\u0327": "c",
}
"""Commands for combining marks that every encoding of LaTeX has."""
_LIGATURES = frozenset("-',")
"""Two of these in a row would become another sign."""
_PAGE_WIDTH = 100
"""Characters of a line of a table in LaTeX and Markdown; further columns follow below."""
_GREEK = (
    " alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega "
)
"""Greek letters with a command; the others look like Latin letters."""
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


def table_as_markdown(comparison: ComparisonTable, layout: Layout = DEFAULT_LAYOUT) -> str:
    """Return the table as Markdown: mean, interval, letters of significantly worse modes.

    Args:
        comparison: From :func:`report_table`.
        layout: Systems as rows or columns, decimals and caption.
    """
    first = 2 if len(comparison.baselines) > 1 and layout.systems != "columns" else 1
    table = continued(comparison.for_paper(layout), show_superscript, first)
    notes = [layout.caption or comparison.title, *comparison.paper_notes]
    return "\n\n".join([table, *map(harmless, notes)]) + "\n"


def continued(table: TextTable, show: Callable[[Cell], str] = show_cell, first: int = 1) -> str:
    """Return a table as Markdown; columns that exceed 100 characters follow in further tables.

    Args:
        table: The table.
        show: Renders a cell.
        first: The number of columns that are repeated at the left.
    """
    blocks = table.blocks(_fits_line, first)
    return "\n\n".join(render_table(block, show) for block in blocks)


def table_as_html(comparison: ComparisonTable, layout: Layout = DEFAULT_LAYOUT) -> str:
    """Return the table as a page of HTML: mean, interval, letters of significantly worse modes.

    Args:
        comparison: From :func:`report_table`.
        layout: Systems as rows or columns, decimals and caption.
    """
    title = escape(layout.caption or comparison.title)
    table = html_table(comparison.for_paper(layout), whole=True)
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in comparison.paper_notes)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n{table}\n{notes}</main>\n"
        "</body>\n</html>\n"
    )


def table_as_latex(comparison: ComparisonTable, layout: Layout = DEFAULT_LAYOUT) -> str:
    r"""Return the table as LaTeX for ``\usepackage{booktabs}``, with intervals below the means.

    Best means are bold. A superscript letter after a mean names a system that is significantly
    worse. The explanations are below the table.

    Args:
        comparison: From :func:`report_table`.
        layout: Systems as rows or columns, decimals, caption and label.
    """
    first = 2 if len(comparison.baselines) > 1 and layout.systems != "columns" else 1
    caption, notes = layout.caption or comparison.title, " ".join(comparison.paper_notes)
    return latex_document(comparison.for_paper(layout), caption, notes, layout.label, first=first)


def latex_document(
    table: TextTable, caption: str, notes: str, name: str | None = None, *, first: int = 1
) -> str:
    r"""Return a table with caption and notes; columns that exceed the width follow below.

    Args:
        table: The table.
        caption: Text; with a backslash in it, LaTeX.
        notes: The text below the table.
        name: The name for ``\ref``.
        first: The number of columns that are repeated at the left.
    """
    if "\\" not in caption:
        caption = escape_latex(caption)
    label = [] if name is None else [rf"  \label{{{name}}}"]
    notes = escape_latex(notes)
    tables: list[str] = []
    for block in table.blocks(_fits_page, first):
        tables += [*([r"  \par\medskip"] if tables else []), *_latex_rows(block)]
    return "\n".join(
        [
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{caption}}}",
            *label,
            r"  \small",
            r"  \setlength{\tabcolsep}{4pt}",
            *tables,
            r"  \par\smallskip",
            rf"  \parbox{{\linewidth}}{{\footnotesize {notes}}}",
            r"\end{table}",
            "",
        ]
    )


def escape_latex(text: str) -> str:
    """Return text from outside as LaTeX on one line, without commands, comments and formulas.

    Accented Latin letters and Greek ones are commands that every LaTeX has. Other characters, which
    pdfLaTeX refuses, become their code point, for example U+4E2D.
    """
    before = ""
    parts = []
    for sign in " ".join(unicodedata.normalize("NFC", text).split()):
        parts.append("{}" if sign == before and sign in _LIGATURES else "")
        parts.append(_latex_sign(sign))
        before = sign
    return "".join(parts)


def _latex_sign(sign: str) -> str:
    if sign in _SIGNS:
        return _SIGNS[sign]
    if sign.isascii() and sign.isprintable():
        return sign
    letter, *marks = list(unicodedata.normalize("NFD", sign))
    if letter.isascii() and letter.isalpha() and len(marks) == 1 and marks[0] in _ACCENTS:
        return rf"\{_ACCENTS[marks[0]]}{{{letter}}}"
    form, _, simple = unicodedata.decomposition(sign).partition(" ")
    if form in ("<super>", "<sub>") and len(simple) == 4:
        command = "textsuperscript" if form == "<super>" else "textsubscript"
        return rf"\{command}{{{_latex_sign(chr(int(simple, 16)))}}}"
    script, _, name = unicodedata.name(sign, "").partition(" ")
    case, _, name = name.partition(" LETTER ")
    name = name.lower() if case == "SMALL" else name.capitalize()
    name = name.replace("amda", "ambda")  # Unicode calls the letter lamda
    if script == "GREEK" and f" {name} " in _GREEK:
        return rf"\(\{name}\)"
    return f"U+{ord(sign):04X}"


def _fits_line(table: TextTable) -> bool:
    """Return whether the columns have at most 100 characters, with details beside the figures."""
    lines = [[column.heading for column in table.columns], *(row.cells for row in table.rows)]
    widths = ([len(f"{cell.marked} {cell.detail}".strip()) for cell in line] for line in lines)
    columns: list[int] = [max(column) for column in zip(*widths, strict=True)]
    return sum(columns) + 3 * len(columns) <= _PAGE_WIDTH


def _fits_page(table: TextTable) -> bool:
    """Return whether the columns have at most 100 characters; those below a cell are smaller."""
    headings = (column.heading for column in table.columns)
    lines = [headings, *(row.cells for row in table.rows)]
    widths = ([max(len(cell.marked), 0.8 * len(cell.detail)) for cell in line] for line in lines)
    columns: list[float] = [max(column) for column in zip(*widths, strict=True)]
    return sum(columns) + 2 * len(table.columns) <= _PAGE_WIDTH


def _latex_rows(table: TextTable) -> list[str]:
    # Cells start at the same place, so that numbers are aligned whatever letters follow them.
    lines = [
        rf"  \begin{{tabular}}{{{'l' * len(table.columns)}}}",
        r"    \toprule",
        f"    {_latex_row([_latex_cell(column.heading) for column in table.columns])}",
        r"    \midrule",
    ]
    digits = [
        max(map(_digits, column)) for column in zip(*(row.cells for row in table.rows), strict=True)
    ]
    for number, row in enumerate(table.rows):
        # A cell of two lines becomes two rows: \makecell would need another package.
        halves = [
            _latex_cell(cell, most).split("\n")
            for cell, most in zip(row.cells, digits, strict=True)
        ]
        if number and len(max(halves, key=len)) > 1:
            lines.append(r"    \addlinespace[2pt]")
        lines += [f"    {_latex_row(line)}" for line in zip_longest(*halves, fillvalue="")]
    return [*lines, r"    \bottomrule", r"  \end{tabular}"]


def _digits(cell: Cell) -> int:
    """Return the number of digits before the decimal point; 0 for other texts."""
    return 0 if cell.value is None else len(cell.text.partition(".")[0])


def _latex_cell(cell: Cell, digits: int = 0) -> str:
    text = escape_latex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.best else text
    if cell.value is not None and _digits(cell) < digits:
        text = rf"\phantom{{{'0' * (digits - _digits(cell))}}}{text}"
    text += rf"\textsuperscript{{{cell.marks}}}" if cell.marks else ""
    below = escape_latex(" ".join(filter(None, (cell.detail, cell.bracketed_count))))
    return f"{text}\n{{\\scriptsize {below}}}" if below else text


def _latex_row(cells: Sequence[str]) -> str:
    # After the end of a line, LaTeX reads a bracket or a star as its option.
    guard = "{}" if cells[0].startswith(("[", "*")) else ""
    return guard + " & ".join(cells) + r" \\"


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
            **_difference_values(entries.get((cell.mode, cell.measure))),
        }
        for cells in comparison.cells.values()
        for cell in cells
    ]
    schema = {**_SCHEMA, **(_DIFFERENCE_SCHEMA if with_baseline else {})}
    return pl.DataFrame(rows, schema=schema)


def _difference_values(entry: Comparison | None) -> dict[str, str | float | int | bool | None]:
    """Return the values of the columns of a difference; empty without a comparison."""
    if entry is None:
        return {}
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
    pairs = [entry for entries in comparison.pairs.values() for entry in entries]
    if not pairs or len(comparison.baselines) == 1:
        return frame
    rows = [
        {
            comparison.noun: entry.contrast,
            "label": comparison.labels[entry.contrast],
            "measure": entry.measure,
            "n": entry.n,
            **_difference_values(entry),
        }
        for entry in pairs
    ]
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
            ``.parquet`` have a row per mode and measure; ``.csv`` and ``.parquet`` also one per
            pair, unless there is one baseline.
        layout: Systems as rows or columns, decimals, caption and label.

    Raises:
        UsageError: If a file has another suffix; then no file is written.
        InputError: If a file cannot be written.
    """
    check_suffixes(*paths)
    for path in paths:
        suffix = Path(path).suffix.lower()
        if suffix == ".parquet":
            write_parquet(table_with_pairs(table), path)
        else:
            write_text(path, _TEXTS[suffix](table, layout))


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


def write_text(path: str | Path, text: str) -> None:
    """Write a text into a file, whole or not at all.

    Raises:
        InputError: If the file cannot be written.
    """
    with atomic_write(path) as stream:
        stream.write(text)


def render_json(report: BaseModel) -> str:
    """Return the report as JSON, indented by two spaces.

    Floats have their shortest exact representation.

    Args:
        report: The report of a benchmark, of languages or of an extraction.
    """
    return report.model_dump_json(indent=2) + "\n"
