from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.retrieval.index.lexical import Analyzer
from trectools_plus.retrieval.settings import RetrievalSettings


def test_plain_words_without_stemmer_and_stop_words() -> None:
    analyzer = Analyzer(RetrievalSettings(stemmer=None, stopwords=None))
    assert analyzer.terms("The wings of a 747") == ["the", "wings", "of", "747"]


def test_composed_and_decomposed_accents_are_one_term() -> None:
    analyzer = Analyzer(RetrievalSettings(stemmer="german", stopwords="german"))
    word = "Müdigkeit"
    assert analyzer.terms(unicodedata.normalize("NFD", word)) == analyzer.terms(word)
    assert len(analyzer.terms(word)) == 1


@given(st.text())
def test_agrees_with_bm25s(text: str) -> None:
    import bm25s
    import Stemmer

    text = unicodedata.normalize("NFC", text)
    expected = bm25s.tokenize(
        [text],
        stopwords="en",
        stemmer=Stemmer.Stemmer("english"),
        return_ids=False,
        show_progress=False,
    )
    assert Analyzer(RetrievalSettings()).terms(text) == expected[0]
