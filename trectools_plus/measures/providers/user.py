"""User-defined measures: their base class, ``module:Class`` names, and entry points.

An exception in a user's code becomes an error that names the code, without a traceback.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.measures.definitions.base import (
    RELEVANT,
    DeclaredMeasure,
    Definition,
    Measure,
    canonical_name,
    fold_parameters,
)
from trectools_plus.plugins import find_entry_point, import_object
from trectools_plus.text import plural

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import FloatArray
    from trectools_plus.measures.judged import JudgedQueries, RankedRun

_M = TypeVar("_M", bound=DeclaredMeasure)

ENTRY_POINT_GROUP = "trectools_plus.measures"
LARGEST_VALUE = 1e100
"""The largest absolute value: sums and squares over any number of queries stay finite."""


@dataclass(frozen=True, slots=True, eq=False)
class Rankings:
    """The results of queries, with an entry per query in each list.

    Attributes:
        query_ids: The ids of the queries.
        doc_ids: The documents in canonical order.
        scores: Their scores.
        qrels: The grade of every judged document.
    """

    query_ids: list[str]
    doc_ids: list[list[str]]
    scores: list[list[float]]
    qrels: list[dict[str, int]]

    def cut(self, cutoff: int | None) -> Rankings:
        """Return the rankings without documents below rank ``cutoff``."""
        doc_ids = [ranking[:cutoff] for ranking in self.doc_ids]
        return replace(self, doc_ids=doc_ids, scores=[one[:cutoff] for one in self.scores])


class UserProvider:
    """Computes measures that score one query at a time: user-defined ones, and MaxOntSim."""

    sees_documents = True

    def labels(self) -> list[str]:
        """Return the names of the measures that installed packages register."""
        from importlib.metadata import entry_points

        return sorted(entry_points(group=ENTRY_POINT_GROUP).names)

    def construct(self, label: str, parameters: Mapping[str, Any], at: Any) -> Measure | None:
        """Construct a measure that an installed package registers."""
        point = find_entry_point(ENTRY_POINT_GROUP, label, "measure")
        if point is None:
            return None
        with _named_errors(point.value):
            loaded = point.load()
        return construct(_checked_class(loaded, point.value), parameters, at)

    def score(self, measures: Sequence[BaseMeasure], run: RankedRun) -> list[FloatArray]:
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
        rankings = Rankings(
            [queries.query_ids[number] for number in numbers],
            rows["doc_id"].to_list(),
            rows["score"].to_list(),
            [dict(zip(doc_ids, relevance, strict=True)) for doc_ids, relevance in pairs],
        )
        columns = []
        for measure in measures:
            values = np.full(len(queries.query_ids), _value_without_results(measure))
            values[numbers] = _scores(measure, rankings.cut(measure.cutoff))
            columns.append(values)
            _refuse_too_large(measure, values, queries)
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

    def _score(self, rankings: Rankings) -> FloatArray:
        """Return one value per query."""
        return self.score_queries(rankings.doc_ids, rankings.qrels)

    @property
    def _definition(self) -> Definition:
        text = (type(self).__doc__ or "").strip().partition("\n\n")[0]
        return Definition(
            name=self.name,
            formula=" ".join(text.split()) or f"see {type(self).__module__}:{self._label()}",
            gain="its own",
            cutoff=self.cutoff,
            denominator="its own",
            relevance_level=self.relevance_level,
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
        return self._calculate("", ranked_doc_ids, (), qrels_of_query)

    def _score(self, rankings: Rankings) -> FloatArray:
        import numpy as np

        rows = zip(
            rankings.query_ids, rankings.doc_ids, rankings.scores, rankings.qrels, strict=True
        )
        return np.fromiter((self._calculate(*row) for row in rows), float, len(rankings.doc_ids))

    def _calculate(
        self,
        query_id: str,
        doc_ids: Sequence[str],
        scores: Sequence[float],
        qrels: Mapping[str, int],
    ) -> float:
        level = self.relevance_level
        results: QueryResults = {
            "query_id": query_id,
            "ranked_ids": list(doc_ids),
            "scores": list(scores),
            "relevant": {doc_id: grade for doc_id, grade in qrels.items() if grade >= level},
        }
        return float(self.calculate(results))


@contextmanager
def _named_errors(where: str, remedy: str | None = None) -> Iterator[None]:
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
    with _named_errors(where, "write a measure as importable.module:ClassName"):
        found = import_object(module_name, class_name)
    return _checked_class(found, where)


def construct(measure_class: type[_M], parameters: Mapping[str, Any], at: Any) -> _M:
    """Construct a measure; an exception in its constructor becomes a UsageError."""
    cutoff = {} if at is None else {"cutoff": at}
    with _named_errors(measure_class.__qualname__):
        parameters = fold_parameters(parameters, measure_class.parameter_defaults)
        measure = measure_class(**cutoff, **parameters)
    if measure.cutoff != at:
        raise UsageError(
            f"{measure_class.__qualname__} does not store its cutoff {at}",
            where=measure_class.__module__,
            remedy="call super().__init__(cutoff, **parameters) in its __init__",
        )
    return measure


def refuse_misleading_name(measure: Measure, is_standard: Callable[[str], bool]) -> None:
    """Refuse a user's measure whose name would mislead readers of its figures.

    Args:
        measure: Any measure; built-in ones are not checked.
        is_standard: Returns whether a name is that of a standard measure.

    Raises:
        UsageError: If its name is not a printable string, is that of a standard measure, or does
            not end with its cutoff.
    """
    measure_class = type(measure)
    if measure_class.__module__.startswith("trectools_plus."):
        return
    where = f"{measure_class.__module__}:{measure_class.__qualname__}"
    with _named_errors(f"name of {where}"):
        name = measure.name
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        raise UsageError(
            f"expected a name but got {name!r}", where=where, remedy="return a printable string"
        )
    if is_standard(name):
        raise UsageError(
            f"{name} is the name of a standard measure",
            where=where,
            remedy="give your class another label",
        )
    if measure.cutoff is not None and not name.endswith(f"@{measure.cutoff}"):
        raise UsageError(
            f"the name {name} does not contain the cutoff {measure.cutoff}",
            where=where,
            remedy=f"let it end with @{measure.cutoff}, or set label and do not override name",
        )


def _refuse_too_large(measure: BaseMeasure, values: FloatArray, queries: JudgedQueries) -> None:
    import numpy as np

    too_large = np.flatnonzero(np.abs(values) > LARGEST_VALUE)
    if too_large.size:
        query = int(too_large[0])
        raise UsageError(
            f"expected a finite value, at most {LARGEST_VALUE:g} (or nan, for undefined), "
            f"but got {values[query]:g}",
            where=f"{measure.name}, query {queries.query_ids[query]}",
            remedy=f"fix its {measure._method}",
        )


def _value_without_results(measure: BaseMeasure) -> float:
    """Return the value of queries without results, or refuse one that is no number."""
    without = measure.value_without_results
    number = isinstance(without, int | float) and not isinstance(without, bool)
    if not number or abs(without) > LARGEST_VALUE:
        raise UsageError(
            f"expected a finite number (or nan, for undefined) but got {without!r}",
            where=f"value_without_results of {measure.name}",
        )
    return without


def _scores(measure: BaseMeasure, rankings: Rankings) -> FloatArray:
    import numpy as np

    count = len(rankings.doc_ids)
    with _named_errors(measure.name, f"fix its {measure._method}"):
        values = np.asarray(measure._score(rankings), dtype=np.float64)
    if values.shape != (count,):
        raise UsageError(
            f"expected {plural(count, 'value')} but got an array of shape {values.shape}",
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
