"""A best mode is significant against every other; groups have no significant differences."""

import math

from tests.benchmark.compare.evaluations import evaluation_of
from trectools_plus.benchmark import Comparing
from trectools_plus.benchmark.compare import compare_modes

LOW = [0.1, 0.2, 0.1, 0.3] * 3
HIGH = [0.6, 0.7, 0.8, 0.7] * 3
NEARLY = [value - 0.01 * (-1) ** place for place, value in enumerate(HIGH)]


def compared(values, measure="nDCG@10"):
    return compare_modes(Comparing(), evaluation_of(values, measure), measure, "run")


def test_best_is_proven_against_every_other_run():
    found = compared({"a": LOW, "b": HIGH, "c": LOW})
    assert (found.best_mode, found.best_mode_significant) == ({"nDCG@10": "b"}, {"nDCG@10": True})
    found = compared({"a": LOW, "b": HIGH, "c": NEARLY})
    assert found.best_mode_significant == {"nDCG@10": False}
    found = compared({"a": LOW, "b": HIGH, "c": HIGH})
    assert (found.best_mode, found.best_mode_significant) == ({"nDCG@10": None}, {"nDCG@10": False})


def test_groups_have_no_significant_differences():
    assert compared({"a": LOW, "b": HIGH, "c": NEARLY}).groups == {"nDCG@10": [["b", "c"]]}
    ranks = {"a": LOW, "b": HIGH, "c": [math.nan] * 12}
    assert compared(ranks, "MinRank").groups == {"MinRank": []}
