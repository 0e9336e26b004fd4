"""Queries in languages that an embedding model does not know."""

from __future__ import annotations

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
