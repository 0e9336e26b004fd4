"""Measures from outside this package: ``module:Class`` and entry points.

Anything wrong in somebody else's code comes back as an error that names it, not as a traceback.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.measures.base import BaseMeasure, FloatArray
from trectools_plus.measures.judged import JudgedQueries

ENTRY_POINT_GROUP = "trectools_plus.measures"


def load_class(module_name: str, class_name: str) -> type[BaseMeasure]:
    """Import a measure class; modules in the working directory are found too.

    Raises:
        UsageError: If the module cannot be imported, or the name is no subclass of BaseMeasure.
    """
    where = f"{module_name}:{class_name}"
    try:
        with _working_directory_on_path():
            found = getattr(importlib.import_module(module_name), class_name)
    except TrectoolsPlusError:
        raise
    except Exception as error:
        raise UsageError(
            f"{type(error).__name__}: {error}",
            where=where,
            remedy="name a measure as importable.module:ClassName",
        ) from error
    return _checked_class(found, where)


def entry_point_names() -> list[str]:
    """Names of the measures that installed packages register."""
    return sorted(entry_points(group=ENTRY_POINT_GROUP).names)


def load_entry_point(name: str) -> type[BaseMeasure]:
    """Load a measure class that an installed package registers under ``name``.

    Raises:
        UsageError: If two packages register the name, or what they register is no measure.
    """
    found = list(entry_points(group=ENTRY_POINT_GROUP, name=name))
    if len(found) > 1:
        raise UsageError(
            f"several installed packages register a measure {name}",
            where=", ".join(point.value for point in found),
            remedy="name the class as module:Class",
        )
    try:
        loaded = found[0].load()
    except Exception as error:
        raise UsageError(f"{type(error).__name__}: {error}", where=found[0].value) from error
    return _checked_class(loaded, found[0].value)


def construct(measure_class: type[BaseMeasure], parameters: dict[str, Any], at: Any) -> BaseMeasure:
    """Bind a class's parameters; whatever its constructor raises becomes a UsageError."""
    cutoff = {} if at is None else {"cutoff": at}
    try:
        return measure_class(**cutoff, **parameters)
    except TrectoolsPlusError:
        raise
    except Exception as error:
        raise UsageError(
            f"{type(error).__name__}: {error}", where=measure_class.__qualname__
        ) from error


def score_by_users(
    measures: Sequence[BaseMeasure], queries: JudgedQueries, ranked: pl.DataFrame
) -> list[FloatArray]:
    """Score every query that has results with measures that go query by query.

    Args:
        measures: The measures.
        queries: The queries and judgments.
        ranked: ``query, doc_id, rank``: the canonical ranking, whole.

    Returns:
        One array per measure, one value per query; ``nan`` where a query has no results.

    Raises:
        UsageError: If a measure fails, or returns something that is no score.
    """
    lists = ranked.group_by("query", maintain_order=True).agg("doc_id")
    judged = queries.frame.group_by("query", maintain_order=True).agg("doc_id", "relevance")
    rows = lists.join(judged, on="query", maintain_order="left", suffix="_judged")
    numbers = rows["query"].to_numpy()
    rankings: list[list[str]] = rows["doc_id"].to_list()
    pairs = zip(rows["doc_id_judged"].to_list(), rows["relevance"].to_list(), strict=True)
    grades = [dict(zip(doc_ids, relevance, strict=True)) for doc_ids, relevance in pairs]
    columns = []
    for measure in measures:
        values = np.full(len(queries.query_ids), np.nan)
        cut = [ranking[: measure.cutoff] for ranking in rankings]
        values[numbers] = _scores(measure, cut, grades)
        if np.isinf(values).any():
            query = queries.query_ids[int(np.flatnonzero(np.isinf(values))[0])]
            raise UsageError(
                "expected a finite value (or nan, for undefined) but got an infinite one",
                where=f"{measure.name}, query {query}",
            )
        columns.append(values)
    return columns


def _scores(
    measure: BaseMeasure, rankings: list[list[str]], grades: list[dict[str, int]]
) -> FloatArray:
    try:
        values = np.asarray(measure.score_queries(rankings, grades), dtype=np.float64)
    except TrectoolsPlusError:
        raise
    except Exception as error:
        raise UsageError(
            f"{type(error).__name__}: {error}",
            where=measure.name,
            remedy="mend its score_query",
        ) from error
    if values.shape != (len(rankings),):
        raise UsageError(
            f"expected {len(rankings)} values but got an array of shape {values.shape}",
            where=measure.name,
        )
    return values


def _checked_class(found: object, where: str) -> type[BaseMeasure]:
    if not (isinstance(found, type) and issubclass(found, BaseMeasure)):
        raise UsageError(
            "expected a subclass of trectools_plus.measures.BaseMeasure",
            where=where,
            remedy="derive the class from BaseMeasure",
        )
    return found


@contextmanager
def _working_directory_on_path() -> Iterator[None]:
    here = str(Path.cwd())
    if here in sys.path:
        yield
        return
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
