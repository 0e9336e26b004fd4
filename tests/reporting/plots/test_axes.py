"""Plots: each drawing function shows the figures of the report, with one artist per mode."""

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from trectools_plus.reporting import plots
from trectools_plus.reporting.plots import COLOURS, label_text, mode_style


@pytest.fixture
def axes():
    return Figure().subplots()


def per_query(values, measure="nDCG@10"):
    rows = [
        {"run": mode, "query_id": f"q{number}", "measure": measure, "value": value}
        for mode, column in values.items()
        for number, value in enumerate(column)
    ]
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64})


def test_differences_are_sorted_and_carry_the_reports_interval(make_report):
    report = make_report({"lexical": {"nDCG@10": 0.4}, "vector": {"nDCG@10": 0.5}})
    table = per_query({"lexical": [0.1, 0.9, 0.5, None, 0.2], "vector": [0.4, 0.3, 0.5, 0.2, 0.9]})
    entry = report.find_comparison("lexical", "vector", "nDCG@10")
    (axes,) = plots.plot_differences(report, table).axes
    above, below = (patch.get_data().values for patch in axes.patches[:2])
    np.testing.assert_allclose(above, [0.7, 0.3, 0.0, 0.0])
    np.testing.assert_allclose(below, [0.0, 0.0, 0.0, -0.6])
    assert axes.lines[-1].get_ydata()[0] == entry.difference
    assert axes.get_xlabel() == "Queries, sorted; won/tied/lost: 100/25/100"
    names = [report.modes[mode].label for mode in (entry.contrast, entry.baseline)]
    assert axes.get_title(loc="left").startswith("\n− ".join(names) + "\nmean ")


def test_where_less_is_better_the_colours_change_sides(make_report):
    report = make_report({"a": {"MeanRank": 4.0}, "b": {"MeanRank": 2.0}})
    table = per_query({"a": [4.0, 4.0], "b": [1.0, 5.0]}, "MeanRank")
    (axes,) = plots.plot_differences(report, table).axes
    above, below = axes.patches[:2]
    assert (above.get_label(), below.get_label()) == ("second mode better", "first mode better")
    assert above.get_data().values.tolist() == [1.0, 0.0]
    assert below.get_data().values.tolist() == [0.0, -3.0]
    assert below.get_facecolor()[:3] == pytest.approx(to_rgb(COLOURS[0]))


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
def test_labels_are_never_markup(text, label, axes):
    assert label_text(text) == label
    axes.plot([0, 1], label=label_text(text))
    assert [entry.get_text() for entry in axes.legend().get_texts()] == [label]
    axes.figure.draw_without_rendering()


def test_seventy_modes_differ_in_colour_or_marker():
    looks = {(look["color"], look["marker"]) for look in map(mode_style, range(70))}
    assert len(looks) == 70
