"""All measures by label: the providers, in the order in which they are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import Any

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import Measure, Provider
from trectools_plus.measures.definitions.trec_eval_measures import STANDARD_MEASURES

USER, IR_MEASURES = "user", "ir_measures"
BUILTIN = ("standard", "builtin")
PROVIDERS = (*BUILTIN, USER, IR_MEASURES)
"""The modules of all providers."""


def load_provider(name: str) -> Provider:
    """Import a provider; most commands need only that of the standard measures."""
    found: Provider = import_module(f"trectools_plus.measures.providers.{name}").PROVIDER
    return found


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
            return load_provider(provider).construct(canonical, parameters, at)
    return None


def find_label(label: str, providers: Sequence[str] = PROVIDERS) -> str | None:
    """Return a label as its provider writes it; ``None`` if no provider supports it.

    Args:
        label: The label, in any case.
        providers: The providers to search, in this order.

    Raises:
        UsageError: If two labels of a provider differ only in case, and neither is the given one.
    """
    for provider in providers:
        found = []
        for one in load_provider(provider).labels():
            if one == label:
                return label
            if one.casefold() == label.casefold():
                found.append(one)
        if len(found) > 1:
            raise UsageError(
                f"{label} stands for several measures", remedy=f"use one of {', '.join(found)}"
            )
        if found:
            return found[0]
    return None


def builtin_labels() -> list[str]:
    """Return the labels of the measures of pytrec_eval and of this package."""
    return [label for provider in BUILTIN for label in load_provider(provider).labels()]


def measure_labels() -> list[str]:
    """Return all labels except those that only ``ir_measures`` supports."""
    return [*builtin_labels(), *load_provider(USER).labels()]


def ir_measures_labels() -> list[str]:
    """Return every label in the registry of ``ir_measures``."""
    return [*load_provider(IR_MEASURES).labels()]


def plain_name(label: str) -> str | None:
    """Return the name that the service uses for a measure; ``None`` for the canonical name."""
    from trectools_plus.measures.providers.builtin import iter_measures

    for measure in chain(STANDARD_MEASURES, iter_measures()):
        if measure.label == label:
            return measure.plain_name
    return None
