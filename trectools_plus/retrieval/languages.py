"""Queries in languages that an embedding model does not know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import polars as pl

from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.validation.topics.texts import guess_language, primary_language

_MOST_DOCUMENTS = 100_000
"""The words of larger collections are not examined."""
_FEW_KNOWN = 0.5
"""With a smaller share of queries that have a word of the documents, the languages differ."""


def language_note(topics: Topics, corpus: Corpus | None, modes: Sequence[str]) -> str:
    """Return a sentence if queries are in languages that the built-in embeddings do not know.

    The built-in embeddings know English only. A declared language counts; otherwise the stop words
    of a query do, or the words that queries and documents have in common.

    Args:
        topics: The queries, with their languages in the field ``language`` if they declare them.
        corpus: The documents; ``None`` if they are not in memory.
        modes: The labels of the modes that use the built-in embeddings.

    Returns:
        The sentence; empty if there are no such modes or queries.
    """
    if not modes:
        return ""
    described = _describe(topics, corpus)
    named = " and ".join(part for part in (", ".join(modes[:-1]), modes[-1]) if part)
    return (
        f"{described}, but the built-in embeddings of {named} support only English."
        if described
        else ""
    )


def _describe(topics: Topics, corpus: Corpus | None) -> str:
    """Return the start of the sentence, or an empty text."""
    texts = topics.frame["text"]
    declared = _declared(topics)
    if declared:
        others = sorted({name for name in declared if primary_language(name) != "en"})
        which = "The queries are" if len(others) == len(set(declared)) else "Some queries are"
        return f"{which} not in English ({', '.join(others)})" if others else ""
    guessed = Counter(language for language in map(guess_language, texts) if language)
    guessed.pop("en", None)
    unknown = _count_unknown(texts, corpus)
    if unknown > guessed.total():
        subject = _subject(unknown, len(texts), "shares", "share")
        return f"{subject} no word with the documents, which suggests another language"
    subject = _subject(guessed.total(), len(texts), "seems", "seem")
    return f"{subject} not to be in English ({', '.join(sorted(guessed))})" if guessed else ""


def _count_unknown(texts: pl.Series, corpus: Corpus | None) -> int:
    """Count the queries that share no word with the documents; 0 if most of them share one."""
    if corpus is None or not 0 < len(corpus) <= _MOST_DOCUMENTS:
        return 0
    words = _words(pl.Series(corpus.searchable_texts())).explode().unique()
    shared = _words(texts).list.eval(pl.element().is_in(words.implode())).list.any()
    unknown = shared.len() - int(shared.sum() or 0)
    return unknown if unknown > (1 - _FEW_KNOWN) * shared.len() else 0


def _declared(topics: Topics) -> list[str]:
    """Return the declared languages, in lower case."""
    if "language" not in topics.frame.columns:
        return []
    given = topics.frame["language"].cast(pl.String).drop_nulls().str.to_lowercase()
    return [name for name in given.to_list() if name]


def _subject(count: int, total: int, singular: str, plural: str) -> str:
    if total == 1:
        return f"The query {singular}"
    return f"{count} of {total} queries {singular if count == 1 else plural}"


def _words(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().str.extract_all(r"\w{3,}")
