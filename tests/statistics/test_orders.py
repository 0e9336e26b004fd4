"""Rank correlations: published examples, definitions, limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import kendall_tau


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
        (lambda: kendall_tau([], []), "arrays of shape"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()
