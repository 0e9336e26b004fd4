"""Rules on rows after '#' (R112, Q112) and on invisible characters (R114, Q114)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container

import numpy as np

from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.files.content import BOM
from trectools_plus.text import on, quoted, visible
from trectools_plus.validation.registry import Hit, Kinds, Places, Value, rule
from trectools_plus.validation.views.tables import TableView


def _commented_out_row(table: TableView) -> Hit | None:
    """A comment line looks like a row."""
    rows = table.commented_out_rows
    if not len(rows):
        return None
    lines = rows.line.tolist()
    if table.n_rows == 0 and table.shape.first_line is None:
        remedy = "Rename the ids if they start with '#'"
        return Hit("all rows start with '#'", lines, len(lines), severity="error", remedy=remedy)
    many = f" (and {len(lines) - 1:,} more)" if len(lines) > 1 else ""
    return Hit(f"{quoted(rows.text[0])} is skipped as a comment{many}", lines, len(lines))


run_row_behind_hash = rule(
    "R112",
    "row-behind-hash",
    on="run",
    scope="file",
    severity="warning",
    fix="no",
    checks="comment line that looks like a row; error if all rows do",
    rationale="A line that begins with '#' is a comment to trec_eval 10 and to this package, but "
    "a row to every other reader.",
    example="run.txt:4: warning R112: '#1 Q0 d10 4 6.0 base' is skipped as a comment. Rename the "
    "id if it starts with '#'.",
    remedy="Rename the id if it starts with '#'",
    may_be_error=True,
)(_commented_out_row)


qrels_row_behind_hash = rule(
    "Q112",
    "row-behind-hash",
    on="qrels",
    scope="file",
    severity="warning",
    fix="no",
    checks="comment line that looks like a row; error if all rows do",
    rationale="A line that begins with '#' is a comment to trec_eval 10 and to this package, but "
    "a judgment to every other reader.",
    example="qrels.txt:1: error Q112: all rows start with '#'. Rename the ids if they start with "
    "'#'.",
    remedy="Rename the id if it starts with '#'",
    may_be_error=True,
)(_commented_out_row)


INVISIBLE_BLANKS = re.compile(
    rb"[\x01-\x08\x0e-\x1f\x7f]|\xc2[\x80-\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]"
    rb"|\xe2\x81\x9f|\xe3\x80\x80"
)
"""Control characters, and characters at which some tools split a row and others do not, in UTF-8:
U+0080 to U+00A0, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F and U+3000."""


INVISIBLE_IN_IDS = re.compile(
    rb"\xc2\xad|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa4\xa6-\xa9]|\xef\xbb\xbf"
)
"""Characters without width, some of which change the writing direction, in UTF-8: U+00AD, U+200B to
U+200F, U+202A to U+202E, U+2060 to U+2064, U+2066 to U+2069 and U+FEFF.

Because of them, different ids look the same.
"""


# First bytes of these characters in UTF-8, to skip files without them quickly.
_LEADS = (b"\xc2", b"\xe1\x9a", b"\xe2\x80", b"\xe2\x81", b"\xe3\x80\x80", b"\xef\xbb\xbf")


_NAMES = {
    "\u00a0": "no-break space",
    "\u3000": "ideographic space",
    "\u0085": "next-line character",
    "\u00ad": "soft hyphen",
    "\ufeff": "byte order mark",
    "\x7f": "delete character",
}


def _invisible_places(table: TableView) -> Kinds:
    """Lines with a character at which tools split a row (blank), or ids with one (in_id)."""
    columns = table.columns
    if columns is None or not table.shape.has_rows or not _may_contain_invisible(columns):
        return Kinds.of()
    every = range(1, columns.n_fields + 1)
    return Kinds.of(
        blank=_places(table, _lines_with(columns, INVISIBLE_BLANKS, every), INVISIBLE_BLANKS),
        in_id=_places(table, _lines_with(columns, INVISIBLE_IN_IDS, (1, 3)), INVISIBLE_IN_IDS),
    )


def _find_invisible(table: TableView, found: Kinds) -> Hit:  # noqa: ARG001
    """A row contains an invisible character."""
    blank, in_id = found["blank"], found["in_id"]
    lines = blank if blank.count else in_id
    inside = f"{lines['name']} inside {quoted(str(lines['text']))}{on(lines.count, 'line')}"
    if blank.count:
        splits = "Python splits here, trec_eval does not"
        why = splits if lines["is_blank"] else "tools split rows differently here"
        return lines.hit(f"{inside}; {why}")
    bare = visible(str(lines["bare"]))
    return lines.hit(f"{inside}; it looks like '{bare}' but is another id", severity="warning")


invisible_character = rule(
    "R114",
    "invisible-character",
    on="run",
    scope="row",
    severity="error",
    fix="no",
    checks="NBSP, U+3000, control bytes, U+2028 in a row; U+200B, U+FEFF, U+00AD inside an id are "
    "a warning",
    rationale="Python's split() splits a row at a no-break space, C does not, so two tools see "
    "different columns. An id with a zero-width character looks like the correct id but never "
    "matches it.",
    example="run.txt:2: error R114: no-break space inside 'd\\u00a002'; Python splits here, "
    "trec_eval does not. Replace it with a plain blank, or remove it from the id.",
    remedy="Replace it with a plain blank, or remove it from the id",
    drop_in="scores",
    collect=_invisible_places,
)(_find_invisible)


invisible_character_in_qrels = rule(
    "Q114",
    "invisible-character",
    on="qrels",
    scope="row",
    severity="error",
    fix="no",
    checks="NBSP, U+3000, control bytes, U+2028 in a row; U+200B, U+FEFF, U+00AD inside an id are "
    "a warning",
    rationale="Python's split() splits a row at a no-break space, C does not, so two tools see "
    "different columns. A judgment of an id with a zero-width character never matches its "
    "document.",
    example="qrels.txt:2: error Q114: no-break space inside 'd\\u00a002'; Python splits here, "
    "trec_eval does not. Replace it with a plain blank, or remove it from the id.",
    remedy="Replace it with a plain blank, or remove it from the id",
    drop_in="scores",
    collect=_invisible_places,
)(_find_invisible)


def _may_contain_invisible(columns: Columns) -> bool:
    """Quickly test whether the file may contain such a character."""
    data = columns.source.data
    start = len(BOM) if columns.facts.has_bom else 0
    if not columns.facts.is_ascii:
        # To find a single byte is much faster than to find several.
        for lead in _LEADS:
            if lead[:1] in data and data.find(lead, start) >= 0:
                return True
    return columns.facts.has_controls or b"\x7f" in data


def _lines_with(
    columns: Columns, pattern: re.Pattern[bytes], numbers: Container[int]
) -> list[tuple[int, int, str]]:
    """Return the number, field and text of the lines with a match in some fields, in file order.

    The field is 0 for misshapen lines.
    """
    found: dict[int, tuple[int, int, str]] = {}
    n_before = 0
    for fields in columns.fields():
        for match in pattern.finditer(fields.text.data.tobytes()):
            row = int(np.searchsorted(fields.ends[-1], match.start()))
            number = int(np.searchsorted(fields.ends[:, row], match.start())) + 1
            line = int(columns.lines[n_before + row])
            if number in numbers and line not in found:
                found[line] = (line, number, fields.texts(number, np.array([row]))[0])
        n_before += fields.n_rows
    whole = [(line, 0, text) for line, _, text in columns.misshapen.rows()]
    whole = [one for one in whole if pattern.search(one[2].encode())]
    return sorted([*found.values(), *whole])


def _places(
    table: TableView, hits: list[tuple[int, int, str]], pattern: re.Pattern[bytes]
) -> Places:
    """Return some lines as places, with the first match."""
    if not hits:
        return Places()
    line, field, text = hits[0]
    match = pattern.search(text.encode())
    assert match is not None
    character, at = match[0].decode(), len(text.encode()[: match.start()].decode())
    column = table.column_on(line, field) if field else None
    if field == 0:
        text = _word_around(text, at)
    first: dict[str, Value] = {
        "name": _NAMES.get(character) or unicodedata.name(character, "control character").lower(),
        "text": text,
        "bare": pattern.sub(b"", text.encode()).decode(),
        "is_blank": character.isspace(),
    }
    lines = [line for line, _, _ in hits]
    return Places(len(hits), lines, None if column is None else column + at, first=first)


def _word_around(text: str, at: int) -> str:
    """Return the field of a line that contains the character at position ``at``."""
    begin = max(text.rfind(" ", 0, at), text.rfind("\t", 0, at)) + 1
    ends = [end for end in (text.find(" ", at), text.find("\t", at)) if end >= 0]
    return text[begin : min(ends, default=len(text))]
