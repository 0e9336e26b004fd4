"""Findings as letters have them: lay words, abbreviations, values, and other languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from trectools_plus.extraction.assertion import ENGLISH
from trectools_plus.extraction.dictionary import Dictionary
from trectools_plus.extraction.inputs import Mention, longest_only
from trectools_plus.extraction.names import OTHER, Name, make_name
from trectools_plus.extraction.segmentation import Chunk, chunk, words_of
from trectools_plus.retrieval.hpo.glossary import fold_letters, included_glossary
from trectools_plus.retrieval.hpo.lay_terms import lay_rows
from trectools_plus.retrieval.hpo.measurements import find_measurements

_WORD = re.compile(r"\w+")
_AND = frozenset(["und", "oder", "sowie", "et", "ou", "y", "e", "o", "u", "en", "of"])
_OF = frozenset(["von", "vom", "de", "d", "du", "des", "del", "van"])
"""Words that say *of*: without it, *absence d'épilepsie* would be *absence seizure*."""


def lay_names(language: str, terms: frozenset[str]) -> list[Name]:
    """Return the lay words and abbreviations of terms in a language."""
    return [
        make_name(term_id, phrase, OTHER + 1)
        for phrase, term_id, own in lay_rows()
        if own == language and term_id in terms
    ]


class NotesReader:
    """Find the terms of letters.

    Args:
        dictionary: The dictionary of English names and lay words.
        terms: The ids of the terms to find.
    """

    def __init__(self, dictionary: Dictionary, terms: frozenset[str]) -> None:
        self._dictionary = dictionary
        self._terms = terms
        self._lay = lru_cache(maxsize=8)(self._make_lay)

    def _make_lay(self, language: str) -> Dictionary:
        return Dictionary(lay_names(language, self._terms), variations=False)

    def find(self, text: str, language: str) -> list[Mention]:
        """Return the mentions in a text in a language, in any order."""
        found = [*self._dictionary.find(text), *self._values(text)]
        if language != ENGLISH:
            lay = self._lay(language).find(text)
            known = {word for mention in lay for word in mention.words}
            found += lay
            for clause in chunk(text, "clause"):
                found += self._translated(clause, language, known)
        return longest_only(dict.fromkeys(found))

    def _values(self, text: str) -> Iterator[Mention]:
        for part in chunk(text, "sentence"):
            folded = fold_letters(part.text, keep_case=True)
            for value in find_measurements(part.text):
                if value.term_id in self._terms:
                    start = part.start + max(0, folded.find(value.text))
                    end = min(start + len(value.text), part.end)
                    words = frozenset(word.start for word in words_of(text, start, end))
                    yield Mention(value.term_id, start, end, words, 1.0)

    def _translated(self, clause: Chunk, language: str, known: set[int]) -> Iterator[Mention]:
        """Yield the mentions in the translation of a clause, at their places in the text.

        ``known`` are the places of words that need no further meaning; those of mentions are added.
        """
        glossary, offset = included_glossary(language), clause.start
        assert glossary is not None
        parts = glossary.translate(clause.text).parts
        # The English of a word can be a phrase, or several words of which one fits.
        for choice in (slice(None), slice(1), slice(-1, None)):
            english, end, spans, before = "", 0, dict[int, tuple[int, int]](), frozenset(known)
            for meaning, (start, stop) in parts:
                words = _WORD.findall(clause.text[start:stop].lower())
                english += "," * ("," in clause.text[end:start])
                chosen = ["and"] if words[0] in _AND else meaning.split()[choice]
                for word in (*chosen, *["of"] * (words[-1] in _OF)):
                    spans[len(english) + 1] = offset + start, offset + stop
                    english += f" {word}"
                end = stop
            for mention in self._dictionary.find(english):
                used = [spans[place] for place in mention.words if place in spans]
                starts = frozenset(start for start, _ in used)
                if not starts <= before:
                    known |= starts
                    end_of_last = max(end for _, end in used)
                    yield replace(mention, start=min(starts), end=end_of_last, words=starts)
