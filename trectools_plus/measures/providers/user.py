"""User-defined measures: their base class, ``module:Class`` names, and entry points.

An exception in a user's code becomes an error that names the code, without a traceback.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.measures.definitions.base import (
    DeclaredMeasure,
    Definition,
    FloatArray,
    Measure,
    canonical_name,
)
from trectools_plus.measures.queries import RELEVANT
from trectools_plus.plugins import find_entry_point, import_object, is_code_refused

if TYPE_CHECKING:
    from trectools_plus.measures.judged import JudgedRun

_M = TypeVar("_M", bound=DeclaredMeasure)

ENTRY_POINT_GROUP = "trectools_plus.measures"
LARGEST_VALUE = 1e100
"""The largest absolute value: sums and squares over any number of queries stay finite."""


class UserProvider:
    """Computes measures that score one query at a time: user-defined ones, and MaxOntSim."""

    sees_documents = True

    def labels(self) -> list[str]:
        """Return the names of the measures that installed packages register."""
        from importlib.metadata import entry_points

        return [] if is_code_refused() else sorted(entry_points(group=ENTRY_POINT_GROUP).names)

    def construct(self, label: str, parameters: Mapping[str, Any], at: Any) -> Measure:
        """Construct a measure that an installed package registers."""
        point = find_entry_point(ENTRY_POINT_GROUP, label)
        assert point is not None
        with named_errors(point.value):
            loaded = point.load()
        return construct(_checked_class(loaded, point.value), parameters, at)

    def score(self, measures: Sequence[BaseMeasure], run: JudgedRun) -> list[FloatArray]:
        """Score every query that has results and a relevant document.

        The value of a query without a relevant document is that of one without results.

        Raises:
            UsageError: If a measure fails, or returns something that is not a score.
        """
        import numpy as np
        import polars as pl

        assert run.documents is not None
        queries, ranked = run.documents
        lists = ranked.group_by("query", maintain_order=True).agg("doc_id", "score")
        judged = queries.frame.group_by("query", maintain_order=True).agg("doc_id", "relevance")
        rows = lists.join(judged, on="query", maintain_order="left", suffix="_judged").filter(
            pl.col("relevance").list.max() >= RELEVANT
        )
        numbers = rows["query"].to_numpy()
        pairs = zip(rows["doc_id_judged"].to_list(), rows["relevance"].to_list(), strict=True)
        qrels = [dict(zip(judged_ids, grades, strict=True)) for judged_ids, grades in pairs]
        doc_ids, scores = rows["doc_id"].to_list(), rows["score"].to_list()
        query_ids = [queries.query_ids[number] for number in numbers]
        columns = []
        for measure in measures:
            cut = slice(measure.cutoff)
            found = [one[cut] for one in doc_ids], [one[cut] for one in scores]
            values = np.full(len(queries.query_ids), np.nan)
            with named_errors(measure.name, f"fix its {measure._method}"):
                values[:] = float(measure.value_without_results)
                of_queries = np.asarray(measure._score(query_ids, *found, qrels), np.float64)
                values[numbers] = of_queries.reshape(len(numbers))
            columns.append(values)
            for query in np.flatnonzero(np.abs(values) > LARGEST_VALUE)[:1].tolist():
                raise UsageError(
                    f"expected a finite value, at most {LARGEST_VALUE:g} (or nan, for undefined), "
                    f"but got {values[query]:g}",
                    where=f"{measure.name}, query {queries.query_ids[query]}",
                    remedy=f"fix its {measure._method}",
                )
        return columns


class BaseMeasure(DeclaredMeasure):
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

    provider = UserProvider()
    _method: ClassVar[str] = "score_query"
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

    def _score(
        self,
        query_ids: Sequence[str],  # noqa: ARG002
        rankings: Sequence[Sequence[str]],
        scores: Sequence[Sequence[float]],  # noqa: ARG002
        qrels: Sequence[Mapping[str, int]],
    ) -> FloatArray:
        """Return one value per query."""
        return self.score_queries(rankings, qrels)

    @property
    def definition(self) -> Definition:
        """The first paragraph of the class's docstring; gain and denominator are its own."""
        text = (type(self).__doc__ or "").strip().partition("\n\n")[0]
        return self._define(
            "{formula}",
            "its own",
            "its own",
            {"formula": " ".join(text.split()) or f"see {type(self).__module__}:{self._label()}"},
            provider=f"{type(self).__module__}:{type(self).__qualname__}",
        )


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
        self._own_label = name

    @property
    def name(self) -> str:
        """``Label(parameter=value)@cutoff``; parameters with their default value are left out."""
        label = self._own_label or self._label()
        return canonical_name(label, self.parameters, self.parameter_defaults, self.cutoff)

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
        return float(self._score([""], [ranked_doc_ids], [()], [qrels_of_query])[0])

    def _score(
        self,
        query_ids: Sequence[str],
        rankings: Sequence[Sequence[str]],
        scores: Sequence[Sequence[float]],
        qrels: Sequence[Mapping[str, int]],
    ) -> FloatArray:
        import numpy as np

        level = self.relevance_level
        results: list[QueryResults] = [
            {
                "query_id": query_id,
                "ranked_ids": list(doc_ids),
                "scores": list(of_documents),
                "relevant": {doc_id: grade for doc_id, grade in judged.items() if grade >= level},
            }
            for query_id, doc_ids, of_documents, judged in zip(
                query_ids, rankings, scores, qrels, strict=True
            )
        ]
        return np.fromiter((float(self.calculate(one)) for one in results), float, len(results))


@contextmanager
def named_errors(where: str, remedy: str | None = None) -> Iterator[None]:
    """Turn an exception in a user's code into a UsageError that names the code."""
    try:
        yield
    except TrectoolsPlusError:
        raise
    except Exception as error:
        raise UsageError(f"{type(error).__name__}: {error}", where=where, remedy=remedy) from error


def load_class(module_name: str, class_name: str) -> type[BaseMeasure]:
    """Import a measure class, also from modules in the working directory.

    Raises:
        UsageError: If the module cannot be imported, or the class is not a subclass of BaseMeasure.
    """
    where = f"{module_name}:{class_name}"
    with named_errors(where, "write a measure as importable.module:ClassName"):
        found = import_object(module_name, class_name)
    return _checked_class(found, where)


def construct(measure_class: type[_M], parameters: Mapping[str, Any], at: Any) -> _M:
    """Construct a measure; an exception in its constructor becomes a UsageError."""
    cutoff = {} if at is None else {"cutoff": at}
    if "cutoff" in map(str.casefold, parameters):
        raise UsageError(
            f"{measure_class.__qualname__} has no parameter cutoff",
            remedy=f"supported: {', '.join(measure_class.parameter_defaults) or 'none'}",
        )
    with named_errors(measure_class.__qualname__):
        measure = measure_class(**cutoff, **parameters)
    if measure.cutoff != at:
        raise UsageError(
            f"{measure_class.__qualname__} does not store its cutoff {at}",
            where=measure_class.__module__,
            remedy="call super().__init__(cutoff, **parameters) in its __init__",
        )
    return measure


def _checked_class(found: object, where: str) -> type[BaseMeasure]:
    if not (isinstance(found, type) and issubclass(found, BaseMeasure)):
        raise UsageError(
            "expected a subclass of trectools_plus.measures.BaseMeasure",
            where=where,
            remedy="derive the class from BaseMeasure",
        )
    return found


PROVIDER = BaseMeasure.provider
