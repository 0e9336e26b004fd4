"""Measures from outside this package: ``module:Class`` and entry points.

Anything wrong in somebody else's code comes back as an error that names it, not as a traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.measures.base import BaseMeasure, FloatArray, Measure
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.text import plural
from trectools_plus.user_code import import_object

ENTRY_POINT_GROUP = "trectools_plus.measures"
LARGEST_VALUE = 1e100
"""The largest value, either side of 0, whose sums and squares over any queries stay finite."""


def load_class(module_name: str, class_name: str) -> type[BaseMeasure]:
    """Import a measure class; modules in the working directory are found too.

    Raises:
        UsageError: If the module cannot be imported, or the name is no subclass of BaseMeasure.
    """
    where = f"{module_name}:{class_name}"
    try:
        found = import_object(module_name, class_name)
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
        measure = measure_class(**cutoff, **parameters)
    except TrectoolsPlusError:
        raise
    except Exception as error:
        raise UsageError(
            f"{type(error).__name__}: {error}", where=measure_class.__qualname__
        ) from error
    if measure.cutoff != at:
        raise UsageError(
            f"{measure_class.__qualname__} does not keep its cutoff {at}",
            where=measure_class.__module__,
            remedy="call super().__init__(cutoff, **parameters) in its __init__",
        )
    return measure


def refuse_false_name(measure: Measure, is_standard: Callable[[str], bool]) -> None:
    """Refuse a class from outside whose name would mislead whoever reads its figures.

    Args:
        measure: Any measure; this package's own are taken as they are.
        is_standard: Whether a name is taken by a measure that everybody knows.

    Raises:
        UsageError: If its name is no text, is that of a standard measure, or hides its cutoff.
    """
    measure_class = type(measure)
    if measure_class.__module__.startswith("trectools_plus."):
        return
    where = f"{measure_class.__module__}:{measure_class.__qualname__}"
    try:
        name = measure.name
    except Exception as error:
        raise UsageError(f"{type(error).__name__}: {error}", where=f"name of {where}") from error
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        raise UsageError(f"expected a name but got {name!r}", where=where)
    if is_standard(name):
        raise UsageError(
            f"{name} is the name of a standard measure",
            where=where,
            remedy="give your class another label",
        )
    if measure.cutoff is not None and not name.endswith(f"@{measure.cutoff}"):
        raise UsageError(
            f"the name {name} hides the cutoff {measure.cutoff}",
            where=where,
            remedy=f"end it in @{measure.cutoff}, or set label and leave name alone",
        )


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
        columns.append(values)
        _refuse_too_large(measure, values, queries)
    return columns


def _refuse_too_large(measure: BaseMeasure, values: FloatArray, queries: JudgedQueries) -> None:
    too_large = np.flatnonzero(np.abs(values) > LARGEST_VALUE)
    if too_large.size:
        query = int(too_large[0])
        raise UsageError(
            f"expected a finite value, at most {LARGEST_VALUE:g} (or nan, for undefined), "
            f"but got {values[query]:g}",
            where=f"{measure.name}, query {queries.query_ids[query]}",
            remedy="mend its score_query",
        )
    without = measure.value_without_results
    number = isinstance(without, int | float) and not isinstance(without, bool)
    if not number or abs(without) > LARGEST_VALUE:
        raise UsageError(
            f"expected a finite number (or nan, for undefined) but got {without!r}",
            where=f"value_without_results of {measure.name}",
        )


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
            f"expected {plural(len(rankings), 'value')} but got an array of shape {values.shape}",
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
