"""Tables with a header line: comma, tab, semicolon or another separator, quoted or not.

The fast path splits all lines at once with Polars, if no value is quoted. Otherwise the module
``csv`` reads the file. Both return the same rows, with the line on which each starts.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from trectools_plus.formats.columns.facts import OddLines
from trectools_plus.formats.columns.ids import join_texts

SEPARATORS = {"\t": "TSV", ",": "CSV", ";": "semicolon-separated", "|": "pipe-separated"}
"""The separators that are detected, with the names of the formats."""
BLANKS = " "
"""Any number of spaces and tabs."""

_EXCEL_SEPARATOR = re.compile(r"sep=.")
_BARE_CR = re.compile("\r(?!\n)")
_SPLIT_BLANKS = re.compile(r"[ \t\x0b\x0c]+")
_CSV_FIELD_BYTES = 1 << 24
_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class Header:
    """The header line of a table.

    Attributes:
        line: Its line number, from 1.
        text: The line.
        names: The names of the columns, as written.
        separator: A key of :data:`SEPARATORS`, or :data:`BLANKS`; "" if rows are not lines.
        label: The name of another format than those of :data:`SEPARATORS`.
    """

    line: int
    text: str
    names: tuple[str, ...]
    separator: str
    label: str = "columns"

    @property
    def format(self) -> str:
        """The name of the format, for messages."""
        return SEPARATORS.get(self.separator, self.label)

    def split(self, text: str) -> list[str]:
        """Split a line into values, without quotes and blanks around them."""
        if self.separator == BLANKS:
            return _SPLIT_BLANKS.split(text.strip(" \t\v\f"))
        try:
            values = next(csv.reader([text], delimiter=self.separator, skipinitialspace=True), [])
        except csv.Error:
            values = text.split(self.separator)
        return [value.strip(" \t") for value in values]

    def column_of(self, text: str, place: int) -> int:
        """Return the column in characters, from 1, at which a value (from 0) of a line starts."""
        if self.separator == BLANKS:
            starts = [match.start() for match in re.finditer(r"[^ \t\v\f]+", text)]
            return starts[place] + 1 if place < len(starts) else 1
        at = 0
        for _ in range(place):
            if text.startswith('"', at):
                at = max(at, text.find('"', at + 1))
            at = text.find(self.separator, at) + 1
            if not at:
                return 1
        return at + 1


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a table with a header.

    Attributes:
        header: The header.
        rows: ``line`` (UInt32: where the row starts), then Strings ``c1``, ``c2``, …, one for each
            column, without blanks around the values; "" for a missing value.
        misshapen: Rows with more values than the header has names, or with quotes that do not
            match.
        comments: Lines that start with ``#``.
        has_lines: False if the lines of the rows are unknown.
    """

    header: Header
    rows: pl.DataFrame
    misshapen: OddLines = field(default_factory=OddLines.of)
    comments: OddLines = field(default_factory=OddLines.of)
    has_lines: bool = True


def find_header(text: str, accept: Callable[[Sequence[str]], bool]) -> Header | None:
    """Return the header of a file, if its first line with data is one.

    Args:
        text: The file or its beginning, without byte order mark.
        accept: Returns whether names of columns are those of the expected kind of file.
    """
    for number, line in enumerate(text[:_HEAD].split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip(" \t\v\f") or line.startswith("#") or _is_excel_line(number, line):
            continue
        if line.lstrip().startswith(("{", "[", "<")):  # JSON or XML
            return None
        separators = [one for one in SEPARATORS if one in line]
        for separator in (*separators, BLANKS):
            header = Header(number, line, (), separator)
            names = header.split(line)
            if len(names) > 1 and accept(names):
                return Header(number, line, tuple(names), separator)
        return None
    return None


def _is_excel_line(number: int, line: str) -> bool:
    """Return whether a line is ``sep=;``, by which Excel names the separator."""
    return number == 1 and _EXCEL_SEPARATOR.fullmatch(line) is not None


def read_table(text: str, header: Header) -> Table:
    """Read all rows below a header; any content can be read.

    Args:
        text: The file, without byte order mark.
        header: Its header.
    """
    lines = text.split("\n", header.line)
    body = lines[header.line] if len(lines) > header.line else ""
    if '"' not in body or header.separator == BLANKS:
        return _split(body, header)
    regular = _split_regular_quotes(body, header)
    if regular is not None:
        return regular
    try:
        return _read_quoted(body, header)
    except _StrayQuoteError:
        return _split(body, header)


def _lines_of(body: str, header: Header) -> tuple[pl.DataFrame, OddLines]:
    """Return ``line, text`` of the lines with data, and the comments."""
    texts = pl.Series("text", [body]).str.split("\n").explode().str.strip_suffix("\r")
    first = header.line + 1
    lines = pl.int_range(first, first + texts.len(), dtype=pl.UInt32, eager=True).alias("line")
    frame = pl.DataFrame([lines, texts]).filter(pl.col("text").str.contains(r"[^ \t\x0b\x0c]"))
    is_comment = pl.col("text").str.starts_with("#")
    return frame.filter(~is_comment), OddLines.of_frame(frame.filter(is_comment))


def _split(body: str, header: Header) -> Table:
    """Split all lines at once."""
    n_columns = len(header.names)
    frame, comments = _lines_of(body, header)
    values, separator = pl.col("text"), header.separator
    if separator == BLANKS:
        values, separator = values.str.strip_chars(" \t\x0b\x0c"), "\t"
        values = values.str.replace_all(r"[ \t\x0b\x0c]+", "\t")
    frame = frame.with_columns(
        values=values, n_fields=values.str.count_matches(separator, literal=True) + 1
    )
    is_wide = frame["n_fields"] > n_columns
    if is_wide.any():  # empty values at the end of a line are no values
        filled = frame["values"].str.strip_chars_end(f"{separator} ")
        is_wide &= filled.str.count_matches(separator, literal=True) >= n_columns
    misshapen = OddLines.of_frame(frame.filter(is_wide))
    frame = frame.filter(~is_wide)
    parts = frame["values"].str.splitn(separator, n_columns + 1).struct.unnest()
    rows = frame.select("line").hstack(
        [
            parts[f"field_{place}"].fill_null("").str.strip_chars(" \t").alias(f"c{place + 1}")
            for place in range(n_columns)
        ]
    )
    return Table(header, rows, misshapen, comments)


def _split_regular_quotes(body: str, header: Header) -> Table | None:
    """Split all lines at once if each value in quotes is on one line and has no quotes in it."""
    one = re.escape(header.separator)
    value = rf'(?:"[^"]*"|[^"{one}]*)'
    n_others = len(header.names) - 1
    frame, comments = _lines_of(body, header)
    if not frame["text"].str.contains(rf"^{value}(?:{one}{value}){{{n_others}}}$").all():
        return None
    names = [f"c{number}" for number in range(1, len(header.names) + 1)]
    if frame.is_empty():
        values = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    else:
        values = pl.read_csv(
            join_texts(frame["text"], "\n").encode(),
            has_header=False,
            separator=header.separator,
            schema=dict.fromkeys(names, pl.String),
        )
    rows = frame.select("line").hstack(values.select(pl.all().fill_null("").str.strip_chars(" \t")))
    return Table(header, rows, comments=comments)


class _StrayQuoteError(Exception):
    """A TSV file has quotes that are part of the text."""


def _read_quoted(body: str, header: Header) -> Table:
    """Read values in quotes, which may contain separators, quotes and line ends."""
    n_columns = len(header.names)
    lines: list[int] = []
    values: list[list[str]] = []
    misshapen: list[tuple[int, int, str]] = []
    comments: list[tuple[int, int, str]] = []
    for line, text, row in _records(body, header.separator):
        number = header.line + line
        if row is None:
            if header.separator == "\t":
                raise _StrayQuoteError
            misshapen.append((number, 1, text))
        elif text.startswith("#"):
            comments.append((number, 0, text))
        elif any(map(str.strip, row)):
            while len(row) > n_columns and not row[-1].strip():
                row.pop()
            if len(row) > n_columns:
                misshapen.append((number, len(row), text))
            else:
                lines.append(number)
                values.append(row + [""] * (n_columns - len(row)))
    names = [f"c{place}" for place in range(1, n_columns + 1)]
    rows = pl.DataFrame(values, schema=dict.fromkeys(names, pl.String), orient="row")
    rows = rows.with_columns(pl.all().str.strip_chars(" \t"))
    rows = rows.insert_column(0, pl.Series("line", lines, dtype=pl.UInt32))
    return Table(header, rows, OddLines.of(misshapen), OddLines.of(comments))


def _records(body: str, separator: str) -> Iterator[tuple[int, str, list[str] | None]]:
    """Yield line number, first line and values of each record; ``None`` if its quotes are wrong."""
    physical = _BARE_CR.sub(" ", body).split("\n")
    fed: list[str] = []

    def feed() -> Iterator[str]:
        for line in physical:
            fed.append(line)
            yield line + "\n"

    csv.field_size_limit(max(csv.field_size_limit(), _CSV_FIELD_BYTES))
    reader = csv.reader(feed(), delimiter=separator, skipinitialspace=True, strict=True)
    while True:
        start = len(fed)
        try:
            row: list[str] | None = next(reader)
        except StopIteration:
            return
        except csv.Error:
            row = None
        yield start + 1, fed[start].removesuffix("\r"), row
