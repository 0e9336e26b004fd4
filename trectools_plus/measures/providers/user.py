"""User-defined measures: their base class, ``module:Class`` names, and entry points.

An exception in a user's code becomes an error that names the code, without a traceback.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from trectools_plus.choices import RELEVANT
from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.measures.definitions.base import (
    Definition,
    FloatArray,
    Measure,
)
from trectools_plus.plugins import find_entry_point, import_object, is_code_refused

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.measures.judged import JudgedQueries, JudgedRun

_M = TypeVar("_M", bound=Measure)

ENTRY_POINT_GROUP = "trectools_plus.measures"
LARGEST_VALUE = 1e100
"""The largest absolute value: sums and squares over any number of queries stay finite."""


def registered_labels() -> list[str]:
    """Return the names of the measures that installed packages register."""
    from importlib.metadata import entry_points

    return [] if is_code_refused() else sorted(entry_points(group=ENTRY_POINT_GROUP).names)


class BaseMeasure(Measure):
    """A measure that scores one query at a time; subclass it to add your own.

    ::

        class FirstIsBest(BaseMeasure):
            \"\"\"1 if the first document has the query's highest grade.\"\"\"

            def score_query(self, ranked_doc_ids, qrels_of_query):
                best = max(qrels_of_query.values())
                return float(qrels_of_query.get(ranked_doc_ids[0], 0) == best)

    Use it by the name ``package.module:FirstIsBest``, with parameters and cutoff as
    ``package.module:Class(weight=2)@10``, or register the class as an entry point of the group
    ``trectools_plus.measures``.

    Args:
        cutoff: The deepest rank that counts, at least 1; ``score_query`` gets a ranking cut there.
        parameters: Values for names in ``parameter_defaults``. A parameter ``rel`` is the lowest
            grade that counts as relevant, at least 1.

    Raises:
        UsageError: If a parameter is unknown, or the cutoff or ``rel`` is missing or out of range.
    """

    sees_documents = True
    _method = "score_query"
    """The method of the user's code, for messages."""

    @abstractmethod
    def score_query(
        self, ranked_doc_ids: Sequence[str], qrels_of_query: Mapping[str, int]
    ) -> float:
        """Score one query.

        Args:
            ranked_doc_ids: The documents in canonical order, best first, cut at ``cutoff``; never
                empty (a query without results gets ``value_without_results``).
            qrels_of_query: The grade of every judged document; at least one is 1 or more (a query
                without a relevant document gets ``value_without_results``).

        Returns:
            The value; ``nan`` if the measure is undefined for this query. Means leave out undefined
            values, and reports count them.
        """

    def score_queries(
        self, rankings: Sequence[Sequence[str]], qrels: Sequence[Mapping[str, int]]
    ) -> FloatArray:
        """Score several queries; override this method if scoring them together is faster.

        Args:
            rankings: One ``ranked_doc_ids`` of :meth:`score_query` per query.
            qrels: One ``qrels_of_query`` per query, in the same order.

        Returns:
            One value per query, in the same order.
        """
        import numpy as np

        pairs = zip(rankings, qrels, strict=True)
        return np.fromiter((self.score_query(r, q) for r, q in pairs), float, len(rankings))

    def _score_all(self, queries: Sequence[_Query]) -> FloatArray:
        return self.score_queries(
            [query.doc_ids for query in queries], [query.grades for query in queries]
        )

    @classmethod
    def score_together(cls, measures: Sequence[BaseMeasure], run: JudgedRun) -> list[FloatArray]:
        """Score every query that has results and a relevant document.

        The value of a query without a relevant document is that of one without results.

        Raises:
            UsageError: If a measure fails, or returns something that is not a score.
        """
        assert run.documents is not None
        queries, ranked = run.documents
        numbers, results = _with_relevant(queries, ranked)
        return [measure._score_run(queries.query_ids, numbers, results) for measure in measures]

    def _score_run(
        self, query_ids: Sequence[str], numbers: Sequence[int], queries: Sequence[_Query]
    ) -> FloatArray:
        import numpy as np

        cut, remedy = slice(self.cutoff), f"fix its {self._method}"
        shown = [
            replace(query, doc_ids=query.doc_ids[cut], scores=query.scores[cut])
            for query in queries
        ]
        with named_errors(self.name, remedy):
            values = np.full(len(query_ids), float(self.value_without_results))
            values[numbers] = np.asarray(self._score_all(shown), np.float64).reshape(len(numbers))
        for query in np.flatnonzero(np.abs(values) > LARGEST_VALUE)[:1].tolist():
            raise UsageError(
                f"expected a finite value, at most {LARGEST_VALUE:g} (or nan, for undefined), "
                f"but got {values[query]:g}",
                where=f"{self.name}, query {query_ids[query]}",
                remedy=remedy,
            )
        return values

    @property
    def definition(self) -> Definition:
        """The name of the class; formula, gain and denominator are its own."""
        source = f"{type(self).__module__}:{type(self).__qualname__}"
        return self._define(f"see {source}", "its own", "its own", provider=source)


@dataclass(frozen=True, slots=True)
class _Query:
    """The results of one query in canonical order, and the grade of every judged document."""

    query_id: str
    doc_ids: Sequence[str]
    scores: Sequence[float]
    grades: Mapping[str, int]


class QueryResults(TypedDict):
    """The results of one query, for :meth:`BaseMetric.calculate`."""

    query_id: str
    ranked_ids: list[str]
    scores: list[float]
    relevant: dict[str, int]


class BaseMetric(BaseMeasure):
    """A measure that scores one query from a dictionary; otherwise like :class:`BaseMeasure`.

    ::

        class CustomMetric(BaseMetric):
            def __init__(self):
                super().__init__(name="custom_metric")

            def calculate(self, results):
                return float(results["ranked_ids"][0] in results["relevant"])

    Args:
        name: The name in tables, without the cutoff; the name of the class if ``None``.
        cutoff: The deepest rank that counts, at least 1; ``calculate`` gets a ranking cut there.
        parameters: Values for names in ``parameter_defaults``, as for :class:`BaseMeasure`.

    Raises:
        UsageError: If a parameter is unknown, or the cutoff or ``rel`` is missing or out of range.
    """

    _method = "calculate"

    def __init__(
        self, name: str | None = None, cutoff: int | None = None, **parameters: Any
    ) -> None:
        super().__init__(cutoff, **parameters)
        self.label = name or self.label

    @abstractmethod
    def calculate(self, results: QueryResults) -> float:
        """Score one query.

        Args:
            results: ``query_id``; ``ranked_ids``, the documents in canonical order, never empty;
                ``scores``, their scores; ``relevant``, the grade of each relevant document.

        Returns:
            The value; ``nan`` if the measure is undefined for this query.
        """

    def score_query(
        self, ranked_doc_ids: Sequence[str], qrels_of_query: Mapping[str, int]
    ) -> float:
        """Score one query, without its id and scores."""
        return float(self._score_all([_Query("", ranked_doc_ids, (), qrels_of_query)])[0])

    def _score_all(self, queries: Sequence[_Query]) -> FloatArray:
        import numpy as np

        level = self.relevance_level
        results: list[QueryResults] = [
            {
                "query_id": query.query_id,
                "ranked_ids": [*query.doc_ids],
                "scores": [*query.scores],
                "relevant": {doc: grade for doc, grade in query.grades.items() if grade >= level},
            }
            for query in queries
        ]
        return np.fromiter(
            (float(self.calculate(result)) for result in results), float, len(results)
        )


def _with_relevant(queries: JudgedQueries, ranked: pl.DataFrame) -> tuple[list[int], list[_Query]]:
    """Return the positions and the results of the queries with a relevant document."""
    import polars as pl

    lists = ranked.group_by("query", maintain_order=True).agg("doc_id", "score")
    judged = queries.frame.group_by("query", maintain_order=True).agg("doc_id", "relevance")
    rows = lists.join(judged, on="query", maintain_order="left", suffix="_judged").filter(
        pl.col("relevance").list.max() >= RELEVANT
    )
    results = [
        _Query(queries.query_ids[number], docs, scores, dict(zip(judged_ids, grades, strict=True)))
        for number, docs, scores, judged_ids, grades in rows.iter_rows()
    ]
    return rows["query"].to_list(), results


@contextmanager
def named_errors(where: str, remedy: str | None = None) -> Iterator[None]:
    """Turn an exception in a user's code into a UsageError that names the code."""
    try:
        yield
    except TrectoolsPlusError:
        raise
    except Exception as error:
        raise UsageError(f"{type(error).__name__}: {error}", where=where, remedy=remedy) from error


def load_class(name: str) -> type[BaseMeasure]:
    """Import a measure class, also from modules in the working directory.

    Args:
        name: ``module:Class``, or the name that an installed package registers.

    Raises:
        UsageError: If it cannot be imported, or is not a subclass of BaseMeasure.
    """
    if ":" not in name:
        point = find_entry_point(ENTRY_POINT_GROUP, name)
        assert point is not None
        name = point.value
    with named_errors(name, "write a measure as importable.module:ClassName"):
        measure_class = import_object(*name.split(":", 1))
    if not (isinstance(measure_class, type) and issubclass(measure_class, BaseMeasure)):
        raise UsageError(
            "expected a subclass of trectools_plus.measures.BaseMeasure",
            where=name,
            remedy="derive the class from BaseMeasure",
        )
    return measure_class


def construct(
    measure_class: Callable[..., _M], parameters: Mapping[str, Any], at: Any, *arguments: Any
) -> _M:
    """Construct a measure; an exception in its constructor becomes a UsageError."""
    name = measure_class.__qualname__
    cutoff = {} if at is None else {"cutoff": at}
    if "cutoff" in map(str.casefold, parameters):
        raise UsageError(f"{name} has no parameter cutoff", remedy="write it as Label@10")
    with named_errors(name):
        measure = measure_class(*arguments, **cutoff, **parameters)
    if measure.cutoff != at:
        raise UsageError(
            f"{name} does not store its cutoff {at}",
            where=measure_class.__module__,
            remedy="call super().__init__(cutoff, **parameters) in its __init__",
        )
    return measure
