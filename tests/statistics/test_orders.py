"""Rank correlations: published examples, definitions, limits."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import kendall_tau, tau_ap

SCORES = st.lists(st.integers(0, 4), min_size=2, max_size=6)


def test_tau_ap_by_hand():
    """Estimated order b a c d for the reference a b c d: ranks 2, 3, 4 have 0/1, 2/2, 3/3."""
    assert tau_ap([4, 3, 2, 1], [3, 4, 2, 1]) == pytest.approx(2 / 3 * 2 - 1)
    # The same exchange at the bottom costs less: 1/1, 2/2, 2/3.
    assert tau_ap([4, 3, 2, 1], [4, 3, 1, 2]) == pytest.approx(2 / 3 * (2 + 2 / 3) - 1)
    assert np.isnan(tau_ap([1.0], [1.0]))


def tau_ap_of_order(reference, order):
    """τ_AP by its definition for an estimated order without ties."""
    total = 0.0
    for rank in range(1, len(order)):
        here = reference[order[rank]]
        above = [reference[item] for item in order[:rank]]
        total += sum(1.0 if other > here else 0.5 * (other == here) for other in above) / rank
    return 2 * total / (len(order) - 1) - 1


@given(st.data())
def test_tau_ap_averages_over_the_orders_of_tied_items(data):
    reference = data.draw(SCORES)
    items = range(len(reference))
    estimated = data.draw(st.lists(st.integers(0, 2), min_size=len(items), max_size=len(items)))
    orders = [
        order
        for order in itertools.permutations(items)
        if all(estimated[a] >= estimated[b] for a, b in itertools.pairwise(order))
    ]
    expected = np.mean([tau_ap_of_order(reference, order) for order in orders])
    assert tau_ap(reference, estimated) == pytest.approx(expected)


@given(
    st.lists(st.tuples(st.integers(-4, 4), st.floats(-1, 1, width=16)), min_size=2, max_size=80),
    st.integers(0, 2),
)
def test_kendall_tau_is_bit_for_bit_scipys(pairs, digits):
    first, second = np.array(pairs).T
    second = np.round(second, digits)
    expected = stats.kendalltau(first, second).statistic
    np.testing.assert_array_equal(kendall_tau(first, second), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kendall_tau([1], [1, 2]), "arrays of shape"),
        (lambda: tau_ap([], []), "arrays of shape"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()
