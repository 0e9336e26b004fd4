"""Queries in languages that the built-in embeddings do not know."""

from __future__ import annotations

import polars as pl
import pytest

from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.retrieval.languages import language_note

CORPUS = Corpus.from_dict({"1": "short stature", "2": "a dog and a cat"})
END = ", but the built-in embeddings of vector support only English."


def topics_of(*texts: str, languages: list[str | None] | None = None) -> Topics:
    topics = Topics.from_dict({str(number): text for number, text in enumerate(texts)})
    if languages is None:
        return topics
    return Topics(topics.frame.with_columns(language=pl.Series(languages, dtype=pl.String)))


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        (topics_of("short stature"), ""),
        (topics_of("Kleinwuchs"), "The query shares no word with the documents, which suggests"),
        (topics_of("der Hund und die Katze"), "The query seems not to be in English (de)"),
        (topics_of("short", "cat", "Hund"), ""),
        (topics_of("short", "Katze", "Hund"), "2 of 3 queries share no word with the documents"),
        (topics_of("short", "a dog", "le chien et le chat"), "1 of 3 queries seems not to be"),
        (topics_of("short", "der Hund und die", "le chien et le"), "2 of 3 queries seem not to"),
        (topics_of("der Hund und", languages=["en-GB"]), ""),
        (topics_of("dog", languages=["de"]), "The queries are not in English (de)"),
        (topics_of("dog", "cat", languages=["en", None]), ""),
        (topics_of("dog", "cat", languages=["English", "de-AT"]), "Some queries are not in Engl"),
    ],
)
def test_notes(topics: Topics, expected: str) -> None:
    note = language_note(topics, CORPUS, ["vector"])
    assert note.startswith(expected)
    assert note.endswith(END) == bool(expected)
    assert language_note(topics, CORPUS, []) == ""


def test_without_documents_stop_words_decide() -> None:
    assert language_note(topics_of("Kleinwuchs"), None, ["vector"]) == ""
    assert "(de)" in language_note(topics_of("der Hund und die Katze"), None, ["a", "b"])
    assert "of a, b and c support" in language_note(topics_of("der und die"), None, list("abc"))
