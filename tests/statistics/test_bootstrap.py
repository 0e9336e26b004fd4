from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from trectools_plus.errors import UsageError
from trectools_plus.statistics import mean_intervals

bootstrap_means = partial(mean_intervals, interval="percentile")
UNIT = st.floats(0, 1, allow_subnormal=False)


def scipy_interval(column, seed, resamples=10_000, confidence=0.95):
    result = stats.bootstrap(
        (column,),
        np.mean,
        n_resamples=resamples,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return result.confidence_interval


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_equals_scipy_within_monte_carlo_error(confidence):
    rng = np.random.default_rng(3)
    columns = np.stack(
        [rng.random(200), rng.beta(0.3, 1.0, 200), (rng.random(200) < 0.1).astype(float)], axis=1
    )
    ours = bootstrap_means(columns, seed=1, confidence=confidence)
    for index, column in enumerate(columns.T):
        # A quantile of 10,000 draws has a standard error of about 0.03 standard errors of the mean;
        # means of zeros and ones move in steps of 1/200.
        step = 1 / 200 if set(column) <= {0.0, 1.0} else 0.0
        tolerance = 0.12 * column.std(ddof=1) / np.sqrt(len(column)) + 1.01 * step
        theirs = scipy_interval(column, index, confidence=confidence)
        assert ours.low[index] == pytest.approx(theirs.low, abs=tolerance)
        assert ours.high[index] == pytest.approx(theirs.high, abs=tolerance)


@given(arrays(np.float64, st.tuples(st.integers(2, 30), st.integers(1, 4)), elements=UNIT))
def test_intervals_lie_in_the_data_and_are_deterministic(values):
    first = bootstrap_means(values, resamples=200, seed=5)
    second = bootstrap_means(values, resamples=200, seed=5)
    assert first.low.tobytes() == second.low.tobytes()
    assert first.high.tobytes() == second.high.tobytes()
    varying = np.ptp(values, axis=0) > 1e-12
    assert (np.isnan(first.low) == ~varying).all()
    assert (np.isnan(first.high) == ~varying).all()
    assert (first.low <= first.high)[varying].all()
    assert (first.low >= values.min(axis=0) - 1e-12)[varying].all()
    assert (first.high <= values.max(axis=0) + 1e-12)[varying].all()
    np.testing.assert_allclose(first.estimate, values.mean(axis=0), rtol=0, atol=1e-12)


def test_undefined_values_are_left_out():
    values = np.array([[0.5, np.nan, np.nan], [1.0, 0.25, np.nan], [0.0, 0.75, np.nan]])
    result = bootstrap_means(values, resamples=500, seed=0)
    assert result.n.tolist() == [3, 2, 0]
    assert result.estimate[:2].tolist() == pytest.approx([0.5, 0.5])
    assert (result.low[1], result.high[1]) == (0.25, 0.75)
    assert np.isnan([result.estimate[2], result.low[2], result.high[2]]).all()


def test_a_single_value_has_no_interval():
    values = np.array([[0.5, np.nan], [np.nan, 0.25], [np.nan, 0.75]])
    for table, n in ((values[:1, :1], [1]), (values, [1, 2])):
        result = bootstrap_means(table, resamples=100, seed=0)
        assert result.n.tolist() == n
        assert result.estimate[0] == 0.5
        assert np.isnan([result.low[0], result.high[0]]).all()
    assert (result.low[1], result.high[1]) == (0.25, 0.75)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (np.empty((0, 2)), {}, "one row"),
        ([[np.inf]], {}, "infinite"),
        ([[1.0]], {"resamples": 0}, "at least 1 resample"),
        ([[1.0]], {"confidence": 95}, "between 0 and 1"),
    ],
)
def test_bad_input_is_refused(values, options, message):
    with pytest.raises(UsageError, match=message):
        bootstrap_means(values, seed=0, **options)
