"""Power: against published tables, simulation, and itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import (
    mean_intervals,
    power_of_t_test,
    queries_needed,
    smallest_detectable_difference,
)


@pytest.mark.parametrize(("effect", "needed"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_queries_needed_for_cohens_small_medium_and_large_effects(effect, needed):
    """The figures of G*Power 3.1 for a two-sided paired t-test at 5% and 80%."""
    assert queries_needed(effect, 1.0) == needed
    assert queries_needed(-effect / 10, 0.1) == needed


def test_one_sided_power_is_the_share_of_intervals_that_show_non_inferiority():
    """The lower end of a 95% interval excludes the margin at the one-sided level of 2.5%."""
    margin, spread = 0.05, 0.2
    needed = queries_needed(margin, spread, level=0.025, one_sided=True)
    differences = np.random.default_rng(1).normal(0.0, spread, (needed, 20_000))
    low = mean_intervals(differences, interval="t", proportions=False).low
    assert (low > -margin).mean() == pytest.approx(0.8, abs=0.01)
    assert power_of_t_test(margin, spread, needed, level=0.025, one_sided=True) >= 0.8
    assert power_of_t_test(margin, spread, needed - 1, level=0.025, one_sided=True) < 0.8


def test_power_without_a_difference_is_the_level():
    assert power_of_t_test(0.0, 0.2, 50, level=0.01) == pytest.approx(0.01)
    assert power_of_t_test(0.0, 0.2, 50, level=0.01, one_sided=True) == pytest.approx(0.01)


@given(st.integers(2, 5_000), st.floats(0.01, 2.0), st.sampled_from([0.5, 0.8, 0.95]))
def test_the_smallest_detectable_difference_has_just_the_power(queries, spread, power):
    smallest = smallest_detectable_difference(spread, queries, power=power)
    assert power_of_t_test(smallest, spread, queries) == pytest.approx(power, abs=1e-8)
    assert queries_needed(smallest * (1 + 1e-9), spread, power=power) == queries


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: queries_needed(0.0, 1.0), "even 1,000,000,000 queries"),
        (lambda: queries_needed(1e-7, 1.0), "even 1,000,000,000 queries"),
        (lambda: queries_needed(0.1, 0.0), "standard deviation above 0"),
        (lambda: smallest_detectable_difference(float("nan"), 9), "standard deviation"),
        (lambda: smallest_detectable_difference(1.0, 1), "at least 2 queries"),
        (lambda: smallest_detectable_difference(1.0, 9, power=0.05), "between 0.05 and 1"),
        (lambda: power_of_t_test(0.1, 1.0, 9, level=5), "level"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()


@given(
    st.integers(2, 100_000), st.sampled_from([0.5, 0.8, 0.95]), st.sampled_from([0.2, 0.05, 0.01])
)
def test_power_and_smallest_difference_are_exactly_those_of_scipy(queries, power, level):
    def expected(difference):
        freedom, shift = queries - 1, np.sqrt(queries) * difference
        critical = stats.t.isf(level / 2.0, freedom)
        lower = stats.nct.sf(critical, freedom, -shift) if shift <= 8.0 else 0.0
        return min(1.0, stats.nct.sf(critical, freedom, shift) + lower)

    smallest = smallest_detectable_difference(1.0, queries, power=power, level=level)
    assert power_of_t_test(smallest, 1.0, queries, level=level) == expected(smallest)
    high = 1.0
    while expected(high) < power:
        high *= 2.0
    root = optimize.brentq(lambda x: expected(x) - power, 0.0, high, xtol=1e-12, rtol=1e-12)
    assert smallest == pytest.approx(root, rel=1e-11)
