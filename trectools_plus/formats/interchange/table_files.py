"""Tables in files: lines below a header with any separator, quoted or not, and Parquet.

Only the names of the columns distinguish a header from other lines.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.columns import OddLines
from trectools_plus.formats.columns.decimals import DECIMAL
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.interchange.names import (
    JUDGMENT_TYPES,
    RUN,
    SYSTEMS,
    ColumnNames,
    Kind,
    find_fields,
    normalize,
)
from trectools_plus.text import listed, shortened

SEPARATORS = {"\t": "TSV", ",": "CSV", ";": "semicolon-separated", "|": "pipe-separated"}
"""The separators that are detected, with the names of the formats."""
BLANKS = " "
"""Any number of spaces and tabs."""
VALUES = ("score", "rank", "relevance")
"""The fields that have a number."""


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
        comments: Lines that start with ``#``; those that would be rows have a field.
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


@dataclass(frozen=True, slots=True)
class Format:
    """A format of runs or qrels.

    Attributes:
        label: Its name in messages and in the documentation.
        text: What the documentation says about it.
        run: The mark by which a run is known; ``None`` if runs do not have this format.
        qrels: The mark of qrels.
        option: Its name for ``--from``; empty if it needs none.
        reader: Returns the rows of a file; ``None`` if it has another format.
    """

    label: str
    text: str
    run: str | None = None
    qrels: str | None = None
    option: str = ""
    reader: Callable[..., HeadedTable | None] | None = None

    def mark(self, kind: Kind) -> str | None:
        """Return the mark of a kind of file; ``None`` if it does not have this format."""
        return self.run if kind is RUN else self.qrels

    def read(
        self, source: FileContent, kind: Kind, columns: ColumnNames | None
    ) -> HeadedTable | None:
        """Return the rows of a file; ``None`` if another format reads it.

        Args:
            source: The file.
            kind: The kind of file.
            columns: The columns of some fields.
        """
        return self.reader(source, kind, columns) if self.reader else None


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


def find_header(text: str, accept: Callable[[Sequence[str]], bool]) -> Header | None:
    """Return the header of a file, if its first line with data is one.

    Args:
        text: The file or its beginning, without byte order mark.
        accept: Returns whether names of columns are those of the expected kind of file.
    """
    for number, line in enumerate(text[: 1 << 16].split("\n"), 1):
        line = line.removesuffix("\r")
        if re.match(r"[ \t\v\f]*$|#|sep=.$", line):  # Excel names the separator
            continue
        if re.match(r"\s*[{\[<]", line):  # JSON or XML
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
        return re.findall(r"[^ \t\v\f]+", line)
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
    body, places = "".join(text.split("\n", header.line)[header.line :]), places or {}

    def is_row(line: str) -> bool:
        """Return whether a line has the values of a row, with a number as score or grade."""
        if header.separator not in line or header.separator + " " in line:  # a sentence
            return False
        values = _names_in(line, header.separator)
        numbers = (values[places[name]] for name in VALUES if name in places)
        return len(values) == len(header.names) and any(re.match(DECIMAL, n) for n in numbers)

    is_quoted = '"' in body and header.separator != BLANKS
    records = _quoted_records(body, header, is_row) if is_quoted else None
    frame, comments = without_comments(
        _split(body, header) if records is None else records, header.separator
    )
    # Empty values at the end of a line are no values.
    further = frame["values"].list.slice(len(header.names)).list.join("")
    is_wide = further.str.contains(r"[^ \t]").fill_null(True)
    texts = (
        pl.col("values").list.get(place, null_on_oob=True).fill_null("").str.strip_chars(" \t")
        for place in range(len(header.names))
    )
    rows = frame.filter(~is_wide).select(
        "line", **{f"c{n}": text for n, text in enumerate(texts, 1)}
    )
    misshapen = frame.filter(is_wide).with_columns(
        n_fields=pl.col("values").list.len().fill_null(1)
    )
    comments = OddLines.of((line, is_row(text), text) for line, _, text in comments.rows())
    return HeadedTable(header, rows, OddLines.of_frame(misshapen), comments, places=places)


def lines_of(text: str, first: int = 1) -> pl.DataFrame:
    """Return ``line, text`` of the lines.

    Args:
        text: The lines.
        first: The number of the first line.
    """
    texts = pl.Series("text", [text]).str.split("\n").explode().str.strip_suffix("\r")
    return texts.to_frame().with_row_index("line", first)


def without_comments(lines: pl.DataFrame, separator: str = "") -> tuple[pl.DataFrame, OddLines]:
    """Return the lines with more than separators, and the comments."""
    lines = lines.filter(pl.col("text").str.contains(rf"[^ \t\x0b\x0c{separator}]"))
    is_comment = pl.col("text").str.starts_with("#")
    return lines.filter(~is_comment), OddLines.of_frame(lines.filter(is_comment))


def _split(body: str, header: Header) -> pl.DataFrame:
    """Return ``line, text, values`` of the lines below a header."""
    text, separator = pl.col("text").str, header.separator
    is_blank = separator == BLANKS
    values = text.extract_all(r"[^ \t\v\f]+") if is_blank else text.split(separator)
    return lines_of(body, header.line + 1).with_columns(values=values)


def _quoted_records(
    body: str, header: Header, is_row: Callable[[str], bool]
) -> pl.DataFrame | None:
    """Return ``line, text, values`` of records, whose values in quotes may contain line ends.

    Records without values are left out. ``values`` is null if the quotes are wrong, for example
    around lines that are rows.

    Returns:
        ``None`` for TSV with quotes that are part of the text.
    """
    records: list[tuple[int, str, str | None]] = []
    lines = re.sub("\r(?!\n)", " ", body.replace("\0", "\ufffd")).split("\n")
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 24))
    ended = (line + "\n" for line in lines)
    reader = csv.reader(ended, delimiter=header.separator, skipinitialspace=True, strict=True)
    while (start := reader.line_num) < len(lines):
        values: str | None = None
        with suppress(csv.Error):
            values = "\0".join(next(reader))
        if reader.line_num > start + 1 and any(map(is_row, lines[start + 1 : reader.line_num])):
            values = None
        if values is None and header.separator == "\t":
            return None
        if values is None or values.strip("\0 \t"):
            records.append((header.line + start + 1, lines[start].removesuffix("\r"), values))
    return pl.DataFrame(
        records, {"line": pl.UInt32, "text": str, "values": str}, orient="row"
    ).with_columns(pl.col("values").str.split("\0"))


MAX_COLUMNS = 1000


def read_parquet(
    source: FileContent, kind: Kind, columns: ColumnNames | None
) -> HeadedTable | None:
    """Read the columns that a run or qrels need, as texts.

    The schema decides whether the file is read, so files with other columns are refused at once.

    Args:
        source: The file.
        kind: The kind of file.
        columns: The columns of some fields.

    Returns:
        ``None`` if it is not a Parquet file.

    Raises:
        FormatError: If the file is damaged or too large, lacks a column, or has values that are not
            texts or numbers in one.
    """
    if not source.is_parquet:
        return None
    try:
        frame = _needed_columns(source, kind, columns)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        why = shortened(str(error).partition("\n")[0])
        raise _refused(source, f"it is damaged ({why})", "write the file again") from None
    places = find_fields(frame.columns, kind.fields, columns)
    ids = (places["query_id"], places["doc_id"])
    texts = (_as_text(source, column, at in ids) for at, column in enumerate(frame.iter_columns()))
    lines = range(1, frame.height + 1)
    return headed(lines, texts, "Parquet", has_lines=False, places=places)


def _needed_columns(source: FileContent, kind: Kind, columns: ColumnNames | None) -> pl.DataFrame:
    data = BytesIO(source.data)
    names = list(pl.read_parquet_schema(data))
    places = find_fields(names, kind.fields, columns)
    if len(names) > MAX_COLUMNS or not kind.is_complete(places):
        raise _refused(
            source,
            f"expected the columns {', '.join(kind.required)} but got {len(names):,} columns "
            f"({listed(names)})",
            f"name them: --columns query=NAME,doc_id=NAME,{kind.required[-1]}=NAME",
        )
    usual = {*map(normalize, (*SYSTEMS, *JUDGMENT_TYPES))}
    scan = pl.scan_parquet(data).select(
        name for at, name in enumerate(names) if at in places.values() or normalize(name) in usual
    )
    n_rows = scan.select(pl.len()).collect().item()
    if n_rows * 64 > limits.max_content_bytes():
        raise _refused(source, f"it has {n_rows:,} rows, which need more memory than allowed")
    return scan.collect()


def _as_text(source: FileContent, column: pl.Series, is_id: bool) -> pl.Series:
    """Return the values as texts; "" for missing ones."""
    dtype = column.dtype
    if dtype.is_nested() or dtype.is_temporal() or (is_id and dtype.is_float()):
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


def _refused(
    source: FileContent,
    why: str,
    remedy: str = "write only the columns query_id, doc_id and score or relevance",
) -> FormatError:
    return FormatError(f"this Parquet file cannot be read: {why}", path=source.path, remedy=remedy)
