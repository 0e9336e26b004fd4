"""A best mode is significant against every other; groups have no significant differences."""

from __future__ import annotations

import math

import numpy as np

from tests.benchmark.compare.evaluations import compare_evaluation
from trectools_plus.benchmark.compare.compare import find_groups, is_best_significant
from trectools_plus.choices import Averaging
from trectools_plus.measures import parse_measures
from trectools_plus.measures.evaluation import Counts, Evaluation

LOW = [0.1, 0.2, 0.1, 0.3] * 3
HIGH = [0.6, 0.7, 0.8, 0.7] * 3
NEARLY = [value - 0.01 * (-1) ** place for place, value in enumerate(HIGH)]


def evaluation_of(values: dict[str, list[float]], measure: str = "nDCG@10") -> Evaluation:
    return Evaluation(
        parse_measures([measure]),
        Averaging(),
        {name: [f"q{index}" for index in range(len(row))] for name, row in values.items()},
        {name: Counts(len(row), len(row), len(row), 0, 0) for name, row in values.items()},
        [],
        {name: np.array(row, dtype=float)[:, None] for name, row in values.items()},
    )


def proven(values: dict[str, list[float]], best: str | None) -> bool:
    every_pair = compare_evaluation(evaluation_of(values), resamples=500, seed=42)
    assert len(every_pair) == 3
    return is_best_significant({"nDCG@10": best}, every_pair)["nDCG@10"]


def test_best_is_proven_against_every_other_run() -> None:
    assert proven({"a": LOW, "b": HIGH, "c": LOW}, "b")
    assert not proven({"a": LOW, "b": HIGH, "c": NEARLY}, "b")
    assert not proven({"a": LOW, "b": HIGH, "c": NEARLY}, None)


def test_a_best_mode_is_significant_only_after_the_correction() -> None:
    # Two of six signs against: p of one comparison is below 0.05 only without a correction.
    generator = np.random.default_rng(0)
    noise = generator.normal(0, 0.1, 30)
    values = {"a": (0.5 + 0 * noise).tolist(), "b": (0.5 + noise).tolist()}
    shift = 0.0
    while True:
        shift += 0.002
        values["c"] = (0.5 + noise[::-1] + shift).tolist()
        entry = compare_evaluation(evaluation_of(values), "a", resamples=2000, seed=42)[1]
        if entry.t_test.p <= 0.04:
            break
    holm = compare_evaluation(evaluation_of(values), resamples=2000, seed=42)
    family = [one for one in holm if {one.baseline, one.contrast} == {"a", "c"}]
    assert family[0].t_test.p <= 0.05 < (family[0].p_adjusted or 0)
    assert not is_best_significant({"nDCG@10": "c"}, holm)["nDCG@10"]


def test_groups_have_no_significant_differences() -> None:
    evaluation = evaluation_of({"a": LOW, "b": HIGH, "c": NEARLY})
    every_pair = compare_evaluation(evaluation, resamples=500, seed=42)
    assert find_groups(evaluation, every_pair) == {"nDCG@10": [["b", "c"]]}
    ranks = evaluation_of({"a": LOW, "b": HIGH, "c": [math.nan] * 12}, "MinRank")
    every_pair = compare_evaluation(ranks, resamples=500, seed=42)
    assert find_groups(ranks, every_pair) == {"MinRank": []}
