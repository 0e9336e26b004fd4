"""Intervals of non-inferiority: Tango's definition, few changes, and the rate of errors."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from trectools_plus.statistics import wilson_intervals
from trectools_plus.statistics.paired_tests import non_inferiority_interval

DRAWS = 1_000


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
    wilson = wilson_intervals([losses], [40], 0.95)
    assert -low == pytest.approx(wilson[1][0], abs=1e-9)
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


def draw(kind, generator, n, margin):
    """Draw scores of a contrast that is truly worse by the margin, and of its baseline."""
    baseline = generator.beta(2.0, 2.0, n)
    if kind == "dense":
        return baseline + generator.normal(-margin, 0.15, n), baseline
    if kind == "hits":
        kinds = generator.choice([1, -1, 0], n, p=[0.1, 0.1 + margin, 0.8 - margin])
        return np.where(kinds == 1, 1.0, 0.0), np.where(kinds == -1, 1.0, 0.0)
    changes = generator.random(n) < 0.5
    if kind == "sparse":
        sizes = generator.normal(-margin / 0.5, 0.25, n)
    else:
        sizes = -generator.uniform(0.0, 2.0 * margin / 0.5, n)
    return baseline + np.where(changes, sizes, 0.0), baseline


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", ["dense", "sparse", "hits", "losses"])
@pytest.mark.parametrize("n", [25, 50, 200])
def test_few_of_the_truly_worse_pass(kind, n):
    generator = np.random.default_rng([n, len(kind)])
    margin = 0.1
    passed = 0
    for _ in range(DRAWS):
        interval = non_inferiority_interval(*draw(kind, generator, n, margin), 0.95)
        passed += interval is not None and interval[0] > -margin
    # 3%, and three standard errors of the simulation.
    assert passed / DRAWS <= 0.03 + 3.0 * np.sqrt(0.03 * 0.97 / DRAWS)
