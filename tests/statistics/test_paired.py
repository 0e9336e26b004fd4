"""Paired tests: each against SciPy, by hand, and by what must not change a p-value."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import PAIRED_TESTS, paired_difference
from trectools_plus.statistics.arrays import draw_counts
from trectools_plus.statistics.paired_tests import (
    bootstrap_test,
    randomisation_test,
    t_test,
    wilcoxon_test,
)

GRID = st.sampled_from([-0.5, -0.25, -0.1, 0.0, 0.1, 0.2, 0.5, 1.0])
DIFFERENCES = arrays(np.float64, st.integers(1, 30), elements=GRID | st.floats(-1, 1))
# Student (1908): hours of sleep gained by ten patients, drug 2 minus drug 1.
SLEEP = np.array([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4])


def p_of(name, differences, resamples=500):
    return PAIRED_TESTS[name](np.asarray(differences)[:, None], resamples, 1).p_value[0]


@pytest.mark.parametrize("name", PAIRED_TESTS)
@given(differences=DIFFERENCES, seed=st.integers(0, 100))
@settings(max_examples=settings().max_examples // 4)
def test_shuffling_leaves_every_p_identical(name, differences, seed):
    shuffled = np.random.default_rng(seed).permutation(differences)
    p = p_of(name, differences)
    assert 0.0 < p <= 1.0
    assert p_of(name, shuffled) == p


@pytest.mark.parametrize("name", PAIRED_TESTS)
@pytest.mark.parametrize("differences", [np.zeros(1), np.zeros(7), np.zeros(300)])
def test_no_difference_gives_p_1(name, differences):
    assert p_of(name, differences) == 1.0


def test_t_test_of_students_sleep_data():
    """Student (1908) found t = 4.06 on 9 degrees of freedom; p = 0.00283."""
    result = t_test(SLEEP)
    assert result.statistic[0] == pytest.approx(4.0621, abs=5e-5)
    assert result.p_value[0] == pytest.approx(0.002833, abs=5e-7)
    result = paired_difference(SLEEP, np.zeros(10))
    assert (result.low, result.high) == pytest.approx((0.7001, 2.4599), abs=5e-5)


@given(
    table=arrays(
        np.float64,
        st.tuples(st.integers(2, 120), st.integers(1, 3)),
        elements=GRID | st.floats(-1, 1, width=16),
    )
)
@settings(max_examples=settings().max_examples // 2)
def test_figures_are_bit_for_bit_those_of_scipy(table):
    """So that reports do not change although scipy.stats is not imported."""
    table = np.sort(table[:, table.std(axis=0) > 1e-3], axis=0)
    theirs = stats.ttest_1samp(table, 0.0, axis=0)
    ours = t_test(table)
    np.testing.assert_array_equal(ours.statistic, theirs.statistic)
    np.testing.assert_array_equal(ours.p_value, theirs.pvalue)
    wilcoxon = wilcoxon_test(table)
    for place, column in enumerate(table.T):
        theirs = stats.wilcoxon(column)
        assert wilcoxon.statistic[place] == theirs.statistic
        assert wilcoxon.p_value[place] == min(1.0, theirs.pvalue)


def test_t_of_equal_differences_is_infinite_and_p_that_of_their_signs():
    result = t_test([-0.1, -0.1, -0.1])
    assert (result.statistic[0], result.p_value[0]) == (-np.inf, 0.25)
    assert t_test(np.full(2000, 0.1)).p_value[0] > 0.0


@given(arrays(np.float64, st.integers(2, 8), elements=GRID))
def test_randomisation_goes_through_all_signs_of_few_differences(differences):
    signs = np.array(list(itertools.product([1, -1], repeat=len(differences))))
    sums = np.abs(signs @ differences)
    expected = (sums >= abs(differences.sum()) - 1e-9).mean()
    assert randomisation_test(differences).p_value[0] == pytest.approx(expected)


def test_bootstrap_p_is_the_share_of_shifted_resamples_with_the_added_one():
    differences = np.sort(np.random.default_rng(1).normal(0.2, 1.0, 30))
    stream = np.random.SeedSequence(4).spawn(1)[0]
    counts = draw_counts(30, 400, np.random.Generator(np.random.PCG64(stream)))
    shifted = differences - differences.mean()
    resampled = [np.repeat(shifted, count) for count in counts.astype(int)]
    found = np.array([abs(stats.ttest_1samp(one, 0).statistic) for one in resampled])
    threshold = abs(stats.ttest_1samp(differences, 0).statistic)
    expected = (1 + (found >= threshold).sum()) / 401
    assert bootstrap_test(differences, resamples=400, seed=4).p_value[0] == expected


def test_bootstrap_of_few_different_values():
    """A resample without variation neither divides by zero nor makes every difference spurious."""
    assert bootstrap_test([1.0, 1.1]).p_value[0] > 0.4  # half of the resamples repeat one row
    assert bootstrap_test(np.where(np.arange(200) < 1, 0.5, 0.0)).p_value[0] > 0.2
    assert bootstrap_test(np.where(np.arange(50) < 48, 1.0, 0.0)).p_value[0] < 0.001


@given(DIFFERENCES)
@settings(max_examples=settings().max_examples // 4)
def test_comparison_is_antisymmetric_and_counts_every_pair(differences):
    zeros = np.zeros_like(differences)
    one = paired_difference(differences, zeros)
    two = paired_difference(zeros, differences)
    assert one.wins + one.ties + one.losses == one.n == len(differences)
    assert (one.wins, one.losses) == (two.losses, two.wins)
    assert one.difference == pytest.approx(-two.difference)
    assert one.reason == two.reason
    if one.low is not None:
        assert one.statistic == pytest.approx(-two.statistic)
        assert (one.low, one.high) == pytest.approx((-two.high, -two.low), abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.1], [0.1, 0.2]), {}, "arrays of shape"),
        (([], []), {}, "arrays of shape"),
        (([np.nan], [0.1]), {}, "NaN"),
        (([np.inf], [0.1]), {}, "infinite"),
        (([0.1], [0.2]), {"test": "z"}, "unknown test 'z'"),
        (([0.1, 0.3], [0.2, 0.1]), {"test": "randomisation", "resamples": 0}, "resample"),
        (([0.1], [0.2]), {"confidence": 2}, "confidence level"),
    ],
)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(UsageError) as caught:
        paired_difference(*arguments, **options)
    assert message in str(caught.value)
