"""Bounds: against pytrec_eval with all unjudged documents relevant, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import pytrec_eval
from scipy import stats

from trectools_plus.benchmark.analyses import find_pool
from trectools_plus.benchmark.report.model import Pool
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import evaluate

JUDGED = {"one": 0.5, "two": 0.75, "three": 0.25}

Rankings = dict[str, dict[str, float]]


def random_data(
    seed: int, runs: int = 3, queries: int = 30
) -> tuple[dict[str, dict[str, int]], dict[str, Rankings]]:
    """Judgments of about a third of the documents, and runs that miss some queries."""
    draws = np.random.default_rng(seed)
    documents = [f"d{number}" for number in range(60)]
    qrels = {}
    for number in range(queries):
        chosen = draws.choice(documents, 20, replace=False)
        grades = draws.choice([-1, 0, 0, 1, 2], 20)
        qrels[f"q{number}"] = {
            str(doc): int(grade) for doc, grade in zip(chosen, grades, strict=True)
        }
        qrels[f"q{number}"][str(chosen[0])] = 1
    named: dict[str, Rankings] = {}
    for name in list(JUDGED)[:runs] if runs <= 3 else [f"m{place}" for place in range(runs)]:
        named[name] = {
            query: {
                str(doc): float(place)
                for place, doc in enumerate(draws.choice(documents, 25, replace=False))
            }
            for query in qrels
            if draws.random() > 0.1
        }
    return qrels, named


def find(qrels: Any, runs: dict[str, Rankings], measure: str, **options: Any) -> Pool | None:
    table = Qrels.from_dict(qrels)
    named = {name: Run.from_dict(run, name) for name, run in runs.items()}
    judged = options.pop("judged", dict.fromkeys(runs, 0.5))
    return find_pool(table, named, evaluate(table, named, [measure], **options), measure, judged)


def mean_by_pytrec_eval(qrels: Any, run: Rankings, trec_name: str, queries: list[str]) -> float:
    """Score with pytrec_eval; a query without results or relevant documents counts 0."""
    judged = {query: grades for query, grades in qrels.items() if grades}
    found = pytrec_eval.RelevanceEvaluator(judged, {trec_name}).evaluate(run)
    values = []
    for query in queries:
        has_relevant = any(grade > 0 for grade in qrels[query].values())
        values.append(found[query][trec_name] if query in found and has_relevant else 0.0)
    return float(np.mean(values))


def test_bounds_equal_pytrec_eval_with_all_unjudged_documents_relevant() -> None:
    qrels, runs = random_data(3)
    pool = find(qrels, runs, "P@5")
    assert pool is not None
    for name, run in runs.items():
        generous = {
            query: {**dict.fromkeys(run.get(query, {}), 2), **grades}
            for query, grades in qrels.items()
        }
        found = pool.modes[name]
        assert (
            found.low
            == found.score
            == pytest.approx(mean_by_pytrec_eval(qrels, run, "P_5", list(qrels)))
        )
        assert found.high == pytest.approx(mean_by_pytrec_eval(generous, run, "P_5", list(qrels)))


def test_by_hand() -> None:
    qrels = {"q1": {"a": 1, "z": 0}, "q2": {"b": 1}}
    runs = {
        "one": {"q1": {"a": 2.0, "x": 1.0}, "q2": {"x": 1.0}},
        "two": {"q1": {"x": 2.0, "y": 1.0}, "q2": {"b": 1.0}},
        "three": {"q2": {"b": 1.0, "x": 0.5}},
    }
    pool = find(qrels, runs, "P@1", judged=JUDGED)
    assert pool is not None
    one = pool.modes["one"]
    assert (one.judged, one.score, one.low, one.high) == (0.5, 0.5, 0.5, 1.0)


def test_correlation_needs_five_modes() -> None:
    qrels, runs = random_data(6, runs=5)
    judged = {name: 0.1 * place for place, name in enumerate(runs)}
    pool = find(qrels, runs, "nDCG@10", judged=judged)
    assert pool is not None
    scores = [one.score for one in pool.modes.values()]
    assert pool.tau == pytest.approx(stats.kendalltau(list(judged.values()), scores).statistic)
    four = find(qrels, dict(list(runs.items())[:4]), "nDCG@10")
    assert four is not None
    assert four.tau is None


def test_without_irrelevant_judgments_there_is_no_pool() -> None:
    runs = {"one": {"q1": {"a": 1.0}}}
    assert find({"q1": {"a": 1}}, runs, "P@1") is None


def test_a_measure_of_ids_has_shares_only() -> None:
    pool = find({"q1": {"a": 1, "z": 0}}, {"one": {"q1": {"a": 1.0}}}, "Compat")
    assert pool is not None
    found = pool.modes["one"]
    assert found.judged == 0.5
    assert found.low is found.high is None
