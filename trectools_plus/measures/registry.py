"""Every measure by its label: the providers in the order in which they are asked.

A provider declares what it supports; a built-in measure is declared in the file that defines it
(see :mod:`trectools_plus.measures.providers.builtin`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trectools_plus.measures.definitions.base import Measure, Provider
from trectools_plus.measures.definitions.trec_eval_measures import STANDARD_MEASURES
from trectools_plus.measures.providers.builtin import BuiltinProvider, iter_measures
from trectools_plus.measures.providers.ir_measures import IrMeasuresProvider
from trectools_plus.measures.providers.pytrec_eval import PytrecEvalProvider
from trectools_plus.measures.providers.user import UserProvider

BUILTIN: tuple[Provider, ...] = (PytrecEvalProvider(), BuiltinProvider())
INSTALLED = UserProvider()
FURTHER = IrMeasuresProvider()
PROVIDERS: tuple[Provider, ...] = (*BUILTIN, INSTALLED, FURTHER)


def construct(label: str, parameters: Mapping[str, Any], at: Any) -> Measure | None:
    """Make the measure that a label stands for.

    Args:
        label: The name without parameters and cutoff.
        parameters: The values in brackets.
        at: What follows ``@``; ``None`` for nothing.

    Returns:
        The measure; ``None`` where no provider supports the label.

    Raises:
        UsageError: If a parameter is unknown or out of range.
    """
    for provider in PROVIDERS:
        measure = provider.construct(label, parameters, at)
        if measure is not None:
            return measure
    return None


def builtin_labels() -> list[str]:
    """Return the labels of this package's measures."""
    return [label for provider in BUILTIN for label in provider.labels()]


def measure_labels() -> list[str]:
    """Return every label that is known, without those that only ``ir_measures`` knows."""
    return [*builtin_labels(), *INSTALLED.labels()]


def further_labels() -> list[str]:
    """Return every label in the registry of ``ir_measures``."""
    return FURTHER.labels()


def plain_name(label: str) -> str | None:
    """Return what service answers and metrics call a measure; ``None`` for its canonical name."""
    for measure in STANDARD_MEASURES:
        if measure.label == label:
            return measure.plain_name
    return next((one.plain_name for one in iter_measures() if one.label == label), None)
