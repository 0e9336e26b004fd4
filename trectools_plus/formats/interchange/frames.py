"""Values in memory become columns: dictionaries, data frames of any library, and records.

Columns can have the names of this package, ``ir_measures``, PyTerrier, ``pytrec_eval``, ranx or
BEIR; see :mod:`trectools_plus.formats.interchange.names`. Other columns are ignored. pandas is
imported only to return a table of pandas, and pyarrow, which Polars uses for conversions, never.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.interchange.names import (
    CORPUS,
    RUN,
    TOPICS,
    ColumnNames,
    Kind,
    find_fields,
)
from trectools_plus.text import show

if TYPE_CHECKING:
    import pandas as pd


def frame_of(value: object, kind: Kind) -> pl.DataFrame:
    """Return a frame with the columns of a kind of table.

    Args:
        value: A Polars or pandas frame, a dictionary, or records with the attributes of a row, for
            example ``ir_measures.ScoredDoc``.
        kind: The kind of table.

    Raises:
        UsageError: If it is a value of another type.
        InputError: If an id, a score or a grade has the wrong type.
    """
    if is_frame(value):
        frame = polars_of(value)
        places = find_fields(frame.columns, kind.fields).items()
        frame = frame.rename(
            {frame.columns[at]: name for name, at in places if name not in frame.columns}
        )
        frame = pl.DataFrame(
            _column(column.name, column.to_list(), kind)
            if column.dtype == pl.Object and (column.name in kind.fields or kind is TOPICS)
            else column
            for column in frame
        )
    else:
        frame = pl.DataFrame(
            [_column(name, items, kind) for name, items in _values_of(value, kind).items()]
        )
    if kind is RUN and "rank" not in frame.columns and "query_id" in frame.columns:
        frame = frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    return frame


def polars_of(value: Any) -> pl.DataFrame:
    """Return a data frame of any library as one of Polars; mixed values are objects."""
    if isinstance(value, pl.DataFrame):
        return value
    names = [*map(str, value.columns)]
    if len(names) > len(set(names)):
        raise InputError(
            f"several columns have the same name ({', '.join(names)})",
            remedy="give each column its own name",
        )
    return pl.DataFrame([_of_pandas(name, value.iloc[:, at]) for at, name in enumerate(names)])


def _of_pandas(name: str, column: Any) -> pl.Series:
    """Return a column of pandas with its missing values (None, NaN, NA, NaT) as nulls."""
    values = column.astype(object).where(~column.isna(), None).tolist()
    try:
        return pl.Series(name, values, strict=True)
    except Exception:  # the errors of Polars for mixed types are of several kinds
        return pl.Series(name, values, dtype=pl.Object)


def rename_columns(value: Any, columns: ColumnNames | None) -> Any:
    """Return a data frame whose columns have the names of the fields that they stand for.

    Args:
        value: A frame of Polars or pandas; any other value is returned unchanged.
        columns: The names of the columns by field.

    Raises:
        InputError: If a column does not exist.
    """
    if columns is None or not is_frame(value):
        return value
    frame = polars_of(value)
    if missing := [name for name in columns.values() if name not in frame.columns]:
        raise InputError(
            f"there is no column {missing[0]!r}",
            where="columns",
            remedy=f"the table has {', '.join(frame.columns)}; negate or split columns first",
        )
    return frame.with_columns(**{field: pl.col(name) for field, name in columns.items()})


def is_frame(value: object) -> bool:
    """Return whether a value is a data frame of Polars or pandas."""
    return isinstance(value, pl.DataFrame) or any(
        base.__name__ == "DataFrame" and base.__module__.partition(".")[0] == "pandas"
        for base in type(value).__mro__  # without importing pandas
    )


def is_record(value: object) -> bool:
    """Return whether a value is a row with attributes, like the tuples of ``ir_measures``."""
    return hasattr(value, "query_id") and hasattr(value, "doc_id")


def unexpected(value: object, kind: Kind, where: str | None = None) -> UsageError:
    """Return the error for a value of another type than those of which a table is built."""
    return UsageError(
        f"expected {'' if kind.name.endswith('s') and kind is not CORPUS else 'a '}{kind.name} "
        f"but got {type(value).__name__}",
        where=where,
        remedy=f"give {kind.accepted}",
    )


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """Return a frame as a table of pandas, without pyarrow.

    Numbers with nulls become floats with NaN, and texts have the type that pandas gives to texts.
    """
    import pandas as pd

    return pd.DataFrame(
        {column.name: column.to_list() for column in frame.iter_columns()},
        index=pd.RangeIndex(frame.height),
    )


def _values_of(value: object, kind: Kind) -> dict[str, list[Any]]:
    """Return the columns of dictionaries or records."""
    first, second, last = (*kind.required, "")[:3]
    if isinstance(value, Mapping) and kind in (TOPICS, CORPUS):
        rows = [row if isinstance(row, Mapping) else {"text": row} for row in value.values()]
        further = {
            name: [row.get(name, None if name == "text" else "") for row in rows]
            for name in kind.fields.keys() - {first}
        }
        return {first: list(value), **further}
    if isinstance(value, Mapping):
        for query_id, documents in value.items():
            if not isinstance(documents, Mapping):
                raise InputError(
                    f"expected a dictionary of documents but got {show(documents)}",
                    where=f"{kind.name}, query {show(query_id)}",
                    remedy=f"give {kind.accepted}",
                )
        return {
            first: [query_id for query_id, documents in value.items() for _ in documents],
            second: [doc_id for documents in value.values() for doc_id in documents],
            last: [number for documents in value.values() for number in documents.values()],
        }
    rows = list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else []
    if not rows or not all(is_record(row) and hasattr(row, kind.required[-1]) for row in rows):
        raise unexpected(value, kind)
    return {name: [getattr(row, name) for row in rows] for name in kind.required}


def _column(name: str, values: Sequence[Any], kind: Kind) -> pl.Series:
    """Return a column of ids, texts or numbers.

    Raises:
        InputError: If a value has another type, or a number is too large.
    """
    numeric = name in ("score", "relevance", "rank")
    is_text = name in ("text", "title")
    expected = "a number" if numeric else "text" if is_text else "text or a whole number"
    wrong = [value for value in values if not _fits(value, expected)]
    if not wrong:
        whole = (int, np.integer, np.bool_)
        is_whole = name != "score" and all(isinstance(value, whole) for value in values)
        number = (pl.Int64, int) if is_whole else (pl.Float64, float)
        dtype, convert = number if numeric else (pl.String, str)
        with suppress(OverflowError):
            return pl.Series(name, list(map(convert, values)), dtype if values else None)
        wrong = [max(values, key=abs)]
    raise InputError(
        f"expected {expected} as {name} but got {show(wrong[0])}",
        where=kind.name,
        remedy=f"make every {name} {expected}",
    )


def _fits(value: Any, expected: str) -> bool:
    if expected == "a number":
        return isinstance(value, Real | Decimal | np.bool_)
    is_id = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return isinstance(value, str) or (is_id and expected != "text")
