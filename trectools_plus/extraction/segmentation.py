"""Split a text into sentences, clauses, phrases and words, each with its position.

The splitting uses rules and no model. A sentence ends at the end of a line, or at ``.``, ``!`` or
``?``. The character must be followed by a semicolon, or by white space and a possible start of a
sentence; after a word of three letters, that may be a letter in lower case. A full stop after a
common abbreviation, for example ``e.g.``, does not end a sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Literal, NamedTuple

_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|cf|vs|viz|approx|ca|et al|figs?|nos?|vol|dr|mr|mrs|ms|prof|st|dept|resp|incl|"
    r"refs?|neg|pos|poss|prob|susp|hist|bilat|unilat|congen|cong|abd|ant|post|inf|sup|lat|temp|diff|"
    r"assoc|hosp|yrs?|mos?|wks?|hrs?|pts?|esp|occ|mod|sev|gen|exam|fam|incr|decr|sec|max|min|med)\.$",
    re.IGNORECASE,
)
_MAX_ABBREVIATION_LENGTH = 8
_SENTENCE_END = re.compile(
    r"[\r\n\u2028\u2029]+|[.!?][\"'”’)\]]*(?:;|(?=\s+[\"'“‘(\[]*[^\W_a-z]))"
    r"|(?<=[^\W\d_]{3})\.(?=\s+[a-z])"
)
_CLAUSE_BREAK = re.compile(
    r"[;:()\[\]{}]|(?<=\s)[-–—•](?=\s)|—"
    r"|,(?=\s+(?:but|however|although|though|whereas|while|which|who|whose|except)\b)",
    re.IGNORECASE,
)
_PHRASE_BREAK = re.compile(r",|/|&|\b(?:and|or|but)\b", re.IGNORECASE)
_BREAKS = {"sentence": [], "clause": [_CLAUSE_BREAK], "phrase": [_CLAUSE_BREAK, _PHRASE_BREAK]}


_TRIMMED = re.compile(r"\S(?:.*\S)?", re.DOTALL)


class Chunk(NamedTuple):
    """A part of a text without surrounding white space.

    Attributes:
        start: The start, in characters.
        end: The end, exclusive: ``text[start:end]`` is the chunk.
        text: The chunk.
    """

    start: int
    end: int
    text: str


def chunk(text: str, level: Literal["sentence", "clause", "phrase"] = "sentence") -> list[Chunk]:
    """Split a text into sentences, clauses or phrases, which together contain all its words.

    A clause ends at ``;``, ``:``, brackets, dashes, and at a comma before *but*, *which* or a
    similar word. A phrase also ends at every comma, slash, *and*, *or* and *but*.

    Args:
        text: Any text.
        level: ``sentence``, ``clause`` (within sentences) or ``phrase`` (within clauses).
    """
    spans = list(_sentences(text))
    for breaks in _BREAKS[level]:
        spans = [part for span in spans for part in _split(text, *span, breaks)]
    trimmed = (_TRIMMED.search(text, start, end) for start, end in spans)
    parts = [Chunk(match.start(), match.end(), match[0]) for match in trimmed if match]
    return [part for part in parts if any(map(str.isalnum, part.text))]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if text[match.start()] == ".":
            before = text[max(start, match.start() - _MAX_ABBREVIATION_LENGTH) : match.start() + 1]
            if _ABBREVIATION.search(before):
                continue
        yield start, match.end()
        start = match.end()
    yield start, len(text)


def _split(text: str, start: int, end: int, at: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for match in at.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_POSSESSIVE = re.compile(r"['’]s$")
_BRITISH_OUR = re.compile(r"our(s|ed|ing|less)?$")
_MIN_RESPELLED_LENGTH = 5

CONJUNCTIONS = frozenset({"and", "or"})
_FUNCTION_WORDS = """
a an the of in on to with by for from at as is are was were be been his her its their this that
these those into due may can it
"""
FUNCTION_WORDS = CONJUNCTIONS | frozenset(_FUNCTION_WORDS.split())
"""Words that add no content to the name of a term: articles, prepositions, forms of *be*."""


class Word(NamedTuple):
    """A word of a text.

    Attributes:
        start: The start, in characters.
        end: The end, exclusive.
        text: The word as written.
        stem: The form for comparison; empty for a function word.
    """

    start: int
    end: int
    text: str
    stem: str


def words_of(text: str, start: int = 0, end: int | None = None) -> list[Word]:
    """Return the words of ``text[start:end]``, with positions from the start of the whole text."""
    found = _WORD.finditer(text, start, len(text) if end is None else end)
    return [Word(m.start(), m.end(), m[0], stem_of(m[0])) for m in found]


_NUMBERS = {"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th"} | {
    "i": "1",
    "ii": "2",
    "iii": "3",
    "iv": "4",
}
"""Ordinals and Roman numerals as digits: *type II* is *type 2*."""


@lru_cache(maxsize=1 << 17)
def fold(word: str) -> str:
    """Return a word in lower case and American spelling, without accents and possessive ending.

    In words of five letters or more, British ``ae``, ``oe`` and ``our`` are replaced by ``e`` and
    ``or`` (``anaemia``, ``oedema``, ``tumour``). Names and texts are processed alike, so an
    incorrect replacement is the same in both.
    """
    letters = unicodedata.normalize("NFKD", word) if not word.isascii() else word
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    lowered = _POSSESSIVE.sub("", plain.lower())
    if len(lowered) >= _MIN_RESPELLED_LENGTH:
        lowered = lowered.replace("ae", "e").replace("oe", "e")
        lowered = _BRITISH_OUR.sub(r"or\1", lowered)
    return _NUMBERS.get(lowered, lowered)


@lru_cache(maxsize=1 << 17)
def stem_of(word: str) -> str:
    """Return a word as from :func:`fold`, without its ending; empty for a function word.

    The Snowball stemmer for English removes the ending.
    """
    folded = fold(word)
    return "" if folded in FUNCTION_WORDS else _snowball().stemWord(folded)


@cache
def _snowball():  # type: ignore[no-untyped-def]
    import Stemmer

    return Stemmer.Stemmer("english")
