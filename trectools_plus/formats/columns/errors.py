"""The first error of a column file, in file order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.lexer import MAX_LINES

# The names of the encodings of facts.guess_encoding() in messages and for iconv.
_ENCODINGS = {
    "utf-16": ("UTF-16", "utf-16"),
    "utf-32": ("UTF-32", "utf-32"),
    "utf-16le": ("UTF-16LE", "utf-16le"),
    "utf-16be": ("UTF-16BE", "utf-16be"),
    "utf-32le": ("UTF-32LE", "utf-32le"),
    "utf-32be": ("UTF-32BE", "utf-32be"),
    "latin-1": ("Latin-1", "latin1"),
}


def find_field_error(
    columns: Columns,
    number: int,
    wrong: npt.NDArray[np.bool_],
    describe: Callable[[str], tuple[str, str]],
) -> FormatError | None:
    """Return the error of the first row whose field ``number`` (from 1) is ``wrong``.

    Args:
        columns: The file.
        number: The number of the field.
        wrong: True for rows in which the field is wrong.
        describe: Returns the problem of a text, and the remedy.
    """
    if not wrong.any():
        return None
    row = np.flatnonzero(wrong)[:1]
    line = int(columns.lines[row[0]])
    (text,) = columns.texts(number, row)
    return _error(columns, line, columns.column_of_field(line, number) or 1, *describe(text))


def raise_first_error(
    columns: Columns,
    layout: str,
    field_errors: Iterable[FormatError | None] = (),
) -> None:
    """Raise the first error of a file: of its encoding, the number of columns, or its fields.

    Args:
        columns: The file.
        layout: The names of the columns, for messages about their number.
        field_errors: Errors of the fields.

    Raises:
        FormatError: If there is an error, or the file has no rows with data.
    """
    found = [
        *_encoding_errors(columns),
        _column_count_error(columns, layout),
        *field_errors,
        _overlong_error(columns, layout),
    ]
    # min() returns the first of several errors on one line: bad bytes explain a bad field.
    errors = (error for error in found if error is not None)
    first = min(errors, key=lambda error: error.line or 0, default=None)
    if first is not None:
        raise first
    if not columns.n_rows:
        n_comments = len(columns.comments)
        content = f"{n_comments} comment lines" if n_comments else "the file is empty"
        if not n_comments and columns.facts.n_lines:
            content = "blank lines only"
        raise FormatError(
            f"no data rows ({content})",
            path=columns.source.path,
            remedy="check that the program that wrote the file finished",
        )


def _encoding_errors(columns: Columns) -> Iterator[FormatError]:
    facts = columns.facts
    name, iconv = _ENCODINGS[facts.encoding_guess or "latin-1"]
    convert = f"convert it: iconv -f {iconv} -t utf-8"
    if facts.bad_utf8:
        bad = facts.bad_utf8
        what = f"byte 0x{bad.value:02X} is not UTF-8 ({name}?)"
        yield _error(columns, bad.line, bad.column, what, convert)
    is_wide = name.startswith("UTF-")
    for line, character, what, remedy in (
        (
            facts.nul.first,
            "\0",
            f"NUL byte ({name} text?)" if is_wide else "NUL byte",
            convert if is_wide else "remove it, and check how the file was copied",
        ),
        (
            facts.bare_cr.first,
            "\r",
            "bare CR, not a line end",
            "end lines with LF; if every line ends in CR, use tr '\\r' '\\n'",
        ),
    ):
        if line is not None:
            yield _error(
                columns, line, columns.line_index.text(line).find(character) + 1, what, remedy
            )


def _overlong_error(columns: Columns, layout: str) -> FormatError | None:
    """Return the error of the line before which reading stopped."""
    line, overlong = columns.facts.stopped_at, columns.source.overlong
    if line is None:
        return None
    what = f"more than {MAX_LINES:,} lines" if overlong is None else overlong.what
    return _error(columns, line, None, what, f"write {layout}, one entry per line")


def _column_count_error(columns: Columns, layout: str) -> FormatError | None:
    if not len(columns.misshapen):
        return None
    line, n_fields, text = columns.misshapen.rows()[0]
    origin = columns.origin
    if origin is not None:
        what = f"expected {origin.n_values} columns but got {n_fields}"
        return _error(columns, line, None, what, f"write {' '.join(origin.required)}")
    what, remedy = f"expected {columns.n_fields} columns but got {n_fields}", f"write {layout}"
    if n_fields == 1 and "," in text:
        what, remedy = f"{what} (comma-separated?)", f"separate columns by spaces: {layout}"
    return _error(columns, line, None, what, remedy)


def _error(columns: Columns, line: int, column: int | None, what: str, remedy: str) -> FormatError:
    return FormatError(what, path=columns.source.path, line=line, column=column, remedy=remedy)
