"""Data files of this package, and the translation of queries into English with a glossary.

A word is split into the stems of the glossary: *Gaumenspalte* is *gaumen* and *spalte*, so its
translation is "palate cleft". Fewest pieces win, then the longest stems. Letters that join the
parts of a compound, and the endings of inflected words, belong to no stem. The rest of a word that
no stem explains remains as it is, with an English ending: many medical words differ only by their
spelling, which :func:`trectools_plus.retrieval.index.ngram.fold_spelling` removes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files

from trectools_plus.text import split_list
from trectools_plus.validation.texts import stop_words

_WORD = re.compile(r"[\w\u0300-\u036f]+")
_GERMAN = str.maketrans(
    dict(zip("äöüÄÖÜßæœ", ("ae", "oe", "ue", "Ae", "Oe", "Ue", "ss", "ae", "oe"), strict=True))
)
_MARKS = re.compile("[\u0300-\u036f]")

_SHORTEST_PART = 3
"""Shorter stems count only as whole words."""
_SHORTEST_BESIDE_UNKNOWN = 4
"""Shorter stems count only if the glossary explains the whole word."""
_SHORTEST_UNKNOWN = 3
"""Letters of a part that the glossary does not explain."""
_LINKS = {"de": "s,n,e,en,er,es,ns,ens,o", "nl": "s,e,n,en,er"}
"""Letters between the parts of a compound; languages without an entry have no compounds."""
_ENDINGS = {
    "de": "e,n,s,en,er,es,em,ern,ens,ene,enen,te,ten,ter",
    "nl": "e,n,s,en,es,ers,er,te,ten,ende",
    "fr": "e,s,x,es,ee,ees,aux,ale,ales,elle,elles,ne,nes",
    "es": "a,e,o,s,as,os,es",
}
"""Endings of inflected words."""
_ENGLISH_ENDINGS: Mapping[str, Mapping[str, str]] = {
    "de": {
        "isch(e[nrsm]?)?": "ic",
        "al(e[nrsm]?)": "al",
        "aer(e[nrsm]?)?": "ar",
        "itaet(en)?": "ity",
        "oes(e[nrsm]?)?": "ous",
        "iv(e[nrsm]?)": "ive",
        "osen?": "osis",
    },
    "nl": {
        "ische?": "ic",
        "(aal|ale)": "al",
        "aire?": "ar",
        "iteit(en)?": "ity",
        "(eus|euze)": "ous",
        "(ief|ieve)": "ive",
        "ties?": "tion",
    },
    "fr": {
        "iques?": "ic",
        "(aux|ales?)": "al",
        "aires?": "ar",
        "ites?": "ity",
        "(eux|euses?)": "ous",
        "(ifs?|ives?)": "ive",
        "oses?": "osis",
    },
    "es": {
        "ic[oa]s?": "ic",
        "ales": "al",
        "idad(es)?": "ity",
        "os[oa]s?": "ous",
        "iv[oa]s?": "ive",
        "cion(es)?": "tion",
        "siones": "sion",
    },
}
"""English endings for those of words that the glossary does not explain."""
# The costs of splitting a word, in parts.
_COST_OF_ENDING = 0.05
_COST_OF_LINK = 0.1
_COST_OF_UNKNOWN = 1.5
_COST_OF_UNKNOWN_LETTER = 0.3


def fold_letters(text: str, *, keep_case: bool = False) -> str:
    """Return a text in ASCII spelling: ``ae`` for ä, ``ss`` for ß, no accents.

    Args:
        text: The text.
        keep_case: False to return the text in lower case.
    """
    if text.isascii():
        return text if keep_case else text.lower()
    composed = unicodedata.normalize("NFC", text)
    folded = (composed if keep_case else composed.casefold()).translate(_GERMAN)
    return _MARKS.sub("", unicodedata.normalize("NFKD", folded))


@dataclass(frozen=True)
class Translation:
    """A text in English.

    Attributes:
        text: The translation.
        known: The fraction of the letters that the glossary explains, 0 to 1; those of stop words
            are explained.
        parts: The English of each part of a word or phrase, with the start and exclusive end of
            this word or phrase in the original text.
    """

    text: str
    known: float
    parts: list[tuple[str, tuple[int, int]]]


_Parts = tuple[tuple[str, str | None], ...]
"""The parts of a word, each with its English words; ``None`` if it is unknown."""


class Glossary:
    """English equivalents of the stems of a language.

    Args:
        entries: English words by stem in ASCII spelling; empty for a word without a translation. A
            stem may consist of several words.
        language: The language, as ISO 639-1 code; it selects linking letters and endings.
    """

    def __init__(self, entries: Mapping[str, str], language: str) -> None:
        self.language = language
        self._links = ("", *split_list(_LINKS[language])) if language in _LINKS else ()
        self._endings = ("", *split_list(_ENDINGS.get(language, "")))
        self._english_endings = [
            (re.compile(f"(?<=..){ending}$"), english)
            for ending, english in _ENGLISH_ENDINGS.get(language, {}).items()
        ]
        self._stems = entries
        self._dropped = stop_words(language) - (set() if language == "es" else self._stems.keys())
        self._most_words = max((stem.count(" ") + 1 for stem in self._stems), default=1)

    def translate(self, text: str) -> Translation:
        """Translate the words of a text, the longest phrases first; drop unknown stop words.

        If the glossary does not explain a whole word, only long stems count.
        """
        places = list(_WORD.finditer(text))
        words = [fold_letters(place[0]) for place in places]
        parts, start = list[tuple[str, str | None, tuple[int, int]]](), 0
        while start < len(words):
            word = words[start]
            is_dropped = unicodedata.normalize("NFC", places[start][0]).casefold() in self._dropped
            for end in range(min(start + self._most_words, len(words)), start, -1):
                phrase = " ".join(words[start:end])
                if phrase in self._stems and not (is_dropped and end == start + 1):
                    own: _Parts = ((phrase, self._stems[phrase]),)
                    break
            else:
                end = start + 1
                own = (
                    (is_dropped and ((word, ""),))
                    or self._cover(word, _SHORTEST_PART, with_unknown=False)
                    or self._cover(word, _SHORTEST_BESIDE_UNKNOWN, with_unknown=True)
                    or ((word, None),)
                )
            span = places[start].start(), places[end - 1].end()
            parts += ((*part, span) for part in own)
            start = end
        total = sum(len(part) for part, *_ in parts)
        known = sum(len(part) for part, english, _ in parts if english is not None)
        meanings = [
            (self._anglicise(part) if english is None else english, span)
            for part, english, span in parts
        ]
        text = " ".join(english for english, _ in meanings if english)
        return Translation(text, known / max(total, 1), meanings)

    def _cover(self, word: str, shortest: int, *, with_unknown: bool) -> _Parts:
        """Return the cheapest parts of a word; empty if there are none.

        A part costs 1, a letter that belongs to no stem a fraction of it.
        """
        size = len(word)
        best: dict[int, tuple[float, _Parts]] = {0: (0.0, ())}

        def add(start: int, end: int, cost: float, english: str | None) -> None:
            before, parts = best[start]
            if end not in best or before + cost < best[end][0]:
                best[end] = before + cost, (*parts, (word[start:end], english))

        for start in range(size if self._links else 1):
            if start not in best:
                continue
            for end in range(start + shortest, size + 1):
                english = self._stems.get(word[start:end])
                if english is None:
                    continue
                rest = word[end:]
                if rest in self._endings:
                    add(start, size, 1 + _COST_OF_ENDING * len(rest), english)
                for link in self._links:
                    if rest.startswith(link) and len(link) < len(rest):
                        add(start, end + len(link), 1 + _COST_OF_LINK * len(link), english)
            is_after_known = not start or best[start][1][-1][1] is not None
            if with_unknown and is_after_known:
                for end in range(start + _SHORTEST_UNKNOWN, size + 1):
                    cost = _COST_OF_UNKNOWN + _COST_OF_UNKNOWN_LETTER * (end - start)
                    add(start, end, cost, None)
        return best[size][1] if size in best else ()

    def _anglicise(self, word: str) -> str:
        """Replace the ending of an unknown word by the English one."""
        for ending, english in self._english_endings:
            word, count = ending.subn(english, word)
            if count:
                break
        return word


@lru_cache(maxsize=8)
def included_glossary(language: str) -> Glossary | None:
    """Return the included glossary of a language; ``None`` if there is none."""
    content = read_data(f"glossary_{language}.txt") if language.isalpha() else ""
    pairs = (line.partition("=") for line in content.splitlines())
    return Glossary({stem: english for stem, _, english in pairs}, language) if content else None


_FOLDER = files("trectools_plus.retrieval.hpo") / "data"


def read_data(name: str) -> str:
    """Return the content of a file; empty if it does not exist."""
    file = _FOLDER / name
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def read_rows(name: str) -> list[list[str]]:
    """Return the rows of a tab-separated table below its header, with as many fields as that."""
    header, *rows = read_data(name).splitlines()
    tabs = header.count("\t") + 1
    return [(row + "\t" * tabs).split("\t")[:tabs] for row in rows if row.strip()]


@lru_cache(maxsize=8)
def read_cues(language: str) -> dict[str, str]:
    """Return phrases of negation and relatives in a language, separated by semicolons.

    They are named by what they do; empty for a language without any.
    """
    _, *parts = re.split(r"^\[(.+)\]$", read_data(f"cues_{language}.txt"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@cache
def function_words(language: str) -> frozenset[str]:
    """Return stop words, and the words of these phrases that are too long for an abbreviation."""
    return stop_words(language).union(re.findall(r"\w{4,}", " ".join(read_cues(language).values())))


@cache
def data_sha256() -> str:
    """Return a hash of all files."""
    hashed = sha256()
    for file in sorted(_FOLDER.iterdir(), key=lambda file: file.name):
        hashed.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return hashed.hexdigest()
