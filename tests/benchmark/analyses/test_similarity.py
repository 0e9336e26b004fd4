"""The matrix of rank-biased overlaps against the overlap of each two rankings."""

from __future__ import annotations

import numpy as np
import pytest

from trectools_plus.benchmark.analyses import similarity
from trectools_plus.benchmark.analyses.similarity import find_similarity
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.statistics import rank_biased_overlap


@pytest.mark.parametrize("at_a_time", [1, 50, 1 << 18])
def test_the_matrix_is_the_mean_overlap_of_two_runs(
    at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "_DOCUMENTS_AT_A_TIME", at_a_time)
    draws = np.random.default_rng(11)
    queries = [f"q{number}" for number in range(12)]
    documents = [f"d{number}" for number in range(40)]
    rankings = {
        name: {
            query: [str(doc) for doc in draws.choice(documents, int(draws.integers(1, 30)), False)]
            for query in queries
            if draws.random() < 0.8
        }
        for name in "abc"
    }
    runs = {
        name: Run.from_dict(
            {
                query: {doc: float(-rank) for rank, doc in enumerate(found)}
                for query, found in each.items()
            },
            name,
        )
        for name, each in rankings.items()
    }
    judged = JudgedQueries.from_qrels(Qrels.from_dict({query: {"d1": 1} for query in queries}))
    found = find_similarity(judged, runs, p=0.8, depth=20)
    assert (found.modes, found.p, found.depth) == (["a", "b", "c"], 0.8, 20)
    for row, one in enumerate("abc"):
        for column, two in enumerate("abc"):
            first, second = rankings[one], rankings[two]
            expected = np.mean(
                [
                    rank_biased_overlap(
                        first.get(query, [])[:20], second.get(query, [])[:20], p=0.8
                    )
                    for query in queries
                    if query in first or query in second
                ]
            )
            assert found.rbo[row][column] == pytest.approx(expected, abs=1e-12)


def test_runs_without_results_have_no_similarity() -> None:
    judged = JudgedQueries.from_qrels(Qrels.from_dict({"q": {"a": 1}}))
    runs = {"a": Run.from_dict({"q": {"a": 1.0}}, "a"), "b": Run.from_dict({}, "b")}
    assert find_similarity(judged, runs).rbo == [[1.0, 0.0], [0.0, None]]
