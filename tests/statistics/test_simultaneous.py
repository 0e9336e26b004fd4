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
from trectools_plus.statistics import compare_columns, pairwise_differences, resamples
from trectools_plus.statistics.paired_tests import PAIRED_TESTS, bootstrap_test, scale_to_range
from trectools_plus.statistics.resamples import (
    CenteredFamily,
    count_maxima,
    draw_counts,
    map_chunks,
)
from trectools_plus.statistics.systems import compare_families, compare_simultaneously

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
        assert excludes == (bool(p_adjusted <= round(1 - confidence, 12)) and not one.borderline)
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


def plain_maxima(table, resamples, seed):
    """The largest t statistic of each resample, with all statistics in memory at once."""
    rows, columns = table.shape

    def draw(size, generator):
        counts = draw_counts(rows, size, generator)
        found = np.empty((size, columns))
        for place, count in enumerate(counts):
            drawn = np.repeat(table, count.astype(int), axis=0)
            mean, spread = np.abs(drawn.mean(axis=0)), drawn.std(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                error = np.where(spread**2 > 1e-12, spread / np.sqrt(rows - 1), 1 / rows)
            found[place] = mean / error
            if rows <= 8 and count.max() == rows:
                found[place] = np.inf
        return found

    found = np.concatenate(map_chunks(draw, rows, resamples, seed))
    return found.max(axis=1), found


@given(
    table=arrays(
        np.float64,
        st.tuples(st.integers(2, 12), st.integers(1, 5)),
        elements=st.sampled_from([0.0, 0.5, -1.0]) | st.floats(-1, 1),
    ),
    seed=st.integers(0, 50),
    blocks=st.sampled_from([(2, 1), (7, 2), (1024, 256)]),
)
@settings(max_examples=settings().max_examples // 4, deadline=None)
def test_maxima_in_blocks_are_those_of_the_plain_definition(table, seed, blocks):
    scaled, _ = scale_to_range(table - table.mean(axis=0))
    threshold = np.linspace(0.5, 3.0, table.shape[1])
    expected, statistics = plain_maxima(scaled, 40, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resamples, "RESAMPLES_PER_BLOCK", blocks[0])
        patch.setattr(resamples, "COLUMNS_PER_BLOCK", blocks[1])
        family = CenteredFamily(scaled, np.ones_like(scaled, dtype=bool), threshold)
        ((maxima, extreme),) = count_maxima([family], 40, seed)
    assert maxima == pytest.approx(expected, rel=1e-6)
    near = np.abs(statistics - threshold) < 1e-6
    assert (extreme <= (statistics >= threshold - 1e-6).sum(axis=0)).all()
    assert (extreme >= (statistics >= threshold).sum(axis=0) - near.sum(axis=0)).all()


def test_families_together_have_the_results_of_each_alone():
    families = [pair_near_the_level(0.0604), pair_near_the_level(0.3), np.zeros((50, 3))]
    comparisons = [compare_columns(one) for one in families]
    together = compare_families(families, comparisons, resamples=2000)
    drawn = set()
    for table, found, (changed, adjusted) in zip(families, comparisons, together, strict=True):
        alone, adjusted_alone = compare_simultaneously(table, found, resamples=2000)
        assert changed == alone
        np.testing.assert_array_equal(adjusted, adjusted_alone)
        drawn |= {one.resamples for one in changed}
    assert len(drawn) > 2  # one family draws more resamples than another


def pair_near_the_level(mean):
    """Differences of 50 queries whose p-value is just below, at or above 0.05."""
    noise = np.random.default_rng(11).normal(0, 0.25, 50)
    return np.column_stack([np.zeros(50), noise - noise.mean() + mean])


@pytest.mark.parametrize(("mean", "significant"), [(0.0604, False), (0.062, True)])
def test_the_seed_does_not_decide(mean, significant, thorough):
    """With 10,000 resamples, the p-values of the seeds are on both sides of 0.05."""
    scores = pair_near_the_level(mean)
    decisions, first = [], []
    seeds = range(30 if thorough else 10)
    for seed in seeds:
        found = pairwise_differences(scores, seed=seed)
        (one,) = found.comparisons
        decisions.append(bool(found.p_adjusted[0] <= 0.05) and not one.borderline)
        assert decisions[-1] == (one.low > 0)
        first.append(bootstrap_test(scores[:, 1], seed=seed).p_value[0])
    assert decisions.count(significant) >= len(seeds) - 1
    assert min(first) < 0.05 < max(first)


def test_what_more_resamples_cannot_decide_is_borderline(monkeypatch):
    monkeypatch.setattr(resamples, "MOST_TIMES", 4)
    found = pairwise_differences(pair_near_the_level(0.0612), resamples=1000)
    (one,) = found.comparisons
    assert one.borderline
    assert one.resamples == 4000
    assert one.low <= 0 <= one.high
    monkeypatch.setattr(resamples, "MOST_CELLS", 50 * 41 * 2000)
    again = pairwise_differences(pair_near_the_level(0.0612), resamples=1000)
    assert again.comparisons[0].resamples == 2000
    clear = pairwise_differences(pair_near_the_level(0.2), resamples=1000).comparisons[0]
    assert (clear.borderline, clear.resamples) == (False, 1000)


def test_more_draws_keep_order_and_seed(monkeypatch):
    monkeypatch.setattr(resamples, "MOST_TIMES", 4)
    scores = pair_near_the_level(0.0612)
    one = pairwise_differences(scores, resamples=500)
    again = pairwise_differences(scores, resamples=500)
    turned = pairwise_differences(scores[::-1, ::-1], resamples=500)
    assert one.comparisons == again.comparisons
    assert one.p_adjusted[0] == again.p_adjusted[0] == turned.p_adjusted[0]
    assert one.comparisons[0].low == pytest.approx(-turned.comparisons[0].high)


@pytest.mark.parametrize("test", ["randomisation", "paired_bootstrap"])
def test_other_drawn_tests_draw_more_too(test, monkeypatch):
    monkeypatch.setattr(resamples, "MOST_TIMES", 8)
    scores = pair_near_the_level(0.0625)
    found = pairwise_differences(scores, test=test, resamples=1000)
    table = (scores[:, 1] - scores[:, 0])[:, None]
    for drawn in (1000, 2000, 4000, 8000):
        p = PAIRED_TESTS[test](table, drawn, 42).p_value[0]
        decided = abs(p - 0.05) > 2.576 * (0.05 * 0.95 / drawn) ** 0.5
        if decided:
            break
    assert found.p_adjusted[0] == p
    assert found.comparisons[0].borderline == (not decided)
    exact = pairwise_differences(scores, test="t_test", resamples=1000)
    assert not exact.comparisons[0].borderline


def test_degenerate_differences():
    def compare(differences, **options):
        scores = np.column_stack([np.zeros(len(differences)), differences])
        found = pairwise_differences(scores, **options)
        return found.comparisons[0], found.p_adjusted[0]

    one, p = compare([0.0] * 30)
    assert (one.low, one.high, p) == (None, None, 1.0)
    # Equal differences have no spread: their number decides.
    for n in range(1, 6):
        one, p = compare([0.25] * n)
        assert (one.low, one.high) == (None, None)
        assert p >= 2 / 2**n
    one, p = compare([0.25] * 12)
    assert (one.low, one.high) == pytest.approx((0.25, 0.25))
    assert p == 2 / 2**12
    # Two and three queries never have an interval, whatever their values.
    for differences in ([0.1, 0.11], [0.1, 0.11, 0.12]):
        one, p = compare(differences)
        assert (one.low, one.high) == (None, None)
        assert p >= 2 / 2 ** len(differences)
    # Five discordant queries of a hundred, all in favour: the exact p-value is 0.0625.
    one, p = compare([1.0] * 5 + [0.0] * 95)
    assert p >= 0.0625
    assert one.low <= 0 < one.high
    one, p = compare([1.0] * 12 + [0.0] * 88)
    assert p < 0.05
    assert 0 < one.low < 0.12 < one.high < 1


def test_a_measure_that_few_queries_define_does_not_decide_the_others():
    differences = np.full((40, 2), np.nan)
    differences[:3, 0] = [1.0, 1.1, 1.2]
    differences[:, 1] = np.random.default_rng(8).normal(0.3, 0.4, 40)
    found, adjusted = compare_simultaneously(differences, compare_columns(differences))
    assert adjusted[0] >= 0.25
    assert adjusted[1] < 0.01
    assert found[0].low is None or found[0].low <= 0 <= found[0].high


def test_large_families_can_be_significant():
    """Every pair of 40 systems: Holm's smallest p-value of 10,000 resamples would be 0.078."""
    rng = np.random.default_rng(9)
    scores = rng.beta(2, 4, (50, 1)) + rng.normal(0, 0.05, (50, 40))
    scores[:, 7] += 0.4
    found = pairwise_differences(scores)
    assert len(found.pairs) == 780
    significant = [pair for pair, p in zip(found.pairs, found.p_adjusted, strict=True) if p <= 0.05]
    assert {pair for pair in found.pairs if 7 in pair} <= set(significant)
    assert all(7 in pair for pair in significant)


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
def test_documented_families_agree_with_a_small_simulation(simulate, table, thorough):
    families = 200 if thorough else 50
    found = simulate.compare_families("skewed", "unequal variances", 25, 8, families)
    names = ("bca", "max_t") if table == "intervals" else ("any holm", "any max_t")
    for family, column in (("all pairs", "8 runs"), ("baseline", "8 runs, baseline")):
        label = "unequal variances, skewed, n = 25"
        expected = documented(table, label, column).split(" → ")
        for name, figure in zip(names, expected, strict=True):
            share = float(figure) / 100
            error = (share * (1 - share) / families) ** 0.5
            assert found[family][name] == pytest.approx(share, abs=4 * error)
