from __future__ import annotations

import math

import numpy as np
import pytest

from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.index.lexical import LexicalRetriever
from trectools_plus.retrieval.settings import RetrievalSettings

TEXTS = {"d1": "swept wing wing", "d2": "wing flutter at speed", "d3": "heat transfer", "d4": ""}


def retriever(texts: dict[str, str], **settings: object) -> LexicalRetriever:
    return LexicalRetriever(Corpus.from_dict(texts), RetrievalSettings.model_validate(settings))


def test_scores_by_the_formula() -> None:
    # N = 4, df(wing) = 2, lengths 3, 3 ("at" is a stop word), 2, 0: average 2
    found = retriever(TEXTS).search(["wing"], 10)[0]
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    norm = 0.9 * (1 - 0.4 + 0.4 * 3 / 2)
    expected = [idf * 2 / (2 + norm), idf * 1 / (1 + norm)]
    assert found.doc_ids == ["d1", "d2"]
    assert found.scores.tolist() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("query", ["", "   ", "the of and", "zeppelin", "?!", "漢字"])
def test_nothing_to_match_finds_nothing(query: str) -> None:
    found = retriever(TEXTS).search([query], 10)[0]
    assert len(found) == 0
    assert found.scores.dtype == np.float32


def test_corpus_without_any_term() -> None:
    assert len(retriever({"a": "", "b": "the"}).search(["the"], 10)[0]) == 0


def test_unicode() -> None:
    found = retriever({"ü": "Ödem der Füße", "漢": "浮腫 浮腫"}, stemmer="german").search(
        ["ödem", "浮腫"], 10
    )
    assert [ranking.doc_ids for ranking in found] == [["ü"], ["漢"]]


def test_agrees_with_sorting_all_scores_of_bm25s() -> None:
    import bm25s

    generator = np.random.default_rng(7)
    words = [f"word{n}" for n in range(30)]
    texts = {f"d{n}": " ".join(generator.choice(words, 5)) for n in range(300)}
    queries = [" ".join(generator.choice(words, 3)) for _ in range(20)]
    index = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    index.index([text.split() for text in texts.values()], show_progress=False)
    ranked = retriever(texts, stemmer=None, stopwords=None).search(queries, 50)
    for query, found in zip(queries, ranked, strict=True):
        scores = index.get_scores(query.split())
        order = sorted(zip(scores.tolist(), texts, strict=True), reverse=True)
        expected = [(doc, score) for score, doc in order if score > 0][:50]
        assert list(zip(found.doc_ids, found.scores.tolist(), strict=True)) == expected
