"""Results as blocks, and their renderings: the terminal, Markdown and HTML.

The first block of a whole result is its title, a heading of another level than 2, which the
terminal omits. Empty paragraphs, lists, tables and folds are not rendered. A function of
:mod:`trectools_plus.reporting` returns the blocks of a result; nothing else renders it.
Every text may be from outside: each rendering escapes all of them.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape as escape_html
from importlib import resources
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, TextIO

from trectools_plus.display import MAX_TABLE_ROWS, Cell, TextTable, as_cell
from trectools_plus.statistics.comparison import ConfidenceInterval, ends_of
from trectools_plus.text import make_console, printable, visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table as RichTable

NARROW = "†"
"""Marks an interval that may be too narrow, because it has a note."""
_NUMBER = re.compile(r"[\[<+−-]*(\d[\d,.]*%?(?![\w:])|∞)|–?$")
_LINK = re.compile(r"\]\((?!\w[\w./-]*\))")
"""The middle of a link or an image, unless it leads to a file beside the report."""
_BAR = re.compile(r"(\\*)\|")
_TEXT_WIDTH = 24
"""Characters of a text in a table of the terminal; a longer one is broken where room is needed."""
_STYLES = ("base.css", "tables.css", "print.css", "document.css")


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


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; the level of a title is 1."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph: the ``result``, a ``note``, an explanation in ``small`` letters, or another."""

    text: str
    role: Literal["", "result", "small", "note"] = ""


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True)
class Fold:
    """A section that opens with a click, and which the terminal shows with ``--all`` only.

    Attributes:
        title: Its heading.
        blocks: Its content.
        key: Its id on a page.
    """

    title: str
    blocks: Sequence[Block]
    key: str = ""


Block = Heading | Paragraph | Bullets | Fold | TextTable
_STYLE_OF = {"result": "bold", "small": "dim", "note": "", "": ""}


def show(value: float | None, sign: str = "", decimals: int | None = None) -> str:
    """Return a figure with four decimals, or a dash if undefined; ``sign="+"`` adds plus signs."""
    places = 4 if decimals is None else decimals
    return "–" if value is None else f"{value:{sign},.{places}f}".replace("-", "−")


def show_ci(ci: ConfidenceInterval | None, sign: str = "", decimals: int | None = None) -> str:
    """Return an interval in square brackets, with three decimals, and :data:`NARROW` if it has a
    note; empty if undefined."""
    if ci is None or ci.low is None:
        return ""
    places = 3 if decimals is None else decimals
    ends = ", ".join(show(end, sign, places) for end in ends_of(ci))
    return f"[{ends}]{NARROW * bool(ci.note)}"


def show_p(p: float | None) -> str:
    """Return a p-value with four decimals, ``<0.0001`` for smaller ones, a dash if undefined."""
    return "<0.0001" if p is not None and p < 0.0001 else show(p)


def table_of(rows: Iterable[Mapping[str, object]]) -> TextTable:
    """Return a table of rows, each of which has values by the headings of their columns.

    Figures are shown with four decimals, counts with separators, and nothing as a dash.
    """
    columns: dict[str, list[str | Cell]] = {}
    for row in rows:
        for heading, value in row.items():
            shown = show(value) if isinstance(value, float) else as_cell(value)
            columns.setdefault(heading, []).append(value if isinstance(value, Cell) else shown)
    return TextTable.of(columns, zip(*columns.values(), strict=True))


def numeric_columns(table: TextTable) -> list[bool]:
    """Return whether each column has numbers only, and is therefore aligned on the right.

    The first column has the names of the rows, so it is never aligned on the right. Numbers have
    signs, intervals and emphasis, or are dashes.
    """
    columns = zip(*(row.cells for row in table.rows), strict=True)
    return [
        place > 0
        and any(cell.text not in ("–", "") for cell in column)
        and all(_NUMBER.match(cell.text) for cell in column)
        for place, column in enumerate(columns)
    ] or [False] * len(table.columns)


def print_blocks(
    blocks: Iterable[Block], stream: TextIO, *, width: int | None = None, folds: bool = False
) -> None:
    """Print blocks, at most 100 characters wide.

    Args:
        blocks: The blocks.
        stream: The output; colours and bold text are used if it is a terminal.
        width: Characters per line; by default the width of the terminal, at most 100.
        folds: Print sections that are folded elsewhere, too.
    """
    console = make_console(stream, width)
    for block in blocks:
        for line in block_lines(console, block, folds=folds):
            stream.write(f"{line}\n")


def block_lines(console: Console, block: Block, *, folds: bool = False) -> list[str]:
    """Return the lines of a block on a console."""
    match block:
        case Heading(level=2):
            return ["", *_capture(console, printable(block.text), "bold")]
        case Paragraph():
            text = printable(block.text, breaks=True)
            return _capture(console, text, _STYLE_OF[block.role]) if text else []
        case Bullets():
            items = (printable(f"- {text}") for text in block.items)
            return [
                line for item in items for line in wrap(item, console.width, subsequent_indent="  ")
            ]
        case TextTable(rows=(_, *_)):
            numeric = numeric_columns(block)
            labels = numeric.index(True) if True in numeric else 1
            parts = block.blocks(
                lambda part: table_width(console, part) <= console.width, min(labels, 2)
            )
            printed = [["", *_capture(console, _as_rich(part))] for part in parts]
            return [line for part in printed for line in part][1:]
        case Fold() if folds:
            lines = [line for part in block.blocks for line in block_lines(console, part)]
            return [*block_lines(console, Heading(block.title)), *lines] if lines else []
    return []


def _capture(console: Console, content: RenderableType, style: str = "") -> list[str]:
    """Return printed lines without the blank ones around them."""
    with console.capture() as capture:
        console.print(content, style=style or None)
    lines = "\n".join(line.rstrip() for line in capture.get().split("\n"))
    return lines.strip("\n").split("\n")


def table_width(console: Console, table: TextTable) -> int:
    """Return the width at which no number and no short text of the table is broken."""
    wide = console.options.update(max_width=10_000)
    return console.measure(_as_rich(table, _TEXT_WIDTH), options=wide).maximum


def _as_rich(table: TextTable, text_width: int | None = None) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    shown = RichTable(
        box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0)
    )
    numeric = numeric_columns(table)
    for place, column in enumerate(table.columns):
        cells = [row.cells[place] for row in table.rows]
        # Marks and intervals of different length would shift figures that are aligned on the right.
        is_right = numeric[place] and not any(cell.marks or cell.detail for cell in cells)
        is_whole = column.whole or numeric[place]
        shown.add_column(
            printable(column.heading.marked),
            justify="right" if is_right else "left",
            overflow="fold",
            no_wrap=is_whole,
            max_width=column.widest if is_whole else text_width or column.widest,
        )

    def filled(cell: Cell) -> RichText:
        first = " ".join(filter(None, (printable(cell.text), cell.marks, cell.count)))
        text, below = RichText(first, "bold green" if cell.best else ""), printable(cell.detail)
        return text.append(f"\n{below}", style="not bold dim default") if below else text

    for row in table.rows:
        shown.add_row(*map(filled, row.cells))
    return shown


def markdown(blocks: Iterable[Block]) -> str:
    """Return blocks as GitHub-flavoured Markdown."""
    return "\n\n".join(filter(None, map(_as_markdown, blocks))) + "\n"


def harmless(text: str) -> str:
    """Return text from outside on one line: without tags, emphasis, and links to other places."""
    line = printable(" ".join(text.split()))
    return _LINK.sub(r"]\\(", line.replace("<", "&lt;")).replace("*", "\\*")


def _as_markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {harmless(block.text)}"
        case Paragraph():
            text = harmless(block.text)
            marked = {"result": f"**{text}**", "note": f"> {text}"}
            return marked.get(block.role, text) if text else ""
        case Bullets():
            return "\n".join(f"- {harmless(text)}" for text in block.items)
        case Fold():
            content = markdown(block.blocks).rstrip("\n")
            folded = f"<details><summary>Show</summary>\n\n{content}\n\n</details>"
            return f"## {harmless(block.title)}\n\n{folded}" if content else ""
        case TextTable(rows=(_, *_)):
            return markdown_table(block)
    return ""


def markdown_table(table: TextTable) -> str:
    """Return a table; the best cells are bold, and columns of numbers are aligned on the right."""

    def filled(cell: Cell) -> str:
        text = harmless(" ".join(filter(None, (cell.text, cell.detail))))
        text = f"**{text}**" if cell.best else text
        parts = (text, cell.count, harmless(cell.marks))
        # A bar would end the cell, also after backslashes.
        return _BAR.sub(lambda bar: f"{2 * bar[1]}\\|", " ".join(filter(None, parts)))

    rule = ["---:" if numeric else "---" for numeric in numeric_columns(table)]
    lines = [[filled(column.heading) for column in table.columns], rule]
    lines += [[filled(cell) for cell in row.cells] for row in table.rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


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


def html(blocks: Iterable[Block]) -> str:
    """Return blocks as HTML: the body of a page, or a part of one."""
    return "\n".join(filter(None, map(_as_html, blocks)))


def _safe(text: str) -> str:
    return escape_html(printable(text, breaks=True))


def _as_html(block: Block) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{_safe(block.text)}</h{block.level}>"
        case Paragraph():
            kind = {"result": "verdict", "small": "reading"}.get(block.role, "line")
            return f'<p class="{kind}">{_safe(block.text)}</p>' if block.text else ""
        case Bullets():
            items = "\n".join(f"<li>{_safe(text)}</li>" for text in block.items)
            return f"<ul>\n{items}\n</ul>" if items else ""
        case Fold():
            summary = f"<summary><h2>{_safe(block.title)}</h2></summary>"
            key = f' id="{_safe(block.key)}"' if block.key else ""
            inner = html(block.blocks)
            content = f'<div class="content">\n{inner}\n</div>'
            whole = f'<details class="section"{key}>\n{summary}\n{content}\n</details>'
            return whole if inner else ""
        case TextTable():
            return _html_table(block) if block.rows else ""


def html_table(table: TextTable) -> str:
    """Return the first rows of a table, for notebooks, with short texts."""
    rows = [[visible(cell.text, 200) for cell in row.cells] for row in table.rows[:MAX_TABLE_ROWS]]
    more = (table.total or len(table.rows)) - len(rows)
    shown = TextTable.of(table.columns, rows, caption=table.caption)
    return _html_table(shown) + f"\n<p>… and {more:,} more</p>" * (more > 0)


def _html_table(table: TextTable) -> str:
    """Return a table in a frame that scrolls; the best cells are emphasised."""
    kinds = ["" if is_numeric else " text" for is_numeric in numeric_columns(table)]

    def filled(cell: Cell) -> str:
        text = f"<strong>{_safe(cell.text)}</strong>" if cell.best else _safe(cell.text)
        marks = " ".join(filter(None, (cell.marks, cell.count)))
        text += f' <span class="marks">{_safe(marks)}</span>' if marks else ""
        return text + (f'<span class="interval">{_safe(cell.detail)}</span>' if cell.detail else "")

    head = "".join(
        f'<th scope="col" class="name{kind}">{filled(column.heading)}</th>'
        for column, kind in zip(table.columns, kinds, strict=True)
    )
    rows = ""
    for row in table.rows:
        first, *others = map(filled, row.cells)
        cells = (
            f'<td class="value{kind}">{cell}</td>'
            for kind, cell in zip(kinds[1:], others, strict=True)
        )
        rows += f'<tr><th scope="row">{first}</th>{"".join(cells)}</tr>\n'
    name = _safe(table.caption or ", ".join(column.heading.text for column in table.columns))
    return (
        f'<div class="scroll" role="group" aria-label="{name}" tabindex="0">\n'
        f'<table data-sortable="">\n<caption class="unseen">{name}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>"
    )


def html_page(blocks: Sequence[Block]) -> str:
    """Return blocks, of which the first is the title, as one page that loads nothing else."""
    title = blocks[0].text if isinstance(blocks[0], Heading) else ""
    styles = "".join(map(read_asset, _STYLES))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{make_policy(styles, "")}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{_safe(title)}</title>\n<style>{styles}</style>\n</head>\n<body>\n"
        f'<main id="main">\n{html(blocks)}\n</main>\n</body>\n</html>\n'
    )


@cache
def read_asset(name: str) -> str:
    """Return a style sheet or a script of pages."""
    return (resources.files(__package__) / "html" / name).read_text(encoding="utf-8")


def make_policy(styles: str, scripts: str) -> str:
    """Return a content security policy that allows exactly this style and this script."""
    style, script = (
        b64encode(sha256(text.encode()).digest()).decode() for text in (styles, scripts)
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
