"""Which language a text is in, as far as its small words show; and codes of languages."""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType

from trectools_plus.validation.near_texts import words_of

KNOWN_LANGUAGES = MappingProxyType(
    {"en": "EN_PLUS", "de": "GERMAN", "fr": "FRENCH", "es": "SPANISH", "nl": "DUTCH"}
)
"""Languages that are distinguished, with the name of their list of stop words in ``bm25s``."""

LEAST_WEIGHT = 1.5
"""Least weight of the small words of a text whose language is guessed."""

LEAD = 2.0
"""Least ratio of that weight to the weight for any other language."""


def primary_language(code: str) -> str:
    """The language of a code, without region or script: ``en`` of ``en-GB`` and ``EN_us``."""
    return re.split(r"[-_]", code.strip(), maxsplit=1)[0].lower()


def guess_language(text: str) -> str | None:
    """The language whose small words a text has.

    A word weighs 1 if it is a stop word of one language alone, 1/2 if of two, and so on. They have
    to weigh :data:`LEAST_WEIGHT` together, and :data:`LEAD` times as much as those of any other
    language. Most short texts have too few: nothing is said of those.

    Returns:
        An ISO 639-1 code, or ``None``.
    """
    weights = dict.fromkeys(KNOWN_LANGUAGES, 0.0)
    lists = _stop_words()
    for word in words_of(text):
        languages = lists.get(word, ())
        for language in languages:
            weights[language] += 1.0 / len(languages)
    first, second = sorted(weights, key=lambda language: -weights[language])[:2]
    if weights[first] < LEAST_WEIGHT or weights[first] < LEAD * weights[second]:
        return None
    return first


@lru_cache(maxsize=1)
def _stop_words() -> dict[str, list[str]]:
    """The languages of each stop word."""
    from bm25s import stopwords

    found: dict[str, list[str]] = {}
    for language, name in KNOWN_LANGUAGES.items():
        for word in sorted(set(getattr(stopwords, f"STOPWORDS_{name}"))):
            if len(word) > 1:  # single letters are names of substances as often
                found.setdefault(word, []).append(language)
    return found
