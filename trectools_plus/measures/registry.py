"""All measures by label: the providers, in the order in which they are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import Measure, Provider
from trectools_plus.measures.definitions.trec_eval_measures import STANDARD_MEASURES
from trectools_plus.measures.providers.builtin import BuiltinProvider, iter_measures
from trectools_plus.measures.providers.ir_measures import IrMeasuresProvider
from trectools_plus.measures.providers.standard import PytrecEvalProvider
from trectools_plus.measures.providers.user import UserProvider

BUILTIN: tuple[Provider, ...] = (PytrecEvalProvider(), BuiltinProvider())
USER = UserProvider()
IR_MEASURES = IrMeasuresProvider()
PROVIDERS: tuple[Provider, ...] = (*BUILTIN, USER, IR_MEASURES)


def construct(label: str, parameters: Mapping[str, Any], at: Any) -> Measure | None:
    """Construct the measure with a label.

    Args:
        label: The name without parameters and cutoff, in any case.
        parameters: The values in brackets.
        at: The value after ``@``; ``None`` without one.

    Returns:
        The measure; ``None`` if no provider supports the label.

    Raises:
        UsageError: If a parameter is unknown or out of range, or installed packages define two
            measures that the label may stand for.
    """
    for provider in PROVIDERS:
        canonical = find_label(label, (provider,))
        if canonical is not None:
            return provider.construct(canonical, parameters, at)
    return None


def find_label(label: str, providers: Sequence[Provider] = PROVIDERS) -> str | None:
    """Return a label as its provider writes it; ``None`` if no provider supports it.

    Args:
        label: The label, in any case.
        providers: The providers to search, in this order.

    Raises:
        UsageError: If two labels of a provider differ only in case, and neither is the given one.
    """
    for provider in providers:
        found = [one for one in provider.labels() if one.casefold() == label.casefold()]
        if label in found:
            return label
        if len(found) > 1:
            raise UsageError(
                f"{label} stands for several measures", remedy=f"use one of {', '.join(found)}"
            )
        if found:
            return found[0]
    return None


def builtin_labels() -> list[str]:
    """Return the labels of the measures of pytrec_eval and of this package."""
    return [label for provider in BUILTIN for label in provider.labels()]


def measure_labels() -> list[str]:
    """Return all labels except those that only ``ir_measures`` supports."""
    return [*builtin_labels(), *USER.labels()]


def ir_measures_labels() -> list[str]:
    """Return every label in the registry of ``ir_measures``."""
    return IR_MEASURES.labels()


def plain_name(label: str) -> str | None:
    """Return the name that the service uses for a measure; ``None`` for the canonical name."""
    for measure in STANDARD_MEASURES:
        if measure.label == label:
            return measure.plain_name
    return next((one.plain_name for one in iter_measures() if one.label == label), None)
