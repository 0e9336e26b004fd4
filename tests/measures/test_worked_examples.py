"""The field's worked examples, through the front door."""

import math

import pytest

from trectools_plus.measures import evaluate

FIVE = dict.fromkeys("abcde", 1)
SIX = dict.fromkeys("abcdef", 1)
GRADES = {"a": 3, "b": 0, "c": 2}
DCG = 1 + 1 / math.log2(4) + 1 / math.log2(6)
IDEAL = 1 + 1 / math.log2(3) + 1 / math.log2(4)
BURGES = (7 + 3 / 2) / (7 + 3 / math.log2(3))
# Grades, ranking with "x" and "y" for documents that are not judged, measure, value.
EXAMPLES = [
    ({"a": 1, "b": 1}, "axb", "P@3", 2 / 3),
    ({"a": 1}, "a", "P@5", 1 / 5),
    (FIVE, "axbyc", "R@5", 3 / 5),
    ({"a": 1}, "xa", "RR@10", 1 / 2),
    ({"a": 1}, "bcdefghijka", "RR@10", 0.0),
    ({"a": 1}, "bcdefghijka", "RR", 1 / 11),
    (dict.fromkeys("abc", 1), "axbyc", "nDCG@5", DCG / IDEAL),
    (GRADES, "abc", "nDCG(dcg='exp-log2')@3", BURGES),
    (GRADES, "abc", "nDCG@3", (3 + 2 / 2) / (3 + 2 / math.log2(3))),
    (SIX, "axbc", "AP@4", (1 + 2 / 3 + 3 / 4) / 6),
    (SIX, "axbc", "APcap@4", (1 + 2 / 3 + 3 / 4) / 4),
]


@pytest.mark.parametrize(("grades", "ranking", "measure", "value"), EXAMPLES)
def test_values_by_hand(grades, ranking, measure, value):
    run = {doc_id: -float(place) for place, doc_id in enumerate(ranking)}
    assert evaluate({"q": grades}, {"q": run}, [measure])[measure] == pytest.approx(
        value, abs=1e-15
    )


def test_the_rounded_figures_of_the_example():
    assert (round(DCG, 2), round(IDEAL, 2)) == (1.89, 2.13)
    assert pytest.approx(1.89 / 2.13, abs=0.002) == DCG / IDEAL


def test_mean_reciprocal_rank_of_first_ranks_1_2_3():
    run = {str(n): {"a": 1.0} | {f"x{m}": 2.0 for m in range(n)} for n in range(3)}
    found = evaluate({query: {"a": 1} for query in run}, run, ["RR", "RR@10"])
    assert found["RR"] == found["RR@10"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
