"""Values in memory become columns: dictionaries, data frames of any library, and records.

Columns can have the names of this package, ``ir_measures``, PyTerrier, ``pytrec_eval``, ranx or
BEIR; see :mod:`trectools_plus.formats.interchange.names`. Other columns are ignored. pandas is
imported only to return a table of pandas, and pyarrow, which Polars uses for conversions, never.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trectools_plus.arguments import show
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.interchange.names import (
    CORPUS,
    RUN,
    RUN_FIELDS,
    SYSTEMS,
    TOPICS,
    ColumnNames,
    ColumnValue,
    Kind,
    find_fields,
    value_of_column,
)
from trectools_plus.formats.interchange.systems import Systems, find_systems

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
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    systems, _ = split_systems(value) if kind is RUN and is_frame(value) else (None, {})
    if systems is not None:
        raise InputError(
            f"{systems}, but one run is needed here",
            where=kind.name,
            remedy="pass the rows of one system; evaluate and compare accept the whole table",
        )
    if isinstance(value, pl.DataFrame):
        frame = _renamed(value, kind)
    elif is_pandas(value):
        frame = _from_pandas(value, kind)
    elif isinstance(value, Mapping):
        frame = _from_mapping(value, kind)
    else:
        frame = _from_records(value, kind)
    if kind is RUN and "rank" not in frame.columns and "query_id" in frame.columns:
        frame = frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    return frame


def rename_columns(value: Any, columns: ColumnNames | None) -> Any:
    """Return a data frame whose columns have the names of the fields that they stand for.

    Args:
        value: A frame of Polars or pandas; any other value is returned unchanged.
        columns: The names of the columns, or their numbers, by field.

    Raises:
        InputError: If a column does not exist.
    """
    if columns is None or not is_frame(value):
        return value
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    names = [str(name) for name in value.columns]
    fields: dict[int, str] = {}
    for field, name in columns.items():
        column = value_of_column(names, name)
        if column is None:
            raise InputError(
                f"there is no column {name!r}",
                where="columns",
                remedy=f"the table has {', '.join(names)}",
            )
        if column != ColumnValue(column.place):
            raise InputError(
                f"{name!r} is not a whole column",
                where="columns",
                remedy="negate or split the column of the frame first",
            )
        fields[column.place] = field
    kept = [place for place, name in enumerate(names) if place in fields or name not in columns]
    table = _select(value, kept)
    table.columns = [fields.get(place, names[place]) for place in kept]
    return table


def split_systems(
    value: Any, *, names_systems: bool = False
) -> tuple[Systems | None, dict[str, Any]]:
    """Return the systems of a data frame, and the rows of each; ``None`` if there is only one.

    Args:
        value: A frame of Polars or pandas.
        names_systems: Whether the user said that the column ``tag`` names systems.

    Raises:
        InputError: If it is unclear whether a column names systems.
    """
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    names = [str(name) for name in value.columns]
    fields = find_fields(names, RUN_FIELDS)
    used = {place for field, place in fields.items() if field != "tag"}
    further = [place for place in range(len(names)) if place not in used]
    if not further or not {"query_id", "doc_id"} <= fields.keys():
        return None, {}
    texts = {field: _texts_at(value, fields[field]) for field in ("query_id", "doc_id")}
    texts |= {f"c{place}": _texts_at(value, place) for place in further}
    rows = pl.DataFrame(texts)
    candidates = {names[place]: f"c{place}" for place in further}
    named = f"c{fields['tag']}" if names_systems else None
    systems = find_systems(rows, candidates, SYSTEMS, named)
    if systems is None:
        return None, {}
    if not systems.is_clear:
        raise InputError(
            str(systems),
            where="run",
            remedy="if each value is a run, add columns={'system': NAME}; otherwise remove the "
            "column",
        )
    column = rows[candidates[systems.columns[0]]]
    table = _select(value, sorted(used))
    if isinstance(table, pl.DataFrame):
        return systems, {one: table.filter(column == one) for one in systems.values}
    return systems, {one: table[(column == one).to_numpy()] for one in systems.values}


def _select(value: Any, places: list[int]) -> Any:
    """Return some columns of a frame of Polars or pandas."""
    if isinstance(value, pl.DataFrame):
        return value.select(value.columns[place] for place in places)
    return value.iloc[:, places]


def _texts_at(value: Any, place: int) -> pl.Series:
    """Return a column of a frame as texts; "" for missing values."""
    if isinstance(value, pl.DataFrame):
        column = value.to_series(place)
        if column.dtype.is_nested() or column.dtype == pl.Object:
            return pl.Series([""] * column.len(), dtype=pl.String)
        return column.cast(pl.String, strict=False).fill_null("")
    column = value.iloc[:, place]
    pairs = zip(column.tolist(), column.isna().tolist(), strict=True)
    return pl.Series(["" if missing else str(one) for one, missing in pairs], dtype=pl.String)


def is_frame(value: object) -> bool:
    """Return whether a value is a data frame of Polars or pandas."""
    return isinstance(value, pl.DataFrame | pl.LazyFrame) or is_pandas(value)


def is_pandas(value: object) -> bool:
    """Return whether a value is a data frame of pandas, without importing pandas."""
    return any(
        base.__name__ == "DataFrame" and base.__module__.partition(".")[0] == "pandas"
        for base in type(value).__mro__
    )


def is_record(value: object) -> bool:
    """Return whether a value is a row with attributes, like the tuples of ``ir_measures``."""
    return hasattr(value, "query_id") and hasattr(value, "doc_id")


def require_columns(
    found: Container[str], required: Iterable[str], kind: str, names: Sequence[str]
) -> None:
    """Refuse a table without all columns.

    Args:
        found: The columns that were recognised.
        required: The columns that are needed.
        kind: The kind of table.
        names: The columns of the table.

    Raises:
        InputError: If a column is missing.
    """
    required = list(required)
    missing = [name for name in required if name not in found]
    if missing:
        raise InputError(
            f"expected columns {', '.join(required)} but {', '.join(missing)} is missing",
            where=kind,
            remedy=f"rename columns; the table has {', '.join(names) or 'none'}",
        )


def unexpected(value: object, kind: Kind, where: str | None = None) -> UsageError:
    """Return the error for a value of another type than those of which a table is built."""
    return UsageError(
        f"expected {'' if kind.name.endswith('s') and kind is not CORPUS else 'a '}{kind.name} "
        f"but got {type(value).__name__}",
        where=where,
        remedy=f"give {kind.accepted}",
    )


def _renamed(frame: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """Return a frame whose columns have the names of this package."""
    missing = [name for name in kind.fields if name not in frame.columns]
    found = find_fields(frame.columns, kind.fields) if missing else {}
    names = {frame.columns[place]: name for name, place in found.items() if name in missing}
    return frame.rename(names)


def _from_pandas(table: Any, kind: Kind) -> pl.DataFrame:
    names = [str(name) for name in table.columns]
    found = find_fields(names, kind.fields)
    used = set(found.values())
    others = [place for place in range(len(names)) if place not in used and kind is TOPICS]
    columns = {
        **{name: table.iloc[:, place] for name, place in found.items()},
        **{names[place]: table.iloc[:, place] for place in others if names[place] not in found},
    }
    require_columns(columns, kind.required, kind.name, names)
    return pl.DataFrame([_pandas_column(name, one, kind) for name, one in columns.items()])


def _pandas_column(name: str, column: Any, kind: Kind) -> pl.Series:
    """Return a column of pandas with its missing values (None, NaN, NA, NaT) as nulls.

    Raises:
        InputError: If the column is not of one type, and a value is not one of this column.
    """
    dtype, missing = column.dtype, column.isna().to_numpy()
    if hasattr(dtype, "categories"):
        categories = _pandas_column(name, dtype.categories.to_series(), kind)
        codes = pl.Series(column.cat.codes.to_numpy()).cast(pl.Int64)
        return categories.gather(codes.set(pl.Series(missing), None)).alias(name)
    stored = getattr(dtype, "numpy_dtype", dtype)  # nullable types name the type of their values
    if isinstance(stored, np.dtype) and stored.kind in "biuf":
        if stored == np.float16:
            stored = np.dtype(np.float32)
        filled = {"na_value": 0} if stored is not dtype and missing.any() else {}
        found = pl.Series(name, column.to_numpy(dtype=stored, **filled))
        return found.set(pl.Series(missing), None) if missing.any() else found
    if isinstance(stored, np.dtype) and stored.kind in "Mm":
        kind_of_time = "datetime64[us]" if stored.kind == "M" else "timedelta64[us]"
        return pl.Series(name, column.to_numpy().astype(kind_of_time))
    values = column.astype(object).where(~missing, None).tolist()
    try:
        found = pl.Series(name, values, strict=True)
    except Exception:  # the errors of Polars for mixed types are of several kinds
        return _column(name, values, kind)
    return _column(name, values, kind) if found.dtype == pl.Object else found


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """Return a frame as a table of pandas, without pyarrow.

    Numbers with nulls become floats with NaN, and texts have the type that pandas gives to texts.
    """
    import pandas as pd

    return pd.DataFrame(
        {column.name: _to_pandas_column(column) for column in frame.iter_columns()},
        index=pd.RangeIndex(frame.height),
    )


def _to_pandas_column(column: pl.Series) -> pd.Series[Any]:
    import pandas as pd

    dtype = column.dtype
    if (
        dtype.is_numeric()
        or dtype.is_temporal()
        or (dtype == pl.Boolean and not column.has_nulls())
    ):
        return pd.Series(column.to_numpy(writable=True))
    is_text = dtype in (pl.String, pl.Categorical, pl.Enum)
    return pd.Series(column.to_list(), dtype=pd.Series(["text"]).dtype if is_text else object)


def _from_mapping(value: Mapping[Any, Any], kind: Kind) -> pl.DataFrame:
    if kind in (TOPICS, CORPUS):
        return _from_texts(value, kind)
    query_ids: list[Any] = []
    doc_ids: list[Any] = []
    numbers: list[Any] = []
    for query_id, documents in value.items():
        if not isinstance(documents, Mapping):
            raise InputError(
                f"expected a dictionary of documents but got {show(documents)}",
                where=f"{kind.name}, query {show(query_id)}",
                remedy=f"give {kind.accepted}",
            )
        query_ids += [query_id] * len(documents)
        doc_ids += documents.keys()
        numbers += documents.values()
    rows = (query_ids, doc_ids, numbers)
    columns = zip(kind.required, rows, strict=True)
    return pl.DataFrame([_column(name, values, kind) for name, values in columns])


def _from_texts(value: Mapping[Any, Any], kind: Kind) -> pl.DataFrame:
    """Return the columns of ``{id: text}``, or of ``{id: {"title": …, "text": …}}``."""
    fields = [name for name in kind.fields if name != kind.required[0]]
    rows = [one if isinstance(one, Mapping) else {"text": one} for one in value.values()]
    columns = [_column(kind.required[0], list(value), kind)]
    for name in fields:
        default = None if name in kind.required else ""
        columns.append(_column(name, [row.get(name, default) for row in rows], kind))
    return pl.DataFrame(columns)


def _from_records(value: object, kind: Kind) -> pl.DataFrame:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise unexpected(value, kind)
    rows = list(value)
    if not rows or not all(is_record(row) and hasattr(row, kind.required[-1]) for row in rows):
        raise unexpected(value, kind)
    return pl.DataFrame(
        [_column(name, [getattr(row, name) for row in rows], kind) for name in kind.required]
    )


def _column(name: str, values: Sequence[Any], kind: Kind) -> pl.Series:
    """Return a column of ids, texts or numbers.

    Raises:
        InputError: If a value has another type, or a number is too large.
    """
    if not values:
        return pl.Series(name, [], dtype=pl.Float64 if name == "score" else None)
    numeric = name in ("score", "relevance", "rank")
    expected = "a number" if numeric else "text" if name in _TEXTS else "text or a whole number"
    done: list[Any] = []
    try:
        done.extend(map(_as_number if numeric else _as_text, values))
        if name == "score" or (numeric and any(isinstance(one, float) for one in done)):
            done = list(map(float, done))
        return pl.Series(name, done, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        wrong = values[len(done)] if len(done) < len(values) else max(done, key=abs, default=0)
        raise InputError(
            f"expected {expected} as {name} but got {show(wrong)}",
            where=kind.name,
            remedy=f"make every {name} {expected}",
        ) from error


_TEXTS = ("text", "title")


def _as_number(value: Any) -> float:
    if isinstance(value, float | int):
        return int(value) if isinstance(value, bool) else value
    if isinstance(value, np.generic):
        return _as_number(value.item())
    if isinstance(value, Real | Decimal):
        return float(value)
    raise TypeError


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(value)
    raise TypeError
