"""Difficulty of queries against SciPy, and significant pairs by measure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trectools_plus.benchmark.analyses import (
    find_difficulty,
)
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import Evaluation, evaluate


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    """Five modes over 40 queries, the first ones better."""
    draws = np.random.default_rng(7)
    ease = draws.uniform(0.05, 0.6, 40)
    qrels = {f"q{number:02}": {"a": 1, "b": 1, "c": 0} for number in range(40)}
    runs = {}
    for place in range(5):
        rankings = {}
        for number, query in enumerate(qrels):
            documents = [f"x{other}" for other in range(10)]
            for relevant in ("a", "b"):
                if draws.random() < ease[number] * (1 + (4 - place) / 4):
                    documents.insert(int(draws.integers(0, 10)), relevant)
            rankings[query] = {doc: 20.0 - rank for rank, doc in enumerate(documents)}
        runs[f"m{place}"] = Run.from_dict(rankings, f"m{place}")
    return evaluate(Qrels.from_dict(qrels), runs, ["AP", "P@1", "MinRank"])


def test_a_query_without_a_relevant_document_is_not_listed_as_hard() -> None:
    qrels = Qrels.from_dict({"1": {"a": 1}, "2": {"b": 0}, "3": {"a": 1}})
    runs = {name: Run.from_dict({"1": {"a": 1.0}, "2": {"b": 1.0}}) for name in "xy"}
    found = find_difficulty(evaluate(qrels, runs, ["AP"]), "AP")
    assert found is not None
    assert found.n == 3
    assert [one.query_id for one in found.hardest] == ["3", "1"]


def test_difficulty_equals_numpy_and_scipy(evaluation: Evaluation) -> None:
    found = find_difficulty(evaluation, "AP")
    assert found is not None
    table = np.column_stack([evaluation.values(name, "AP") for name in evaluation.run_names])
    means = dict(zip(evaluation.query_ids["m0"], table.mean(axis=1), strict=True))
    assert found.n == 40
    assert found.mean == pytest.approx(np.mean(list(means.values())))
    assert found.std == pytest.approx(np.std(list(means.values()), ddof=1))
    assert found.quartiles == pytest.approx(np.percentile(list(means.values()), [25, 50, 75]))
    from_hardest = sorted(means, key=lambda query: (round(means[query], 12), query))
    assert [one.query_id for one in found.hardest] == from_hardest[:10]
    from_easiest = sorted(means, key=lambda query: (-round(means[query], 12), query))
    assert [one.query_id for one in found.easiest] == from_easiest[:10]
    assert all(one.mean == pytest.approx(means[one.query_id]) for one in found.hardest)
    for column, name in enumerate(evaluation.run_names):
        others = np.delete(table, column, axis=1).mean(axis=1).round(12)
        expected = stats.kendalltau(table[:, column].round(12), others).statistic
        assert found.agreement[name] == pytest.approx(expected)


def test_low_values_are_easy_where_lower_is_better(evaluation: Evaluation) -> None:
    found = find_difficulty(evaluation, "MinRank")
    assert found is not None
    assert found.n < 40  # undefined for queries that a mode does not solve
    assert found.hardest[0].mean >= found.easiest[0].mean


def test_difficulty_needs_two_modes(evaluation: Evaluation) -> None:
    qrels = Qrels.from_dict({"q": {"a": 1}})
    alone = evaluate(qrels, {"m": Run.from_dict({"q": {"a": 1.0}}, "m")}, ["AP"])
    assert find_difficulty(alone, "AP") is None
