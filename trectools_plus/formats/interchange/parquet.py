"""Read the columns of a run or of qrels in a Parquet file, as written by ranx, pandas or Polars."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.files import limits
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.interchange.delimited import Header, Table
from trectools_plus.formats.interchange.names import (
    ColumnNames,
    Kind,
    find_fields,
    normalize,
)
from trectools_plus.formats.topic_schema import TABLE_TEXTS
from trectools_plus.text import shortened

MAX_FOOTER_BYTES = 1 << 22
"""The greatest size of the description of a file, which lists its columns and their parts."""
MAX_COLUMNS = 1000
_MAX_FURTHER = 20
"""The number of further columns that are read, because one of them may name systems."""
_ROW_BYTES = 64
"""The memory that a row takes at least."""
_MARK = b"PAR1"


def read_parquet_table(
    source: FileContent, kind: Kind, columns: ColumnNames | None
) -> tuple[Table, dict[str, int]]:
    """Read the columns that a run or qrels need, as texts.

    The schema decides whether the file is read, so files with other columns are refused at once.

    Args:
        source: The file.
        kind: The kind of file.
        columns: The columns of some fields.

    Returns:
        The rows, and the column of each field, from 0.

    Raises:
        FormatError: If the file is damaged or too large, lacks a column, or has values that are not
            texts or numbers in one.
    """
    try:
        schema = _read_schema(source)
        names = _choose_columns(source, schema, kind, columns)
        scan = pl.scan_parquet(BytesIO(source.data))
        n_rows = scan.select(pl.len()).collect().item()
        if n_rows * _ROW_BYTES > limits.max_content_bytes():
            raise _refused(source, f"it has {n_rows:,} rows, which need more memory than allowed")
        frame = scan.select(names).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        why = shortened(str(error).partition("\n")[0])
        raise _refused(source, f"it is damaged ({why})", "write the file again") from None
    texts = [_as_text(column).alias(f"c{at}") for at, column in enumerate(frame.iter_columns(), 1)]
    lines = pl.int_range(1, frame.height + 1, dtype=pl.UInt32, eager=True).alias("line")
    header = Header(0, "", tuple(names), "", "Parquet")
    table = Table(header, pl.DataFrame([lines, *texts]), has_lines=False)
    return table, find_fields(names, kind.fields, columns)


def _read_schema(source: FileContent) -> pl.Schema:
    """Return the names and types of the columns."""
    data = source.data
    if len(data) < 12 or not data.endswith(_MARK):
        raise _refused(source, "its end is missing", "copy or write the file again")
    n_bytes = int.from_bytes(data[-8:-4], "little")
    if n_bytes > MAX_FOOTER_BYTES:
        raise _refused(source, f"its schema takes {n_bytes / 1e6:.1f} MB, so it is no run or qrels")
    schema = pl.Schema(pl.read_parquet_schema(BytesIO(data)))
    if len(schema) > MAX_COLUMNS:
        raise _refused(source, f"it has {len(schema):,} columns, so it is no run or qrels")
    return schema


def _choose_columns(
    source: FileContent, schema: pl.Schema, kind: Kind, columns: ColumnNames | None
) -> list[str]:
    """Return the columns to read: those of fields, and further ones that may name systems."""
    names = list(schema)
    fields = find_fields(names, kind.fields, columns)
    if not kind.is_complete(fields):
        value = kind.required[-1]
        wanted = {**dict(zip(kind.required, kind.required, strict=True)), **(columns or {})}
        raise _refused(
            source,
            f"expected the columns {', '.join(wanted.values())} but got {_listed(names)}",
            f"name them: --columns query=NAME,doc_id=NAME,{value}=NAME",
        )
    for field, place in fields.items():
        dtype = schema[names[place]]
        if not _is_readable(dtype) or (field.endswith("_id") and dtype.is_float()):
            raise _refused(
                source,
                f"expected text or numbers in column {names[place]!r} but got {dtype}",
                "convert the column",
            )
    long_texts = set(map(normalize, TABLE_TEXTS[:3])) | {"contents", "body", "title"}
    further = [
        name
        for place, name in enumerate(names)
        if place not in fields.values()
        and _is_readable(schema[name])
        and not schema[name].is_float()
        and normalize(name) not in long_texts
    ]
    kept = {*(names[place] for place in fields.values()), *further[:_MAX_FURTHER]}
    return [name for name in names if name in kept]


def _is_readable(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype in (
        pl.String,
        pl.Categorical,
        pl.Enum,
        pl.Boolean,
        pl.Binary,
        pl.Null,
    )


def _as_text(column: pl.Series) -> pl.Series:
    """Return the values as texts; "" for missing ones."""
    if column.dtype == pl.Boolean:
        column = column.cast(pl.Int8)
    elif column.dtype.is_decimal() or column.dtype == pl.Float32:
        column = column.cast(pl.Float64)
    return column.cast(pl.String, strict=False).fill_null("").str.strip_chars(" \t")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(shortened, names[:10]))
    return f"{shown}, … ({len(names):,} columns)" if len(names) > 10 else shown or "none"


def _refused(source: FileContent, why: str, remedy: str | None = None) -> FormatError:
    return FormatError(
        f"this Parquet file cannot be read: {why}",
        path=source.path,
        remedy=remedy or "write only the columns query_id, doc_id and score or relevance",
    )
