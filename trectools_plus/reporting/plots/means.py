"""Plots of means with intervals: rows of dots for measures, curves over recall or k."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trectools_plus.benchmark.curves import Curves
from trectools_plus.benchmark.report import BenchmarkReport, MeasureResult, StratumResult
from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.reporting.comparison import describe_dataset, require_measure
from trectools_plus.reporting.plots.style import (
    HEADING,
    Plot,
    add_grid,
    finish,
    house_style,
    label_text,
    mode_style,
    new_figure,
)
from trectools_plus.statistics import mean_intervals
from trectools_plus.statistics.comparison import ConfidenceInterval, ends_of
from trectools_plus.text import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TICKS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
MOST_BANDS = 4
"""With more modes than this, the bands of the intervals would hide each other."""

_MOST_IN_TWO_COLUMNS = 10
"""With more systems, there are three columns of panels, so that the figure is not too high."""


def plot_means(
    axes: Axes, figures: Mapping[str, MeasureResult | StratumResult], labels: Mapping[str, str]
) -> Axes:
    """Draw the means of one measure with their intervals, in a row per mode.

    Args:
        axes: The axes to draw on.
        figures: The figures of the modes, from top to bottom.
        labels: Labels of the modes.

    Returns:
        The same axes.
    """
    for place, (mode, figure) in enumerate(figures.items()):
        _draw_mode(axes, place, label_text(labels[mode]), figure)
    places = range(len(figures))
    axes.set_yticks(places, [label_text(labels[mode]) for mode in figures])
    axes.set_ylim(len(figures) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, pad=7)
    add_grid(axes)
    _set_range(axes, figures.values())
    different = len({one.n for one in figures.values() if one.mean is not None}) > 1
    if different:
        low, high = axes.get_xlim()
        axes.set_xlim(low, low + 1.25 * (high - low))  # space for the numbers of queries
    for place, one in enumerate(figures.values()):
        if one.mean is None or different:
            text = "undefined" if one.mean is None else f"n = {one.n:,}"
            x, side = (0.01, "left") if one.mean is None else (1.0, "right")
            across = axes.get_yaxis_transform()
            axes.text(x, place, text, transform=across, ha=side, va="center", fontsize="small")
    return axes


def plot_precision_recall(
    axes: Axes, curves: Curves, labels: Mapping[str, str] | None = None
) -> Axes:
    """Draw interpolated precision over recall, with the intervals of the means.

    Every mode is one labelled line, so that ``axes.legend()`` lists the modes.

    Args:
        axes: The axes to draw on.
        curves: From :func:`trectools_plus.benchmark.curves.precision_recall_curves`.
        labels: Labels of the modes; by default their names.

    Returns:
        The same axes.
    """
    _draw_curves(axes, curves, labels or {})
    axes.set_xlim(-0.02, 1.02)
    ends = [*curves.mean.values(), *curves.high.values()]  # without an interval, nan
    highest = max(float(np.nanmax(end, initial=0.0)) for end in ends)
    axes.set_ylim(0.0, min(1.0, highest * 1.08 or 1.0) * 1.02)
    axes.set_xlabel("Recall")
    axes.set_ylabel("Interpolated precision")
    return axes


def plot_hit_rate(axes: Axes, curves: Curves, labels: Mapping[str, str] | None = None) -> Axes:
    """Draw the fraction of queries with a relevant document in the first k results, over k.

    Args:
        axes: The axes to draw on.
        curves: From :func:`trectools_plus.benchmark.curves.hit_rate_curves`.
        labels: Labels of the modes; by default their names.

    Returns:
        The same axes.
    """
    _draw_curves(axes, curves, labels or {})
    deepest = float(curves.at.max())
    axes.set_xscale("log")
    ticks = [tick for tick in _TICKS if tick <= deepest]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(0.92, max(deepest, 2.0) * 1.08)
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("k (number of first results, logarithmic)")
    axes.set_ylabel("HitRate@k")
    return axes


def _draw_mode(axes: Axes, place: int, label: str, figure: MeasureResult | StratumResult) -> None:
    """Draw the mean of a mode, if it is defined, with its interval."""
    mean, style = figure.mean, mode_style(place)
    means = [] if mean is None else [mean]
    # Some kinds of interval do not contain the mean; a whisker's length cannot be negative.
    low, high = ends_of(figure.ci)
    below = [0.0 if low is None else max(0.0, each - low) for each in means]
    above = [0.0 if high is None else max(0.0, high - each) for each in means]
    drawn = axes.errorbar(
        means,
        [place] * len(means),
        xerr=[below, above],
        fmt=style.marker,
        color=style.colour,
        markersize=style.size,
        elinewidth=1.4,
        capsize=2.6,
        capthick=1.2,
        label=label,
        clip_on=not means,  # without clipping, an empty artist disturbs the layout
        zorder=3,
    )
    drawn.lines[0].set_markeredgewidth(0)  # as an argument, it would apply to the caps too


def _set_range(axes: Axes, figures: Iterable[MeasureResult | StratumResult]) -> None:
    """Set the range from 0 to the largest value, so that small differences look small."""
    ends = [
        end for figure in figures for end in (figure.mean, *ends_of(figure.ci)) if end is not None
    ]
    low, high = min([0.0, *ends]), max(ends, default=0.0)
    if high <= low:
        high = low + 1.0
    axes.set_xlim(low - 0.02 * (high - low) * (low < 0), high + 0.03 * (high - low))


def _draw_curves(axes: Axes, curves: Curves, labels: Mapping[str, str]) -> None:
    for place, (mode, mean) in enumerate(curves.mean.items()):
        style = mode_style(place)
        axes.plot(
            curves.at,
            mean,
            label=label_text(labels.get(mode, mode)),
            **style.of_curve(),
        )
        low, high = curves.low[mode], curves.high[mode]
        if len(curves.mean) <= MOST_BANDS:
            axes.fill_between(
                curves.at, low, high, color=style.colour, alpha=0.13, linewidth=0, zorder=1
            )
    add_grid(axes)


class _Panel(NamedTuple):
    measure: str
    higher_is_better: bool
    figures: Mapping[str, MeasureResult | StratumResult]
    """By system."""


def plot_report(report: BenchmarkReport, measures: Sequence[str] | None = None) -> Figure:
    """Return a figure with the means and intervals of measures, a panel for each.

    Args:
        report: The report.
        measures: The measures, in any spelling; by default the headline measures.

    Raises:
        UsageError: If the report does not have a measure.
    """
    with house_style():
        return measures_plot(report, measures).figure


def plot_evaluation(
    evaluation: Evaluation, measures: Sequence[str] | None = None, confidence: float = 0.95
) -> Figure:
    """Return a figure with the means of an evaluation, a panel for each measure.

    The intervals are those that :func:`compare` and benchmarks show by default.

    Args:
        evaluation: The evaluation.
        measures: The measures, in any spelling; by default all that are means.
        confidence: The level of the intervals, between 0 and 1.

    Raises:
        UsageError: If the evaluation does not have a measure, or has no run.
    """
    if not evaluation.run_names:
        raise UsageError("the evaluation has no run", remedy="evaluate at least one run")
    given = evaluation.compared_names if measures is None else measures
    names = _some([evaluation.find_measure(name) for name in given])
    figures: dict[str, dict[str, StratumResult]] = {name: {} for name in names}
    for run in evaluation.run_names:
        values = np.column_stack([evaluation.values(run, name) for name in names])
        for name, one in zip(names, _means_of(values, confidence), strict=True):
            figures[name][run] = one
    panels = [
        _Panel(name, evaluation.definition(name).higher_is_better, figures[name]) for name in names
    ]
    labels = {run: run for run in evaluation.run_names}
    queries = {len(ids) for ids in evaluation.query_ids.values()}
    size = plural(queries.pop(), "query", "queries") if len(queries) == 1 else ""
    with house_style():
        figure = _draw_panels(panels, labels, confidence)
        finish(figure, f"{len(labels):,} runs" if len(labels) > 1 else next(iter(labels)), size)
    return figure


def _some(names: list[str]) -> list[str]:
    if not names:
        raise UsageError("no measure is named", remedy="name one, or leave measures out")
    return names


def _means_of(values: FloatArray, confidence: float) -> Iterator[StratumResult]:
    """Yield the mean of each column with its interval."""
    found = mean_intervals(values, confidence=confidence)
    for mean, low, high, n in zip(found.estimate, found.low, found.high, found.n, strict=True):
        ci = None
        if not np.isnan(low):
            ci = ConfidenceInterval(
                low=low, high=high, level=confidence, method="percentile", resamples=found.resamples
            )
        yield StratumResult(mean=None if np.isnan(mean) else mean, n=n, ci=ci)


def measures_plot(report: BenchmarkReport, measures: Sequence[str] | None = None) -> Plot:
    """Draw the means of the headline measures, or of others."""
    given = report.headline_measures or report.measure_names if measures is None else measures
    names = _some([require_measure(report, name) for name in given])
    panels = [
        _Panel(
            name,
            report.higher_is_better(name),
            {mode: result.measures[name] for mode, result in report.modes.items()},
        )
        for name in names
    ]
    labels = {mode: result.label for mode, result in report.modes.items()}
    figure = _draw_panels(panels, labels, report.confidence)
    title = "Measures per mode"
    finish(figure, title, describe_dataset(report))
    description = f"Mean of {', '.join(names)} with its interval, for {', '.join(labels.values())}."
    return Plot("measures", title, description, figure)


def _draw_panels(panels: Sequence[_Panel], labels: Mapping[str, str], confidence: float) -> Figure:
    """Draw a panel for each measure, with its own scale for all modes."""
    most, longest = (2, 36) if len(labels) <= _MOST_IN_TWO_COLUMNS else (3, 18)
    columns = min(len(panels), most)
    lines = ceil(len(panels) / columns)
    figure = new_figure(lines * (0.19 * len(labels) + 0.62) + HEADING)
    every = figure.subplots(lines, columns, squeeze=False, sharey=True)
    for axes, panel in zip(every.flat, panels, strict=False):
        plot_means(axes, panel.figures, labels)
        name = label_text(panel.measure, longest)
        axes.set_title(name if panel.higher_is_better else f"{name} ↓")
    for axes in every.flat[len(panels) :]:
        axes.remove()
    falling = not all(panel.higher_is_better for panel in panels)
    note = "; ↓: lower is better" if falling else ""
    figure.supxlabel(f"Mean with its {confidence * 100:g}% interval{note}", fontsize="medium")
    return figure
