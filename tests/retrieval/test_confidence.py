"""The confidence in the first result."""

from __future__ import annotations

import numpy as np
import pytest

from trectools_plus.retrieval.confidence import LEAST_CONFIDENCE, confidence_in
from trectools_plus.retrieval.source import Ranking


class Fixed:
    """Returns a document with a score, and three others with smaller scores."""

    def __init__(self, name: str, score: float) -> None:
        self.name = name
        self._scores = np.array([score, 0.1, 0.1, 0.1], np.float32)

    def search(self, queries: list[str], depth: int) -> list[Ranking]:
        return [Ranking(["a", "b", "c", "d"], self._scores) for _ in queries]


@pytest.mark.parametrize("name", ["ngram", "multi-vector"])
def test_distance_and_similarity_are_added(name: str) -> None:
    # Three equal scores and a higher one: it is sqrt(3) standard deviations above the mean.
    for score in (0.2, 0.9):
        expected = 3**0.5 + 2 * score - LEAST_CONFIDENCE[name,]
        assert confidence_in(Fixed(name, score), "text", "a") == pytest.approx(expected, abs=1e-4)
    expected = -1 - LEAST_CONFIDENCE[name,]
    assert confidence_in(Fixed(name, 0.9), "text", "x") == pytest.approx(expected)  # not in it


@pytest.mark.parametrize("name", ["lexical", "splade"])
def test_the_confidence_of_other_indexes_is_not_known(name: str) -> None:
    assert confidence_in(Fixed(name, 9.0), "text", "a") is None
