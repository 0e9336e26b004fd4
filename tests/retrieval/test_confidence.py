"""The confidence in the first result."""

from __future__ import annotations

import numpy as np
import pytest

from trectools_plus.retrieval.confidence import LEAST_SIMILARITY, is_confident
from trectools_plus.retrieval.source import Ranking


class Fixed:
    """Returns one document with a score."""

    def __init__(self, name: str, score: float) -> None:
        self.name = name
        self._score = score

    def search(self, queries: list[str], depth: int) -> list[Ranking]:
        return [Ranking(["a"], np.array([self._score], np.float32)) for _ in queries]


@pytest.mark.parametrize("name", ["ngram", "multi-vector"])
def test_the_similarity_decides(name: str) -> None:
    least = LEAST_SIMILARITY[name,]
    assert is_confident(Fixed(name, least + 0.01), "text", "a", 10)
    assert is_confident(Fixed(name, least - 0.01), "text", "a", 10) is False
    assert is_confident(Fixed(name, 1.0), "text", "b", 10) is False  # below the depth


@pytest.mark.parametrize("name", ["lexical", "splade"])
def test_other_scores_are_no_similarities(name: str) -> None:
    assert is_confident(Fixed(name, 9.0), "text", "a", 10) is None
