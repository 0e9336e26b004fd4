"""Several systems: baselines, groups."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import UsageError
from trectools_plus.statistics import (
    indistinguishable_groups,
    pairs_of,
)


def test_the_baseline_is_not_in_the_family():
    assert pairs_of(4, [1]) == [(1, 0), (1, 2), (1, 3)]
    assert pairs_of(4, [0, 2]) == [(0, 1), (0, 3), (2, 1), (2, 3)]
    assert pairs_of(3) == [(0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("baselines", "message"), [([3], "from 0 to 2"), ([1, 1], "different baselines")]
)
def test_baselines_that_make_no_sense_are_refused(baselines, message):
    with pytest.raises(UsageError, match=message):
        pairs_of(3, baselines)


def p_table(systems, *significant):
    table = np.ones((systems, systems))
    for one, two in significant:
        table[one, two] = table[two, one] = 0.01
    return table


def test_groups_by_hand():
    """Best and worst differ, the middle one from neither: two groups that share it."""
    assert indistinguishable_groups([0.2, 0.4, 0.3], p_table(3, (0, 1))) == [(1, 2), (2, 0)]
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


def test_groups_need_a_symmetric_table():
    with pytest.raises(UsageError, match="symmetric"):
        indistinguishable_groups([1.0, 2.0], [[1.0, 0.1], [0.2, 1.0]])
    with pytest.raises(UsageError, match=r"2.*2"):
        indistinguishable_groups([1.0, 2.0], [[1.0]])
