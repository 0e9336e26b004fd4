"""The first problem of a column file, in file order, as a ``FormatError``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.columns import Columns

# The results of facts.guess_encoding(), as people and as iconv spell them.
_ENCODINGS = {
    "utf-16": ("UTF-16", "utf-16"),
    "utf-32": ("UTF-32", "utf-32"),
    "utf-16le": ("UTF-16LE", "utf-16le"),
    "utf-16be": ("UTF-16BE", "utf-16be"),
    "utf-32le": ("UTF-32LE", "utf-32le"),
    "utf-32be": ("UTF-32BE", "utf-32be"),
    "latin-1": ("Latin-1", "latin1"),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem at a place in a file.

    Attributes:
        line: The line of the file, from 1.
        column: The column in characters, from 1; ``None`` for the whole line.
        what: The problem.
        remedy: What to do about it.
    """

    line: int
    column: int | None
    what: str
    remedy: str

    @classmethod
    def at_first(
        cls,
        columns: Columns,
        rows: pl.DataFrame,
        number: int,
        wrong: pl.Series,
        describe: Callable[[str], tuple[str, str]],
    ) -> Problem | None:
        """Return the problem of the first row whose field ``number`` (from 1) is ``wrong``."""
        at = wrong.arg_max() if wrong.any() else None
        if at is None:
            return None
        line, text = rows["line"][at], rows[f"c{number}"][at]
        return cls(line, columns.field_column(line, number), *describe(text))


def refuse_problems(
    columns: Columns,
    layout: str,
    further: Iterable[Problem | None] = (),
    n_rows: int | None = None,
) -> None:
    """Raise the first problem of a file: of its bytes, the number of columns, or its fields.

    Args:
        columns: The file.
        layout: The names of the columns, for messages about their number.
        further: Problems of the fields.
        n_rows: The number of rows with data, if it is not that of all rows.

    Raises:
        FormatError: If there is a problem, or the file has no rows with data.
    """
    found = [
        *_problems_of_bytes(columns),
        _misshapen(columns, layout),
        *further,
        _stopped(columns, layout),
    ]
    # min() returns the first of equals: bad bytes explain a bad field on the same line.
    problem = min((p for p in found if p), key=lambda p: p.line, default=None)
    path = columns.source.path
    if problem is not None:
        raise FormatError(
            problem.what,
            path=path,
            line=problem.line,
            column=problem.column,
            remedy=problem.remedy,
        )
    if not (columns.n_rows if n_rows is None else n_rows):
        n_comments = columns.comments.height
        seen = f"{n_comments} comment lines" if n_comments else "the file is empty"
        if not n_comments and columns.facts.n_lines:
            seen = "blank lines only"
        raise FormatError(
            f"no data rows ({seen})",
            path=path,
            remedy="check that the job that wrote it was not stopped",
        )


def _problems_of_bytes(columns: Columns) -> Iterable[Problem | None]:
    facts = columns.facts
    name, iconv = _ENCODINGS[facts.encoding_guess or "latin-1"]
    convert = f"convert it: iconv -f {iconv} -t utf-8"
    if facts.bad_utf8:
        bad = facts.bad_utf8
        what = f"byte 0x{bad.value:02X} is not UTF-8 ({name}?)"
        yield Problem(bad.line, bad.column, what, convert)
    if name.startswith("UTF-"):
        yield _character(columns, facts.nul.first, "\0", f"NUL byte ({name} text?)", convert)
    else:
        remedy = "remove it, and check how the file was copied"
        yield _character(columns, facts.nul.first, "\0", "NUL byte", remedy)
    remedy = "end lines with LF; if every line ends in CR, use tr '\\r' '\\n'"
    yield _character(columns, facts.bare_cr.first, "\r", "bare CR, not a line end", remedy)


def _character(
    columns: Columns, line: int | None, character: str, what: str, remedy: str
) -> Problem | None:
    if line is None:
        return None
    return Problem(line, columns.line_text(line).find(character) + 1, what, remedy)


def _stopped(columns: Columns, layout: str) -> Problem | None:
    if columns.facts.stopped_at is None:
        return None
    overlong = columns.source.overlong
    what = "more lines than any run has" if overlong is None else overlong.what
    return Problem(columns.facts.stopped_at, None, what, f"write {layout}, one entry a line")


def _misshapen(columns: Columns, layout: str) -> Problem | None:
    if columns.misshapen.is_empty():
        return None
    line, n_fields, text = columns.misshapen.row(0)
    what = f"expected {columns.n_fields} columns but got {n_fields}"
    if n_fields == 1 and "," in text:
        return Problem(
            line, None, f"{what} (comma-separated?)", f"separate columns by blanks: {layout}"
        )
    return Problem(line, None, what, f"write {layout}")
