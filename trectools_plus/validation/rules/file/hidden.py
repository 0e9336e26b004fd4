"""Rules on invisible characters (R114, Q114)."""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from trectools_plus.validation.registry import Case, Rule, Subject
from trectools_plus.validation.views.places import Places, Value
from trectools_plus.validation.views.tables import TableView, fields_of

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


def lines_with(table: TableView, pattern: re.Pattern[bytes], numbers: tuple[int, ...]) -> Places:
    """Return the lines with a match in some fields, and what the message says about the first."""
    columns = table.columns
    if columns is None or not table.shape.has_rows:
        return Places()
    has_controls = columns.facts.has_controls or b"\x7f" in columns.source.data
    if columns.facts.is_ascii and not has_controls:
        return Places()
    matches: dict[int, tuple[int, str]] = {
        line: (0, text)
        for line, _, text in columns.misshapen.rows()
        if pattern.search(text.encode())
    }
    n_before = 0
    for fields in columns.fields():
        for match in pattern.finditer(fields.text.data.tobytes()):
            row = int(np.searchsorted(fields.ends[-1], match.start()))
            number = int(np.searchsorted(fields.ends[:, row], match.start())) + 1
            line = int(columns.lines[n_before + row])
            if number in numbers and line not in matches:
                matches[line] = number, fields.texts(number, np.array([row]))[0]
        n_before += fields.n_rows
    if not matches:
        return Places()
    lines = sorted(matches)
    number, text = matches[lines[0]]
    found = pattern.search(text.encode())
    assert found is not None
    character, at = found[0].decode(), len(text.encode()[: found.start()].decode())
    column = columns.column_of_field(lines[0], number) if number else None
    splits = "Python splits here, trec_eval does not"
    first: dict[str, Value] = {
        "name": f"character U+{ord(character):04X}",
        "field": next(field for field in fields_of(text) if character in field),
        "bare": pattern.sub(b"", text.encode()).decode(),
        "why": splits if character.isspace() else "tools split rows differently here",
    }
    return Places(
        len(lines),
        lines,
        None if column is None else column + at,
        first=first,
    )


def invisible_character(code: str, on: Subject, n_fields: int) -> Rule:
    """Return the rule on invisible characters in rows of ``n_fields`` fields."""
    everywhere = tuple(range(1, n_fields + 1))
    name = "run" if on == "run" else "qrels"
    return Rule(
        code,
        "invisible-character",
        on,
        "error",
        checks="NBSP, U+3000, control bytes, U+2028 in a row; U+200B, U+FEFF, U+00AD inside an id "
        "are a warning",
        rationale="Python's split() splits a row at a no-break space, C does not, so two tools see "
        "different columns. An id with a zero-width character looks like the correct id but never "
        "matches it.",
        example=f"{name}.txt:2: error {code}: character U+00A0 inside 'd\\u00a002'; Python splits "
        "here, trec_eval does not. Replace it with a plain blank, or remove it from the id.",
        remedy="Replace it with a plain blank, or remove it from the id",
        drop_in="scores",
        chunked=True,
        cases=(
            Case(
                "error",
                "{name} inside {field!q}[ (on {count} lines)]; {why}",
                partial(lines_with, pattern=INVISIBLE_BLANKS, numbers=everywhere),
            ),
            Case(
                "warning",
                "{name} inside {field!q}[ (on {count} lines)]; it looks like '{bare!v}' but is "
                "another id",
                partial(lines_with, pattern=INVISIBLE_IN_IDS, numbers=(1, 3)),
            ),
        ),
    )


R114 = invisible_character("R114", "run", 6)
Q114 = invisible_character("Q114", "qrels", 4)
