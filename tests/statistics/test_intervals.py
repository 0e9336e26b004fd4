"""bootstrap_intervals: percentile and BCa intervals of means, medians and geometric means."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import bootstrap_intervals, mean_intervals
from trectools_plus.statistics.intervals import FEW_NOTE, GEOMETRIC_FLOOR, SMALL_NOTE

STATISTICS = {"mean": np.mean, "median": np.median, "geometric_mean": stats.gmean}
VALUES = arrays(
    np.float64,
    st.tuples(st.integers(2, 15), st.integers(1, 3)),
    elements=st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.7, 1.0]),
)


@pytest.mark.every(2)
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


@given(
    values=VALUES,
    statistic=st.sampled_from(list(STATISTICS)),
    method=st.sampled_from(["percentile", "bca"]),
)
def test_ends_are_ordered_finite_and_inside_the_data(values, statistic, method):
    result = bootstrap_intervals(values, statistic=statistic, method=method, resamples=200)
    floor = GEOMETRIC_FLOOR if statistic == "geometric_mean" else 0.0
    lowest, highest = (np.maximum(end, floor) for end in (values.min(0), values.max(0)))
    varying = values.min(0) < values.max(0)
    assert (result.low <= result.high)[varying].all()
    assert (result.low >= lowest * (1 - 1e-12))[varying].all()
    assert (result.high <= highest * (1 + 1e-12))[varying].all()


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("rows", [2, 6])
def test_equal_values_have_no_interval(statistic, method, rows):
    result = bootstrap_intervals(
        np.full((rows, 1), 0.3), statistic=statistic, method=method, resamples=100
    )
    assert result.estimate[0] == pytest.approx(0.3)
    assert np.isnan([result.low[0], result.high[0]]).all()


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
        ([], {}, "one row"),
    ],
)
def test_bad_input_is_refused(values, options, message):
    with pytest.raises(UsageError) as caught:
        bootstrap_intervals(values, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize(("hits", "n"), [(0, 2), (1, 2), (2, 2), (9, 10), (97, 100), (5000, 9999)])
def test_wilson_equals_scipy(hits, n, confidence):
    theirs = stats.binomtest(hits, n).proportion_ci(confidence, method="wilson")
    column = np.arange(n) < hits
    result = mean_intervals(column, interval="wilson", confidence=confidence)
    assert result.methods == ("wilson",)
    assert (result.low[0], result.high[0]) == pytest.approx((theirs.low, theirs.high), rel=1e-12)


@given(hits=st.integers(0, 40), misses=st.integers(0, 40))
def test_auto_is_wilson_for_fewer_than_ten_hits_or_misses(hits, misses):
    if hits + misses < 2:
        return
    column = np.array([1.0] * hits + [0.0] * misses)
    result = mean_intervals(column, resamples=200)
    few = min(hits, misses) < 10
    assert result.methods == ("wilson" if few else "bca",)
    same = mean_intervals(column, interval=result.methods[0], resamples=200)
    assert (result.low[0], result.high[0]) == (same.low[0], same.high[0])
    assert result.notes == (None,)


def test_the_method_is_chosen_for_each_column():
    rng = np.random.default_rng(0)
    saturated = np.where(np.arange(30) < 3, 0.5, 1.0)
    values = np.stack(
        [rng.random(30), np.arange(30) % 7 > 0, np.ones(30), np.full(30, 0.2), saturated], axis=1
    )
    result = mean_intervals(values, resamples=300)
    assert result.methods == ("bca", "wilson", "wilson", "", "bca")
    assert result.notes == (None, None, None, None, FEW_NOTE)
    assert result.high[2] == 1.0
    assert result.low[2] == pytest.approx(30 / (30 + stats.norm.ppf(0.975) ** 2))
    # Differences, and ranks, of which 1 is the lowest, are not shares.
    other = mean_intervals(values, proportions=False, resamples=300)
    assert other.methods == ("bca", "bca", "", "", "bca")


@pytest.mark.parametrize(("n", "other", "noted"), [(9, 9, True), (30, 9, True), (30, 10, False)])
@pytest.mark.parametrize("interval", ["percentile", "bca", "t"])
def test_few_values_that_differ_get_a_note(n, other, noted, interval):
    column = np.where(np.arange(n) < other, np.linspace(0.1, 0.9, n), 0.95)
    result = mean_intervals(column, interval=interval, resamples=300)
    assert (result.notes[0] == FEW_NOTE) == noted


@pytest.mark.parametrize(("n", "note"), [(10, FEW_NOTE), (19, SMALL_NOTE), (20, None)])
def test_few_values_get_a_note_up_to_the_size_with_93_percent_coverage(n, note):
    rng = np.random.default_rng(n)
    scores = rng.beta(0.5, 2.0, (n, 2_000))
    result = mean_intervals(scores, resamples=1_000)
    assert set(result.notes) == {note}
    covered = float(((result.low <= 0.2) & (result.high >= 0.2)).mean())
    assert covered > 0.92 if note is None else covered < 0.94
    undefined = np.vstack([scores[:, :1], [[np.nan]] * 5])
    assert mean_intervals(undefined, resamples=100).notes == (note,)


def test_t_equals_scipy_and_stays_in_the_unit_interval():
    rng = np.random.default_rng(4)
    values = np.stack([rng.normal(0.2, 1.0, 30), np.where(np.arange(30) < 2, 0.1, 1.0)], axis=1)
    values[3, 0] = np.nan
    result = mean_intervals(values, interval="t")
    column = values[~np.isnan(values[:, 0]), 0]
    theirs = stats.ttest_1samp(column, 0).confidence_interval()
    assert (result.low[0], result.high[0]) == pytest.approx((theirs.low, theirs.high))
    assert result.high[1] == 1.0
    assert result.resamples == 10_000


@pytest.mark.parametrize(("interval", "theirs"), [("bca", "BCa"), ("percentile", "percentile")])
def test_undefined_values_are_left_out_of_resamples(interval, theirs):
    column = np.random.default_rng(8).beta(0.5, 2.0, 80)
    holes = np.where(np.arange(80) % 4 == 0, np.nan, column)
    result = mean_intervals(holes, interval=interval)
    theirs = stats.bootstrap(
        (holes[~np.isnan(holes)],), np.mean, method=theirs, rng=np.random.default_rng(0)
    )
    tolerance = 0.15 * theirs.standard_error
    assert result.low[0] == pytest.approx(theirs.confidence_interval.low, abs=tolerance)
    assert result.high[0] == pytest.approx(theirs.confidence_interval.high, abs=tolerance)


def test_a_single_value_has_no_interval():
    values = np.array([[0.5, np.nan, np.nan], [np.nan, 0.25, np.nan], [np.nan, 0.75, np.nan]])
    result = mean_intervals(values, interval="percentile", resamples=500)
    assert result.n.tolist() == [1, 2, 0]
    assert result.estimate[:2].tolist() == [0.5, 0.5]
    assert (result.low[1], result.high[1]) == (0.25, 0.75)
    assert np.isnan([result.low[0], result.high[0], result.estimate[2], result.low[2]]).all()


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (np.empty((0, 2)), {}, "one row"),
        ([1.0], {"resamples": 0}, "at least 1 resample"),
        ([0.5, 1.0], {"interval": "basic"}, "percentile, bca, t"),
        ([0.5, 1.0], {"confidence": 1.0, "interval": "t"}, "between 0 and 1"),
        ([0.5, np.inf], {}, "infinite"),
    ],
)
def test_bad_options_of_means_are_refused(values, options, message):
    with pytest.raises(UsageError) as caught:
        mean_intervals(values, **options)
    assert message in str(caught.value)
