"""Findings as letters have them: lay words, abbreviations, values, and other languages."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

from trectools_plus.extraction.dictionary import Dictionary
from trectools_plus.extraction.inputs import Mention
from trectools_plus.extraction.names import OTHER, Name, make_name
from trectools_plus.extraction.segmentation import chunk, words_of
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


def find_values(text: str, terms: Container[str]) -> Iterator[Mention]:
    """Yield the mentions of terms that are values beyond their limits."""
    for part in chunk(text, "sentence"):
        folded = fold_letters(part.text, keep_case=True)
        for value in find_measurements(part.text):
            if value.term_id in terms:
                start = part.start + max(0, folded.find(value.text))
                end = min(start + len(value.text), part.end)
                words = frozenset(word.start for word in words_of(text, start, end))
                yield Mention(value.term_id, start, end, words, 1.0)


def find_translated(
    text: str, language: str, dictionary: Dictionary, known: Iterable[Mention]
) -> Iterator[Mention]:
    """Yield the mentions in the translation of a text, at their places in the text.

    Args:
        text: The text.
        language: A language with a glossary.
        dictionary: The dictionary of English names and lay words.
        known: Mentions whose words need no further meaning.
    """
    glossary = included_glossary(language)
    assert glossary is not None
    done = {word for mention in known for word in mention.words}
    for clause in chunk(text, "clause"):
        parts = glossary.translate(clause.text).parts
        # The English of a word can be a phrase, or several words of which one fits.
        for choice in (slice(None), slice(1), slice(-1, None)):
            english, end, spans, before = "", 0, dict[int, tuple[int, int]](), frozenset(done)
            for meaning, (start, stop) in parts:
                words = _WORD.findall(clause.text[start:stop].lower())
                english += "," * ("," in clause.text[end:start])
                chosen = ["and"] if words[0] in _AND else meaning.split()[choice]
                for word in (*chosen, *["of"] * (words[-1] in _OF)):
                    spans[len(english) + 1] = clause.start + start, clause.start + stop
                    english += f" {word}"
                end = stop
            for mention in dictionary.find(english):
                used = [spans[place] for place in mention.words if place in spans]
                starts = frozenset(start for start, _ in used)
                if not starts <= before:
                    done |= starts
                    end_of_last = max(end for _, end in used)
                    yield replace(mention, start=min(starts), end=end_of_last, words=starts)
