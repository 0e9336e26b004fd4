from __future__ import annotations

import numpy as np
import pytest
from harness.retrievers import Stand

from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.retrieval.backends.embedded import EmbeddedBackend
from trectools_plus.retrieval.fetch import FetchRequest, fetch, fetch_runs
from trectools_plus.retrieval.index.parts import TextParts
from trectools_plus.retrieval.rerank import (
    RerankingRetriever,
    dice,
    trigrams,
)
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import FetchOptions, Ranking

CORPUS = Corpus.from_dict(
    {"a": "short stature", "b": "tall stature", "c": "seizure", "d": "epileptic seizure"}
)


class ByName(RerankingRetriever):
    """Scores documents as told."""

    def __init__(self, inner: Stand, scores: dict[str, float], depth: int) -> None:
        super().__init__(inner, {}, depth)
        self.told = scores

    def score(self, query: str, ranking: Ranking) -> np.ndarray:
        return np.array([self.told[doc_id] for doc_id in ranking.doc_ids])


def test_trigrams_are_those_of_pg_trgm() -> None:
    # The example of PostgreSQL's documentation: select show_trgm('cat').
    assert trigrams("Cat") == {"  c", " ca", "cat", "at "}
    assert trigrams("foo|bar") == {"  f", " fo", "foo", "oo ", "  b", " ba", "bar", "ar "}
    assert trigrams(" -- ") == frozenset()


def test_the_lexical_score_by_hand() -> None:
    reranker = RerankingRetriever(Stand("fixed", []), TextParts.from_corpus(CORPUS).names(), 3)
    ranking = Ranking(["b", "d", "c"], np.array([3, 2, 1], dtype=np.float32))
    seizure = trigrams("seizure")
    # First scores scaled to 1, 0.5, 0; the mean with the overlap.
    overlaps = [dice(seizure, trigrams(text)) for text in ("tall stature", "epileptic seizure")]
    expected = [(1 + overlaps[0]) / 2, (0.5 + overlaps[1]) / 2, (0 + 1) / 2]
    assert reranker.score("Seizure", ranking).tolist() == pytest.approx(expected)


def test_labels_and_synonyms_count_and_definitions_only_where_there_is_nothing_else() -> None:
    import polars as pl

    rows = [
        ("x", "label", "Bruxism"),
        ("x", "synonym", "Teeth grinding"),
        ("x", "definition", "clenching"),
        ("y", "definition", "clenching"),
    ]
    frame = pl.DataFrame(rows, schema=["doc_id", "kind", "text"], orient="row")
    reranker = RerankingRetriever(Stand("fixed", []), TextParts.from_frame(frame).names(), 3)
    equal = Ranking(["y", "x"], np.ones(2, dtype=np.float32))
    assert reranker.score("teeth grinding", equal).tolist() == pytest.approx([0.5, 1.0], abs=0.1)
    assert reranker.score("clenching", equal)[0] == 1
    assert reranker.score("clenching", equal)[1] < 0.7


def test_what_lies_deeper_keeps_its_order_below() -> None:
    fixed = Stand("fixed", ["p", "q", "r", "s", "t"])
    retriever = ByName(fixed, {"p": -7.5, "q": 2, "r": 2}, 3)
    (found,) = retriever.search(["x"], 5)
    assert found.doc_ids == ["r", "q", "p", "s", "t"]
    assert found.scores.tolist() == [2, 2, -7.5, -9, -10]
    (short,) = retriever.search(["x"], 2)
    assert (short.doc_ids, short.scores.tolist()) == (["r", "q"], [2, 2])
    assert [depth for _, depth in fixed.asked] == [5, 3]
    (nothing,) = ByName(Stand("fixed", []), {}, 3).search(["x"], 5)
    assert len(nothing) == 0


def test_fetch_and_search_agree_and_the_query_itself_goes_first() -> None:
    retriever = ByName(Stand("fixed", ["p", "q", "r"]), {"p": 1, "q": 2, "r": 3}, 2)
    topics = Topics.from_dict({"1": "x", "q": "y"})
    backend = EmbeddedBackend({"m": retriever})

    def ranked(query_id: str, exclude_self: bool) -> list[str]:
        options = FetchOptions(3, exclude_self)
        runs = fetch_runs(FetchRequest(None, topics, ["m"], options, backend=backend))
        return runs["m"].run.frame.filter(query_id=query_id)["doc_id"].to_list()

    assert ranked("1", False) == ["q", "p", "r"]
    # Dropped before anything is ordered again, so the third result moves up.
    assert ranked("q", True) == ["r", "p"]


def test_every_mode_is_ordered_again_hybrid_after_its_fusion() -> None:
    settings = RetrievalSettings(reranker="lexical", rerank_depth=2)
    topics = Topics.from_dict({"1": "epileptic seizure", "2": "stature"})
    plain = fetch(CORPUS, topics, ["lexical", "hybrid"])
    again = fetch(CORPUS, topics, ["lexical", "hybrid"], settings=settings)
    for mode in plain:
        for query_id in ("1", "2"):
            before, after = (
                run[mode].run.frame.filter(query_id=query_id)["doc_id"].to_list()
                for run in (plain, again)
            )
            assert set(before[:2]) == set(after[:2])
            assert before[2:] == after[2:]
        assert again[mode].run.frame.filter(query_id="1")["score"].max() == 1
        assert again[mode].index_keys == plain[mode].index_keys
