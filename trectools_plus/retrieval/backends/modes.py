"""The embedded retrieval modes by name, and the languages that they do not know.

``bm25`` is an alias of ``lexical``, and ``dense`` of ``vector``. A run is named as the user named
its mode. Each aggregation strategy is a mode too: it searches a multi-vector index with that
strategy. With several embedding models, ``vector-<model>`` is the mode ``vector`` with that model.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from trectools_plus.choices import ALL_MODES, MERGED_MODES, MODE_ALIASES, MODES
from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.index.models import SourceFile, record_models
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Backend
from trectools_plus.validation.texts import guess_language, primary_language


def canonical_mode(mode: str) -> str:
    """Replace an alias by the name of its mode; return other names unchanged."""
    kind, dash, model = mode.partition("-")
    return f"{MODE_ALIASES.get(kind, kind)}{dash}{model}"


def kind_of(mode: str) -> str:
    """Return the canonical name of a mode without that of its embedding model."""
    return canonical_mode(mode).partition("-")[0]


def model_of(mode: str) -> str:
    """Return the name of the embedding model in a mode's name; empty without one."""
    return mode.partition("-")[2]


def uses_vectors(mode: str) -> bool:
    """Return whether a mode embeds texts; ``hybrid`` does too."""
    return kind_of(mode) not in ("lexical", "ngram", "splade")


def uses_builtin_embeddings(mode: str, settings: RetrievalSettings) -> bool:
    """Return whether a mode embeds texts with the built-in embeddings."""
    if kind_of(mode) == "hybrid" and "vector" not in settings.merged:
        return False
    return uses_vectors(mode) and settings.model_folder(model_of(mode)) is None


def expand_modes(modes: Sequence[str], settings: RetrievalSettings) -> tuple[str, ...]:
    """Return the modes to search: with several embedding models, ``<mode>-<model>`` for each.

    A mode without vectors, or with the name of a model, is searched once.
    """
    expanded = list[str]()
    for mode in modes:
        names = settings.model_names if uses_vectors(mode) and not model_of(mode) else ()
        expanded += [f"{mode}-{name}" for name in names] or [mode]
    return tuple(expanded)


def models_used(modes: Sequence[str], settings: RetrievalSettings) -> dict[str, SourceFile]:
    """Return the local models that these modes use, by role.

    Args:
        modes: Modes from :func:`expand_modes`.
        settings: The settings.

    Raises:
        InputError: If a model's folder is missing or cannot be read.
    """
    folders = {}
    for mode in filter(uses_vectors, modes):
        model = model_of(mode)
        folders[f"embedding-{model}" if model else "embedding"] = settings.model_folder(model)
    if "splade" in modes:
        folders["splade"] = settings.splade_model
    return record_models(folders)


def merged_modes(modes: Sequence[str], settings: RetrievalSettings, model: str = "") -> list[str]:
    """Return the modes that ``hybrid`` merges.

    Args:
        modes: All requested modes; ``splade`` is merged if, and only if, it is among them.
        settings: ``components`` and ``weights`` are used.
        model: The name of the embedding model of the hybrid mode; empty without one.
    """
    chosen = {*settings.merged} - {"splade"} | ({"splade"} & {*modes})
    merged = [mode for mode in MERGED_MODES if mode in chosen]
    return [f"vector-{model}" if model and mode == "vector" else mode for mode in merged]


def name_default_modes(settings: RetrievalSettings) -> tuple[str, ...]:
    """Return the modes of a configuration that names none.

    If hybrid shall merge ``splade``, this is one of the modes.
    """
    return MODES if "splade" not in settings.merged else (*MODES[:2], "splade", "hybrid")


def unused_settings(modes: Sequence[str], settings: RetrievalSettings) -> dict[str, str]:
    """Return the settings that none of these modes uses, by name, each with the reason.

    Args:
        modes: The modes.
        settings: Settings from :meth:`RetrievalSettings.for_documents`.
    """
    modes = expand_modes(modes, settings)
    kinds = {*map(kind_of, modes)}
    fuses = "hybrid" in kinds
    kinds |= {*merged_modes(modes, settings)} if fuses else set()
    vectors = [mode for mode in modes if uses_vectors(mode)]
    has_encoder = any(settings.model_folder(model_of(mode)) for mode in vectors)
    by_score = fuses and settings.fusion != "rrf"
    used = {
        "k1 b stemmer stopwords": "lexical" in kinds,
        "rewording language": fuses or "ngram" in kinds,
        "components fusion candidates": fuses,
        "rrf_k": fuses and not by_score,
        "weights": fuses and settings.fusion == "weighted",
        "normalisation": by_score,
        "multi_vector": "vector" in kinds,
        "aggregation_strategy": "vector" in kinds and bool(settings.multi_vector),
        "embedding_model": bool(vectors),
        "query_prompt document_prompt": has_encoder,
        "max_length device": has_encoder or "splade" in kinds,
        "splade_model": "splade" in kinds,
        "rerank_depth": settings.reranker is not None,
    }
    chosen = f"{', '.join(modes)} with fusion={settings.fusion}" if fuses else ", ".join(modes)
    unused = " ".join(names for names, is_used in used.items() if not is_used)
    return dict.fromkeys(unused.split(), f"{chosen} does not use it")


def check_modes(modes: Sequence[str], settings: RetrievalSettings | None = None) -> None:
    """Check that all modes exist and none is repeated.

    Args:
        modes: The modes.
        settings: Settings with several embedding models, whose names can be part of a mode's name.

    Raises:
        UsageError: If there is no mode, or a mode is unknown or repeated.
    """
    models = () if settings is None else settings.model_names
    named = [f"{mode}-{model}" for model in models for mode in ALL_MODES if uses_vectors(mode)]
    unknown = [mode for mode in modes if mode not in (*ALL_MODES, *named)]
    if unknown:
        raise UsageError(
            f"unknown mode '{unknown[0]}'", remedy=f"use one of {', '.join(ALL_MODES)}"
        )
    Backend.check_modes([*map(canonical_mode, modes)])


def language_note(topics: Topics, modes: Sequence[str]) -> str:
    """Return a sentence if queries are in languages that the built-in embeddings do not know.

    The built-in embeddings know English only. A declared language counts; otherwise the stop words
    of a query do.

    Args:
        topics: The queries, with their languages in the field ``language`` if they declare them.
        modes: The labels of the modes that use the built-in embeddings.

    Returns:
        The sentence; empty if there are no such modes or queries.
    """
    names = [guess_language(text) for text in topics.frame["text"]]
    if "language" in topics.frame.columns:
        declared = topics.frame["language"].cast(pl.String).fill_null("").str.to_lowercase()
        names = declared.to_list() if (declared != "").any() else names
    others = [name for name in names if name and primary_language(name) != "en"]
    if not modes or not others:
        return ""
    number = "the query" if len(names) == 1 else f"{len(others)} of {len(names)} queries"
    return (
        f"The built-in embeddings of {' and '.join(modes)} know only English; not in English: "
        f"{number} ({', '.join(sorted({*others}))})."
    )
