"""One comparison of two systems, whatever the scores are of."""

import numpy as np
import pytest

from trectools_plus.statistics.scores import Method, PairedScores, compare_scores

NAN = float("nan")


def scores(before, after, ids=None, measure="F1", **further):
    ids = [f"d{place}" for place in range(len(before))] if ids is None else ids
    return PairedScores(
        "A", "B", measure, ids, np.array(before, float), np.array(after, float), **further
    )


def test_a_comparison_is_over_what_both_define():
    one = scores([0.1, NAN, 0.3, 0.5], [0.2, 0.9, NAN, 0.4])
    assert one.counts == (3, 3)
    assert one.means == pytest.approx((0.3, 0.5))
    assert list(one.shared.ids) == ["d0", "d3"]
    assert one.spread == pytest.approx(np.std([0.1, -0.1], ddof=1))
    found = compare_scores([one], Method({}))[0]
    assert (found.n, found.baseline, found.contrast) == (2, "A", "B")
    assert found.difference == pytest.approx(0.0)


def test_changes_are_in_order_and_know_the_direction():
    one = scores([0.1, 0.2, 0.3, 0.4], [0.1, 0.7, 0.1, 0.6])
    assert [change.query_id for change in one.changes()] == ["d1", "d2", "d3"]
    assert [change.query_id for change in one.changes(only_losses=True)] == ["d2"]
    lower = scores(one.before, one.after, higher_is_better=False)
    assert [change.query_id for change in lower.changes(only_losses=True)] == ["d1", "d3"]
