"""Near-duplicate texts, and the languages of texts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

MIN_SIMILARITY = 0.75
"""Minimum Jaccard similarity of the character trigrams of near-duplicate texts."""

_ROWS_AT_ONCE = 256
_WORD = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d+")


def words_of(text: str) -> list[str]:
    """Return the words of a text, NFKC-normalised and case-folded; accents are kept."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def near_pairs(texts: Sequence[str], language: str = "") -> list[tuple[int, int]]:
    """Return pairs of near-duplicate texts as ``(earlier, later)`` positions.

    Two texts are near-duplicates if they have the same word stems, in any order, or if the Jaccard
    similarity of their character trigrams is at least :data:`MIN_SIMILARITY`. In the second case,
    both must contain the same numbers: "type 1" and "type 2" are different texts.

    Args:
        texts: The texts.
        language: Their language, for the stemmer; English for an unknown language.

    Returns:
        Every pair once, in the order of the later text. Texts with the same stems are paired only
        with the first of them.
    """
    words = [words_of(text) for text in texts]
    pairs = {*_same_stems(words, language), *_share_trigrams(words)}
    return sorted(pairs, key=lambda pair: pair[::-1])


def near_groups(texts: Sequence[str], language: str = "") -> list[list[int]]:
    """Group texts that are near-duplicates, directly or through other texts, by position.

    Returns:
        Every position once, groups in the order of their first text.
    """
    groups = {position: [position] for position in range(len(texts))}
    for pair in near_pairs(texts, language):
        first, other = (min(groups[position]) for position in pair)
        if first != other:
            groups[first] += groups[other]
            groups |= dict.fromkeys(groups[other], groups[first])
    return [sorted(group) for position, group in groups.items() if position == min(group)]


def _same_stems(words: Sequence[Sequence[str]], language: str) -> Iterator[tuple[int, int]]:
    """Yield the first text with the same stems, and each later one."""
    import Stemmer

    stem = Stemmer.Stemmer(KNOWN_LANGUAGES.get(language, "ENGLISH").lower()).stemWord
    first: dict[tuple[str, ...], int] = {}
    for position, each in enumerate(words):
        key = tuple(sorted(map(stem, each)))
        if key and first.setdefault(key, position) != position:
            yield first[key], position


def _share_trigrams(words: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    """Yield pairs with enough common trigrams and the same numbers."""
    from scipy import sparse

    joined = [f" {' '.join(each)} " for each in words]
    grams = [{text[at : at + 3] for at in range(len(text) - 2)} for text in joined]
    sizes = np.array(list(map(len, grams)))
    if not sizes.any():
        return
    _, columns = np.unique(list(chain(*grams)), return_inverse=True)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    table = sparse.csr_matrix((np.ones(len(columns), np.int32), columns, starts))
    numbers = [Counter(_DIGITS.findall(text)) for text in joined]
    for start in range(0, len(grams), _ROWS_AT_ONCE):
        common = (table[start : start + _ROWS_AT_ONCE] @ table.T).tocoo()
        later, earlier = common.row + start, common.col
        union = sizes[later] + sizes[earlier] - common.data
        near = (earlier < later) & (common.data >= MIN_SIMILARITY * union)
        for one, other in zip(earlier[near].tolist(), later[near].tolist(), strict=True):
            if numbers[one] == numbers[other]:
                yield one, other


KNOWN_LANGUAGES = {
    "en": "ENGLISH",
    "de": "GERMAN",
    "fr": "FRENCH",
    "es": "SPANISH",
    "nl": "DUTCH",
}
"""Languages that can be recognised, each with its name in ``bm25s`` and ``Stemmer``."""

MIN_WEIGHT = 1.5
"""Minimum weight of the stop words of a text for guessing its language."""

MIN_RATIO = 2.0
"""Minimum ratio of that weight to the weight for any other language."""


_NAMES = """
ar arabic ara
cs czech ces cze
da danish dan dansk
de german deu ger deutsch
el greek ell gre
en english eng
es spanish spa español espanol
fa persian farsi fas
fi finnish fin suomi
fr french fra fre français francais
hu hungarian hun magyar
it italian ita italiano
ja japanese jpn
ko korean kor
nl dutch nld dut nederlands
pl polish pol polski
pt portuguese por português portugues
ru russian rus
sv swedish swe svenska
tr turkish tur türkçe
uk ukrainian ukr
zh chinese zho chi
"""
_CODES = {name: row.split()[0] for row in _NAMES.split("\n") for name in row.split()}
"""ISO 639-1 codes by the same, ISO 639-2 code, English name and own name of a language."""


def primary_language(code: str) -> str:
    """Return the ISO 639-1 code of a language, without region or script.

    It is ``en`` for ``en-GB``, ``EN_us``, ``eng`` and ``English``. Unknown languages are returned
    in lower case.
    """
    name = re.split(r"[-_]", code.strip(), maxsplit=1)[0].casefold()
    return _CODES.get(name, name)


def language_of_folder(path: str) -> str | None:
    """Return the language that the folder of a file is named after, as ISO 639-1 code.

    Args:
        path: The file, for example ``german/cases.json`` or ``de/cases.json``.
    """
    return _CODES.get((Path.cwd() / path).parent.name.casefold())


def guess_language(text: str) -> str | None:
    """Guess the language of a text from its stop words.

    A stop word of a single language weighs 1, a stop word of two languages 1/2, and so on. The stop
    words of the language must weigh at least :data:`MIN_WEIGHT` together, and at least
    :data:`MIN_RATIO` times as much as those of any other language. Most short texts have too few.

    Returns:
        An ISO 639-1 code; ``None`` if the language is unclear.
    """
    weights = dict.fromkeys(KNOWN_LANGUAGES, 0.0)
    for word in words_of(text):
        languages = _stop_words().get(word, ())
        for language in languages:
            weights[language] += 1.0 / len(languages)
    first, second = sorted(weights, key=lambda language: -weights[language])[:2]
    if weights[first] < MIN_WEIGHT or weights[first] < MIN_RATIO * weights[second]:
        return None
    return first


def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language; none for one that is not in ``KNOWN_LANGUAGES``."""
    return frozenset(word for word, languages in _stop_words().items() if language in languages)


@cache
def _stop_words() -> dict[str, list[str]]:
    """Return the languages of each stop word."""
    from bm25s import stopwords

    found: dict[str, list[str]] = {}
    for language, name in KNOWN_LANGUAGES.items():
        plain = name.replace("ENGLISH", "EN_PLUS")
        for word in sorted(set(getattr(stopwords, f"STOPWORDS_{plain}"))):
            if len(word) > 1:  # single letters are often parts of technical names
                found.setdefault(word, []).append(language)
    return found
