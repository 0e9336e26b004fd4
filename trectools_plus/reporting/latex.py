"""Tables in LaTeX that compile with any names."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import zip_longest

from trectools_plus.display import Cell, TextTable

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
