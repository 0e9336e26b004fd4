"""Paired differences: hand-worked counts and effect sizes, intervals against a plain bootstrap."""

import math

import numpy as np
import pytest
from scipy import stats

from tests.benchmark.compare.evaluations import compare_evaluation, evaluation_of
from trectools_plus.benchmark.comparisons import compare
from trectools_plus.errors import IncomparableError, UsageError
from trectools_plus.formats import Qrels, Run
from trectools_plus.measures import evaluate

FAST = {"resamples": 500, "seed": 1}


def test_hand_worked_difference():
    (entry,) = compare_evaluation(
        evaluation_of({"a": [0.1, 0.5, 0.3, 0.4], "b": [0.3, 0.5, 0.2, 0.8]}), **FAST
    )
    # Differences 0.2, 0, -0.1, 0.4: mean 0.125, variance (0.075² + 0.125² + 0.225² + 0.275²) / 3.
    assert (entry.baseline, entry.contrast, entry.n) == ("a", "b", 4)
    assert entry.difference == pytest.approx(0.125)
    assert (entry.wins, entry.ties, entry.losses) == (2, 1, 1)
    assert entry.effect_size == pytest.approx(0.125 / math.sqrt(0.1475 / 3))
    assert not entry.significant


def test_every_pair_or_only_those_with_the_baseline():
    evaluation = evaluation_of({name: [0.1, 0.2, 0.4] for name in "abcd"})
    pairs = [(entry.baseline, entry.contrast) for entry in compare_evaluation(evaluation, **FAST)]
    assert pairs == [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    pairs = [
        (entry.baseline, entry.contrast) for entry in compare_evaluation(evaluation, "c", **FAST)
    ]
    assert pairs == [("c", "a"), ("c", "b"), ("c", "d")]
    with pytest.raises(UsageError, match="'x'"):
        compare(evaluation, baseline="x")


def test_undefined_values_are_left_out_in_pairs():
    nan = math.nan
    (entry,) = compare_evaluation(
        evaluation_of({"a": [1, nan, 3, 4], "b": [2, 5, nan, 4]}, "MinRank"), **FAST
    )
    assert (entry.n, entry.difference) == (2, 0.5)
    # A lower rank is better, so the contrast loses where its rank is higher.
    assert (entry.wins, entry.ties, entry.losses) == (0, 1, 1)
    (entry,) = compare_evaluation(evaluation_of({"a": [1, nan], "b": [nan, 1]}, "MinRank"), **FAST)
    assert (entry.n, entry.difference, entry.ci, entry.significant) == (0, None, None, False)


def test_runs_over_other_queries_are_not_compared():
    qrels = Qrels.from_dict({"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}})
    whole = Run.from_dict({"1": {"a": 1.0, "b": 0.5}, "2": {"a": 1.0, "b": 0.5}}, "whole")
    part = Run.from_dict({"1": {"a": 1.0, "b": 0.5}}, "part")
    with pytest.raises(IncomparableError, match=r"2.*1"):
        compare_evaluation(evaluate(qrels, [whole, part], ["AP"], missing="drop"), **FAST)
    assert compare_evaluation(evaluate(qrels, [whole, part], ["AP"], missing="zero"), **FAST)


def test_interval_and_test_agree_with_scipy():
    generator = np.random.default_rng(5)
    first, second = generator.beta(2, 3, 80), generator.beta(2, 2, 80)
    evaluation = evaluation_of({"a": first.tolist(), "b": second.tolist()})
    (entry,) = compare_evaluation(evaluation)
    student = stats.ttest_rel(second, first)
    interval = student.confidence_interval()
    assert (entry.ci.low, entry.ci.high) == pytest.approx((interval.low, interval.high))
    assert (entry.ci.level, entry.ci.method, entry.ci.resamples) == (0.95, "Student t", 0)
    (ranked,) = compare_evaluation(evaluation, test="wilcoxon")
    ranks = stats.wilcoxon(second, first)
    assert (ranked.wilcoxon.w, ranked.wilcoxon.p) == pytest.approx((ranks.statistic, ranks.pvalue))
    assert ranked.t_test is None
    assert ranked.ci == entry.ci
    for name in ("paired_bootstrap", "randomisation"):
        (resampled,) = compare_evaluation(evaluation, test=name, resamples=2000)
        assert getattr(resampled, name).p == pytest.approx(student.pvalue, abs=0.03)


def test_the_family_is_the_pairs_on_one_measure():
    from trectools_plus.statistics import adjust_p_values

    base = np.random.default_rng(2).beta(2, 3, 40)
    values = {
        name: (base + shift).tolist() for name, shift in zip("abc", (0, 0.01, 0.2), strict=True)
    }
    values["b"][0] += 0.5
    values["c"][1] -= 0.9
    entries = compare_evaluation(evaluation_of(values), **FAST)
    assert [entry.family for entry in entries] == [
        "3 comparisons on one measure: every pair of 3 modes"
    ] * 3
    for name in ("holm", "bh", "none"):
        entries = compare_evaluation(evaluation_of(values), correction=name, **FAST)
        raw = [entry.t_test.p for entry in entries if entry.t_test]
        assert [entry.p_adjusted for entry in entries] == pytest.approx(adjust_p_values(raw, name))
        assert {entry.correction for entry in entries} == {name}
        for entry in entries:
            assert entry.significant == ((entry.p_adjusted or 0) <= 0.05)
    entries = compare_evaluation(evaluation_of(values), "a", **FAST)
    assert entries[0].family == "2 comparisons with a on one measure"
    assert [
        (e.baseline, e.contrast)
        for e in compare_evaluation(evaluation_of(values), ["a", "b"], **FAST)
    ] == [
        ("a", "c"),
        ("b", "c"),
    ]


def test_a_constant_difference_has_no_finite_t():
    (entry,) = compare_evaluation(evaluation_of({"a": [0.25] * 8, "b": [0.5] * 8}), **FAST)
    assert entry.t_test.t is None
    assert entry.t_test.p == 2.0**-7
    assert "Infinity" not in entry.model_dump_json()
