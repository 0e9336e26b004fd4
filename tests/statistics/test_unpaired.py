"""Two samples of different queries. Null hypothesis: the values came to their samples by chance."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import unpaired_difference

FIRST = [0.1, 0.5, 0.7, 1.0, 1.0]
SECOND = [0.0, 0.2, 0.2, 0.3]


def test_small_samples_are_enumerated() -> None:
    pooled = FIRST + SECOND
    observed = np.mean(FIRST) - np.mean(SECOND)
    differences = []
    for chosen in combinations(range(len(pooled)), len(FIRST)):
        one = [pooled[at] for at in chosen]
        other = [pooled[at] for at in range(len(pooled)) if at not in chosen]
        differences.append(np.mean(one) - np.mean(other))
    upper = np.mean(np.array(differences) >= observed - 1e-12)
    lower = np.mean(np.array(differences) <= observed + 1e-12)
    found = unpaired_difference(FIRST, SECOND)
    assert found.p_permutation == pytest.approx(min(1.0, 2 * min(upper, lower)))


def test_welch_is_scipys() -> None:
    found = unpaired_difference(FIRST, SECOND, confidence=0.9)
    expected = stats.ttest_ind(FIRST, SECOND, equal_var=False)
    interval = expected.confidence_interval(0.9)
    assert found.p_welch == pytest.approx(expected.pvalue, rel=1e-12)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert found.difference == pytest.approx(np.mean(FIRST) - np.mean(SECOND))
    assert (found.n_first, found.n_second, found.level) == (5, 4, 0.9)


def test_one_sample_that_does_not_vary() -> None:
    found = unpaired_difference([1.0] * 6, SECOND)
    half = stats.t.ppf(0.975, 3) * stats.sem(SECOND)  # as of a single sample
    difference = 1.0 - np.mean(SECOND)
    assert (found.low, found.high) == pytest.approx((difference - half, difference + half))


def test_samples_that_do_not_vary() -> None:
    same = unpaired_difference([1, 1, 1], [1, 1])
    assert (same.difference, same.low, same.high, same.p_permutation) == (0, 0, 0, 1)
    apart = unpaired_difference([1] * 10, [0] * 10)
    assert (apart.low, apart.high) == (1, 1)
    assert apart.p_permutation < 0.001
    assert math.isnan(apart.p_welch)


@pytest.mark.parametrize(
    ("first", "second"), [([], [1, 2]), ([1], [1, 2]), ([1, np.nan], [1, 2]), ([[1, 2]], [1, 2])]
)
def test_what_cannot_be_compared_is_refused(first: object, second: object) -> None:
    with pytest.raises(UsageError):
        unpaired_difference(first, second)
