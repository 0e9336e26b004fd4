"""Notes of a report on the search: language, multi-vector search, reranking, unused settings."""

from __future__ import annotations

import polars as pl

from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.retrieval.backends.embedded.modes import (
    kind_of,
    model_of,
    unused_settings,
    uses_vectors,
)
from trectools_plus.retrieval.settings import RetrievalSettings

_MOST_DOCUMENTS = 100_000
"""The words of larger collections are not examined."""
_FEW_KNOWN = 0.5
"""With a smaller share of queries that have a word of the documents, the languages differ."""

_MODEL = "--embedding-model DIR, extra neural"


def retrieval_notes(config: BenchmarkConfig, dataset: Dataset) -> list[str]:
    """Return sentences on language, multi-vector search, reranking and settings without effect.

    The list is empty for given runs, and for backends with their own documents and modes.
    """
    if config.runs is not None or not config.needs_corpus:
        return []
    settings = config.retrieval
    notes = []
    modes = [
        config.label(mode)
        for mode in config.mode_keys
        if uses_vectors(mode) and settings.for_model(model_of(mode)).model_folder is None
    ]
    if modes and dataset.topics is not None:
        corpus = dataset.corpus if isinstance(dataset.corpus, Corpus) else None
        language_note = _describe_language(dataset.topics, corpus)
        if language_note:
            notes.append(
                f"{language_note}, but the built-in embeddings of {_join(modes)} support only "
                "English. "
                "A multilingual model may give better results "
                f"({_MODEL}{'' if config.is_embedded else '; not with this backend'})."
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
        if getattr(settings, name) != getattr(default, name)
    ]


def _describe_language(topics: Topics, corpus: Corpus | None) -> str:
    """Return the start of a sentence if the queries are not English, else an empty string.

    Without a declared language, they count as not English if most of them share no word with the
    documents.
    """
    if "language" in topics.frame.columns:
        given = topics.frame["language"].cast(pl.String).drop_nulls().str.to_lowercase()
        named = sorted(set(given.to_list()) - {""})
        others = [name for name in named if name.partition("-")[0] not in ("en", "english")]
        if named:
            which = "The queries are" if len(others) == len(named) else "Some queries are"
            return f"{which} not in English ({', '.join(others)})" if others else ""
    if corpus is None or not 0 < len(corpus) <= _MOST_DOCUMENTS:
        return ""
    words = _words(pl.Series(corpus.searchable_texts())).explode().unique()
    shared = _words(topics.frame["text"]).list.eval(pl.element().is_in(words.implode())).list.any()
    unknown = shared.len() - int(shared.sum() or 0)
    if shared.len() and unknown / shared.len() > 1 - _FEW_KNOWN:
        return (
            f"{unknown} of {shared.len()} queries share no word with the documents, which "
            "suggests another language"
        )
    return ""


def _words(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().str.extract_all(r"\w{3,}")


def _join(labels: list[str]) -> str:
    return " and ".join(part for part in (", ".join(labels[:-1]), labels[-1]) if part)
