"""Queries in languages that an embedding model does not know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import polars as pl

from trectools_plus.formats.tables import Topics
from trectools_plus.validation.texts import guess_language, primary_language


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
    if not modes:
        return ""
    described = _describe(topics)
    named = " and ".join(part for part in (", ".join(modes[:-1]), modes[-1]) if part)
    return (
        f"{described}, but the built-in embeddings of {named} support only English."
        if described
        else ""
    )


def _describe(topics: Topics) -> str:
    """Return the start of the sentence, or an empty text."""
    texts = topics.frame["text"]
    declared = _declared(topics)
    if declared:
        others = sorted({name for name in declared if primary_language(name) != "en"})
        which = "The queries are" if len(others) == len(set(declared)) else "Some queries are"
        return f"{which} not in English ({', '.join(others)})" if others else ""
    guessed = Counter(language for language in map(guess_language, texts) if language)
    guessed.pop("en", None)
    total, count = len(texts), guessed.total()
    subject = f"{count} of {total} queries {'seems' if count == 1 else 'seem'}"
    if total == 1:
        subject = "The query seems"
    return f"{subject} not to be in English ({', '.join(sorted(guessed))})" if guessed else ""


def _declared(topics: Topics) -> list[str]:
    """Return the declared languages, in lower case."""
    if "language" not in topics.frame.columns:
        return []
    given = topics.frame["language"].cast(pl.String).drop_nulls().str.to_lowercase()
    return [name for name in given.to_list() if name]
