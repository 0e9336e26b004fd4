"""Families of comparisons: Tukey's test, several baselines, groups."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import (
    adjust_p_values,
    group_letters,
    indistinguishable_groups,
    mean_ranks,
    nemenyi_difference,
    pairs_of,
    pairwise_differences,
    randomised_tukey,
    variance_of_means,
)


def test_tukey_of_two_systems_is_the_randomisation_test():
    scores = np.random.default_rng(3).random((40, 2))
    scores[:, 1] += 0.05
    tukey = pairwise_differences(scores, correction="tukey_hsd")
    randomised = pairwise_differences(scores, test="randomisation")
    assert tukey.p_adjusted[0] == pytest.approx(randomised.p_adjusted[0], abs=0.02)


def test_tukey_by_enumeration():
    """Three queries, three systems: 6³ exchanges, each equally likely."""
    scores = np.array([[0.9, 0.5, 0.1], [0.8, 0.4, 0.3], [0.6, 0.7, 0.2]])
    orders = [list(itertools.permutations(row)) for row in scores]
    spreads = np.array([np.ptp(np.mean(rows, axis=0)) for rows in itertools.product(*orders)])
    p_values = randomised_tukey(scores, resamples=20_000)
    means = scores.mean(axis=0)
    for one, two in itertools.combinations(range(3), 2):
        expected = (spreads >= abs(means[one] - means[two]) - 1e-9).mean()
        assert p_values[one, two] == pytest.approx(expected, abs=0.015)


@given(
    arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(2, 4)), elements=st.floats(0, 1)),
    st.integers(0, 50),
)
@settings(max_examples=settings().max_examples // 4)
def test_tukey_is_blind_to_the_order_of_queries_and_systems(scores, seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(scores.shape[0]), rng.permutation(scores.shape[1])
    p_values = randomised_tukey(scores, resamples=100)
    assert ((p_values > 0) & (p_values <= 1)).all()
    np.testing.assert_array_equal(p_values, p_values.T)
    shuffled = randomised_tukey(scores[rows][:, columns], resamples=100)
    np.testing.assert_array_equal(shuffled, p_values[np.ix_(columns, columns)])


@pytest.mark.slow("a simulation of many families")
def test_tukey_keeps_the_family_at_its_level():
    """If five systems are equal, a significant pair is found in at most about 5% of cases."""
    rng = np.random.default_rng(1)
    claims = [
        randomised_tukey(rng.random((30, 5)), resamples=200, seed=seed).min() <= 0.05
        for seed in range(400)
    ]
    assert 0.02 <= np.mean(claims) <= 0.085


def test_the_baseline_is_not_in_the_family():
    assert pairs_of(4, [1]) == [(1, 0), (1, 2), (1, 3)]
    assert pairs_of(4, [0, 2]) == [(0, 1), (0, 3), (2, 1), (2, 3)]
    assert pairs_of(3) == [(0, 1), (0, 2), (1, 2)]
    scores = np.random.default_rng(0).random((30, 4))
    result = pairwise_differences(scores, baselines=[0, 2], test="t_test", resamples=100)
    assert result.family == "4 comparisons: 2 systems against 2 baselines"
    raw = [one.tests["t_test"].p_value for one in result.comparisons]
    assert raw[1] == pytest.approx(stats.ttest_rel(scores[:, 3], scores[:, 0]).pvalue)
    np.testing.assert_array_equal(result.p_adjusted, adjust_p_values(raw, "holm"))
    table = result.p_table(4)
    assert table[2, 3] == table[3, 2] == result.p_adjusted[3]
    assert np.isnan(table[0, 2])
    assert (
        pairwise_differences(scores, resamples=50).family == "6 comparisons: all pairs of 4 systems"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baselines": [3]}, "from 0 to 2"),
        ({"baselines": [1, 1]}, "different baselines"),
        ({"baselines": [0, 1, 2]}, "pair of systems"),
        ({"baselines": [0], "correction": "tukey_hsd"}, "all pairs"),
        ({"test": "z"}, "unknown paired test"),
    ],
)
def test_families_that_make_no_sense_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        pairwise_differences(np.random.default_rng(0).random((5, 3)), **options)
    with pytest.raises(UsageError, match="at least 2 systems"):
        randomised_tukey([[0.1], [0.2]])


def p_table(systems, *significant):
    table = np.ones((systems, systems))
    for one, two in significant:
        table[one, two] = table[two, one] = 0.01
    return table


def test_groups_by_hand():
    """Best and worst differ, the middle one from neither: two groups that share it."""
    groups = indistinguishable_groups([0.2, 0.4, 0.3], p_table(3, (0, 1)))
    assert groups == [(1, 2), (2, 0)]
    assert group_letters(groups, 3) == ["b", "a", "ab"]
    assert indistinguishable_groups([0.2, 0.4], p_table(2)) == [(1, 0)]
    assert indistinguishable_groups([0.2, 0.4], p_table(2, (0, 1))) == [(1,), (0,)]
    assert indistinguishable_groups([], np.empty((0, 0))) == []


@given(st.integers(1, 7), st.integers(0, 2**21 - 1))
def test_groups_are_all_maximal_sets_without_significant_differences(systems, bits):
    pairs = list(itertools.combinations(range(systems), 2))
    significant = {pair for place, pair in enumerate(pairs) if bits >> place & 1}
    groups = indistinguishable_groups(
        -np.arange(systems, dtype=float), p_table(systems, *significant)
    )
    alike = [
        set(some)
        for size in range(1, systems + 1)
        for some in itertools.combinations(range(systems), size)
        if not significant & set(itertools.combinations(some, 2))
    ]
    largest = [one for one in alike if not any(one < other for other in alike)]
    assert sorted(map(sorted, groups)) == sorted(map(sorted, largest))
    letters = group_letters(groups, systems)
    for one, two in pairs:
        assert ((one, two) in significant) == (not set(letters[one]) & set(letters[two]))


def test_group_letters_go_past_z():
    assert group_letters([(0,)] * 27, 1)[0].endswith("za1")


def test_groups_need_a_symmetric_table():
    with pytest.raises(UsageError, match="symmetric"):
        indistinguishable_groups([1.0, 2.0], [[1.0, 0.1], [0.2, 1.0]])
    with pytest.raises(UsageError, match="2 by 2"):
        indistinguishable_groups([1.0, 2.0], [[1.0]])


# Demšar, JMLR 7 (2006), table 5(a): critical values of the two-tailed Nemenyi test for 2 to 10
# systems at the levels 0.05 and 0.10.
NEMENYI = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}


@pytest.mark.parametrize("level", [0.05, 0.10])
def test_nemenyi_has_the_critical_values_of_the_paper(level):
    for systems, expected in enumerate(NEMENYI[level], 2):
        # With this number of queries, the square root is 1.
        queries = systems * (systems + 1) / 6
        value = nemenyi_difference(systems, queries, level=level)
        assert value == pytest.approx(expected, abs=0.0011)


def test_nemenyi_of_the_example_in_the_paper():
    """Section 3.2.2: four classifiers on 14 data sets."""
    assert nemenyi_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert nemenyi_difference(4, 14, level=0.10) == pytest.approx(1.12, abs=0.005)


def test_mean_ranks_and_friedman_by_their_definitions():
    generator = np.random.default_rng(5)
    scores = generator.integers(0, 4, size=(30, 5)) / 4.0
    found = mean_ranks(np.vstack([scores, [np.nan, 1, 1, 1, 1]]))
    # 1 + the number of better systems + half the number of other equal ones.
    better = (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    equal = (scores[:, None, :] == scores[:, :, None]).sum(axis=2) - 1
    ranks = 1 + better + equal / 2
    assert found.ranks == pytest.approx(ranks.mean(axis=0))
    # Conover 1999, (5.8.6): with ties, the variance of the ranks replaces k (k + 1) / 12.
    n, k = scores.shape
    spread = (ranks**2).sum() - n * k * (k + 1) ** 2 / 4
    statistic = (k - 1) * ((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum() / spread
    assert found.statistic == pytest.approx(statistic)
    assert found.p_value == pytest.approx(stats.chi2.sf(statistic, k - 1))
    assert found.queries == 30
    assert found.critical_difference == nemenyi_difference(5, 30)


def test_mean_ranks_of_equal_systems_and_of_two():
    found = mean_ranks(np.ones((7, 3)))
    assert (found.ranks, found.p_value) == ((2.0, 2.0, 2.0), 1.0)
    with pytest.raises(UsageError, match="at least 3 systems"):
        mean_ranks(np.ones((7, 2)))
    with pytest.raises(UsageError, match="0 queries"):
        mean_ranks([[np.nan, 1, 2]])


@pytest.mark.parametrize(("interval", "method"), [("auto", "BCa"), ("percentile", "percentile")])
def test_variance_of_means_is_that_of_scipy(interval, method):
    """SciPy's paired bootstrap of the same statistic, with other draws."""
    scores = np.random.default_rng(5).beta(1, 2, (60, 4)) + np.array([0.4, 0.2, 0.1, 0.0])

    def variance(*columns, axis):
        return np.var([column.mean(axis=axis) for column in columns], axis=0, ddof=1)

    expected = stats.bootstrap(
        scores.T, variance, paired=True, n_resamples=9999, method=method, rng=1
    ).confidence_interval
    found = variance_of_means(scores, interval=interval)
    width = expected.high - expected.low
    assert found.estimate[0] == pytest.approx(np.var(scores.mean(axis=0), ddof=1))
    assert found.low[0] == pytest.approx(expected.low, abs=0.06 * width)
    assert found.high[0] == pytest.approx(expected.high, abs=0.06 * width)


@given(scores=arrays(float, (7, 3), elements=st.floats(0, 1).map(lambda one: round(one, 3))))
@settings(max_examples=25)
def test_variance_of_means_ignores_order_and_level(scores):
    """The order of systems, and a number added to all scores, change nothing."""
    found, other = (
        variance_of_means(one, resamples=200) for one in (scores, scores[:, [2, 0, 1]] + 1)
    )
    assert found.estimate[0] == pytest.approx(np.var(scores.mean(axis=0), ddof=1))
    for name in ("low", "high"):
        one, two = getattr(found, name)[0], getattr(other, name)[0]
        assert one == pytest.approx(two, abs=1e-9, nan_ok=True)


def test_variance_of_means_without_an_interval():
    """Equal differences on every query, and a single query, leave nothing to vary."""
    found = variance_of_means(np.linspace(0, 1, 9)[:, None] + [0.0, 0.5])
    assert found.estimate[0] == pytest.approx(0.125)
    assert np.isnan([found.low[0], found.high[0]]).all()
    assert np.isnan(variance_of_means([[0.1, 0.9]]).low[0])
    with pytest.raises(UsageError, match="two systems"):
        variance_of_means([0.1, 0.9])
