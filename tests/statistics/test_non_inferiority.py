"""Intervals of non-inferiority: Tango's definition, few changes, and the rate of errors."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from trectools_plus.statistics import wilson_intervals
from trectools_plus.statistics.paired_tests import non_inferiority_interval


def hits(n, gains, losses):
    contrast, baseline = np.zeros((2, n))
    contrast[:gains] = 1.0
    baseline[gains : gains + losses] = 1.0
    return contrast, baseline


def score_statistic(gains, losses, n, difference):
    """Return the score statistic, with the most likely shares under a difference."""

    def cost(share):
        shares = np.array([share + difference, share, 1.0 - 2.0 * share - difference])
        return -np.sum(np.array([gains, losses, n - gains - losses]) * np.log(shares))

    bounds = max(0.0, -difference) + 1e-12, (1.0 - difference) / 2.0 - 1e-12
    share = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
    variance = n * (2.0 * share + difference - difference**2)
    return (gains - losses - n * difference) / np.sqrt(variance)


@pytest.mark.parametrize(("gains", "losses", "n"), [(12, 2, 50), (3, 9, 40), (5, 5, 25)])
def test_hits_have_tangos_interval(gains, losses, n):
    low, high, method = non_inferiority_interval(*hits(n, gains, losses), 0.95)
    assert method == "tango"
    assert score_statistic(gains, losses, n, low) == pytest.approx(1.959964, abs=1e-4)
    assert score_statistic(gains, losses, n, high) == pytest.approx(-1.959964, abs=1e-4)


@pytest.mark.parametrize("losses", [0, 1, 5, 40])
def test_with_losses_alone_the_loss_is_wilsons(losses):
    low, high, _ = non_inferiority_interval(*hits(40, 0, losses), 0.95)
    assert -low == pytest.approx(wilson_intervals([losses], [40], 0.95)[1][0], abs=1e-9)
    assert high >= -losses / 40


def test_other_scores_need_ten_changes():
    scores = np.linspace(0.1, 0.9, 40)
    changed = scores.copy()
    changed[:9] -= 0.05
    assert non_inferiority_interval(changed, scores, 0.95) is None
    changed[9] -= 0.08
    low, high, method = non_inferiority_interval(changed, scores, 0.95)
    assert method == "t_extra_losses"
    # The two extra queries lose as much as the largest change.
    extra = np.append(changed - scores, [-0.08, -0.08])
    half = 2.019541 * extra.std(ddof=1) / np.sqrt(42)
    assert low == pytest.approx(extra.mean() - half, rel=1e-6)
    assert low < (changed - scores).mean() < high < 0
    assert non_inferiority_interval(scores[:1], scores[:1], 0.95) is None
