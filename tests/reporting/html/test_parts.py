"""The parts of the page: axes, bars, encoded values, embedded JSON."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from trectools_plus.reporting.html.page import embed_json, make_title
from trectools_plus.reporting.html.per_query import (
    PARTS,
    QueryEvidence,
    collect_queries,
    read_values,
)
from trectools_plus.reporting.html.views import (
    MOST_BARS,
    WIDTH,
    make_scale,
    plot_axis,
    split_bars,
)


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


def test_the_title_names_modes_and_dataset(make_report: Any) -> None:
    tie = make_report({"a": {"RR@10": 0.5}, "b": {"RR@10": 0.5}}, best_mode={"RR@10": None})
    assert make_title(tie) == "a and b on irds:cranfield"


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 1234])
def test_bars_contain_all_values_in_their_order(count: int) -> None:
    bars = split_bars(np.arange(float(count)))
    assert len(bars) == min(count, MOST_BARS)
    assert [value for bar in bars for value in bar] == list(range(count))
    assert max((len(bar) for bar in bars), default=0) - min(map(len, bars), default=0) <= 1


@pytest.mark.parametrize("furthest", [0.0, 0.03, 0.2, 0.85, 1.0, 2.5, 430.0])
def test_the_axis_of_the_plot_is_symmetrical_and_contains_every_pair(furthest: float) -> None:
    axis = plot_axis(np.array([[0.0, furthest * PARTS, np.nan], [0.0, 0.0, 5.0]]))
    assert axis.top >= furthest
    assert axis.labels[len(axis.labels) // 2] == "0"
    numbers = [float(label.replace("−", "-").replace(",", "")) for label in axis.labels]
    assert numbers[0] == axis.top
    assert numbers == [-number for number in reversed(numbers)]
    steps = np.diff(numbers)
    assert steps == pytest.approx(np.full(len(steps), steps[0]))


@pytest.mark.parametrize(
    "values",
    [
        [[0.0, 0.5, None], [1.0, 0.25, 0.3333]],
        [[None, None]],
        [[place / 997 for place in range(997)]],
        [[float(place) for place in range(998)]],
        [[-3.0, 12345.6789, None]],
    ],
)
def test_values_survive_their_encoding(make_report: Any, values: list[list[float | None]]) -> None:
    modes = {f"m{place}": {"RR@10": 0.5} for place in range(len(values))}
    rows = [
        (f"m{mode}", f"q{query}", "RR@10", value)
        for mode, found in enumerate(values)
        for query, value in enumerate(found)
    ]
    schema = {"run": pl.String, "query_id": pl.String, "measure": pl.String, "value": pl.Float64}
    report = make_report(modes)
    evidence = QueryEvidence(pl.DataFrame(rows, schema=schema, orient="row"))
    data = collect_queries(report, evidence, read_values(report, evidence.per_query, ["RR@10"]))
    (encoded,) = data["values"]
    octets = np.frombuffer(base64.b64decode(encoded["data"]), np.uint8)
    codes = [
        int.from_bytes(code.tobytes(), "little") for code in octets.reshape(-1, encoded["bytes"])
    ]
    missing = 2 ** (8 * encoded["bytes"]) - 1
    decoded = [
        None
        if code == missing
        else (encoded["palette"][code] if "palette" in encoded else code + encoded["from"]) / PARTS
        for code in codes
    ]
    assert decoded == [
        None if value is None else round(value * PARTS) / PARTS
        for found in values
        for value in found
    ]


def test_json_cannot_end_its_element() -> None:
    text = "</script><!-- & \u2028\u2029 ü"
    embedded = embed_json({"text": text})
    assert not set("<>&\u2028\u2029") & set(embedded)
    assert json.loads(embedded) == {"text": text}
