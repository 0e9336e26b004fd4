"""Words of a text with their places, and the form in which they are compared."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_POSSESSIVE = re.compile(r"['’]s$")
_BRITISH_OUR = re.compile(r"our(s|ed|ing|less)?$")
_SHORTEST_RESPELT = 5

CONJUNCTIONS = frozenset({"and", "or"})
_FUNCTION_WORDS = """
a an the of in on to with by for from at as is are was were be been his her its their this that
these those into due may can it
"""
FUNCTION_WORDS = CONJUNCTIONS | frozenset(_FUNCTION_WORDS.split())
"""Words that carry no content of a term's name: articles, prepositions, forms of *be*."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text.

    Attributes:
        start: Where it starts, in characters.
        end: Where it ends, exclusive.
        text: It, as written.
        stem: Its form for comparison; empty for a function word.
    """

    start: int
    end: int
    text: str
    stem: str


def words_of(text: str, start: int = 0, end: int | None = None) -> list[Word]:
    """The words of a part of a text; offsets count from the start of the whole text."""
    found = _WORD.finditer(text, start, len(text) if end is None else end)
    return [Word(m.start(), m.end(), m[0], stem_of(m[0])) for m in found]


@lru_cache(maxsize=1 << 17)
def stem_of(word: str) -> str:
    """A word lower-cased, in American spelling, without its ending; empty for a function word.

    British ``ae``, ``oe`` and ``our`` are respelt in words of five letters or more (``anaemia``,
    ``oedema``, ``tumour``); the ending goes by the Snowball stemmer for English. Names and texts
    are treated alike, so that a word respelt wrongly is respelt wrongly on both sides.
    """
    lowered = _POSSESSIVE.sub("", unicodedata.normalize("NFC", word).lower())
    if lowered in FUNCTION_WORDS:
        return ""
    if len(lowered) >= _SHORTEST_RESPELT:
        lowered = lowered.replace("ae", "e").replace("oe", "e")
        lowered = _BRITISH_OUR.sub(r"or\1", lowered)
    return _snowball().stemWord(lowered)  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def _snowball():  # type: ignore[no-untyped-def]
    import Stemmer

    return Stemmer.Stemmer("english")
