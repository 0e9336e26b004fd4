"""Bayesian comparison: against baycomp, a simulated posterior, and calibration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import bayesian_comparison, paired_difference

# Student (1908): hours of sleep gained by ten patients, drug 2 minus drug 1.
SLEEP = np.array([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4])
# fmt: off
SCORES = np.array([
    0.224, -0.236, 0.062, -0.037, -0.025, -0.002, -0.182, -0.003, -0.067, 0.352,
    0.043, -0.015, -0.008, -0.047, -0.086, -0.019, 0.068, -0.004, 0.116, 0.0,
])
# fmt: on


def probabilities(differences, rope=0.0):
    found = bayesian_comparison(differences, np.zeros(len(differences)), rope=rope)
    return found.worse, found.equivalent, found.better


@pytest.mark.parametrize(
    ("differences", "rope", "expected"),
    [
        (SLEEP, 0, (0.0014164450986920984, 0, 0.9985835549013079)),
        (SLEEP, 0.5, (0.00023190270448159315, 0.010527340673905705, 0.9892407566216127)),
        (SLEEP, 1.5, (1.2008824322453698e-05, 0.42079797550246045, 0.579190015673217)),
        (SCORES, 0, (0.40742435820341916, 0, 0.5925756417965808)),
        (SCORES, 0.01, (0.28046248725867606, 0.2654753045333871, 0.45406220820793686)),
        (SCORES, 0.05, (0.029453618556747295, 0.899859490922039, 0.07068689052121369)),
    ],
)
def test_figures_of_baycomp(differences, rope, expected):
    """``Posterior(mean, variance / n, n - 1, rope).probs()`` of baycomp 1.0.3."""
    assert probabilities(differences, rope) == pytest.approx(expected, rel=1e-9)


def test_a_simulated_posterior_has_the_same_probabilities():
    """Draw the variance from its scaled inverse chi-square, then the mean given the variance."""
    rng = np.random.default_rng(5)
    n, draws = len(SCORES), 400_000
    variance = SCORES.var(ddof=1) * (n - 1) / rng.chisquare(n - 1, draws)
    mean = rng.normal(SCORES.mean(), np.sqrt(variance / n))
    expected = [(mean < -0.02).mean(), (np.abs(mean) <= 0.02).mean(), (mean > 0.02).mean()]
    assert probabilities(SCORES, 0.02) == pytest.approx(expected, abs=0.003)


@given(
    arrays(np.float64, st.integers(2, 40), elements=st.floats(-1, 1)),
    st.floats(0, 0.3),
)
def test_three_probabilities(differences, rope):
    worse, equivalent, better = found = probabilities(differences, rope)
    assert sum(found) == pytest.approx(1.0)
    assert all(0.0 <= one <= 1.0 for one in found)
    assert probabilities(-differences, rope) == pytest.approx((better, equivalent, worse))
    wider = probabilities(differences, rope + 0.1)
    assert wider[0] <= worse
    assert wider[2] <= better


def test_without_a_region_the_probability_is_that_of_the_one_sided_t_test():
    p = stats.ttest_1samp(SCORES, 0.0, alternative="greater").pvalue
    assert probabilities(SCORES)[2] == pytest.approx(1 - p)
    two_sided = paired_difference(SCORES, np.zeros(20)).tests["t_test"].p_value
    assert 2 * min(probabilities(SCORES)[0::2]) == pytest.approx(two_sided)


@pytest.mark.parametrize(
    ("difference", "rope", "expected"),
    [
        (0.0, 0.0, (0, 1, 0)),
        (0.1, 0.0, (0, 0, 1)),
        (-0.1, 0.05, (1, 0, 0)),
        (0.1, 0.1, (0, 1, 0)),
        (0.1, 0.2, (0, 1, 0)),
    ],
)
def test_equal_differences_are_certain(difference, rope, expected):
    assert probabilities(np.full(7, difference), rope) == expected


def test_one_query_has_no_posterior():
    assert bayesian_comparison([0.5], [0.4]) is None


@pytest.mark.parametrize("rope", [-0.1, float("nan"), float("inf")])
def test_an_invalid_region_is_refused(rope):
    with pytest.raises(UsageError, match="of at least 0"):
        bayesian_comparison([0.5, 0.4], [0.4, 0.4], rope=rope)


@pytest.mark.parametrize("queries", [25, 200])
def test_the_posterior_is_calibrated(queries):
    """The probability that the difference is above its true value is uniform in [0, 1]."""
    rng = np.random.default_rng(queries)
    base = rng.beta(0.5, 2.0, (1_500, queries))
    one, two = (np.clip(base + rng.normal(0.0, 0.15, base.shape), 0.0, 1.0) for _ in range(2))
    found = np.array([probabilities(row)[2] for row in one - two])
    for share in (0.05, 0.2, 0.5, 0.8, 0.95):
        assert (found <= share).mean() == pytest.approx(share, abs=0.03)
