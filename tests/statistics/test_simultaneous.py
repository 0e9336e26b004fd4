"""Simultaneous intervals: they agree with the p-values, and cover the whole family."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trectools_plus import compare
from trectools_plus.statistics import compare_columns, pairwise_differences
from trectools_plus.statistics.resamples import draw_counts, map_chunks
from trectools_plus.statistics.systems import compare_simultaneously

ROOT = Path(__file__).parents[2]
SCORES = arrays(
    np.float64,
    st.tuples(st.integers(1, 25), st.integers(2, 4)),
    elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1),
)


@given(
    scores=SCORES,
    shift=st.sampled_from([0.0, 0.1, 0.5, 2.0]),
    confidence=st.sampled_from([0.8, 0.95]),
    baselines=st.sampled_from([[], [0]]),
)
@settings(max_examples=settings().max_examples // 2)
def test_an_interval_excludes_0_exactly_if_the_pair_is_significant(
    scores, shift, confidence, baselines
):
    scores = scores + shift * np.arange(scores.shape[1])
    found = pairwise_differences(
        scores, baselines=baselines, correction="max_t", resamples=199, confidence=confidence
    )
    assert (found.test, found.correction) == ("max_t", "max_t")
    for one, p_adjusted in zip(found.comparisons, found.p_adjusted, strict=True):
        excludes = one.low is not None and (one.low > 0 or one.high < 0)
        assert excludes == bool(p_adjusted <= round(1 - confidence, 12))
        assert p_adjusted >= one.tests["paired_bootstrap"].p_value
        if one.low is not None:
            assert one.low <= one.difference <= one.high


def test_a_family_of_one_is_the_paired_bootstrap():
    scores = np.random.default_rng(2).random((40, 2))
    found = pairwise_differences(scores, correction="max_t")
    alone = compare_columns(scores[:, 1] - scores[:, 0])[0]
    assert found.p_adjusted[0] == alone.tests["paired_bootstrap"].p_value
    assert found.comparisons[0].tests["paired_bootstrap"].p_value == found.p_adjusted[0]


def test_the_order_of_the_queries_changes_nothing():
    scores = np.random.default_rng(3).random((30, 4)).round(1)
    one = pairwise_differences(scores, correction="max_t", resamples=500)
    two = pairwise_differences(scores[::-1], correction="max_t", resamples=500)
    assert one.p_adjusted.tolist() == two.p_adjusted.tolist()
    for here, there in zip(one.comparisons, two.comparisons, strict=True):
        assert (here.low, here.high) == pytest.approx((there.low, there.high))


def test_intervals_are_wider_than_of_one_pair_and_undefined_pairs_are_left_out():
    differences = np.random.default_rng(4).normal(0.1, 0.4, (60, 3))
    differences[:5, 1] = np.nan
    differences[:, 2] = np.nan
    comparisons = compare_columns(differences, interval="t")
    found, adjusted = compare_simultaneously(differences, comparisons)
    assert [one.n for one in found] == [60, 55, 0]
    assert np.isnan(adjusted[2])
    assert found[2].low is None
    for one, other in zip(found[:2], comparisons[:2], strict=True):
        assert one.high - one.low > other.high - other.low
        assert one.difference == other.difference


def test_one_pair_with_hardly_any_difference_does_not_spoil_the_family():
    differences = np.zeros((200, 2))
    differences[0, 0] = 1.0
    differences[:, 1] = np.random.default_rng(5).normal(0.3, 0.4, 200)
    found, adjusted = compare_simultaneously(differences, compare_columns(differences))
    assert adjusted[1] < 0.001 < 0.3 < adjusted[0]
    assert found[0].note is not None
    assert found[1].note is None


def test_compare_offers_them():
    rng = np.random.default_rng(6)
    qrels = {f"q{n}": {"d1": 1} for n in range(30)}
    runs = {
        name: {f"q{n}": {"d1": rng.random(), "d2": 0.5, "d3": 0.3} for n in range(30)}
        for name in "abc"
    }
    found = compare(qrels, runs, ["RR"], correction="max_t", resamples=500)
    for entry in found:
        assert entry.correction == entry.test == "max_t"
        assert entry.ci.method == "max-t bootstrap, simultaneous"
        assert entry.significant == (entry.ci.low > 0 or entry.ci.high < 0)
        assert entry.p == entry.paired_bootstrap.p <= entry.p_adjusted
    (other, *_) = compare(qrels, runs, ["RR"], test="t_test", interval="t", resamples=500)
    assert other.p == other.t_test.p
    assert other.ci.method == "Student t"


@pytest.fixture(scope="module")
def simulate():
    loader = SourceFileLoader("simulate", str(ROOT / "scripts" / "simulate"))
    module = module_from_spec(spec_from_loader("simulate", loader))
    import sys

    sys.modules["simulate"] = module
    loader.exec_module(module)
    yield module
    del sys.modules["simulate"]


def documented(corner: str, label: str, column: str) -> str:
    """Read a cell of a table in docs/statistics.md, by its first cell, row and column."""
    page = (ROOT / "docs" / "statistics.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page]
    for place, header in enumerate(rows):
        if header[0] == corner and column in header:
            for row in rows[place + 2 :]:
                if len(row) != len(header):
                    break
                if row[0] == label:
                    return row[header.index(column)]
    raise AssertionError(f"no figure {corner}, {label}, {column}")


@pytest.mark.parametrize("size", [25, 50])
@pytest.mark.parametrize("kind", ["skewed", "saturated", "hit rate 0.97"])
def test_documented_coverage_agrees_with_a_small_simulation(simulate, kind, size):
    draws = 500
    found = simulate.coverage(size, draws, simulate.SCORES[kind], proportions=True)
    for method, share in found.items():
        expected = float(documented("scores", f"{kind}, n = {size}", method).rstrip("%")) / 100
        assert share == pytest.approx(expected, abs=4 * (expected * (1 - expected) / draws) ** 0.5)


def in_the_order_of_compare_simultaneously(differences):
    """Return the queries in the order by values in which resamples count them."""
    means = differences.mean(axis=0)
    positive = np.where(means < 0, -differences, differences)
    largest_first = np.argsort(-np.abs(means), kind="stable")
    return differences[np.lexsort(positive[:, largest_first].T[::-1])]


@pytest.mark.parametrize("kind", ["nDCG-like", "skewed"])
@pytest.mark.parametrize("systems", [2, 4])
def test_the_simulation_has_the_intervals_of_the_package(simulate, kind, systems):
    rng = np.random.default_rng(systems)
    scores, _ = simulate.VALUES[kind].draw(rng, (1, 30, systems), "unequal variances")
    first, second = np.triu_indices(systems, 1)
    differences = scores[0][:, second] - scores[0][:, first]
    differences = in_the_order_of_compare_simultaneously(differences)
    options = {"resamples": 999, "seed": 7}
    counts = np.concatenate(map_chunks(lambda size, draw: draw_counts(30, size, draw), 30, 999, 7))
    comparisons = compare_columns(differences, interval="bca", tests=(), **options)
    found, adjusted = compare_simultaneously(differences, comparisons, **options)
    assert (adjusted > 0.1).all()  # no pair needs more resamples
    (halves,) = simulate.max_t_half_widths(counts, differences, [len(found)])
    assert [one.high - one.difference for one in found] == pytest.approx(halves.tolist())
    for column, one in enumerate(comparisons):
        step = (one.high - one.low) / 50
        for truth, inside in (
            (one.low - step, False),
            (one.low + step, True),
            (one.high - step, True),
            (one.high + step, False),
        ):
            values = differences[:, [column]]
            assert simulate.bca_covers(counts, values, np.array([truth]), [1]) == [inside]


@pytest.mark.parametrize("table", ["intervals", "decisions"])
def test_documented_families_agree_with_a_small_simulation(simulate, table):
    families = 200
    found = simulate.compare_families("skewed", "unequal variances", 25, 8, families)
    names = ("bca", "max_t") if table == "intervals" else ("any holm", "any max_t")
    for family, column in (("all pairs", "8 runs"), ("baseline", "8 runs, baseline")):
        label = "unequal variances, skewed, n = 25"
        expected = documented(table, label, column).split(" → ")
        for name, figure in zip(names, expected, strict=True):
            share = float(figure) / 100
            error = (share * (1 - share) / families) ** 0.5
            assert found[family][name] == pytest.approx(share, abs=4 * error)
