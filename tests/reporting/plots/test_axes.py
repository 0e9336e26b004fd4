"""Plots: each drawing function shows the figures of the report, with one artist per mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from trectools_plus.benchmark.curves import Curves
from trectools_plus.benchmark.report import StratumResult
from trectools_plus.errors import UsageError
from trectools_plus.reporting.plots import (
    plot_differences,
    plot_hit_rate,
    plot_measures,
    plot_precision_recall,
    plot_strata,
)
from trectools_plus.reporting.plots.style import label_text, mode_style
from trectools_plus.statistics.comparison import ConfidenceInterval

MODES = ["lexical", "vector", "hybrid"]


@pytest.fixture
def axes() -> Axes:
    return Figure().subplots()


def whiskers(container: ErrorbarContainer) -> list[tuple[float, float]]:
    return [(line[0][0], line[1][0]) for line in container[2][0].get_segments()]


def stratum(mean: float | None) -> StratumResult:
    low, high = (None, None) if mean is None else (mean - 0.1, mean + 0.2)
    ci = ConfidenceInterval(low=low, high=high, level=0.95, method="percentile", resamples=10)
    return StratumResult(mean=mean, n=0 if mean is None else 7, ci=ci)


def curves(modes: list[str]) -> Curves:
    at = np.array([0.0, 0.5, 1.0])
    mean = {mode: np.array([0.6, 0.4, 0.1]) - place / 100 for place, mode in enumerate(modes)}
    low = {mode: values - 0.05 for mode, values in mean.items()}
    high = {mode: values + 0.1 for mode, values in mean.items()}
    return Curves("IPrec", at, mean, low, high, 5, 0.95)


def per_query(values: dict[str, list[float | None]], measure: str = "nDCG@10") -> pl.DataFrame:
    rows = [
        {"run": mode, "query_id": f"q{number}", "measure": measure, "value": value}
        for mode, column in values.items()
        for number, value in enumerate(column)
    ]
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64})


def test_measures_show_means_and_intervals(make_report: Any, axes: Axes) -> None:
    report = make_report()
    assert plot_measures(axes, report) is axes
    assert len(axes.containers) == len(MODES)
    for mode, container in zip(MODES, axes.containers, strict=True):
        results = report.modes[mode].measures.values()
        assert container[0].get_xdata().tolist() == [result.mean for result in results]
        expected = [(result.ci.low, result.ci.high) for result in results]
        np.testing.assert_allclose(whiskers(container), expected, atol=1e-12)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["nDCG@10", "RR@10"]
    assert axes.get_xlabel() == "Mean with its 95% interval"
    assert axes.get_xlim()[0] == 0.0
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["Lexical-Only", "Vector-Only", "Hybrid"]


def test_measures_can_be_chosen(make_report: Any, axes: Axes) -> None:
    plot_measures(axes, make_report(), ["RR@10"])
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["RR@10"]


def test_an_undefined_mean_has_no_dot_and_its_row_says_so(make_report: Any, axes: Axes) -> None:
    report = make_report(
        {"a": {"MeanRank": None, "RR@10": 0.0}, "b": {"MeanRank": None, "RR@10": 0.5}}
    )
    plot_measures(axes, report)
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels == ["MeanRank (lower is better), undefined", "RR@10"]
    assert [container[0].get_xdata().tolist() for container in axes.containers] == [[0.0], [0.5]]


def test_whiskers_never_have_a_negative_length(make_report: Any, axes: Axes) -> None:
    report = make_report({"a": {"RR@10": 0.5}})
    figures = report.modes["a"].measures["RR@10"]
    ci = figures.ci.model_copy(update={"low": 0.6, "high": 0.7})
    odd = figures.model_copy(update={"ci": ci})
    mode = report.modes["a"].model_copy(update={"measures": {"RR@10": odd}})
    plot_measures(axes, report.model_copy(update={"modes": {"a": mode}}))
    assert whiskers(axes.containers[0]) == [(0.5, pytest.approx(0.7))]


def test_an_unknown_measure_is_refused(make_report: Any, axes: Axes) -> None:
    with pytest.raises(UsageError, match="P@5"):
        plot_measures(axes, make_report(), ["P@5"])


def test_strata_show_each_value_with_its_n(make_report: Any, axes: Axes) -> None:
    values = {"easy": 0.5, "hard": 0.3, "odd": None}
    strata = {
        "difficulty": {
            value: {mode: {"nDCG@10": stratum(mean)} for mode in MODES}
            for value, mean in values.items()
        }
    }
    report = make_report(strata=strata)
    assert plot_strata(axes, report, "difficulty", "nDCG@10") is axes
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels == ["easy (n = 7)", "hard (n = 7)", "odd (n = 0), undefined"]
    assert [container[0].get_xdata().tolist() for container in axes.containers] == [[0.5, 0.3]] * 3
    assert axes.get_title() == "difficulty"
    with pytest.raises(UsageError, match="domain"):
        plot_strata(axes, report, "domain", "nDCG@10")


def test_of_many_strata_those_with_most_queries_are_drawn(make_report: Any, axes: Axes) -> None:
    field = {
        f"v{number}": {"a": {"RR@10": stratum(0.5).model_copy(update={"n": number})}}
        for number in range(50)
    }
    plot_strata(axes, make_report({"a": {"RR@10": 0.5}}, strata={"kind": field}), "kind", "RR@10")
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels == [f"v{number} (n = {number})" for number in range(49, 29, -1)]
    assert axes.get_title() == "kind (the largest 20 of 50)"


def test_long_names_of_strata_are_wrapped_where_rows_are_high(make_report: Any, axes: Axes) -> None:
    value = "Abnormality of the nervous $y$ stem"
    strata = {"domain": {value: {mode: {"nDCG@10": stratum(0.5)} for mode in MODES}}}
    plot_strata(axes, make_report(strata=strata), "domain", "nDCG@10")
    (tick,) = axes.get_yticklabels()
    assert tick.get_text() == "Abnormality of the nervous\n\\$y\\$ stem (n = 7)"
    single = {"domain": {value: {"a": {"RR@10": stratum(0.5)}}}}
    axes.clear()
    plot_strata(axes, make_report({"a": {"RR@10": 0.5}}, strata=single), "domain", "RR@10")
    assert "\n" not in axes.get_yticklabels()[0].get_text()


def test_curves_show_lines_and_bands(axes: Axes) -> None:
    data = curves(["a", "b"])
    assert plot_precision_recall(axes, data, {"a": "First"}) is axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [
        data.mean["a"].tolist(),
        data.mean["b"].tolist(),
    ]
    for band, mode in zip(axes.collections, "ab", strict=True):
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx(data.low[mode].min())
        assert heights.max() == pytest.approx(data.high[mode].max())
    assert axes.get_legend_handles_labels()[1] == ["First", "b"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Recall", "Interpolated precision")


def test_many_curves_have_whiskers(axes: Axes) -> None:
    data = curves([f"m{number}" for number in range(10)])
    plot_precision_recall(axes, data)
    assert len(axes.lines) == 10
    ends = [segment[:, 1].tolist() for segment in axes.collections[3].get_segments()]
    assert ends == [[low, high] for low, high in zip(data.low["m3"], data.high["m3"], strict=True)]
    looks = {(line.get_color(), line.get_marker()) for line in axes.lines}
    assert len(looks) == 10


def test_hit_rate_is_over_a_logarithmic_k(axes: Axes) -> None:
    data = curves(["a"])
    ranks = Curves("HitRate", np.array([1.0, 10.0, 100.0]), data.mean, data.low, data.high, 5, 0.95)
    assert plot_hit_rate(axes, ranks) is axes
    assert axes.get_xscale() == "log"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "1",
        "2",
        "3",
        "5",
        "10",
        "20",
        "30",
        "50",
        "100",
    ]
    assert axes.get_ylabel() == "HitRate@k"
    assert axes.get_ylim() == (0.0, 1.02)


def test_differences_are_sorted_and_carry_the_reports_interval(
    make_report: Any, axes: Axes
) -> None:
    report = make_report()
    table = per_query({"lexical": [0.1, 0.9, 0.5, None, 0.2], "vector": [0.4, 0.3, 0.5, 0.2, 0.9]})
    returned = plot_differences(axes, report, table, "lexical", "vector", "nDCG@10")
    assert returned is axes
    above, below = (patch.get_data().values for patch in axes.patches[:2])
    np.testing.assert_allclose(above, [0.7, 0.3, 0.0, 0.0])
    np.testing.assert_allclose(below, [0.0, 0.0, 0.0, -0.6])
    entry = report.find_comparison("lexical", "vector", "nDCG@10")
    assert axes.lines[-1].get_ydata()[0] == entry.difference
    band = axes.patches[2].get_extents().transformed(axes.transData.inverted())
    assert (band.y0, band.y1) == pytest.approx((entry.ci.low, entry.ci.high))
    assert axes.get_xlabel() == "Queries, sorted: 100 won, 25 tied, 100 lost"
    assert axes.get_title(loc="center") == "Vector-Only − Lexical-Only"
    assert axes.get_ylabel() == "Difference in nDCG@10"


def test_where_less_is_better_the_colours_change_sides(make_report: Any, axes: Axes) -> None:
    report = make_report({"a": {"MeanRank": 4.0}, "b": {"MeanRank": 2.0}})
    table = per_query({"a": [4.0, 4.0], "b": [1.0, 5.0]}, "MeanRank")
    plot_differences(axes, report, table, "a", "b", "MeanRank")
    above, below = axes.patches[:2]
    assert above.get_label() == "second mode better"
    assert below.get_label() == "first mode better"
    assert above.get_hatch()
    assert not below.get_hatch()


def test_an_unknown_pair_is_refused(make_report: Any, axes: Axes) -> None:
    with pytest.raises(UsageError):
        plot_differences(axes, make_report(), per_query({}), "lexical", "lexical", "nDCG@10")


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
    looks = {(style.colour, style.marker) for style in map(mode_style, range(70))}
    assert len(looks) == 70
