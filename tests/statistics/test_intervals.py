"""bootstrap_intervals: percentile and BCa intervals of means, medians and geometric means."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import bootstrap_intervals, bootstrap_means
from trectools_plus.statistics.bootstrap import GEOMETRIC_FLOOR, LOCATIONS

STATISTICS = {"mean": np.mean, "median": np.median, "geometric_mean": stats.gmean}
VALUES = arrays(
    np.float64,
    st.tuples(st.integers(2, 15), st.integers(1, 3)),
    elements=st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.7, 1.0]),
)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize(("rows", "confidence"), [(60, 0.95), (61, 0.8)])
def test_equals_scipy_within_monte_carlo_error(statistic, method, rows, confidence):
    rng = np.random.default_rng(7)
    values = np.stack([rng.beta(0.5, 2.0, rows), rng.random(rows)], axis=1) + 0.01
    ours = bootstrap_intervals(values, statistic=statistic, method=method, confidence=confidence)
    for column in range(2):
        theirs = stats.bootstrap(
            (values[:, column],),
            STATISTICS[statistic],
            n_resamples=10_000,
            confidence_level=confidence,
            method="BCa" if method == "bca" else method,
            rng=np.random.default_rng(column),
        )
        # An end's own standard error is about 0.03 of the statistic's; the median moves in steps.
        tolerance = (0.35 if statistic == "median" else 0.15) * theirs.standard_error
        low, high = theirs.confidence_interval
        assert ours.low[column] == pytest.approx(low, abs=tolerance)
        assert ours.high[column] == pytest.approx(high, abs=tolerance)
        assert ours.estimate[column] == pytest.approx(STATISTICS[statistic](values[:, column]))


def test_bca_moves_towards_the_long_tail():
    values = np.random.default_rng(2).exponential(size=50)
    percentile = bootstrap_intervals(values)
    bca = bootstrap_intervals(values, method="bca")
    assert bca.low[0] > percentile.low[0]
    assert bca.high[0] > percentile.high[0]


def check_leave_one_out(statistic, table):
    location = LOCATIONS[statistic]
    ours = np.sort(location.leave_one_out(table), axis=0)
    rows = range(len(table))
    theirs = np.stack([location.estimate(np.delete(table, row, axis=0)) for row in rows])
    np.testing.assert_allclose(ours, np.sort(theirs, axis=0), atol=1e-12)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("rows", range(2, 13))
def test_leave_one_out_of_distinct_values(statistic, rows):
    check_leave_one_out(statistic, np.random.default_rng(rows).random((rows, 2)))


@pytest.mark.parametrize("statistic", STATISTICS)
@given(
    table=arrays(np.float64, st.tuples(st.integers(2, 12), st.just(2)), elements=st.floats(0, 1))
)
def test_leave_one_out_is_leaving_out_each_row_in_turn(statistic, table):
    check_leave_one_out(statistic, table)


@given(
    values=VALUES,
    statistic=st.sampled_from(list(STATISTICS)),
    method=st.sampled_from(["percentile", "bca"]),
)
def test_ends_are_ordered_finite_and_inside_the_data(values, statistic, method):
    result = bootstrap_intervals(values, statistic=statistic, method=method, resamples=200)
    floor = GEOMETRIC_FLOOR if statistic == "geometric_mean" else 0.0
    lowest, highest = (np.maximum(end, floor) for end in (values.min(0), values.max(0)))
    assert (result.low <= result.high).all()
    assert (result.low >= lowest * (1 - 1e-12)).all()
    assert (result.high <= highest * (1 + 1e-12)).all()


@given(values=VALUES)
def test_a_percentile_interval_holds_the_mean(values):
    result = bootstrap_intervals(values, resamples=1_000)
    assert (result.low <= result.estimate + 1e-12).all()
    assert (result.estimate <= result.high + 1e-12).all()


@pytest.mark.parametrize("statistic", STATISTICS)
def test_resamples_are_shared_by_columns_and_statistics(statistic):
    values = np.random.default_rng(1).random((70, 4))
    together = bootstrap_intervals(values, statistic=statistic, method="bca", seed=2)
    alone = bootstrap_intervals(values[:, 3], statistic=statistic, method="bca", seed=2)
    assert together.low[3] == pytest.approx(alone.low[0], rel=1e-12)


def test_equals_bootstrap_means():
    values = np.random.default_rng(1).random((70, 4))
    ours, others = bootstrap_intervals(values, seed=3), bootstrap_means(values, seed=3)
    np.testing.assert_allclose(ours.low, others.low, rtol=1e-12)
    np.testing.assert_allclose(ours.high, others.high, rtol=1e-12)
    np.testing.assert_allclose(ours.estimate, others.estimate, rtol=1e-12)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("rows", [2, 6])
def test_equal_values_have_an_interval_of_no_width(statistic, method, rows):
    result = bootstrap_intervals(
        np.full((rows, 1), 0.3), statistic=statistic, method=method, resamples=100
    )
    assert result.low[0] == result.high[0] == result.estimate[0] == pytest.approx(0.3)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_a_single_value_has_no_interval(statistic, method):
    result = bootstrap_intervals([0.3], statistic=statistic, method=method, resamples=100)
    assert result.estimate[0] == pytest.approx(0.3)
    assert np.isnan([result.low[0], result.high[0]]).all()


def test_one_value_unlike_the_others_gives_finite_bca_ends():
    result = bootstrap_intervals([0.0] * 199 + [1.0], method="bca", confidence=0.999)
    assert 0.0 <= result.low[0] < 1 / 200 < result.high[0] <= 1.0


def test_geometric_mean_floors_zeros_as_trec_eval_does():
    """trec_eval's gm_map of 0 and 0.4 is exp((ln 0.00001 + ln 0.4) / 2)."""
    result = bootstrap_intervals([0.0, 0.4], statistic="geometric_mean")
    assert result.estimate[0] == pytest.approx((1e-5 * 0.4) ** 0.5)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([[np.nan], [1.0]], {}, "NaN"),
        ([[-1.0]], {"statistic": "geometric_mean"}, "at least 0"),
        ([[1.0]], {"statistic": "mode"}, "unknown statistic 'mode'"),
        ([[1.0]], {"method": "basic"}, "expected percentile, bca"),
        ([[1.0]], {"confidence": 1.0}, "between 0 and 1"),
        ([[1.0]], {"resamples": 0}, "at least 1 resample"),
        ([], {}, "at least one row"),
    ],
)
def test_bad_input_is_refused(values, options, message):
    with pytest.raises(UsageError) as caught:
        bootstrap_intervals(values, **options)
    assert message in str(caught.value)


def test_intervals_cover_at_200_queries():
    """Of 2,000 samples of zero-inflated scores, 95% intervals hold the true mean in 93–97%."""
    rng = np.random.default_rng(11)
    scores = np.where(rng.random((200, 2_000)) < 0.4, 0.0, rng.beta(1.0, 2.0, (200, 2_000)))
    truth = 0.6 / 3.0
    for method in ("percentile", "bca"):
        result = bootstrap_intervals(scores, method=method, resamples=2_000)
        covered = ((result.low <= truth) & (truth <= result.high)).mean()
        assert 0.93 <= covered <= 0.97
