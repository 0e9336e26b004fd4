"""Leaving out modes, and bounds: against pytrec_eval on edited qrels, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import pytrec_eval
from scipy import stats

from trectools_plus.benchmark.analyses.pool import find_pool
from trectools_plus.benchmark.report.figures import Pool
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import evaluate

TREC_NAMES = {"nDCG@10": "ndcg_cut_10", "AP": "map", "P@5": "P_5", "RR": "recip_rank"}
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


def reduced(qrels: Any, runs: dict[str, Rankings], left_out: str, depth: int) -> tuple[Any, int]:
    """Remove the judgments of documents that only one run has in its first results."""

    def first(run: Rankings, query: str) -> set[str]:
        found = sorted(run.get(query, {}).items(), key=lambda item: item[1], reverse=True)
        return {doc for doc, _ in found[:depth]}

    rest, removed = {}, 0
    for query, grades in qrels.items():
        others = set().union(*(first(run, query) for name, run in runs.items() if name != left_out))
        own = first(runs[left_out], query) - others
        rest[query] = {doc: grade for doc, grade in grades.items() if doc not in own}
        removed += len(own & set(grades))
    return rest, removed


def mean_by_pytrec_eval(qrels: Any, run: Rankings, trec_name: str, queries: list[str]) -> float:
    """Score with pytrec_eval; a query without results or relevant documents counts 0."""
    judged = {query: grades for query, grades in qrels.items() if grades}
    found = pytrec_eval.RelevanceEvaluator(judged, {trec_name}).evaluate(run)
    values = []
    for query in queries:
        has_relevant = any(grade > 0 for grade in qrels[query].values())
        values.append(found[query][trec_name] if query in found and has_relevant else 0.0)
    return float(np.mean(values))


@pytest.mark.parametrize("measure", sorted(TREC_NAMES))
@pytest.mark.parametrize("seed", [1, 2])
def test_leaving_out_a_mode_equals_pytrec_eval_on_reduced_qrels(seed: int, measure: str) -> None:
    qrels, runs = random_data(seed)
    pool = find(qrels, runs, measure)
    assert pool is not None
    depth = {"nDCG@10": 10, "P@5": 5}.get(measure, 100)
    assert (pool.measure, pool.depth) == (measure, depth)
    for name, found in pool.modes.items():
        rest, removed = reduced(qrels, runs, name, depth)
        means = {
            other: mean_by_pytrec_eval(rest, run, TREC_NAMES[measure], list(qrels))
            for other, run in runs.items()
        }
        assert found.removed == removed
        assert found.score_without == pytest.approx(means[name], abs=1e-12)
        assert found.rank_without == 1 + sum(mean > means[name] for mean in means.values())


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
    """Only "one" found a: without a, its query has no relevant document, and counts 0."""
    qrels = {"q1": {"a": 1, "z": 0}, "q2": {"b": 1}}
    runs = {
        "one": {"q1": {"a": 2.0, "x": 1.0}, "q2": {"x": 1.0}},
        "two": {"q1": {"x": 2.0, "y": 1.0}, "q2": {"b": 1.0}},
        "three": {"q2": {"b": 1.0, "x": 0.5}},
    }
    pool = find(qrels, runs, "P@1", judged=JUDGED)
    assert pool is not None
    one, two = pool.modes["one"], pool.modes["two"]
    assert (one.judged, one.score, one.rank, one.removed) == (0.5, 0.5, 1, 1)
    assert (one.score_without, one.rank_without) == (0.0, 3)
    assert (one.low, one.high) == (0.5, 1.0)
    # Both "two" and "three" found b.
    assert (two.removed, two.score_without, two.rank_without) == (0, 0.5, 1)


def test_a_measure_where_lower_is_better() -> None:
    qrels = {"q1": {"a": 1, "b": 1, "z": 0}}
    runs = {"one": {"q1": {"a": 2.0, "b": 1.0}}, "two": {"q1": {"x": 2.0, "b": 1.0}}}
    pool = find(qrels, runs, "MinRank")
    assert pool is not None
    assert [pool.modes[name].rank for name in runs] == [1, 2]
    # Without a, b is relevant at rank 2 in both.
    assert pool.modes["one"].score_without == 2.0
    assert pool.modes["one"].rank_without == 1


def test_one_mode_is_not_left_out() -> None:
    qrels, runs = random_data(4, runs=1)
    pool = find(qrels, runs, "nDCG@10")
    assert pool is not None
    (found,) = pool.modes.values()
    assert found.removed is found.score_without is found.rank_without is None
    assert found.high is not None
    assert found.score is not None
    assert found.high > found.score


def test_missing_drop_keeps_the_queries_of_the_means() -> None:
    qrels, runs = random_data(5)
    common = set.intersection(*({*run} for run in runs.values()))
    runs = {name: {query: run[query] for query in sorted(common)} for name, run in runs.items()}
    pool = find(qrels, runs, "nDCG@10", missing="drop")
    assert pool is not None
    rest, _ = reduced(qrels, runs, "two", 10)
    expected = mean_by_pytrec_eval(rest, runs["two"], "ndcg_cut_10", sorted(common))
    assert pool.modes["two"].score_without == pytest.approx(expected)


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
    assert find({"q1": {"a": 1, "z": 0}}, runs, "NumRet") is None


def test_a_measure_of_ids_has_shares_only() -> None:
    pool = find({"q1": {"a": 1, "z": 0}}, {"one": {"q1": {"a": 1.0}}}, "Compat")
    assert pool is not None
    found = pool.modes["one"]
    assert (found.judged, found.rank) == (0.5, 1)
    assert found.low is found.high is found.score_without is None
