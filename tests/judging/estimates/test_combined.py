"""Means from judgments of people and of a model."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.judging.combined import (
    WORTHWHILE,
    combine_judgments,
    people_needed,
)

# n, N, weight, and the estimate and interval of ppi_mean_ci of ppi_py 0.2.3 for the same data,
# with the other N - n queries as its unlabelled sample and the weight times (N - n) / N.
PPI_PY = [
    (20, 60, 0.3, 0.4173128445973405, 0.30118021548789636, 0.5334454737067846),
    (30, 100, 0.8, 0.319907071836528, 0.24085278707550792, 0.39896135659754806),
    (50, 200, 1.0, 0.3583022108494121, 0.29114994051984083, 0.4254544811789834),
    (40, 400, 0.0, 0.29195560814977706, 0.20465207038482236, 0.37925914591473175),
    (25, 1000, 0.55, 0.3353543525670309, 0.24031383002189677, 0.430394875112165),
]


def _draw(seed, n, total):
    rng = np.random.default_rng(seed)
    y = rng.beta(0.6, 1.2, total)
    f = np.clip(0.2 + 0.6 * y + rng.normal(0, 0.2, total), 0, 1)
    return y, f, rng.permutation(total)[:n]


@pytest.mark.parametrize("seed", range(len(PPI_PY)))
def test_agrees_with_another_implementation_at_a_fixed_weight(seed):
    n, total, weight, estimate, low, high = PPI_PY[seed]
    y, f, judged = _draw(seed, n, total)
    found = combine_judgments(y[judged], f, judged, weight=weight).combined
    assert found.mean == pytest.approx(estimate, abs=1e-12)
    # The other has normal quantiles, denominators n, and samples without common queries.
    scale = stats.norm.ppf(0.975) / stats.t.ppf(0.975, n - 1) * math.sqrt((n - 1) / n)
    assert found.width * scale == pytest.approx(high - low, rel=0.03)


@given(st.integers(0, 10_000), st.integers(20, 40))
def test_formulas_written_out(seed, n):
    y, f, judged = _draw(seed, n, 60)
    people, at, total = y[judged], f[judged], len(f)
    weight = min(1.0, max(0.0, np.cov(people, at)[0, 1] / f.var(ddof=1)))
    residual = people - weight * at
    spread = residual.var(ddof=1)
    if weight > 0:
        leverage = (at - at.mean()) ** 2 / ((at - at.mean()) ** 2).sum()
        spread = ((residual - residual.mean()) ** 2 / (1 - leverage)).sum() / (n - 2)
    shared = 2 * weight * np.cov(residual, at)[0, 1] / total
    variance = spread / n + weight**2 * f.var(ddof=1) / total + shared
    centre = people.mean() + weight * (f.mean() - at.mean())
    half = stats.t.ppf(0.975, n - 1) * math.sqrt(variance)
    found = combine_judgments(people, f, judged)
    assert found.combined == pytest.approx((centre, centre - half, centre + half), abs=1e-9)
    assert found.weight == pytest.approx(weight)


def test_a_useless_model_is_ignored():
    y, f, judged = _draw(3, 30, 100)
    found = combine_judgments(y[judged], 1.0 - f, judged)
    assert found.weight == 0.0
    assert found.combined == found.people
    assert found.effective == 30
    assert found.effective < WORTHWHILE * found.n
    constant = combine_judgments(y[judged], np.ones(100), judged)
    assert constant.combined == constant.people
    assert math.isnan(constant.correlation)


def test_people_needed():
    y, f, judged = _draw(6, 40, 400)
    width = 0.15
    needed, alone = people_needed(y[judged], f, judged, width)
    assert needed < alone
    spread = 2 * stats.t.ppf(0.975, alone - 1) * y[judged].std(ddof=1) / math.sqrt(alone)
    before = 2 * stats.t.ppf(0.975, alone - 2) * y[judged].std(ddof=1) / math.sqrt(alone - 1)
    assert spread <= width < before
    assert people_needed(y[judged], f, judged, 1e-6) == (None, None)
    assert people_needed(np.ones(40), f, judged, width) == (None, None)


@pytest.mark.parametrize(
    ("people", "model", "judged", "options"),
    [
        ([0.1, 0.2], [0.1, 0.2, 0.3], [0, 0], {}),
        ([[0.1, 0.2], [0.1, 0.3]], [0.1, 0.2, 0.3], [0, 1], {}),
        ([0.1, 0.2], [0.1, 0.2, 0.3], [0, 3], {}),
        ([0.1, 0.2], [0.1, 0.2, 0.3], [0], {}),
        ([0.1], [0.1, 0.2, 0.3], [0], {}),
        ([0.1, math.nan], [0.1, 0.2, 0.3], [0, 1], {}),
        ([0.1, 0.2], [0.1, 0.2, 0.3], [0, 1], {"weight": 2.0}),
        ([0.1, 0.2], [0.1, 0.2, 0.3], [0, 1], {"confidence": 1.0}),
    ],
)
def test_wrong_arguments(people, model, judged, options):
    with pytest.raises(UsageError):
        combine_judgments(people, model, judged, **options)
