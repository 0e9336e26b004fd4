"""Figures of one run and measure, and which run is best, from values made by hand."""

import math

import pytest

from tests.benchmark.compare.evaluations import evaluation_of
from trectools_plus.benchmark import BenchmarkConfig
from trectools_plus.benchmark.compare import compare_modes, summarise

CONFIG = BenchmarkConfig(dataset="hpo", resamples=500, targets="trec-2025")
COMPARING, TARGETS = CONFIG.comparing, CONFIG.targets
NAN = math.nan


def test_hand_worked_summary():
    figures = summarise(evaluation_of({"a": [0.2, 0.4, 0.9, 0.5]}), COMPARING, TARGETS)["a"][
        "nDCG@10"
    ]
    assert figures.mean == pytest.approx(0.5)
    assert figures.median == pytest.approx(0.45)
    assert figures.std == pytest.approx(math.sqrt((0.09 + 0.01 + 0.16 + 0) / 3))
    assert figures.n == 4
    assert figures.target.status == "strong"
    assert figures.definition.cutoff == 10
    assert "pytrec" in figures.definition.provider


def test_an_interval_that_touches_zero_does_not_cross_it_by_rounding():
    figures = summarise(evaluation_of({"a": [0.1, 0.2, 0.0]}), COMPARING, TARGETS)["a"]["nDCG@10"]
    assert figures.ci.low >= 0


def best(evaluation):
    """Return the measures that are not ranked, and the best run."""
    (measure,) = evaluation.measure_names
    compared = compare_modes(COMPARING, evaluation, measure, "run")
    return compared.unranked, compared.best_mode[measure]


def test_best_is_the_highest_mean_and_the_lowest_rank():
    assert best(evaluation_of({"a": [0.1], "b": [0.2]})) == ([], "b")
    assert best(evaluation_of({"a": [1], "b": [2]}, "MinRank")) == ([], "a")
    assert best(evaluation_of({"a": [0.2], "b": [0.2]})) == ([], None)
    rounded = {"a": [0.0, 0.0, 0.6], "b": [0.0, 0.2, 0.4]}
    assert math.fsum(rounded["a"]) != math.fsum(rounded["b"])
    assert best(evaluation_of(rounded)) == ([], None)
    assert best(evaluation_of({"a": [0.2]})) == ([], None)
    assert best(evaluation_of({"a": [NAN], "b": [3]}, "MinRank")) == ([], "b")


def test_means_over_different_queries_have_no_best_run():
    most = evaluation_of({"a": [1, 1, NAN], "b": [1, 1, 9]}, "MeanRank")
    assert best(most) == (["MeanRank"], None)
    # As many queries, and yet others.
    others = evaluation_of({"a": [1, 1, NAN], "b": [NAN, 1, 9]}, "MeanRank")
    assert best(others) == (["MeanRank"], None)
    assert best(evaluation_of({"a": [1, 1, NAN], "b": [1, 3, NAN]}, "MeanRank")) == ([], "a")


def test_one_query_has_no_interval_and_no_status_of_its_ends():
    figures = summarise(evaluation_of({"a": [1.0]}), COMPARING, TARGETS)["a"]["nDCG@10"]
    assert (figures.mean, figures.n, figures.ci) == (1.0, 1, None)
    assert (figures.target.status, figures.target.status_low) == ("strong", None)
    ranks = summarise(evaluation_of({"a": [4.0, NAN, NAN]}, "MeanRank"), COMPARING, TARGETS)["a"][
        "MeanRank"
    ]
    assert (ranks.mean, ranks.n, ranks.ci) == (4.0, 1, None)
    two = summarise(evaluation_of({"a": [1.0, 0.5]}), COMPARING, TARGETS)["a"]["nDCG@10"]
    assert two.ci is not None
