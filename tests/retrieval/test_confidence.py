"""The confidence in the first result."""

from __future__ import annotations

import pytest
from harness.retrievers import Stand

from trectools_plus.retrieval.fusion import Fusion, HybridRetriever
from trectools_plus.retrieval.hpo.answers import LEAST_CONFIDENCE, confidence_in


def fixed(name: str, score: float) -> Stand:
    """Return a document with a score, and three others with smaller scores."""
    return Stand(name, "abcd", [score, 0.1, 0.1, 0.1])


@pytest.mark.parametrize("name", ["ngram", "multi-vector"])
def test_the_similarity_is_the_confidence_of_a_single_index(name: str) -> None:
    for doc_id, similarity in (("a", 0.9), ("x", 0.0)):  # "x" is not among the results
        expected = pytest.approx(similarity - LEAST_CONFIDENCE[name,], abs=1e-6)
        assert confidence_in(fixed(name, 0.9), "text", doc_id) == expected


def test_mean_distance_and_similarity_of_several_indexes_are_added() -> None:
    # Three equal scores and a higher one: it is sqrt(3) standard deviations above the mean.
    both = HybridRetriever([fixed("ngram", 0.9), fixed("multi-vector", 0.5)], Fusion(), 100)
    least = LEAST_CONFIDENCE["multi-vector", "ngram"]
    assert confidence_in(both, "text", "a") == pytest.approx(3**0.5 + 1.4 - least, abs=1e-4)
    assert confidence_in(both, "text", "x") == pytest.approx(-1 - least)  # not among the results


@pytest.mark.parametrize("name", ["lexical", "splade"])
def test_the_confidence_of_other_indexes_is_not_known(name: str) -> None:
    assert confidence_in(fixed(name, 9.0), "text", "a") is None
