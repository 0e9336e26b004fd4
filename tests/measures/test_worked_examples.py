"""The field's worked examples, through the front door."""

import math

import pytest

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import evaluate


def mean(qrels, run, measure):
    evaluation = evaluate(Qrels.from_dict(qrels), Run.from_dict(run), [measure])
    return evaluation.mean("run", measure)


def ranking(*doc_ids):
    return {doc_id: float(len(doc_ids) - place) for place, doc_id in enumerate(doc_ids)}


def test_precision_two_thirds():
    qrels = {"q": {"a": 1, "b": 1, "x": 0}}
    assert mean(qrels, {"q": ranking("a", "x", "b")}, "P@3") == 2 / 3


def test_recall_three_fifths():
    qrels = {"q": dict.fromkeys("abcde", 1)}
    assert mean(qrels, {"q": ranking("a", "x", "b", "y", "c")}, "R@5") == 3 / 5


def test_mean_reciprocal_rank_of_first_ranks_1_2_3():
    qrels = {query: {"a": 1} for query in "123"}
    run = {"1": ranking("a"), "2": ranking("x", "a"), "3": ranking("x", "y", "a")}
    assert mean(qrels, run, "RR") == pytest.approx(0.611, abs=0.0005)
    assert mean(qrels, run, "RR@10") == math.fsum([1, 1 / 2, 1 / 3]) / 3


def test_ndcg_1_89_over_2_13():
    """Three relevant documents, at ranks 1, 3 and 5; the quotient of the rounded figures."""
    qrels = {"q": {"a": 1, "b": 1, "c": 1}}
    found = mean(qrels, {"q": ranking("a", "x", "b", "y", "c")}, "nDCG@5")
    dcg = 1 + 1 / math.log2(4) + 1 / math.log2(6)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert round(dcg, 2) == 1.89
    assert round(ideal, 2) == 2.13
    assert found == pytest.approx(dcg / ideal, abs=1e-15)
    assert found == pytest.approx(1.89 / 2.13, abs=0.002)


def test_exponential_gain_on_grades_3_0_2():
    qrels = {"q": {"a": 3, "b": 0, "c": 2}}
    dcg = (2**3 - 1) / math.log2(2) + 0 + (2**2 - 1) / math.log2(4)
    ideal = (2**3 - 1) / math.log2(2) + (2**2 - 1) / math.log2(3)
    found = mean(qrels, {"q": ranking("a", "b", "c")}, "nDCG(dcg='exp-log2')@3")
    assert found == pytest.approx(dcg / ideal, abs=1e-15)
    linear = mean(qrels, {"q": ranking("a", "b", "c")}, "nDCG@3")
    assert linear == pytest.approx((3 + 2 / 2) / (3 + 2 / math.log2(3)), abs=1e-15)


def test_first_hit_at_rank_11_is_0_at_cutoff_10():
    run = {"q": ranking(*"bcdefghijk", "a")}
    assert mean({"q": {"a": 1}}, run, "RR@10") == 0
    assert mean({"q": {"a": 1}}, run, "RR") == 1 / 11


def test_precision_divides_by_k_when_fewer_were_returned():
    assert mean({"q": {"a": 1}}, {"q": ranking("a")}, "P@5") == 1 / 5


def test_average_precision_and_its_capped_denominator():
    """3 of 6 relevant documents at ranks 1, 3, 4: sum of precisions 1 + 2/3 + 3/4."""
    qrels = {"q": dict.fromkeys("abcdef", 1)}
    run = {"q": ranking("a", "x", "b", "c")}
    assert mean(qrels, run, "AP@4") == pytest.approx((1 + 2 / 3 + 3 / 4) / 6, abs=1e-15)
    assert mean(qrels, run, "APcap@4") == pytest.approx((1 + 2 / 3 + 3 / 4) / 4, abs=1e-15)
