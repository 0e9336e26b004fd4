"""Queries in languages that the built-in embeddings do not know."""

from __future__ import annotations

import polars as pl
import pytest

from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.backends.modes import language_note


def topics_of(*texts: str, languages: list[str | None] | None = None) -> Topics:
    topics = Topics.from_dict({str(number): text for number, text in enumerate(texts)})
    if languages is None:
        return topics
    return Topics(topics.frame.with_columns(language=pl.Series(languages, dtype=pl.String)))


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        (topics_of("short stature"), ""),
        (topics_of("der Hund und die Katze"), "not in English: the query (de)."),
        (topics_of("short", "a dog", "le chien et le chat"), "1 of 3 queries (fr)."),
        (topics_of("short", "der Hund und die", "le chien et le"), "2 of 3 queries (de, fr)."),
        (topics_of("der Hund und", languages=["en-GB"]), ""),
        (topics_of("dog", languages=["de"]), "the query (de)."),
        (topics_of("dog", "cat", languages=["en", None]), ""),
        (topics_of("dog", "cat", languages=["English", "de-AT"]), "1 of 2 queries (de-at)."),
    ],
)
def test_notes(topics: Topics, expected: str) -> None:
    note = language_note(topics, ["vector"])
    assert note.endswith(expected)
    assert bool(note) == bool(expected)
    assert language_note(topics, []) == ""
