"""The analysis of texts into the terms of BM25."""

from __future__ import annotations

import re
import unicodedata

from trectools_plus.retrieval.settings import RetrievalSettings

# Words of two or more letters, digits or underscores: the pattern of bm25s and scikit-learn.
_WORD = re.compile(r"\b\w\w+\b")


def clean_text(text: str) -> str:
    """Normalise a text to NFC and strip white space, so that texts that look equal are equal."""
    return unicodedata.normalize("NFC", text).strip()


class Analyzer:
    """Converts texts to lower case, splits them into words, drops stop words and stems.

    Documents and queries use the same analyzer.

    Args:
        settings: ``stemmer`` and ``stopwords`` are used.
    """

    def __init__(self, settings: RetrievalSettings) -> None:
        import Stemmer

        self._stem = Stemmer.Stemmer(settings.stemmer).stemWord if settings.stemmer else None
        self._terms: dict[str, str | None] = dict.fromkeys(_stopwords(settings))

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in their order, including repetitions."""
        words = _WORD.findall(clean_text(text).lower())
        return [term for word in words if (term := self._term(word)) is not None]

    def _term(self, word: str) -> str | None:
        """Return the term of a word; ``None`` for a stop word. Each word is stemmed once."""
        if word not in self._terms:
            self._terms[word] = self._stem(word) if self._stem else word
        return self._terms[word]


def _stopwords(settings: RetrievalSettings) -> list[str]:
    words = settings.stopwords
    if words is None:
        return []
    if isinstance(words, str):
        from bm25s import stopwords as lists

        name = "EN" if words == "english" else words.upper()
        return list(getattr(lists, f"STOPWORDS_{name}"))
    return [clean_text(word).lower() for word in words]
