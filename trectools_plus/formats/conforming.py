"""Frames made to fit a table: columns there, types right, nothing lost and nothing missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from trectools_plus.errors import InputError

Schema = dict[str, type[pl.DataType]]


def conform(
    frame: pl.DataFrame, schema: Schema, kind: str, keep_further: bool = False
) -> pl.DataFrame:
    """Select and cast the columns of ``schema``.

    Args:
        frame: Any frame.
        schema: The columns that a table has, with their types.
        kind: What the table is, for errors.
        keep_further: Whether other columns stay, behind those of the schema.

    Raises:
        InputError: If a column is missing or holds nulls, or a cast would lose something.
    """
    missing = [name for name in schema if name not in frame.columns]
    if missing:
        raise InputError(
            f"expected columns {', '.join(schema)} but {', '.join(missing)} is missing",
            where=kind,
            remedy=f"rename your columns; there are {', '.join(frame.columns) or 'none'}",
        )
    further = [name for name in frame.columns if keep_further and name not in schema]
    columns = [_cast(frame[name], dtype, kind) for name, dtype in schema.items()]
    return pl.DataFrame([*columns, *(frame[name] for name in further)])


def _cast(column: pl.Series, dtype: type[pl.DataType], kind: str) -> pl.Series:
    if column.dtype != dtype:
        lossy_id = dtype == pl.String and not (
            column.dtype.is_integer() or column.dtype in (pl.Categorical, pl.Enum, pl.Null)
        )
        try:
            cast = column.cast(dtype)
        except pl.exceptions.PolarsError as error:
            raise _lossy(column, dtype, kind) from error
        if lossy_id or (dtype.is_integer() and (cast != column).any()):
            raise _lossy(column, dtype, kind)
        column = cast
    if column.null_count():
        raise InputError(
            f"{column.null_count()} missing values in column {column.name}",
            where=kind,
            remedy="fill or drop those rows first",
        )
    return column


def _lossy(column: pl.Series, dtype: type[pl.DataType], kind: str) -> InputError:
    wanted = "text" if dtype == pl.String else "whole numbers" if dtype.is_integer() else "numbers"
    return InputError(
        f"column {column.name} holds {column.dtype} values, expected {wanted}",
        where=kind,
        remedy="convert them yourself, so that nothing is lost on the way",
    )


def from_rows(rows: Iterable[tuple[Any, ...]], schema: Schema) -> pl.DataFrame:
    """A frame of rows whose values stand in the order of ``schema``.

    Its types are those of the values (scores are always floats), for :func:`conform` to judge.

    Raises:
        InputError: If a column holds values of several types.
    """
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    try:
        return pl.DataFrame(
            {
                name: pl.Series(name, values, dtype=_dtype_to_infer(values, schema[name]))
                for name, values in zip(schema, columns, strict=True)
            }
        )
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"values of several types in one column: {str(error).splitlines()[0]}",
            remedy="make every id a string and every score or grade a number",
        ) from error


def _dtype_to_infer(values: tuple[Any, ...], dtype: type[pl.DataType]) -> type[pl.DataType] | None:
    """Scores may mix ``1`` and ``1.5``; all else shows its own type, for the cast to judge."""
    return dtype if not values or dtype == pl.Float64 else None
