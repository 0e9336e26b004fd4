"""Translate queries into English, word by word, with a glossary.

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

_WORD = re.compile(r"\w+")
_GERMAN = str.maketrans(
    dict(zip("äöüÄÖÜßæœ", ("ae", "oe", "ue", "Ae", "Oe", "Ue", "ss", "ae", "oe"), strict=True))
)
_MARKS = re.compile("[\u0300-\u036f]")

_SHORTEST_PART = 3
"""Shorter stems count only as whole words."""
_SHORTEST_BESIDE_UNKNOWN = 4
"""Shorter stems count only if the glossary explains the whole word."""
_LINKS: Mapping[str, tuple[str, ...]] = {
    "de": ("s", "n", "e", "en", "er", "es", "ns", "ens", "o"),
    "nl": ("s", "e", "n", "en", "er"),
}
"""Letters between the parts of a compound; languages without an entry have no compounds."""
_ENDINGS: Mapping[str, tuple[str, ...]] = {
    "de": ("e", "n", "s", "en", "er", "es", "em", "ern", "ens", "ene", "enen", "te", "ten", "ter"),
    "nl": ("e", "n", "s", "en", "es", "ers", "er", "te", "ten", "ende"),
    "fr": ("e", "s", "x", "es", "ee", "ees", "aux", "ale", "ales", "elle", "elles", "ne", "nes"),
    "es": ("a", "e", "o", "s", "as", "os", "es"),
}
"""Endings of inflected words."""
_SUFFIXES = {
    language: [(re.compile(f"(?<=..){pattern}$"), english) for pattern, english in rules.items()]
    for language, rules in {
        "de": {
            "isch(e[nrsm]?)?": "ic", "al(e[nrsm]?)": "al", "aer(e[nrsm]?)?": "ar", "itaet(en)?": "ity",
            "oes(e[nrsm]?)?": "ous", "iv(e[nrsm]?)": "ive", "ose[n]?": "osis", "iert(e[nrsm]?)?": "ated",
        },
        "nl": {
            "isch(e)?": "ic", "(aal|ale)": "al", "(air|aire)": "ar", "iteit(en)?": "ity", "(eus|euze)": "ous",
            "(ief|ieve)": "ive", "(atie|aties)": "ation", "(tie|ties)": "tion",
        },
        "fr": {
            "iques?": "ic", "(aux|ales?)": "al", "aires?": "ar", "ites?": "ity", "(eux|euses?)": "ous",
            "(ifs?|ives?)": "ive", "oses?": "osis",
        },
        "es": {
            "ic[oa]s?": "ic", "ales": "al", "idad(es)?": "ity", "os[oa]s?": "ous", "iv[oa]s?": "ive",
            "cion(es)?": "tion", "sion(es)?": "sion",
        },
    }.items()
}
"""English endings of words that the glossary does not contain."""


def fold_letters(text: str, *, keep_case: bool = False) -> str:
    """Return a text in ASCII spelling: ``ae`` for ä, ``ss`` for ß, no accents.

    Args:
        text: The text.
        keep_case: False to return the text in lower case.
    """
    composed = unicodedata.normalize("NFC", text)
    folded = (composed if keep_case else composed.casefold()).translate(_GERMAN)
    return _MARKS.sub("", unicodedata.normalize("NFKD", folded))


@dataclass(frozen=True, slots=True)
class Translation:
    text: str
    known: float


class Glossary:
    def __init__(self, entries: Mapping[str, str], language: str) -> None:
        self.language = language
        self._has_compounds = language in _LINKS
        self._links = ("", *_LINKS.get(language, ()))
        self._endings = ("", *_ENDINGS.get(language, ()))
        self._suffixes = _SUFFIXES.get(language, [])
        self._stems: dict[str, str] = {}
        for stem, english in entries.items():
            words = _WORD.findall(fold_letters(stem))
            if words:
                self._stems.setdefault(" ".join(words), english.strip())
        self._most_words = max((stem.count(" ") + 1 for stem in self._stems), default=1)

    def translate(self, text: str) -> Translation:
        words = _WORD.findall(fold_letters(text))
        found: list[str] = []
        known = total = at = 0
        while at < len(words):
            for size in range(min(self._most_words, len(words) - at), 1, -1):
                phrase = " ".join(words[at : at + size])
                if phrase in self._stems:
                    found.append(self._stems[phrase]); known += len(phrase); total += len(phrase)
                    at += size
                    break
            else:
                word=words[at]; at += 1
                total += len(word)
                for piece, english in self._split(word):
                    if english is None:
                        for pattern, ending in self._suffixes:
                            new, n = pattern.subn(ending, piece)
                            if n and word.endswith(piece):
                                piece = new; break
                        found.append(piece)
                    else:
                        found.append(english); known += len(piece)
        return Translation(" ".join(filter(None, found)), known / total if total else 0.0)

    def _split(self, word: str) -> list[tuple[str, str | None]]:
        if word in self._stems:
            return [(word, self._stems[word])]
        size = len(word)
        full = self._cover(word, _SHORTEST_PART, None)
        if full: return full
        return self._cover(word, _SHORTEST_BESIDE_UNKNOWN, UNKNOWN) or [(word, None)]

    def _cover(self, word, shortest, unknown):
        size = len(word)
        best = {0: (0.0, ())}
        for start in range(size):
            if start not in best: continue
            cost, pieces = best[start]
            def step(stop, new, piece):
                if stop not in best or new < best[stop][0]: best[stop] = (new, (*pieces, piece))
            if self._has_compounds or start == 0:
                for end in range(start + shortest, size + 1):
                    english = self._stems.get(word[start:end])
                    if english is None: continue
                    rest = word[end:]
                    if rest in self._endings: step(size, cost + 1 + 0.05*len(rest), (word[start:], english))
                    if self._has_compounds:
                        for link in self._links:
                            stop = end + len(link)
                            if stop < size and rest.startswith(link):
                                step(stop, cost + 1 + 0.1*len(link), (word[start:stop], english))
            if unknown and self._has_compounds and not (pieces and pieces[-1][1] is None):
                for end in range(start + unknown, size + 1):
                    step(end, cost + 1.5 + 0.3*(end-start), (word[start:end], None))
        return list(best[size][1]) if size in best else None
UNKNOWN=3
