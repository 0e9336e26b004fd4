"""Curves: equal to pytrec_eval on the same dictionaries, and to the report's own resamples."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval

from trectools_plus import Qrels, Run, evaluate
from trectools_plus.benchmark.curves import (
    RANKS,
    hit_rate_curves,
    precision_recall_curves,
)
from trectools_plus.errors import IncomparableError, TrectoolsPlusError, UsageError

Judgments = dict[str, dict[str, int]]
Results = dict[str, dict[str, float]]


def draw(seed: int, queries: int = 30, depth: int = 60) -> tuple[Judgments, Results]:
    """Random judgments and a run, without equal scores."""
    rng = np.random.default_rng(seed)
    qrels: Judgments = {}
    run: Results = {}
    for number in range(queries):
        documents = [f"d{one}" for one in rng.permutation(200)]
        judged = rng.choice(documents, 40, replace=False)
        qrels[f"q{number}"] = {doc: int(rng.integers(0, 3)) for doc in judged} | {documents[0]: 1}
        run[f"q{number}"] = {doc: float(depth - rank) for rank, doc in enumerate(documents[:depth])}
    return qrels, run


@pytest.mark.parametrize("seed", range(5))
def test_precision_recall_is_that_of_pytrec_eval(seed: int) -> None:
    qrels, run = draw(seed)
    levels = [step / 20 for step in range(21)]
    curves = precision_recall_curves(
        Qrels.from_dict(qrels),
        {"a": Run.from_dict(run)},
        levels=levels,
        resamples=50,
    )
    request = "iprec_at_recall." + ",".join(f"{level:.2f}" for level in levels)
    answers = pytrec_eval.RelevanceEvaluator(qrels, {request}).evaluate(run).values()
    expected = [
        np.mean([answer[f"iprec_at_recall_{level:.2f}"] for answer in answers]) for level in levels
    ]
    np.testing.assert_allclose(curves.mean["a"], expected, rtol=0, atol=1e-12)
    assert (np.diff(curves.mean["a"]) <= 1e-12).all(), "interpolated precision never rises"
    assert curves.n == len(qrels)


@pytest.mark.parametrize("seed", range(3))
def test_hit_rate_is_success_of_pytrec_eval(seed: int) -> None:
    qrels, run = draw(seed)
    curves = hit_rate_curves(Qrels.from_dict(qrels), {"a": Run.from_dict(run)}, resamples=50)
    request = "success." + ",".join(f"{k:.0f}" for k in curves.at)
    answers = pytrec_eval.RelevanceEvaluator(qrels, {request}).evaluate(run).values()
    expected = [np.mean([answer[f"success_{k:.0f}"] for answer in answers]) for k in curves.at]
    np.testing.assert_allclose(curves.mean["a"], expected, rtol=0, atol=1e-12)
    assert curves.at.tolist() == [rank for rank in RANKS if rank <= 60]


def test_intervals_are_those_of_the_means_of_a_report() -> None:
    from trectools_plus.statistics.intervals import mean_intervals

    tables = [draw(seed) for seed in (1, 2)]
    qrels = Qrels.from_dict(tables[0][0])
    runs = {name: Run.from_dict(run) for name, (_, run) in zip("ab", tables, strict=True)}
    curves = hit_rate_curves(qrels, runs, ranks=[10, 5], resamples=200, seed=7)
    evaluation = evaluate(qrels, runs, ["HitRate@5", "HitRate@10"])
    for mode in runs:
        own = mean_intervals(evaluation.tables[mode], resamples=200, seed=7)
        np.testing.assert_array_equal(curves.low[mode], own.low)
        np.testing.assert_array_equal(curves.high[mode], own.high)
    assert (curves.low["a"] <= curves.mean["a"]).all()
    assert (curves.mean["a"] <= curves.high["a"]).all()


def test_missing_queries_count_zero_or_are_dropped() -> None:
    qrels = Qrels.from_dict({"1": {"d": 1}, "2": {"d": 1}})
    runs = {"a": Run.from_dict({"1": {"d": 1.0}})}
    assert hit_rate_curves(qrels, runs).mean["a"].tolist() == [0.5]
    dropped = hit_rate_curves(qrels, runs, missing="drop")
    assert dropped.mean["a"].tolist() == [1.0]
    assert dropped.n == 1


def test_queries_without_a_relevant_document_count_zero_or_are_dropped() -> None:
    qrels = Qrels.from_dict({"1": {"d": 1}, "2": {"d": 0}})
    runs = {"a": Run.from_dict({"1": {"d": 1.0}, "2": {"d": 1.0}})}
    for curves in (hit_rate_curves, precision_recall_curves):
        assert set(curves(qrels, runs).mean["a"].tolist()) == {0.5}
        dropped = curves(qrels, runs, no_relevant="drop")
        assert set(dropped.mean["a"].tolist()) == {1.0}
        assert dropped.n == 1


def test_runs_over_different_queries_are_not_compared() -> None:
    qrels = Qrels.from_dict({"1": {"d": 1}, "2": {"d": 1}})
    runs = {"a": Run.from_dict({"1": {"d": 1.0}}), "b": Run.from_dict({"2": {"d": 1.0}})}
    with pytest.raises(IncomparableError):
        precision_recall_curves(qrels, runs, missing="drop")


@pytest.mark.parametrize("levels", [[], [1.5], [-0.1]])
def test_levels_out_of_range_are_refused(levels: list[float]) -> None:
    qrels, run = draw(0, queries=2)
    with pytest.raises(TrectoolsPlusError):
        precision_recall_curves(Qrels.from_dict(qrels), {"a": Run.from_dict(run)}, levels=levels)


def test_no_run_is_refused() -> None:
    with pytest.raises(UsageError):
        hit_rate_curves(Qrels.from_dict({"1": {"d": 1}}), {})
