"""What a benchmark reports when no measure is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from trectools_plus.retrieval.setting_types import WholeNumber
from trectools_plus.text import split_list

_LARGEST = 2**31 - 1

TERM_CUTOFFS = (1, 3, 5, 10)
"""Where the default measures for ontology terms are cut."""
_TERM_MEASURES = ("HitRate", "nDCG", "R", "P", "APcap", "MaxOntSim")


def _split(value: Any) -> Any:
    return split_list(value) if isinstance(value, str) else value


def _ascending(cutoffs: tuple[int, ...]) -> tuple[int, ...]:
    if not cutoffs:
        raise ValueError("no cutoff is named — name one, or leave `cutoffs` out")
    return tuple(sorted(set(cutoffs)))


Cutoffs = Annotated[
    tuple[Annotated[WholeNumber, Field(ge=1, le=_LARGEST)], ...],
    BeforeValidator(_split),
    AfterValidator(_ascending),
]
"""Ranks, rising; as text with commas."""


def name_default_measures(*, terms: bool, cutoffs: Sequence[int] | None = None) -> tuple[str, ...]:
    """Names of the default measures.

    Args:
        terms: Whether the documents are terms of an ontology: the reciprocal rank, and HitRate,
            nDCG, R, P, APcap and MaxOntSim at each cutoff. Otherwise those of ``eval``.
        cutoffs: Other cutoffs than the usual ones; each measure is taken at each of them.
    """
    from trectools_plus.measures.evaluation import DEFAULT_MEASURES

    if terms:
        chosen = cutoffs or TERM_CUTOFFS
        return ("RR", *(f"{label}@{cutoff}" for label in _TERM_MEASURES for cutoff in chosen))
    if not cutoffs:
        return DEFAULT_MEASURES
    labels = dict.fromkeys(name.partition("@")[0] for name in DEFAULT_MEASURES)
    return tuple(f"{label}@{cutoff}" for label in labels for cutoff in cutoffs)
