"""What kind of file this is, judged before any row: a header, another format, the wrong kind.

When a whole file is something else, one finding says so, and the rules about single rows keep
still: ten thousand rows of the wrong width have one cause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import polars as pl

from trectools_plus.formats.columns import Columns
from trectools_plus.formats.numerals import DECIMAL, INTEGER
from trectools_plus.formats.qrels import N_FIELDS as QRELS_FIELDS
from trectools_plus.formats.qrels import has_beir_header
from trectools_plus.formats.run import N_FIELDS as RUN_FIELDS

SNIFFED_BYTES = 4096
NOT_FINITE = r"(?i)^[+-]?(?:nan|inf|infinity)$"

BEIR_FIELDS = 3

_WORD = re.compile(r"[A-Za-z_][A-Za-z_.#-]*")
_NUMBER_WORD = re.compile(NOT_FINITE)

Verdict = Literal["rows", "not-text", "other-format", "wrong-kind", "beir"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The verdict on a file as a whole.

    Attributes:
        verdict: ``rows`` is the right kind; anything else explains all misshapen rows at once
            (``not-text``: two or four bytes per character, or no line ends but CR).
        format: For ``other-format``: its name, as in "looks like JSON".
        header: Line number and text of a header line, where there is one.
        header_in_rows: Whether that line has as many fields as a row.
        first_line: Line number of the first line that holds data.
    """

    verdict: Verdict = "rows"
    format: str | None = None
    header: tuple[int, str] | None = None
    header_in_rows: bool = False
    first_line: int | None = None


def shape_of_run(columns: Columns) -> Shape:
    """Judge a file that should be a run."""
    first_line = _first_line(columns)
    if _is_not_text(columns):
        return Shape("not-text", first_line=first_line)
    other = other_format(columns.source.head, columns.n_rows)
    if other is not None:
        return Shape("other-format", other, first_line=first_line)
    if _all_misshapen(columns, QRELS_FIELDS) and _all_match(columns, 4, INTEGER):
        return Shape("wrong-kind", first_line=first_line)
    header, in_rows = _header(columns, number_fields=(1, 4, 5), name_field=5)
    return Shape(header=header, header_in_rows=in_rows, first_line=first_line)


def shape_of_qrels(columns: Columns) -> Shape:
    """Judge a file that should be qrels."""
    first_line = _first_line(columns)
    if _is_not_text(columns):
        return Shape("not-text", first_line=first_line)
    if (
        _all_misshapen(columns, RUN_FIELDS)
        and _all_match(columns, 5, DECIMAL)
        and _all_match(columns, 2, "(?i)^q0$")
    ):
        return Shape("wrong-kind", first_line=first_line)
    if _all_misshapen(columns, BEIR_FIELDS) and has_beir_header(columns.source):
        first = columns.misshapen.row(0, named=True)
        return Shape("beir", header=(first["line"], first["text"]), first_line=first_line)
    header, in_rows = _header(columns, number_fields=(1, 2, 3, 4), name_field=4)
    return Shape(header=header, header_in_rows=in_rows, first_line=first_line)


def other_format(data: bytes, n_rows: int) -> str | None:
    """Name the format of a file's first 4 KiB when it is plainly not columns.

    Args:
        data: The content of the file, or its beginning.
        n_rows: How many rows of the right shape it has. Files that have some are not judged by
            their first character, for ids may start with a brace or a quote.
    """
    head = data[:SNIFFED_BYTES].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    lines = [line for line in head.splitlines() if line.strip()][:20]
    if not lines:
        return None
    fields = lines[0].split()
    if all(len(field) > 1 and field[0] == field[-1] == '"' for field in fields):
        return "quoted fields"
    if n_rows:
        return None
    if re.match(r"<(?:!doctype|html|head|body|\?xml|[a-z]+[ >])", head, re.IGNORECASE):
        return "HTML or XML"
    if re.match(r'[{\[]\s*(?:["\[{}\]]|-?\d|$)', head):
        return "JSON"
    for separator, name in ((",", "comma-separated"), (";", "semicolon-separated")):
        if all(_is_separated(line, separator) for line in lines[:-1] or lines):
            return name
    return None


def _is_separated(line: str, separator: str) -> bool:
    return line.count(separator) >= 2 and len(line.split()) < 3


def wide_encoding(columns: Columns) -> str | None:
    """``utf-16`` or ``utf-32`` when the bytes look like that: each ASCII character with NULs."""
    guess = columns.facts.encoding_guess
    return guess if guess in ("utf-16", "utf-32") else None


def has_only_bare_cr(columns: Columns) -> bool:
    """Whether the only line ends are CR, as old Macintosh programs wrote them."""
    facts = columns.facts
    return bool(facts.bare_cr) and facts.n_lf + facts.n_crlf == 0


def _is_not_text(columns: Columns) -> bool:
    return wide_encoding(columns) is not None or has_only_bare_cr(columns)


def _first_line(columns: Columns) -> int | None:
    starts = []
    if columns.n_rows:
        starts.append(int(columns.lines[0]))
    if columns.misshapen.height:
        starts.append(int(columns.misshapen["line"][0]))
    if columns.facts.stopped_at is not None:
        starts.append(columns.facts.stopped_at)
    return min(starts, default=None)


def _all_misshapen(columns: Columns, n_fields: int) -> bool:
    found = columns.misshapen
    return columns.n_rows == 0 and found.height > 0 and bool((found["n_fields"] == n_fields).all())


def _all_match(columns: Columns, field: int, pattern: str, skip: int = 0) -> bool:
    return bool(field_of(columns.misshapen[skip:]["text"], field).str.contains(pattern).all())


def field_of(texts: pl.Series, field: int) -> pl.Series:
    """Field number ``field`` (from 1) of each line of ``texts``; null where there is none."""
    blanks = " \t\x0b\x0c\r"
    pattern = rf"^[{blanks}]*(?:[^{blanks}]+[{blanks}]+){{{field - 1}}}([^{blanks}]+)"
    return texts.str.extract(pattern, 1)


def fields_of(text: str) -> list[str]:
    """The fields of a line; unlike ``str.split()`` it splits at ASCII blanks only."""
    return re.findall(r"[^ \t\x0b\x0c\r]+", text)


def _is_name(text: str) -> bool:
    """Whether a field is a column's name, where a number is due."""
    return bool(_WORD.fullmatch(text)) and not _NUMBER_WORD.match(text)


def _header(
    columns: Columns, number_fields: tuple[int, ...], name_field: int
) -> tuple[tuple[int, str] | None, bool]:
    """The first line, if its number fields hold names and a good row follows."""
    first_line = _first_line(columns)
    in_rows = columns.n_rows > 0 and columns.lines[0] == first_line
    if first_line is None or columns.n_rows < 1 + in_rows:
        return None, False
    text = columns.line_text(first_line)
    fields = fields_of(text)
    named = number_fields if in_rows else range(1, len(fields) + 1)
    if not all(_is_name(fields[field - 1]) for field in named if field <= len(fields)):
        return None, False
    following = columns.rows[f"c{name_field}"][int(in_rows)]
    if not re.match(DECIMAL, following):
        return None, False
    return (first_line, text), in_rows
