"""Tables in files: lines below a header with any separator, quoted or not, and Parquet.

Only the names of the columns distinguish a header from other lines.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.columns import OddLines
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.interchange.names import (
    JUDGMENT_TYPES,
    SYSTEMS,
    ColumnNames,
    Kind,
    find_fields,
    normalize,
)
from trectools_plus.text import listed, plural, shortened

SEPARATORS = {"\t": "TSV", ",": "CSV", ";": "semicolon-separated", "|": "pipe-separated"}
"""The separators that are detected, with the names of the formats."""
BLANKS = " "
"""Any number of spaces and tabs."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header line of a table.

    Attributes:
        line: Its line number, from 1.
        text: The line.
        names: The names of the columns, as written.
        separator: A key of :data:`SEPARATORS`, or :data:`BLANKS`; "" if rows are not lines.
        format: The name of the format, for messages.
    """

    line: int
    text: str
    names: tuple[str, ...]
    separator: str
    format: str


@dataclass(frozen=True, eq=False)
class HeadedTable:
    """The rows of a table with a header.

    Attributes:
        header: The header.
        rows: ``line`` (UInt32: where the row starts), then Strings ``c1``, ``c2``, …, one for each
            column, without blanks around the values; "" for a missing value.
        misshapen: Rows with more values than the header has names, or with quotes that do not
            match.
        comments: Lines that start with ``#``.
        has_lines: False if the lines of the rows are unknown.
        places: The column of each field, from 0.
        notes: What the reader added or left out.
    """

    header: Header
    rows: pl.DataFrame
    misshapen: OddLines = field(default_factory=OddLines.of)
    comments: OddLines = field(default_factory=OddLines.of)
    has_lines: bool = True
    places: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def headed(
    lines: Iterable[int], columns: Iterable[pl.Series], label: str, **further: Any
) -> HeadedTable:
    """Return a table without a header line.

    Args:
        lines: The line of each row.
        columns: Texts, with the names of the columns.
        label: The name of the format.
        further: Attributes of :class:`HeadedTable`.
    """
    columns = list(columns)
    texts = (column.alias(f"c{at}") for at, column in enumerate(columns, 1))
    rows = pl.DataFrame([pl.Series("line", lines, pl.UInt32), *texts])
    return HeadedTable(
        Header(0, "", tuple(column.name for column in columns), "", label), rows, **further
    )


def unjudged(n_rows: int) -> str:
    """Return the note on judgments without a grade."""
    return f"{plural(n_rows, 'row')} without a rating left out, because they are not judged"


def find_header(text: str, accept: Callable[[Sequence[str]], bool]) -> Header | None:
    """Return the header of a file, if its first line with data is one.

    Args:
        text: The file or its beginning, without byte order mark.
        accept: Returns whether names of columns are those of the expected kind of file.
    """
    for number, line in enumerate(text[: 1 << 16].split("\n"), 1):
        line = line.removesuffix("\r")
        is_excel = number == 1 and re.fullmatch("sep=.", line)  # names the separator
        if not line.strip(" \t\v\f") or line.startswith("#") or is_excel:
            continue
        if line.lstrip().startswith(("{", "[", "<")):  # JSON or XML
            return None
        for separator in (*filter(line.__contains__, SEPARATORS), BLANKS):
            names = tuple(_names_in(line, separator))
            if len(names) > 1 and accept(names):
                return Header(number, line, names, separator, SEPARATORS.get(separator, "columns"))
        return None
    return None


def _names_in(line: str, separator: str) -> list[str]:
    """Split a header into names, without quotes and blanks around them."""
    if separator == BLANKS:
        return re.split(r"[ \t\x0b\x0c]+", line.strip(" \t\v\f"))
    names = line.split(separator)
    with suppress(csv.Error):
        names = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    return [name.strip(" \t") for name in names]


def read_table(text: str, header: Header, places: Mapping[str, int] | None = None) -> HeadedTable:
    """Read all rows below a header; any content can be read.

    Args:
        text: The file, without byte order mark.
        header: Its header.
        places: The column of each field, from 0.
    """
    lines = text.split("\n", header.line)
    body = lines[header.line] if len(lines) > header.line else ""
    is_quoted = '"' in body and header.separator != BLANKS
    table = _read_quoted(body, header) if is_quoted else None
    return replace(table or _split(body, header), places=places or {})


def _lines_of(body: str, header: Header) -> tuple[pl.DataFrame, OddLines]:
    """Return ``line, text`` of the lines with data, and the comments."""
    texts = pl.Series("text", [body]).str.split("\n").explode().str.strip_suffix("\r")
    first = header.line + 1
    lines = pl.int_range(first, first + texts.len(), dtype=pl.UInt32, eager=True).alias("line")
    frame = pl.DataFrame([lines, texts]).filter(pl.col("text").str.contains(r"[^ \t\x0b\x0c]"))
    is_comment = pl.col("text").str.starts_with("#")
    return frame.filter(~is_comment), OddLines.of_frame(frame.filter(is_comment))


def _split(body: str, header: Header) -> HeadedTable:
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
    return HeadedTable(header, rows, misshapen, comments)


def _read_quoted(body: str, header: Header) -> HeadedTable | None:
    """Read values in quotes, which may contain separators, quotes and line ends.

    Returns:
        ``None`` for TSV with quotes that are part of the text.
    """
    n_columns = len(header.names)
    rows: list[tuple[int | str, ...]] = []
    misshapen: list[tuple[int, int, str]] = []
    comments: list[tuple[int, int, str]] = []
    for line, text, row in _records(body, header.separator):
        number = header.line + line
        values = [value.strip(" \t") for value in row or ()]
        while len(values) > n_columns and not values[-1]:
            values.pop()
        if row is None and header.separator == "\t":
            return None
        if row is not None and text.startswith("#"):
            comments.append((number, 0, text))
        elif row is None or len(values) > n_columns:
            misshapen.append((number, max(1, len(values)), text))
        elif any(values):
            rows.append((number, *values, *[""] * (n_columns - len(values))))
    names = dict.fromkeys((f"c{place}" for place in range(1, n_columns + 1)), pl.String)
    frame = pl.DataFrame(rows, {"line": pl.UInt32, **names}, orient="row")
    return HeadedTable(header, frame, OddLines.of(misshapen), OddLines.of(comments))


def _records(body: str, separator: str) -> Iterator[tuple[int, str, list[str] | None]]:
    """Yield line number, first line and values of each record; ``None`` if its quotes are wrong."""
    lines = re.sub("\r(?!\n)", " ", body).split("\n")
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 24))
    ended = (line + "\n" for line in lines)
    reader = csv.reader(ended, delimiter=separator, skipinitialspace=True, strict=True)
    while (start := reader.line_num) < len(lines):
        row: list[str] | None = None
        with suppress(csv.Error):
            row = next(reader)
        yield start + 1, lines[start].removesuffix("\r"), row


MAX_COLUMNS = 1000


def read_parquet_table(source: FileContent, kind: Kind, columns: ColumnNames | None) -> HeadedTable:
    """Read the columns that a run or qrels need, as texts.

    The schema decides whether the file is read, so files with other columns are refused at once.

    Args:
        source: The file.
        kind: The kind of file.
        columns: The columns of some fields.

    Raises:
        FormatError: If the file is damaged or too large, lacks a column, or has values that are not
            texts or numbers in one.
    """
    data = BytesIO(source.data)
    try:
        names = list(pl.read_parquet_schema(data))
        places = find_fields(names, kind.fields, columns)
        if len(names) > MAX_COLUMNS or not kind.is_complete(places):
            needed = {name: name for name in kind.required} | dict(columns or {})
            raise _refused(
                source,
                f"expected the columns {', '.join(needed.values())} but got {len(names):,} columns "
                f"({listed(names)})",
                f"name them: --columns query=NAME,doc_id=NAME,{kind.required[-1]}=NAME",
            )
        usual = {*map(normalize, (*SYSTEMS, *JUDGMENT_TYPES))}
        names = [
            name
            for at, name in enumerate(names)
            if at in places.values() or normalize(name) in usual
        ]
        scan = pl.scan_parquet(data).select(names)
        n_rows = scan.select(pl.len()).collect().item()
        if n_rows * 64 > limits.max_content_bytes():
            raise _refused(source, f"it has {n_rows:,} rows, which need more memory than allowed")
        frame = scan.collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        why = shortened(str(error).partition("\n")[0])
        raise _refused(source, f"it is damaged ({why})", "write the file again") from None
    places = find_fields(names, kind.fields, columns)
    ids = [names[places["query_id"]], names[places["doc_id"]]]
    texts = (_as_text(source, column, column.name in ids) for column in frame.iter_columns())
    return headed(range(1, frame.height + 1), texts, "Parquet", has_lines=False, places=places)


def _as_text(source: FileContent, column: pl.Series, is_id: bool) -> pl.Series:
    """Return the values as texts; "" for missing ones."""
    dtype = column.dtype
    is_text = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Binary, pl.Null)
    if not (dtype.is_numeric() or is_text) or (is_id and dtype.is_float()):
        raise _refused(
            source,
            f"expected text or numbers in column {column.name!r} but got {dtype}",
            "convert the column",
        )
    if dtype == pl.Boolean:
        column = column.cast(pl.Int8)
    elif dtype.is_decimal() or dtype == pl.Float32:
        column = column.cast(pl.Float64)
    return column.cast(pl.String, strict=False).fill_null("").str.strip_chars(" \t")


def _refused(source: FileContent, why: str, remedy: str | None = None) -> FormatError:
    return FormatError(
        f"this Parquet file cannot be read: {why}",
        path=source.path,
        remedy=remedy or "write only the columns query_id, doc_id and score or relevance",
    )
