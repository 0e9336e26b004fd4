"""Families of differences: the paired t-test with Holm, its intervals, and their edge cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from trectools_plus.statistics import compare_columns, paired_difference
from trectools_plus.statistics.comparison import TESTS, fewest_changes
from trectools_plus.statistics.scores import Method, PairedScores, compare_scores

NAN = float("nan")
TABLES = arrays(
    np.float64,
    st.tuples(st.integers(1, 25), st.integers(1, 6)),
    elements=st.sampled_from([0.0, 0.25, 0.5, 1.0, -0.25, NAN]) | st.floats(-1, 1),
)


def holm(p_values, alpha):
    """Holm's adjusted p-values, and the level at which each is tested, by the step-down itself."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, levels = {}, {}
    largest, level, stopped = 0.0, 0.0, False
    for step, place in enumerate(order):
        remaining = len(p_values) - step
        largest = max(largest, remaining * p_values[place])
        adjusted[place] = min(1.0, largest)
        if not stopped:
            level = alpha / remaining
            stopped = remaining * p_values[place] > alpha
        levels[place] = level
    for place in order:
        equal = [other for other in order if p_values[other] == p_values[place]]
        levels[place] = min(levels[other] for other in equal)
    places = range(len(p_values))
    return [adjusted[place] for place in places], [levels[place] for place in places]


def family_of(seed):
    """Return random scores of a baseline and of several systems, and the family's level."""
    rng = np.random.default_rng(seed)
    queries, systems = rng.integers(12, 80), rng.integers(1, 12)
    baseline = rng.beta(1.0, 2.0, queries)
    shift = rng.choice([0.0, 0.03, 0.1], systems)
    noise = rng.normal(0.0, 0.15, (queries, systems))
    systems = np.clip(baseline[:, None] + shift + noise, 0.0, 1.0)
    return baseline, systems, float(rng.choice([0.9, 0.95, 0.99]))


@pytest.mark.every(5)
@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_random_families_have_the_figures_of_scipy_and_holm(start):
    for seed in range(start, start + 100):
        baseline, systems, confidence = family_of(seed)
        found = compare_columns(systems - baseline[:, None], confidence=confidence)
        p_values = [stats.ttest_rel(column, baseline).pvalue for column in systems.T]
        adjusted, levels = holm(p_values, round(1 - confidence, 12))
        for column, one in enumerate(found):
            assert one.p_value == pytest.approx(p_values[column], abs=1e-12)
            assert one.p_adjusted == pytest.approx(adjusted[column], abs=1e-12)
            theirs = stats.ttest_rel(systems[:, column], baseline)
            low, high = theirs.confidence_interval(1 - levels[column])
            assert (one.low, one.high) == pytest.approx((low, high), abs=1e-9)
            assert one.level == pytest.approx(1 - levels[column])
            assert one.significant == (one.low > 0 or one.high < 0)


@given(table=TABLES, confidence=st.sampled_from([0.9, 0.95, 0.99]))
@settings(max_examples=settings().max_examples // 2)
def test_an_interval_excludes_0_exactly_if_the_difference_is_significant(table, confidence):
    for one in compare_columns(table, confidence=confidence):
        assert (one.low is None) == (one.reason is not None)
        if one.low is not None:
            assert one.significant == (one.low > 0 or one.high < 0)
            assert one.low <= one.difference <= one.high
            assert one.level >= confidence
        if one.n < 2:
            assert (one.p_value, one.p_adjusted, one.significant) == (None, None, False)
        else:
            assert one.p_value <= one.p_adjusted


@pytest.mark.parametrize(("alpha", "changes"), [(0.05, 6), (0.10, 5), (0.01, 8), (0.25, 3)])
def test_a_family_needs_as_many_changes_as_a_sign_test(alpha, changes):
    assert fewest_changes(alpha) == changes
    table = np.zeros((50, 2))
    table[: changes - 1, 0] = np.linspace(0.4, 0.6, changes - 1)
    table[:changes, 1] = np.linspace(0.4, 0.6, changes)
    few, enough = compare_columns(table, confidence=1 - alpha)
    theirs = stats.ttest_1samp(table, 0)
    assert (few.reason, few.low, few.p_adjusted, few.significant) == ("few_changed", None, 1, False)
    assert few.p_value == pytest.approx(theirs.pvalue[0], abs=1e-12)
    assert few.statistic == pytest.approx(theirs.statistic[0])
    assert enough.reason is None
    assert enough.low is not None
    # The pair with few changes is in the family, with a p-value of 1.
    assert enough.p_adjusted == pytest.approx(2 * theirs.pvalue[1])


def test_equal_differences_have_the_p_value_of_their_signs():
    table = np.column_stack([np.full(8, 0.1), np.full(8, -0.2), np.zeros(8)])
    up, down, none = compare_columns(table)
    for one, difference in ((up, 0.1), (down, -0.2)):
        assert one.p_value == 2.0**-7
        assert (one.p_adjusted, one.significant) == (pytest.approx(3 * 2.0**-7), True)
        assert (one.low, one.high, one.effect_size, one.reason) == (None, None, None, "equal")
        assert (one.difference, one.statistic) == (difference, None)
    assert (none.p_value, none.p_adjusted, none.low) == (1.0, 1.0, None)
    assert (none.difference, none.significant) == (0.0, False)
    # With fewer than six, they are few.
    assert compare_columns(np.full(5, 0.1))[0].reason == "few_changed"


def test_equal_p_values_share_the_strictest_level():
    column = np.random.default_rng(3).normal(0.15, 0.3, 30)
    table = np.column_stack([column, -column, column * 0.0 + np.linspace(-1, 1, 30)])
    one, mirrored, other = compare_columns(table)
    assert one.p_value == pytest.approx(mirrored.p_value)
    assert 0.05 / 3 > one.p_value > 0.05 / 6
    assert one.level == mirrored.level == pytest.approx(1 - 0.05 / 3)
    assert (one.low, one.high) == pytest.approx((-mirrored.high, -mirrored.low))
    assert one.p_adjusted == pytest.approx(3 * one.p_value)
    assert mirrored.p_adjusted == pytest.approx(3 * one.p_value)
    assert other.p_value > 0.5


def test_differences_are_rounded_to_12_decimals():
    before = np.tile([0.1, 0.3, 0.7], 10)
    tiny = before + np.where(np.arange(30) % 2, 4e-13, -4e-13)
    one = paired_difference(tiny, before)
    assert (one.ties, one.p_value, one.spread, one.low) == (30, 1.0, 0.0, None)
    equal = paired_difference(before + 0.1, before)  # 0.1 + 0.1 - 0.1 differs in the last bits
    assert (equal.wins, equal.reason, equal.p_value) == (30, "equal", 2.0**-29)
    assert paired_difference([0.1 + 0.2, 0.5], [0.3, 0.5]).ties == 2


def test_undefined_values_are_left_out_of_their_pair():
    table = np.random.default_rng(4).normal(0.2, 0.3, (30, 4))
    table[:4, 1] = NAN
    table[1:, 2] = NAN
    table[:, 3] = NAN
    whole, holes, single, nothing = compare_columns(table)
    assert [one.n for one in (whole, holes, single, nothing)] == [30, 26, 1, 0]
    assert holes.p_value == pytest.approx(stats.ttest_1samp(table[4:, 1], 0).pvalue)
    # Pairs with fewer than two queries are not in the family of two.
    adjusted, levels = holm([whole.p_value, holes.p_value], 0.05)
    assert [whole.p_adjusted, holes.p_adjusted] == pytest.approx(adjusted)
    assert [1 - whole.level, 1 - holes.level] == pytest.approx(levels)
    for one in (single, nothing):
        assert (one.p_value, one.p_adjusted, one.low, one.reason) == (None,) * 3 + ("few_queries",)
    assert single.difference == pytest.approx(table[0, 2], abs=1e-12)
    assert nothing.difference is None


@pytest.mark.parametrize(("correction", "agrees"), [("none", True), ("bh", False)])
def test_other_corrections_have_unadjusted_intervals(correction, agrees):
    table = np.random.default_rng(5).normal(0.12, 0.4, (40, 20))
    found = compare_columns(table, correction=correction)
    p_values = stats.ttest_1samp(table, 0).pvalue
    expected = p_values if agrees else stats.false_discovery_control(p_values)
    assert [one.p_adjusted for one in found] == pytest.approx(expected.tolist())
    assert {one.level for one in found} == {0.95}
    excludes = [one.low > 0 or one.high < 0 for one in found]
    assert (excludes == [one.significant for one in found]) is agrees


@pytest.mark.parametrize("test", TESTS)
def test_the_interval_beside_every_test_is_that_of_t(test):
    table = np.random.default_rng(6).normal(0.1, 0.3, (40, 3))
    found = compare_columns(table, test=test, resamples=999)
    adjusted, levels = holm([one.p_value for one in found], 0.05)
    assert [one.p_adjusted for one in found] == pytest.approx(adjusted)
    for column, one in enumerate(found):
        interval = stats.ttest_1samp(table[:, column], 0).confidence_interval(1 - levels[column])
        assert (one.low, one.high) == pytest.approx((interval.low, interval.high))
        assert one.test == test


def entry(differences, **options):
    after = np.array(differences, float)
    ids = [str(place) for place in range(len(after))]
    scores = PairedScores("A", "B", "F1", ids, np.zeros(len(after)), after)
    return compare_scores([scores], Method({}, **options))[0]


@pytest.mark.parametrize("test", TESTS)
def test_a_report_has_the_test_that_was_asked_for(test):
    document = entry([0.1, 0.2, -0.1, 0.4, 0.3, 0.2, 0.1], test=test).model_dump(mode="json")
    assert set(TESTS) & set(document) == {test}
    assert document["test"] == test
    assert document[test]["p"] == document["p_adjusted"]
    assert "reason" not in document
    assert entry([0.1, 0.0, 0.0]).model_dump()["reason"] == "few_changed"
