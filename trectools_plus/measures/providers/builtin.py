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
    FloatArray,
    Measure,
    fold_parameters,
    refuse_unknown_parameters,
)
from trectools_plus.measures.definitions.trec_eval_measures import BINARY_GAIN
from trectools_plus.measures.providers.user import BaseMeasure, construct

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from trectools_plus.measures.judged import JudgedRun, RankedRun


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
        found = next(one for one in iter_measures() if one.label == label)
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

    @property
    def _found(self) -> str:
        """The documents that count, in words."""
        return "retrieved" if self.cutoff is None else f"in the first {self.cutoff}"

    @property
    def _ranks(self) -> str:
        """The ranks that count, in words."""
        return "of the ranking" if self.cutoff is None else f"from 1 to {self.cutoff}"

    @property
    def _binary_gain(self) -> str:
        """The gain of measures with binary relevance."""
        return BINARY_GAIN.format(level=self.relevance_level)

    def _hits(self, run: JudgedRun) -> npt.NDArray[np.bool_]:
        """Return a mask of judged documents that are relevant and in the first k."""
        return run.within(self.cutoff) & (run.grade >= self.relevance_level)


PROVIDER = ColumnMeasure.provider
