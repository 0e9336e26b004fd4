"""Measures of this package, computed on whole columns: the base class, and where to find them.

A file of :mod:`trectools_plus.measures.definitions` with a tuple ``MEASURES`` adds its classes;
nothing else has to know them.
"""

from __future__ import annotations

import pkgutil
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from trectools_plus.measures import definitions
from trectools_plus.measures.definitions.base import (
    Definition,
    FloatArray,
    Measure,
    canonical_name,
    checked_cutoff,
    checked_level,
    provided_by,
    refuse_unknown_parameters,
)
from trectools_plus.measures.judged import IntArray, JudgedRun, RankedRun
from trectools_plus.measures.providers.user import BaseMeasure, construct


def iter_measures() -> Iterator[type[ColumnMeasure | BaseMeasure]]:
    """Yield the built-in measures, by file name; a file is imported when its turn comes."""
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
        """Bind a measure's parameters."""
        found = next((one for one in iter_measures() if one.label == label), None)
        if found is None:
            return None
        refuse_unknown_parameters(label, parameters, found.parameter_defaults)
        return construct(found, parameters, at)

    def score(self, measures: Sequence[ColumnMeasure], run: RankedRun) -> list[FloatArray]:
        """Score every query."""
        return [measure.score(run.judged) for measure in measures]


class ColumnMeasure(Measure):
    """A built-in measure, computed for all queries at once.

    Args:
        cutoff: The deepest rank it looks at; ``None`` is the whole ranking.
        parameters: Values for names in ``parameter_defaults``; ``rel`` is the lowest grade that
            counts as relevant, at least 1.

    Raises:
        UsageError: If cutoff or level are missing or out of range.
    """

    provider = BuiltinProvider()
    label: ClassVar[str]
    plain_name: ClassVar[str | None] = None
    """Its name in service answers and metrics; ``None`` for the canonical one."""
    requires_cutoff: ClassVar[bool] = False
    parameter_defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({"rel": 1})

    def __init__(self, cutoff: int | None = None, **parameters: Any) -> None:
        self.cutoff = checked_cutoff(cutoff, self.label, required=self.requires_cutoff)
        self.parameters: Mapping[str, Any] = {**self.parameter_defaults, **parameters}
        self.relevance_level = checked_level(self.parameters.get("rel", 1), self.label)

    @property
    def name(self) -> str:
        """The canonical name."""
        return canonical_name(self.label, self.parameters, self.parameter_defaults, self.cutoff)

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

    def _hits(self, run: JudgedRun) -> Any:
        return run.within(self.cutoff) & (run.grade >= self.relevance_level)


def ordinals(queries: IntArray) -> IntArray:
    """Return 1, 2, 3, … within each stretch of equal entries of a sorted array."""
    position = np.arange(len(queries))
    starts = np.r_[True, queries[1:] != queries[:-1]] if len(queries) else np.empty(0, bool)
    return position - np.maximum.accumulate(np.where(starts, position, 0)) + 1


def ratio(numerator: Any, denominator: IntArray) -> FloatArray:
    """Return quotients, ``nan`` where the denominator is 0."""
    result = np.full(len(denominator), np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result
