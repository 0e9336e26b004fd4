"""Lay words and abbreviations of terms, in texts and as a whole text.

``data/lay_terms.tsv`` has a phrase, a term and a language in each row. A phrase is found in a text
if the text contains its words, inflected or in another order, close to each other: *wets the bed*
in *she still wet her bed at night*. Abbreviations count only in the letter case of the table: *ID*
is not *id*.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from trectools_plus.retrieval.hpo.glossary import fold_letters
from trectools_plus.retrieval.hpo.tables import read_rows
from trectools_plus.text import split_list

_STEMMERS = {"en": "english", "de": "german", "fr": "french", "es": "spanish", "nl": "dutch"}
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_TOKEN = re.compile(r"[^\s,;:()\"]+")
_MAX_ABBREVIATION = 6
AMBIGUOUS = frozenset(split_list("TOF,UTI,UTIs,ID,MR,OA,PE,CHD,RTA,DD"))
"""Abbreviations with other meanings than the term of the table."""
_MAX_GAP = 2
"""Other words between those of a phrase."""
_LONGEST_ENDING = 4
"""A stemmer that removes more letters is wrong: it makes *over* of *overeating*."""
_FUNCTION_WORDS = frozenset(
    split_list(
        "a,an,the,his,her,my,our,their,its,your,he,she,it,they,i,we,you,him,them,me,us,this,that,"
        "these,those,is,are,was,were,be,been,being,am,has,have,had,having,do,does,did,of,in,on,at,"
        "to,from,with,by,for,and,or,as,i'm,he's,she's,it's,i've,there's"
    )
)
_LIGHT_WORDS = frozenset(
    split_list(
        "very,so,too,quite,rather,really,always,often,sometimes,all,most,some,any,again,just,also,"
        "still,then,when,while,baby,child,son,daughter,boy,girl,patient,kid,infant,newborn,man,"
        "woman,there,keep,keeps,get,gets,got,getting,go,goes,going,year,years,old,month,months,day,"
        "days,since,after,because"
    )
)
"""Words that do not count in the share of a text that a phrase covers."""


@dataclass(frozen=True, slots=True)
class LayMatch:
    """A phrase of the table in a text.

    Attributes:
        term_id: Its term.
        share: The fraction of the text's words that belong to the phrase, above 0 and at most 1.
        words: The stems of the phrase.
    """

    term_id: str
    share: float
    words: frozenset[str]


@cache
def lay_rows() -> tuple[tuple[str, str, str], ...]:
    """Return the rows of the table: phrase, term id, and language, which is ``en`` by default."""
    rows = read_rows("lay_terms.tsv")
    return tuple((phrase, term_id, language or "en") for phrase, term_id, _, language in rows)


def lay_words() -> frozenset[str]:
    """Return the words of the English phrases, in ASCII spelling and lower case."""
    phrases = (fold_letters(phrase) for phrase, _, language in lay_rows() if language == "en")
    return frozenset(word for phrase in phrases for word in _WORD.findall(phrase))


def is_abbreviation(phrase: str) -> bool:
    """Return whether letter case counts: a short word with at least two capitals."""
    return len(phrase) <= _MAX_ABBREVIATION and sum(map(str.isupper, phrase)) > 1


_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")
_QUOTES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))


def normalise_name(name: str) -> str:
    """Return a name in the form in which names are compared."""
    folded = unicodedata.normalize("NFKC", name).casefold().translate(_QUOTES)
    return _SEPARATORS.sub(" ", folded).strip(" .?!'\"\u201c\u201d")


def terms_of_phrase(text: str, language: str | None = None) -> list[str]:
    """Return the terms of which a whole text is a lay word or abbreviation.

    Args:
        text: The text.
        language: The language of the lay words; any if ``None``.
    """
    found = _by_phrase().get(normalise_name(text), ())
    same_case = text.strip(" .?!'\"")
    return list(
        dict.fromkeys(
            term_id
            for phrase, term_id, of_phrase in found
            if language in (None, of_phrase)
            and (not is_abbreviation(phrase) or phrase == same_case)
        )
    )


@cache
def _by_phrase() -> dict[str, list[tuple[str, str, str]]]:
    by_phrase: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for row in lay_rows():
        by_phrase[normalise_name(row[0])].append(row)
    return by_phrase


class LayTerms:
    """The phrases of a language, for finding them in texts.

    Args:
        language: The language, as ISO 639-1 code.
    """

    def __init__(self, language: str) -> None:
        import Stemmer

        self._stemmer = Stemmer.Stemmer(_STEMMERS.get(language, "english"))
        self._language = language
        self._light = frozenset(map(self._stem, _LIGHT_WORDS))
        self._by_word: dict[str, list[tuple[frozenset[str], str]]] = defaultdict(list)
        self._abbreviations: dict[str, list[str]] = defaultdict(list)
        for phrase, term_id, of_phrase in lay_rows():
            if is_abbreviation(phrase):
                self._abbreviations[phrase].append(term_id)
            elif of_phrase == language:
                words = frozenset(self._words(phrase))
                for word in sorted(words)[:1]:
                    self._by_word[word].append((words, term_id))

    def find(self, text: str) -> list[LayMatch]:
        """Return the phrases in a text, without those whose words are part of another one."""
        words = self._words(text)
        total = self._count(words)
        known = frozenset(words)
        found = [
            LayMatch(term_id, min(1.0, self._count(phrase) / total), phrase)
            for word in dict.fromkeys(words)
            for phrase, term_id in self._by_word.get(word, ())
            if phrase <= known and _are_near(phrase, words)
        ]
        found += [
            LayMatch(term_id, min(1.0, 1 / total), frozenset({token}))
            for token in _TOKEN.findall(text)
            for term_id in self._abbreviations.get(token.rstrip("."), ())
        ]
        # Words that occur twice, and abbreviations of several words, are found only as a whole.
        found += [
            LayMatch(term_id, 1.0, known) for term_id in terms_of_phrase(text, self._language)
        ]
        return [one for one in found if not any(one.words < other.words for other in found)]

    def _count(self, words: Sequence[str] | frozenset[str]) -> float:
        heavy = sum(word not in self._light for word in words)
        return heavy or max(1, len(words)) / 2

    def _words(self, text: str) -> list[str]:
        """Return the stems of a text without function words, unless there are no others."""
        words = [word.replace("’", "'").casefold() for word in _WORD.findall(text)]
        content = [word for word in words if self._language != "en" or word not in _FUNCTION_WORDS]
        return [self._stem(word) for word in content or words]

    def _stem(self, word: str) -> str:
        stem: str = self._stemmer.stemWord(word)
        return fold_letters(word if len(stem) < len(word) - _LONGEST_ENDING else stem)


def _are_near(phrase: frozenset[str], words: Sequence[str]) -> bool:
    """Return whether a few neighbouring words contain all words of a phrase."""
    size = len(phrase) + _MAX_GAP
    starts = range(max(1, len(words) - size + 1))
    return any(phrase <= frozenset(words[start : start + size]) for start in starts)
