"""The shape of a file, which is determined before its rows: a header, another format or kind.

If a whole file has another format or kind, one finding reports it, and the rules on single rows
report nothing, because all misshapen rows have the same cause.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER
from trectools_plus.formats.columns.rows import QRELS_FIELDS, RUN_FIELDS

SNIFFED_BYTES = 4096
NOT_FINITE = r"(?i)^[+-]?(?:nan|inf|infinity)$"


_SEPARATORS = {",": "comma-separated", ";": "semicolon-separated", "|": "pipe-separated"}


_WORD = re.compile(r"[A-Za-z_][A-Za-z_.#-]*")


_NUMBER_WORD = re.compile(NOT_FINITE)

_GRADE_NAME = re.compile(
    r"(?i)(?:[a-z_]+[_-])?(?:q?rel|relevanc[ey]|label|grade|judge?ment|rating)"
)


Verdict = Literal["rows", "not-text", "other-format", "wrong-kind", "arranged"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a file as a whole.

    Attributes:
        verdict: ``rows`` is the right kind; ``arranged`` too, in another format that is read, for
            example CSV with a header. Any other verdict explains all misshapen rows (``not-text``:
            UTF-16, UTF-32, or only CR as line end).
        format: For ``other-format`` and ``arranged``: the name of the format, for example "JSON".
        header: Line number and text of a header line, if there is one.
        header_in_rows: True if that line has as many fields as a row.
        first_line: Line number of the first line with data.
    """

    verdict: Verdict = "rows"
    format: str | None = None
    header: tuple[int, str] | None = None
    header_in_rows: bool = False
    first_line: int | None = None

    @property
    def has_rows(self) -> bool:
        """Return whether the file has the expected kind, so that rules on rows apply."""
        return self.verdict in ("rows", "arranged")


def shape_of_run(columns: Columns) -> Shape:
    """Return the shape of a file that should be a run."""
    first_line = _first_line(columns)
    if _is_not_text(columns):
        return Shape("not-text", first_line=first_line)
    if columns.origin is not None:
        return _shape_of_arranged(columns, first_line)
    other = other_format(columns.source.head, columns.n_rows)
    if other is not None:
        return Shape("other-format", other, first_line=first_line)
    if _all_misshapen(columns, QRELS_FIELDS) and _all_match(columns, 4, INTEGER):
        return Shape("wrong-kind", first_line=first_line)
    header, in_rows = _header(columns, number_fields=(1, 4, 5), name_field=5)
    return Shape(header=header, header_in_rows=in_rows, first_line=first_line)


def shape_of_qrels(columns: Columns) -> Shape:
    """Return the shape of a file that should be qrels."""
    first_line = _first_line(columns)
    if _is_not_text(columns):
        return Shape("not-text", first_line=first_line)
    if columns.origin is not None:
        return _shape_of_arranged(columns, first_line)
    if (
        _all_misshapen(columns, RUN_FIELDS)
        and _all_match(columns, 5, DECIMAL)
        and _all_match(columns, 2, "(?i)^q?0$")
        and (_all_match(columns, 2, "(?i)^q0$") or _all_match(columns, 4, INTEGER))
    ):
        return Shape("wrong-kind", first_line=first_line)
    header, in_rows = _header(columns, number_fields=(1, 2, 3, 4), name_field=4)
    return Shape(header=header, header_in_rows=in_rows, first_line=first_line)


def _shape_of_arranged(columns: Columns, first_line: int | None) -> Shape:
    origin = columns.origin
    assert origin is not None
    first_line = first_line if origin.header else 1
    return Shape("arranged", origin.format, origin.header, first_line=first_line)


def other_format(data: bytes, n_rows: int) -> str | None:
    """Return the name of a file's format, if its first 4 KiB are clearly not columns.

    Args:
        data: The content of the file, or its beginning.
        n_rows: Number of rows with the right number of columns. If there are any, the file is not
            tested for JSON and HTML, because ids may start with a brace.
    """
    head = data[:SNIFFED_BYTES].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    lines = [line for line in head.splitlines() if line.strip()][:20]
    if not lines:
        return None
    fields = lines[0].split()
    if all(len(field) > 1 and field[0] == field[-1] == '"' for field in fields):
        return "quoted fields"
    is_json = re.match(r'[{\[]\s*(?:["\[{}\]]|-?\d|$)', head) is not None
    for separator, name in () if is_json and not n_rows else _SEPARATORS.items():
        sample = lines[:-1] or lines
        if all(_is_separated(line, separator, strict=n_rows > 0) for line in sample):
            return name
    if n_rows:
        return "JSON" if _is_json_object(lines[0]) else None
    if re.match(r"<(?:!doctype|html|head|body|\?xml|[a-z]+[ >])", head, re.IGNORECASE):
        return "HTML or XML"
    return "JSON" if is_json else None


def _is_json_object(line: str) -> bool:
    """Return whether a line is a JSON object with a key, as in JSON Lines."""
    if not line.startswith('{"'):
        return False
    try:
        return bool(json.loads(line))
    except (ValueError, RecursionError):
        return False


def _is_separated(line: str, separator: str, *, strict: bool) -> bool:
    """Return whether a separator splits a line into fields; if ``strict``, of one word each."""
    parts = line.split(separator)
    if len(parts) >= QRELS_FIELDS and all(len(part.split()) == 1 for part in parts):
        return True
    return not strict and len(parts) > 2 and len(line.split()) < 3


def wide_encoding(columns: Columns) -> str | None:
    """Return the UTF-16 or UTF-32 encoding that the bytes seem to have; ``None`` for others."""
    guess = columns.facts.encoding_guess
    return guess if guess is not None and guess.startswith("utf-") else None


def has_only_bare_cr(columns: Columns) -> bool:
    """Return whether all line ends are CR, as in old Macintosh files."""
    facts = columns.facts
    return bool(facts.bare_cr) and facts.n_lf + facts.n_crlf == 0


def _is_not_text(columns: Columns) -> bool:
    return wide_encoding(columns) is not None or has_only_bare_cr(columns)


def _first_line(columns: Columns) -> int | None:
    starts = []
    if columns.n_rows:
        starts.append(int(columns.lines[0]))
    if len(columns.misshapen):
        starts.append(int(columns.misshapen.line[0]))
    if columns.facts.stopped_at is not None:
        starts.append(columns.facts.stopped_at)
    return min(starts, default=None)


def _all_misshapen(columns: Columns, n_fields: int | None = None) -> bool:
    """Return whether all lines are misshapen, with ``n_fields`` fields (or any number) each."""
    found = columns.misshapen.n_fields
    if columns.n_rows or not len(found):
        return False
    return n_fields is None or bool((found == n_fields).all())


def _all_match(columns: Columns, field: int, pattern: str) -> bool:
    """Return whether a field (from 1) of all misshapen lines matches; they must have the field."""
    matches = re.compile(pattern).search
    return all(matches(fields_of(text)[field - 1]) for text in columns.misshapen.text)


def fields_of(text: str) -> list[str]:
    """Split a line at ASCII white space only, unlike ``str.split()``."""
    return re.findall(r"[^ \t\x0b\x0c\r]+", text)


def _is_name(text: str) -> bool:
    """Return whether a field that should be a number looks like the name of a column."""
    return bool(_WORD.fullmatch(text)) and not _NUMBER_WORD.match(text)


def _header(
    columns: Columns, number_fields: tuple[int, ...], name_field: int
) -> tuple[tuple[int, str] | None, bool]:
    """Return a header line, and whether it has as many fields as a row.

    The first line is a header if it has words in place of numbers, and a valid row follows. The
    header of qrels may repeat the constant of column 2, as in ``qid Q0 docid rel``.
    """
    first_line = _first_line(columns)
    in_rows = columns.n_rows > 0 and columns.lines[0] == first_line
    if first_line is None or columns.n_rows < 1 + in_rows:
        return None, False
    text = columns.line_index.text(first_line)
    fields = fields_of(text)
    named: Iterable[int] = number_fields
    if not in_rows:
        named = (at for at, text in enumerate(fields, 1) if text.upper() != "Q0")
    elif _GRADE_NAME.fullmatch(fields[-1]) and fields[1].upper() in ("Q0", "0"):
        named = (at for at in number_fields if at != 2)
    if not all(_is_name(fields[field - 1]) for field in named if field <= len(fields)):
        return None, False
    following = fields_of(columns.line_index.text(int(columns.lines[int(in_rows)])))[name_field - 1]
    if not re.match(DECIMAL, following):
        return None, False
    return (first_line, text), in_rows
