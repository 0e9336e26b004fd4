"""The corrected mean of the best of many variants."""

import numpy as np
import pytest
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import mean_intervals, select_winner
from trectools_plus.statistics.arrays import draw_counts, map_chunks


def _variants(seed=1, queries=40, variants=6):
    rng = np.random.default_rng(seed)
    return np.clip(rng.beta(1, 2, (queries, 1)) + rng.normal(0, 0.2, (queries, variants)), 0, 1)


def _plain(table, resamples, seed):
    """Return corrected mean and interval, one resample after the other."""
    n, variants = table.shape
    counts = np.concatenate(
        map_chunks(lambda size, rng: draw_counts(n, size, rng), max(n, variants), resamples, seed)
    )
    scored, fixed, times = [], [], 0
    best = int(table.mean(axis=0).argmax())
    for drawn in counts:
        means = [float((drawn * column).sum() / n) for column in table.T]
        winner = next(at for at, mean in enumerate(means) if mean >= max(means) - 1e-12)
        times += winner == best
        rest = drawn == 0
        if rest.any():
            scored.append(table[rest, winner].mean())
            fixed.append(1 / rest.sum() - 1 / n)
    variance = table[:, best].var(ddof=1)
    extra = max(0.0, np.var(scored) - variance * np.mean(fixed))
    half = stats.t.ppf(0.975, n - 1) * np.sqrt(variance / n + extra)
    centre = float(np.mean(scored))
    moved = max(0.0, times / resamples * (table[:, best].mean() - centre) / 4)
    return centre, max(0.0, centre - half), min(1.0, centre + half + moved)


@pytest.mark.parametrize("shape", [(40, 6), (7, 3), (3, 12)])
def test_it_is_the_mean_of_choices_scored_on_other_queries(shape):
    table = _variants(3, *shape)
    found = select_winner(table, resamples=300, seed=5)
    corrected, low, high = _plain(table, 300, 5)
    assert found.column == table.mean(axis=0).argmax()
    assert found.mean == pytest.approx(table.mean(axis=0).max())
    assert (found.corrected_mean, found.low, found.high) == pytest.approx((corrected, low, high))
    assert found.optimism == pytest.approx(found.mean - corrected)
    assert found.chosen.sum() == pytest.approx(1.0)


def test_a_lower_mean_can_be_better():
    table = _variants()
    low = select_winner(1 - table, higher_is_better=False, resamples=200)
    high = select_winner(table, resamples=200)
    assert low.column == high.column
    assert low.optimism == pytest.approx(high.optimism)
    assert low.optimism > 0
    assert low.corrected_mean == pytest.approx(1 - high.corrected_mean)
    assert (low.low, low.high) == pytest.approx((1 - high.high, 1 - high.low))


def test_one_variant_leaves_no_choice():
    table = _variants(variants=1)
    found = select_winner(table, resamples=100)
    usual = mean_intervals(table, interval="t")
    assert (found.corrected_mean, found.optimism) == (found.mean, 0.0)
    assert (found.low, found.high) == pytest.approx((usual.low[0], usual.high[0]))


def test_queries_without_a_score_are_left_out():
    table = _variants()
    table[3, 2] = np.nan
    found = select_winner(table, resamples=50)
    assert found.n == 39
    assert (
        found.corrected_mean == select_winner(np.delete(table, 3, 0), resamples=50).corrected_mean
    )


def test_a_single_query_shows_nothing():
    found = select_winner([[0.2, 0.4]], resamples=10)
    assert (found.column, found.mean) == (1, 0.4)
    assert np.isnan([found.corrected_mean, found.optimism, found.low, found.high]).all()


@pytest.mark.parametrize("table", [np.empty((3, 0)), np.full((2, 2), np.nan), [[np.inf, 1.0]]])
def test_what_cannot_be_compared_is_refused(table):
    with pytest.raises(UsageError):
        select_winner(table)
