"""Measures of users: ``module:Class`` and entry points, and the base class of both.

Anything wrong in code from outside this package comes back as an error that names it, not as a
traceback.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.measures.definitions.base import (
    Definition,
    FloatArray,
    Measure,
    canonical_name,
    checked_cutoff,
    checked_level,
    refuse_unknown_parameters,
)
from trectools_plus.measures.judged import JudgedQueries, RankedRun
from trectools_plus.plugins import import_object
from trectools_plus.text import plural

_M = TypeVar("_M", bound=Measure)

ENTRY_POINT_GROUP = "trectools_plus.measures"
LARGEST_VALUE = 1e100
"""The largest value, either side of 0, whose sums and squares over any queries stay finite."""


class UserProvider:
    """Computes measures query by query, in code from outside this package."""

    sees_documents = True

    def labels(self) -> list[str]:
        """Return names of the measures that installed packages register."""
        return sorted(entry_points(group=ENTRY_POINT_GROUP).names)

    def construct(self, label: str, parameters: Mapping[str, Any], at: Any) -> Measure | None:
        """Bind the parameters of a measure that an installed package registers."""
        if label not in self.labels():
            return None
        return construct(load_entry_point(label), parameters, at)

    def score(self, measures: Sequence[BaseMeasure], run: RankedRun) -> list[FloatArray]:
        """Score every query that has results; the others are ``nan``.

        Raises:
            UsageError: If a measure fails, or returns something that is not a score.
        """
        assert run.documents is not None
        queries, ranked = run.documents
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


class BaseMeasure(Measure):
    """A measure that scores one query at a time; subclass it to add a measure.

    ::

        class FirstIsBest(BaseMeasure):
            \"\"\"1 when the first document carries the query's highest grade.\"\"\"

            def score_query(self, ranked_doc_ids, qrels_of_query):
                best = max(qrels_of_query.values())
                return float(qrels_of_query.get(ranked_doc_ids[0], 0) == best)

    Name it ``package.module:FirstIsBest`` (parameters and cutoff as in ``…:Class(weight=2)@10``),
    or register the class as an entry point of the group ``trectools_plus.measures``.

    Args:
        cutoff: The deepest rank it looks at, at least 1; the ranking it is given is cut there.
        parameters: Values for the names in ``parameter_defaults``. A parameter ``rel`` is the
            relevance level.

    Raises:
        UsageError: If a parameter is unknown, or the cutoff missing or not positive.
    """

    provider = UserProvider()
    label: ClassVar[str] = ""
    """The name without parameters; the name of the class when empty."""
    parameter_defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Each parameter it takes, with its default."""
    plain_name: ClassVar[str | None] = None
    """The name of a built-in one in service answers and metrics; ``None`` for the canonical one."""
    requires_cutoff: ClassVar[bool] = False
    """Whether the name must end in ``@k``."""

    def __init__(self, cutoff: int | None = None, **parameters: Any) -> None:
        self.cutoff = checked_cutoff(cutoff, self._label(), required=self.requires_cutoff)
        refuse_unknown_parameters(self._label(), parameters, self.parameter_defaults)
        self.parameters: Mapping[str, Any] = {**self.parameter_defaults, **parameters}
        self.relevance_level = checked_level(self.parameters.get("rel", 1), self._label())

    @classmethod
    def _label(cls) -> str:
        return cls.label or cls.__name__

    @property
    def name(self) -> str:
        """``Label(parameter=value)@cutoff``; parameters at their default are left out."""
        return canonical_name(self._label(), self.parameters, self.parameter_defaults, self.cutoff)

    @abstractmethod
    def score_query(
        self, ranked_doc_ids: Sequence[str], qrels_of_query: Mapping[str, int]
    ) -> float:
        """Score one query.

        Args:
            ranked_doc_ids: The documents in canonical order, best first, cut at ``cutoff``; never
                empty (a query without results gets ``value_without_results``).
            qrels_of_query: Every judged document's grade; at least one is 1 or more.

        Returns:
            The value; ``nan`` where the measure is undefined for this query. Undefined values are
            left out of means and counted.
        """

    def score_queries(
        self, rankings: Sequence[Sequence[str]], qrels: Sequence[Mapping[str, int]]
    ) -> FloatArray:
        """Score many queries; override it where all at once is faster than one by one.

        Args:
            rankings: As ``ranked_doc_ids``, one per query.
            qrels: As ``qrels_of_query``, aligned with ``rankings``.

        Returns:
            One value per query, in the same order.
        """
        pairs = zip(rankings, qrels, strict=True)
        return np.fromiter((self.score_query(r, q) for r, q in pairs), float, len(rankings))

    @property
    def _definition(self) -> Definition:
        text = (type(self).__doc__ or "").strip().partition("\n\n")[0]
        return Definition(
            name=self.name,
            formula=" ".join(text.split()) or f"as {type(self).__module__}:{self._label()} says",
            gain="its own",
            cutoff=self.cutoff,
            denominator="its own",
            relevance_level=self.relevance_level,
            provider=f"{type(self).__module__}:{type(self).__qualname__}",
        )


@contextmanager
def _named_errors(where: str, remedy: str | None = None) -> Iterator[None]:
    """Turn errors of code from outside into a UsageError that names it."""
    try:
        yield
    except TrectoolsPlusError:
        raise
    except Exception as error:
        raise UsageError(f"{type(error).__name__}: {error}", where=where, remedy=remedy) from error


def load_class(module_name: str, class_name: str) -> type[BaseMeasure]:
    """Import a measure class; modules in the working directory are found too.

    Raises:
        UsageError: If the module cannot be imported, or the class is not a subclass of BaseMeasure.
    """
    where = f"{module_name}:{class_name}"
    with _named_errors(where, "name a measure as importable.module:ClassName"):
        found = import_object(module_name, class_name)
    return _checked_class(found, where)


def load_entry_point(name: str) -> type[BaseMeasure]:
    """Load a measure class that an installed package registers under ``name``.

    Raises:
        UsageError: If two packages register the name, or what they register is not a measure.
    """
    found = list(entry_points(group=ENTRY_POINT_GROUP, name=name))
    if len(found) > 1:
        raise UsageError(
            f"several installed packages register a measure {name}",
            where=", ".join(point.value for point in found),
            remedy="name the class as module:Class",
        )
    with _named_errors(found[0].value):
        loaded = found[0].load()
    return _checked_class(loaded, found[0].value)


def construct(measure_class: type[_M], parameters: Mapping[str, Any], at: Any) -> _M:
    """Bind a class's parameters; an error of its constructor becomes a UsageError."""
    cutoff = {} if at is None else {"cutoff": at}
    with _named_errors(measure_class.__qualname__):
        measure = measure_class(**cutoff, **parameters)
    if measure.cutoff != at:
        raise UsageError(
            f"{measure_class.__qualname__} does not keep its cutoff {at}",
            where=measure_class.__module__,
            remedy="call super().__init__(cutoff, **parameters) in its __init__",
        )
    return measure


def refuse_false_name(measure: Measure, is_standard: Callable[[str], bool]) -> None:
    """Refuse a class from outside whose name would mislead readers of its figures.

    Args:
        measure: Any measure; the built-in ones are taken as they are.
        is_standard: Whether a name is taken by a measure that everybody knows.

    Raises:
        UsageError: If its name is not a text, is that of a standard measure, or hides its cutoff.
    """
    measure_class = type(measure)
    if measure_class.__module__.startswith("trectools_plus."):
        return
    where = f"{measure_class.__module__}:{measure_class.__qualname__}"
    with _named_errors(f"name of {where}"):
        name = measure.name
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
    with _named_errors(measure.name, "mend its score_query"):
        values = np.asarray(measure.score_queries(rankings, grades), dtype=np.float64)
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
