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

from trectools_plus.measures import definitions
from trectools_plus.measures.definitions.base import (
    DeclaredMeasure,
    Definition,
    Measure,
    fold_parameters,
    provided_by,
    refuse_unknown_parameters,
)
from trectools_plus.measures.providers.user import BaseMeasure, construct

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from trectools_plus.measures.definitions.base import FloatArray
    from trectools_plus.measures.judged import IntArray, JudgedRun, RankedRun


def iter_measures() -> Iterator[type[ColumnMeasure | BaseMeasure]]:
    """Yield the built-in measures in the order of their files, importing one file at a time."""
    for module in pkgutil.iter_modules(definitions.__path__, f"{definitions.__name__}."):
        yield from getattr(import_module(module.name), "MEASURES", ())


def builtin_provider() -> str:
    """Return this package's name with its version."""
    return provided_by("trectools-plus")


class BuiltinProvider:
    """Computes measures from grades and ranks, in NumPy."""

    sees_documents = False

    def labels(self) -> list[str]:
        """Return the labels of the built-in measures."""
        return [one.label for one in iter_measures()]

    def construct(self, label: str, parameters: Mapping[str, Any], at: Any) -> Measure | None:
        """Construct a measure with its parameters."""
        found = next((one for one in iter_measures() if one.label == label), None)
        if found is None:
            return None
        parameters = fold_parameters(parameters, found.parameter_defaults)
        refuse_unknown_parameters(label, parameters, found.parameter_defaults)
        return construct(found, parameters, at)

    def score(self, measures: Sequence[ColumnMeasure], run: RankedRun) -> list[FloatArray]:
        """Score every query."""
        return [measure.score(run.judged) for measure in measures]


class ColumnMeasure(DeclaredMeasure):
    """A built-in measure, computed for all queries at once."""

    provider = BuiltinProvider()
    parameter_defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"rel": 1})

    @abstractmethod
    def score(self, run: JudgedRun) -> FloatArray:
        """Return one value per query; ``nan`` where it is undefined."""

    def _define(self, formula: str, gain: str, denominator: str, **further: Any) -> Definition:
        return Definition(
            name=self.name,
            formula=formula,
            gain=gain,
            cutoff=self.cutoff,
            denominator=denominator,
            relevance_level=self.relevance_level,
            provider=builtin_provider(),
            **further,
        )

    def _hits(self, run: JudgedRun) -> npt.NDArray[np.bool_]:
        """Return a mask of judged documents that are relevant and in the first k."""
        return run.within(self.cutoff) & (run.grade >= self.relevance_level)


def ratio(numerator: Any, denominator: IntArray) -> FloatArray:
    """Return the quotients; ``nan`` where the denominator is 0."""
    import numpy as np

    result = np.full(len(denominator), np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result
