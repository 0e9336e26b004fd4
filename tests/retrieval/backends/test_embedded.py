"""Components that several modes share are searched once, however they are wrapped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.backends import embedded as backend
from trectools_plus.retrieval.backends.embedded import EmbeddedBackend
from trectools_plus.retrieval.fetch import FetchRequest, fetch_runs
from trectools_plus.retrieval.fusion import Fusion, HybridRetriever
from trectools_plus.retrieval.rerank import RerankingRetriever
from trectools_plus.retrieval.source import FetchOptions, Ranking, Retriever, leaves_of


class Stand:
    """A retriever of fixed answers that notes what it is asked."""

    def __init__(self, name: str, doc_ids: str) -> None:
        self.name = name
        self.index_key = f"key of {name}"
        self.doc_ids = list(doc_ids)
        self.asked: list[tuple[tuple[str, ...], int]] = []

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        self.asked.append((tuple(queries), depth))
        scores = np.arange(len(self.doc_ids), 0, -1, dtype=np.float32)
        return [Ranking(self.doc_ids, scores).head(depth) for _ in queries]


class Backwards(RerankingRetriever):
    """Orders the last of some results first."""

    def score(self, query: str, ranking: Ranking) -> np.ndarray:
        return np.arange(len(ranking), dtype=np.float64)


TOPICS = Topics.from_dict({"1": "x", "2": "y", "3": "z"})


def modes_of(*, reranked: bool) -> tuple[list[Stand], dict[str, Retriever]]:
    leaves = [Stand("lexical", "abcd"), Stand("vector", "bcde"), Stand("splade", "cdef")]
    modes: dict[str, Retriever] = {leaf.name: leaf for leaf in leaves[:2]}
    modes["hybrid"] = HybridRetriever(leaves, Fusion(), candidates=3)
    if reranked:
        modes = {name: Backwards(one, {}, 4) for name, one in modes.items()}
    return leaves, modes


@pytest.mark.parametrize("reranked", [False, True])
@pytest.mark.parametrize("batch_size", [1, 2])
def test_each_component_is_searched_once_to_the_same_depth(
    reranked: bool, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend.EmbeddedSource, "latency_sample", 0)
    monkeypatch.setattr(backend.EmbeddedSource, "batch_size", batch_size)
    leaves, modes = modes_of(reranked=reranked)
    options = FetchOptions(2)
    request = FetchRequest(None, TOPICS, list(modes), options, backend=EmbeddedBackend(modes))
    found = fetch_runs(request)
    batches = [("x",), ("y",), ("z",)] if batch_size == 1 else [("x", "y"), ("z",)]
    depth = 4 if reranked else 3
    for leaf in leaves:
        assert leaf.asked == [(batch, depth) for batch in batches]
    for mode, retriever in modes.items():
        (alone,) = retriever.search(["x"], 2)
        assert found[mode].run.to_dict()["1"] == dict(
            zip(alone.doc_ids, alone.scores.tolist(), strict=True)
        )
    assert found["hybrid"].index_keys == {leaf.name: leaf.index_key for leaf in leaves}
    assert list(leaves_of(modes["hybrid"])) == leaves
