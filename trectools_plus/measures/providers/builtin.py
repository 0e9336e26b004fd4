"""Provider of the measures that this package computes itself, and their base class.

The measures are the classes in the tuples ``MEASURES`` of the files of
:mod:`trectools_plus.measures.definitions`; there is no other list.
"""

from __future__ import annotations

import pkgutil
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from trectools_plus.errors import UsageError
from trectools_plus.measures import definitions
from trectools_plus.measures.definitions.base import (
    AVERAGED_OVER,
    DeclaredMeasure,
    Definition,
    FloatArray,
    Measure,
)
from trectools_plus.measures.definitions.trec_eval_measures import BINARY_GAIN
from trectools_plus.measures.providers.user import BaseMeasure, construct

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from trectools_plus.measures.judged import IntArray, JudgedRun


def iter_measures() -> Iterator[type[ColumnMeasure | BaseMeasure]]:
    """Yield the built-in measures in the order of their files, importing one file at a time."""
    for module in pkgutil.iter_modules(definitions.__path__, f"{definitions.__name__}."):
        yield from getattr(import_module(module.name), "MEASURES", ())


class BuiltinProvider:
    """Computes measures from grades and ranks, in NumPy."""

    sees_documents = False

    def labels(self) -> Iterator[str]:
        """Yield the labels of the built-in measures, importing one file at a time."""
        return (one.label for one in iter_measures())

    def construct(self, label: str, parameters: Mapping[str, Any], at: Any) -> Measure:
        """Construct a measure with its parameters."""
        return construct(next(one for one in iter_measures() if one.label == label), parameters, at)

    def score(self, measures: Sequence[ColumnMeasure], run: JudgedRun) -> list[FloatArray]:
        """Score every query."""
        return [measure.score(run) for measure in measures]


class ColumnMeasure(DeclaredMeasure):
    """A built-in measure, computed for all queries at once.

    Attributes:
        formula: See :class:`Definition`, and :meth:`Measure._define` for the names in braces.
        gain: The same.
        denominator: The same.
        averaged_over: The same.
        trec_eval_call: The same.
        see_also: The same.
    """

    provider = BuiltinProvider()
    parameter_defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"rel": 1})
    formula: str
    gain: str = BINARY_GAIN
    denominator: str = "none"
    averaged_over: str = AVERAGED_OVER
    trec_eval_call: str | None = None
    see_also: str | None = None

    @abstractmethod
    def score(self, run: JudgedRun) -> FloatArray:
        """Return one value per query; ``nan`` where it is undefined."""

    @property
    def definition(self) -> Definition:
        """The exact meaning of its figures."""
        k, level = self.cutoff, self.relevance_level
        words = {
            "found": "retrieved" if k is None else f"in the first {k}",
            "within": "" if k is None else f" in the first {k}",
            "ranks": "of the ranking" if k is None else f"from 1 to {k}",
            "at_level": "" if level == 1 else f"-l {level} ",
            "to_depth": "" if k is None else f"-M {k} ",
            **self.parameters,
        }
        return self._define(
            self.formula,
            self.gain,
            self.denominator,
            words,
            averaged_over=self.averaged_over,
            trec_eval_call=self.trec_eval_call,
            see_also=self.see_also,
        )

    def _hits(self, run: JudgedRun) -> npt.NDArray[np.bool_]:
        """Return a mask of judged documents that are relevant and in the first k."""
        return run.within(self.cutoff) & (run.grade >= self.relevance_level)

    def _count_relevant(self, run: JudgedRun) -> IntArray:
        """Return the number of relevant documents of each query."""
        return run.count(run.grade >= self.relevance_level)

    def _refuse_above(self, highest: int, grades: IntArray) -> None:
        """Refuse grades that are too high.

        Raises:
            UsageError: If there is one.
        """
        if (grade := int(grades.max(initial=0))) > highest:
            raise UsageError(
                f"grade {grade} is above {highest}, the highest grade that it accepts",
                where=self.name,
                remedy=f"rescale the grades to 0 to {highest}",
            )


PROVIDER = ColumnMeasure.provider
