"""Tables in LaTeX that compile with any names."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import zip_longest

from trectools_plus.display import Cell, TextTable

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
"""Greek letters with a command; the others look like Latin letters."""
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
    **{sign: rf"\textsuperscript{{{digit}}}" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **{sign: rf"\textsubscript{{{digit}}}" for digit, sign in enumerate("₀₁₂₃₄₅₆₇₈₉")},
    **{
        sign: rf"\(\{name}\)"
        for sign, name in zip(
            "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ",
            _GREEK.split(),
            strict=True,
        )
    },
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
PAGE_WIDTH = 100
"""Characters of a line of a table; further columns follow below."""


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
    return f"U+{ord(sign):04X}"


def _fits_page(table: TextTable) -> bool:
    """Return whether the columns have at most 100 characters; those below a cell are smaller."""
    headings = (column.heading for column in table.columns)
    lines = [headings, *(row.cells for row in table.rows)]
    widths = ([max(len(cell.marked), 0.8 * len(cell.detail)) for cell in line] for line in lines)
    columns: list[float] = [max(column) for column in zip(*widths, strict=True)]
    return sum(columns) + 2 * len(table.columns) <= PAGE_WIDTH


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
