"""The embedded retrieval modes by name.

``bm25`` is an alias of ``lexical``, and ``dense`` of ``vector``. A run is named as the user named
its mode. Each aggregation strategy is a mode too: it searches a multi-vector index with that
strategy.
"""

from __future__ import annotations

from collections.abc import Sequence

from trectools_plus.choices import ALL_MODES, MERGED_MODES, MODE_ALIASES
from trectools_plus.choices import MODES as MODES
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.index.models import ModelRecord, record_models
from trectools_plus.retrieval.settings import RetrievalSettings


def canonical_mode(mode: str) -> str:
    """Replace an alias by the name of its mode; return other names unchanged."""
    return MODE_ALIASES.get(mode, mode)


def uses_vectors(mode: str) -> bool:
    """Return whether a mode embeds texts; ``hybrid`` does too."""
    return canonical_mode(mode) not in ("lexical", "splade")


def models_used(modes: Sequence[str], settings: RetrievalSettings) -> dict[str, ModelRecord]:
    """Return the local models that these modes use, by role.

    Raises:
        InputError: If a model's folder is missing or cannot be read.
    """
    roles = {"reranker"}
    if any(map(uses_vectors, modes)):
        roles.add("embedding")
    if "splade" in modes:
        roles.add("splade")
    return record_models(settings, roles)


def merged_modes(modes: Sequence[str]) -> dict[str, str]:
    """Return the modes that ``hybrid`` merges, with the names by which the user requested them.

    Args:
        modes: All requested modes; ``splade`` is merged only if it is among them.
    """
    named = {canonical_mode(mode): mode for mode in modes}
    return {
        mode: named.get(mode, mode) for mode in MERGED_MODES if mode != "splade" or mode in named
    }


def name_default_modes(settings: RetrievalSettings) -> tuple[str, ...]:
    """Return the modes of a configuration that names none.

    Weights for three rankings need the mode ``splade``, which hybrid then merges.
    """
    if settings.weights is None or len(settings.weights) < len(MERGED_MODES):
        return MODES
    return (*MERGED_MODES, "hybrid")


def check_modes(modes: Sequence[str]) -> None:
    """Check that all modes exist and none is repeated.

    Raises:
        UsageError: If there is no mode, or a mode is unknown or repeated.
    """
    unknown = [mode for mode in modes if mode not in ALL_MODES]
    if unknown or not modes:
        what = f"unknown mode '{unknown[0]}'" if unknown else "no mode given"
        raise UsageError(what, remedy=f"use one of {', '.join(ALL_MODES)}")
    if len(set(map(canonical_mode, modes))) < len(modes):
        aliases = " and ".join(f"{alias} is {mode}" for alias, mode in MODE_ALIASES.items())
        raise UsageError(
            f"a mode is given twice: {', '.join(modes)}", remedy=f"name each mode once ({aliases})"
        )
