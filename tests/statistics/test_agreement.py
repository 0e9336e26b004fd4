"""Cohen's kappa and Krippendorff's alpha: scikit-learn, published examples, invariances."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from trectools_plus.blas import one_blas_thread
from trectools_plus.errors import UsageError
from trectools_plus.statistics import cohens_kappa, krippendorffs_alpha

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)
_ = np.nan
# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: four observers (rows).
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
RATINGS = np.array(OBSERVERS).T


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
@given(pairs=PAIRS)
def test_kappa_equals_scikit_learn(weights, pairs):
    first, second = zip(*pairs, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cohen_kappa_score(
            first, second, labels=range(4), weights=None if weights == "none" else weights
        )
    ours = cohens_kappa(first, second, weights=weights, categories=range(4), resamples=50)
    assert ours.value == pytest.approx(theirs, nan_ok=True)


def test_kappa_by_hand():
    """Both yes 20, both no 15, split 5 and 10 of 50: (0.7 − 0.5) / (1 − 0.5)."""
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    result = cohens_kappa(first, second)
    assert result.value == pytest.approx(0.4)
    assert result.n == 50
    # Its large-sample standard error is 0.127 (Fleiss, Cohen and Everitt 1969).
    assert (result.low, result.high) == pytest.approx((0.14, 0.65), abs=0.04)


def test_intervals_of_clusters_equal_resampling_the_clusters(thorough):
    rng = np.random.default_rng(1)
    clusters = rng.integers(0, 15, 90)
    tendency = rng.random(15)[clusters]
    first = rng.integers(0, 3, 90)
    second = np.where(rng.random(90) < tendency, first, rng.integers(0, 3, 90))
    ratings = np.column_stack([first, second])
    kappas, alphas = [], []
    with one_blas_thread():
        for _ in range(1_500 if thorough else 400):
            rows = np.concatenate(
                [np.flatnonzero(clusters == one) for one in rng.integers(0, 15, 15)]
            )
            kappas.append(cohens_kappa(first[rows], second[rows], resamples=1).value)
            alphas.append(krippendorffs_alpha(ratings[rows], metric="ordinal", resamples=1).value)
    named = [f"q{one}" for one in clusters]
    kappa = cohens_kappa(first, second, clusters=named)
    alpha = krippendorffs_alpha(ratings, metric="ordinal", clusters=named)
    plain = cohens_kappa(first, second)
    assert (kappa.low, kappa.high) == pytest.approx(np.quantile(kappas, [0.025, 0.975]), abs=0.03)
    assert (alpha.low, alpha.high) == pytest.approx(np.quantile(alphas, [0.025, 0.975]), abs=0.03)
    assert kappa.value == plain.value
    assert kappa.high - kappa.low > plain.high - plain.low


def test_agreement_on_a_single_category_is_undefined():
    for result in (cohens_kappa([1, 1], [1, 1]), krippendorffs_alpha([[1, 1], [1, 1]])):
        assert np.isnan([result.value, result.low, result.high]).all()


def test_agreement_on_a_single_item_has_no_interval():
    for result in (cohens_kappa([1], [2]), krippendorffs_alpha([[1, 2]])):
        assert result.value == 0.0
        assert np.isnan([result.low, result.high]).all()


@pytest.mark.parametrize(
    ("metric", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_krippendorffs_own_example(metric, expected):
    """α = 0.743 nominal, 0.815 ordinal, 0.849 interval, over the 11 units with two values."""
    result = krippendorffs_alpha(RATINGS, metric=metric)
    assert result.value == pytest.approx(expected, abs=5e-4)
    assert result.n == 11
    assert result.low < result.value < result.high


def alpha_by_definition(ratings, distance):
    """α by its definition, pair by pair."""
    rows = [[value for value in row if value == value] for row in ratings]
    rows = [row for row in rows if len(row) > 1]
    values = [value for row in rows for value in row]
    observed = sum(
        distance(a, b, values) / (len(row) - 1) for row in rows for a in row for b in row
    )
    expected = sum(distance(a, b, values) for a in values for b in values) / (len(values) - 1)
    return 1 - observed / expected if expected else np.nan


def between(a, b, values):
    low, high = min(a, b), max(a, b)
    if low == high:
        return 0.0
    inside = sum(low <= value <= high for value in values)
    return (inside - (values.count(a) + values.count(b)) / 2) ** 2


DISTANCES = {
    "nominal": lambda a, b, _values: float(a != b),
    "ordinal": between,
    "interval": lambda a, b, _values: (a - b) ** 2,
}


@pytest.mark.parametrize("metric", DISTANCES)
@given(
    st.lists(
        st.lists(st.sampled_from([1.0, 2.0, 3.5, np.nan]), min_size=3, max_size=3),
        min_size=1,
        max_size=8,
    ).filter(lambda rows: any(sum(v == v for v in row) > 1 for row in rows)),
    st.randoms(),
)
def test_alpha_equals_its_definition_in_any_order(metric, rows, random):
    result = krippendorffs_alpha(rows, metric=metric, resamples=40)
    expected = alpha_by_definition(rows, DISTANCES[metric])
    assert result.value == pytest.approx(expected, nan_ok=True, abs=1e-9)
    shuffled = [random.sample(row, 3) for row in rows]
    random.shuffle(shuffled)
    assert repr(krippendorffs_alpha(shuffled, metric=metric, resamples=40)) == repr(result)


def test_alpha_takes_labels_and_missing_ones():
    result = krippendorffs_alpha(
        [["a", "a", None], ["b", None, "b"], ["a", "b", "b"]], resamples=20
    )
    assert result.n == 3
    assert result.value == pytest.approx(1 - (2 / 2 * 2) * 6 / (2 * 3 * 4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohens_kappa([1], [1, 2]), "arrays of labels"),
        (lambda: cohens_kappa([], []), "arrays of labels"),
        (lambda: cohens_kappa([1, None], [1, 2]), "missing"),
        (lambda: cohens_kappa([1.0, np.nan], [1, 2]), "missing"),
        (lambda: cohens_kappa([1, 4], [1, 2], categories=[1, 2]), "4 is not among"),
        (lambda: cohens_kappa([1], [1], weights="cubic"), "unknown weighting"),
        (lambda: cohens_kappa([1, 2], [1, 2], clusters=[1]), "cluster of each of 2 items"),
        (lambda: krippendorffs_alpha([1, 2]), "items, raters"),
        (lambda: krippendorffs_alpha(1), "items, raters"),
        (lambda: krippendorffs_alpha([[1, 2]], clusters=[1, 2]), "cluster of each of 1 items"),
        (lambda: krippendorffs_alpha([[1, np.nan]]), "two ratings"),
        (lambda: krippendorffs_alpha([["a", "b"]], metric="interval"), "expected numbers"),
        (lambda: krippendorffs_alpha([[1, 2]], metric="ratio"), "unknown metric"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()
