"""The embedded retrieval modes by name.

``bm25`` is another name of ``lexical`` and ``dense`` one of ``vector``; a run is called what the
user calls its mode. Each aggregation strategy is a mode too: the search of a multi-vector index
with that strategy.
"""

from __future__ import annotations

from collections.abc import Sequence

from trectools_plus.choices import ALL_MODES, MODE_ALIASES
from trectools_plus.choices import MODES as MODES
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.index.models import ModelRecord, record_models
from trectools_plus.retrieval.settings import RetrievalSettings

_FUSED = ("lexical", "vector", "splade")
"""The modes that ``hybrid`` can merge, in the order of its weights."""


def canonical_mode(mode: str) -> str:
    """Return the mode that a name stands for."""
    return MODE_ALIASES.get(mode, mode)


def uses_vectors(mode: str) -> bool:
    """Return whether a mode embeds texts, hybrids included."""
    return canonical_mode(mode) not in ("lexical", "splade")


def models_used(modes: Sequence[str], settings: RetrievalSettings) -> dict[str, ModelRecord]:
    """Return the models that searching in these modes rests on, by what they do.

    Raises:
        InputError: If a model's folder is missing or cannot be read.
    """
    roles = {"reranker"}
    if any(map(uses_vectors, modes)):
        roles.add("embedding")
    if "splade" in modes:
        roles.add("splade")
    return record_models(settings, roles)


def fused_names(modes: Sequence[str]) -> dict[str, str]:
    """Return the modes that ``hybrid`` merges beside these, with the names that the user gave."""
    given = {canonical_mode(mode): mode for mode in modes}
    return {mode: given.get(mode, mode) for mode in _FUSED if mode != "splade" or mode in given}


def check_modes(modes: Sequence[str]) -> None:
    """Check that all modes exist and none is asked for twice.

    Raises:
        UsageError: If not.
    """
    unknown = [mode for mode in modes if mode not in ALL_MODES]
    if unknown or not modes:
        what = f"unknown mode '{unknown[0]}'" if unknown else "no mode given"
        raise UsageError(what, remedy=f"there are {', '.join(ALL_MODES)}")
    if len(set(map(canonical_mode, modes))) < len(modes):
        same = " and ".join(f"{alias} is {mode}" for alias, mode in MODE_ALIASES.items())
        raise UsageError(
            f"a mode is given twice: {', '.join(modes)}", remedy=f"name each once ({same})"
        )
