"""The pieces of the page: axes, verdicts, embedded JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trectools_plus.reporting.html.page import embed_json, make_title, make_verdict
from trectools_plus.reporting.html.views import WIDTH, make_scale


@pytest.mark.parametrize(
    "values",
    [[0.31, 0.39], [0.0, 1.0], [5.0, 5.0], [None], [], [-0.04, 0.002], [1e-7, 3e-7], [12.0, 980.0]],
)
@pytest.mark.parametrize("around_zero", [True, False])
def test_an_axis_holds_its_values_in_few_round_steps(
    values: list[float | None], around_zero: bool
) -> None:
    scale = make_scale(values, around_zero=around_zero)
    known = [value for value in values if value is not None]
    assert all(scale.low <= value <= scale.high for value in known)
    places = [tick.x for tick in scale.ticks]
    assert 2 <= len(places) <= 7
    assert places == sorted(places)
    assert all(0 < place < WIDTH for place in places)
    assert scale.ticks[0].label
    assert scale.ticks[-1].label
    if around_zero:
        assert scale.low == pytest.approx(-scale.high)


def test_labels_say_where_the_ends_are() -> None:
    scale = make_scale([0.264, 0.375])
    assert [float(scale.ticks[0].label), float(scale.ticks[-1].label)] == [scale.low, scale.high]
    assert scale.place(scale.low) == scale.ticks[0].x
    assert scale.place(None) is None


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        (
            {"a": {"RR@10": 0.2}, "b": {"RR@10": 0.5}},
            "b has the highest RR@10, 0.5000, and is significantly ahead of a over 225 queries.",
        ),
        (
            {"a": {"RR@10": 0.2}, "b": {"RR@10": 0.3}, "c": {"RR@10": 0.5}},
            "c has the highest RR@10, 0.5000, and is significantly ahead of every other mode "
            "over 225 queries.",
        ),
        (
            {"a": {"RR@10": 0.49}, "b": {"RR@10": 0.5}},
            "b has the highest RR@10, 0.5000, but the difference from a is not significant "
            "(225 queries).",
        ),
        (
            {"a": {"RR@10": 0.4}},
            "a has RR@10 0.4000 (95% interval 0.370 to 0.430) over 225 queries.",
        ),
    ],
)
def test_the_verdict_says_whether_the_lead_is_significant(
    make_report: Any, means: dict[str, Any], verdict: str
) -> None:
    assert make_verdict(make_report(means)) == verdict


def test_a_tie_and_an_undefined_measure_have_no_best_mode(make_report: Any) -> None:
    tie = make_report({"a": {"RR@10": 0.5}, "b": {"RR@10": 0.5}}, best_mode={"RR@10": None})
    assert make_verdict(tie) == "No single mode is best on RR@10: the best modes have 0.5000."
    undefined = make_report(
        {"a": {"MinRank": None}, "b": {"MinRank": 2.0}}, best_mode={"MinRank": None}
    )
    assert "undefined" in make_verdict(undefined)
    assert make_title(tie) == "a and b on irds:cranfield"


def test_json_cannot_end_its_element() -> None:
    text = "</script><!-- & \u2028\u2029 ü"
    embedded = embed_json({"text": text})
    assert not set("<>&\u2028\u2029") & set(embedded)
    assert json.loads(embedded) == {"text": text}
