"""Curves: equal to pytrec_eval on the same dictionaries, and to the report's own resamples."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval

from trectools_plus import Qrels, Run, evaluate
from trectools_plus.benchmark.analyses import RANKS, RECALL_LEVELS, Curves, measure_curves
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.errors import IncomparableError
from trectools_plus.measures.evaluation import Averaging

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


def curves_of(
    qrels: Judgments, runs: dict[str, Results], averaging: Averaging | None = None
) -> list[Curves]:
    loaded = {name: Run.from_dict(run) for name, run in runs.items()}
    options = resampling_of({"resamples": 200, "seed": 7})
    return measure_curves(Qrels.from_dict(qrels), loaded, averaging or Averaging(), options)


@pytest.mark.parametrize("seed", range(5))
def test_curves_are_those_of_pytrec_eval(seed: int) -> None:
    qrels, run = draw(seed)
    precision, hits = curves_of(qrels, {"a": run})
    requests = {
        "iprec_at_recall": [f"{level:.2f}" for level in RECALL_LEVELS],
        "success": [f"{rank}" for rank in RANKS if rank <= 60],
    }
    for curves, (name, points) in zip((precision, hits), requests.items(), strict=True):
        request = f"{name}.{','.join(points)}"
        answers = pytrec_eval.RelevanceEvaluator(qrels, {request}).evaluate(run).values()
        expected = [np.mean([answer[f"{name}_{point}"] for answer in answers]) for point in points]
        np.testing.assert_allclose(curves.mean["a"], expected, rtol=0, atol=1e-12)
        assert curves.at.tolist() == [float(point) for point in points]
        assert curves.n == len(qrels)
    assert (np.diff(precision.mean["a"]) <= 1e-12).all(), "interpolated precision never rises"


def test_intervals_are_those_of_the_means_of_a_report() -> None:
    from trectools_plus.statistics.intervals import mean_intervals

    tables = [draw(seed) for seed in (1, 2)]
    qrels, runs = tables[0][0], {name: run for name, (_, run) in zip("ab", tables, strict=True)}
    hits = curves_of(qrels, runs)[1]
    evaluation = evaluate(qrels, runs, [f"HitRate@{rank:g}" for rank in hits.at])
    both = np.concatenate([evaluation.tables[name] for name in runs], axis=1)
    expected = mean_intervals(both, resamples=200, seed=7)
    np.testing.assert_array_equal(np.concatenate([*hits.low.values()]), expected.low)
    np.testing.assert_array_equal(np.concatenate([*hits.high.values()]), expected.high)
    assert (hits.low["a"] <= hits.mean["a"]).all()
    assert (hits.mean["a"] <= hits.high["a"]).all()


@pytest.mark.parametrize(
    ("judged", "run", "drop"),
    [
        ({"1": {"d": 1}, "2": {"d": 1}}, {"1": {"d": 1.0}}, Averaging("drop", "zero")),
        (
            {"1": {"d": 1}, "2": {"d": 0}},
            {"1": {"d": 1.0}, "2": {"d": 1.0}},
            Averaging("zero", "drop"),
        ),
    ],
)
def test_queries_without_a_value_count_zero_or_are_dropped(
    judged: Judgments, run: Results, drop: Averaging
) -> None:
    for curves in curves_of(judged, {"a": run}):
        assert set(curves.mean["a"].tolist()) == {0.5}
    for curves in curves_of(judged, {"a": run}, drop):
        assert set(curves.mean["a"].tolist()) == {1.0}
        assert curves.n == 1


def test_runs_over_different_queries_are_not_compared() -> None:
    qrels = {"1": {"d": 1}, "2": {"d": 1}}
    runs: dict[str, Results] = {"a": {"1": {"d": 1.0}}, "b": {"2": {"d": 1.0}}}
    with pytest.raises(IncomparableError):
        curves_of(qrels, runs, Averaging("drop", "zero"))
