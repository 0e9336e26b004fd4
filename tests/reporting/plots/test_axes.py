"""Plots: each drawing function shows the figures of the report, with one artist per mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trectools_plus.reporting.plots.figures import (
    _plot_differences,
)
from trectools_plus.reporting.plots.style import label_text, mode_style

MODES = ["lexical", "vector", "hybrid"]


@pytest.fixture
def axes() -> Axes:
    return Figure().subplots()


def per_query(values: dict[str, list[float | None]], measure: str = "nDCG@10") -> pl.DataFrame:
    rows = [
        {"run": mode, "query_id": f"q{number}", "measure": measure, "value": value}
        for mode, column in values.items()
        for number, value in enumerate(column)
    ]
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64})


def test_differences_are_sorted_and_carry_the_reports_interval(
    make_report: Any, axes: Axes
) -> None:
    report = make_report()
    table = per_query({"lexical": [0.1, 0.9, 0.5, None, 0.2], "vector": [0.4, 0.3, 0.5, 0.2, 0.9]})
    entry = report.find_comparison("lexical", "vector", "nDCG@10")
    _plot_differences(axes, report, table, entry)
    above, below = (patch.get_data().values for patch in axes.patches[:2])
    np.testing.assert_allclose(above, [0.7, 0.3, 0.0, 0.0])
    np.testing.assert_allclose(below, [0.0, 0.0, 0.0, -0.6])
    assert axes.lines[-1].get_ydata()[0] == entry.difference
    band = axes.patches[2].get_extents().transformed(axes.transData.inverted())
    assert (band.y0, band.y1) == pytest.approx((entry.ci.low, entry.ci.high))
    assert axes.get_xlabel() == "Queries, sorted: 100 won, 25 tied, 100 lost"
    assert axes.get_title().startswith("Vector-Only\n− Lexical-Only\nmean −0.0261 [")


def test_where_less_is_better_the_colours_change_sides(make_report: Any, axes: Axes) -> None:
    report = make_report({"a": {"MeanRank": 4.0}, "b": {"MeanRank": 2.0}})
    table = per_query({"a": [4.0, 4.0], "b": [1.0, 5.0]}, "MeanRank")
    entry = report.find_comparison("a", "b", "MeanRank")
    _plot_differences(axes, report, table, entry)
    first, second = axes.patches[:2]
    assert first.get_label() == "first mode better"
    assert first.get_data().values.tolist() == [0.0, -3.0]
    assert second.get_data().values.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Hybrid", "Hybrid"),
        ("a\nb\x00c", "a b c"),
        ("$x$", r"\$x\$"),
        ("_hidden", " _hidden"),
        ("", "?"),
        ("x" * 80, "x" * 18 + "…" + "x" * 17),
    ],
)
def test_labels_are_never_markup(text: str, label: str, axes: Axes) -> None:
    assert label_text(text) == label
    axes.plot([0, 1], label=label_text(text))
    assert [entry.get_text() for entry in axes.legend().get_texts()] == [label]
    axes.figure.draw_without_rendering()


def test_seventy_modes_differ_in_colour_or_marker() -> None:
    looks = {(look["color"], look["marker"]) for look in map(mode_style, range(70))}
    assert len(looks) == 70
