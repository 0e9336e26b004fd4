"""Plots of means with intervals: rows of dots for measures and strata, curves over recall or k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trectools_plus.benchmark.curves import Curves
from trectools_plus.benchmark.report import BenchmarkReport, MeasureResult, StratumResult
from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.reporting.comparison import describe_dataset
from trectools_plus.reporting.plots.style import (
    HEADING,
    STRIPE,
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
    from matplotlib.transforms import Transform

MOST_VALUES = 20
"""Maximum number of values of a query field in a plot."""
_LINE = 28
"""Maximum number of characters per line of a stratum's label."""
ROW_PADDING = 0.9
"""Space between rows, as a multiple of the distance between modes."""
_TICKS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
_MOST_BANDS = 4
"""With more modes than this, bands would hide each other, so whiskers show the intervals."""
_WHISKER_DISTANCE = 1.6
"""Distance of the whiskers of two modes, in points."""

Stratum = Mapping[str, Mapping[str, StratumResult]]
"""By mode and measure."""
_MOST_IN_TWO_COLUMNS = 10
"""With more systems, there are three columns of panels, so that the figure is not too high."""


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    figures: Mapping[str, MeasureResult | StratumResult]
    """By mode."""


def plot_measures(
    axes: Axes, report: BenchmarkReport, measures: Sequence[str] | None = None
) -> Axes:
    """Draw the mean of each mode with its interval, in a row per measure.

    Every mode is one labelled artist, so that ``axes.legend()`` lists the modes.

    Args:
        axes: The axes to draw on.
        report: The report.
        measures: The measures from top to bottom; by default all.

    Returns:
        The same axes.

    Raises:
        UsageError: If the report does not have a measure.
    """
    requested = report.measure_names if measures is None else measures
    names = [require_measure(report, name) for name in requested]
    rows = [
        _Row(
            label_text(name)
            + ("" if report.higher_is_better(name) else " (lower is better)")
            + _show_counts(report, name),
            {mode: result.measures[name] for mode, result in report.modes.items()},
        )
        for name in names
    ]
    _draw(axes, report, rows)
    axes.set_xlabel(f"Mean with its {_level(report)} interval")
    return axes


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
    rows = [_Row("", figures)]
    for place, mode in enumerate(figures):
        _draw_mode(axes, place, mode, label_text(labels[mode]), rows, 1.0)
    places = range(len(figures))
    axes.set_yticks(places, [label_text(labels[mode]) for mode in figures])
    axes.set_ylim(len(figures) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, pad=7)
    add_grid(axes)
    _set_range(axes, rows)
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


def plot_strata(axes: Axes, report: BenchmarkReport, field: str, measure: str) -> Axes:
    """Draw the mean of each mode with its interval, in a row per value of a query field.

    Values with the most queries come first; values after the 20th are omitted.

    Args:
        axes: The axes to draw on.
        report: A report with ``strata``.
        field: The query field, for example ``difficulty``.
        measure: The measure.

    Returns:
        The same axes.

    Raises:
        UsageError: If the report does not have the field or the measure.
    """
    measure = require_measure(report, measure)
    if field not in report.strata:
        known = ", ".join(report.strata) or "none"
        raise UsageError(f"the report has no strata by {field!r}", remedy=f"it has {known}")
    rows = []
    values = report.strata[field]
    for value, modes in sorted(values.items(), key=_queries, reverse=True)[:MOST_VALUES]:
        figures = {mode: modes[mode][measure] for mode in modes if measure in modes[mode]}
        n = _queries((value, modes))
        rows.append(_Row(_value_label(value, n, len(report.modes)), figures))
    _draw(axes, report, rows)
    omitted = f" (the largest {len(rows)} of {len(values)})" if len(values) > len(rows) else ""
    axes.set_title(f"{label_text(field)}{omitted}")
    axes.set_xlabel(f"{label_text(measure)}, mean with its {_level(report)} interval")
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


def _value_label(value: str, n: int, modes: int) -> str:
    """Return the label of a stratum, on several lines if the rows are high enough."""
    if modes < 2:
        return f"{label_text(value, 24)} (n = {n:,})"
    # Wrap only at spaces, and not in "(n = 3)": a cut could separate an escape from its dollar.
    whole = f"{label_text(value, 44)} (n = {n:,})".replace(" = ", "\u00a0=\u00a0")
    lines = wrap(whole, _LINE, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\u00a0", " ")


def _queries(stratum: tuple[str, Stratum]) -> int:
    """Return the number of queries of a value: the maximum over its measures."""
    figures = (figure for modes in stratum[1].values() for figure in modes.values())
    return max((figure.n for figure in figures), default=0)


def require_measure(report: BenchmarkReport, measure: str) -> str:
    """Return the report's name of a measure in any spelling.

    Raises:
        UsageError: If the report does not have the measure.
    """
    found = report.find_measure(measure)
    if found is None:
        known = ", ".join(report.measure_names)
        raise UsageError(f"the report has no measure {measure!r}", remedy=f"it has {known}")
    return found


def _draw(axes: Axes, report: BenchmarkReport, rows: Sequence[_Row]) -> None:
    pitch = len(report.modes) + ROW_PADDING
    centre = (len(report.modes) - 1) / 2
    for index in range(0, len(rows), 2):
        top = index * pitch + centre - pitch / 2
        axes.axhspan(top, top + pitch, color=STRIPE, linewidth=0, zorder=0)
    for place, (mode, result) in enumerate(report.modes.items()):
        _draw_mode(axes, place, mode, label_text(result.label), rows, pitch)
    labels = [row.label if _is_defined(row) else f"{row.label}, undefined" for row in rows]
    axes.set_yticks([index * pitch + centre for index in range(len(rows))], labels)
    axes.tick_params(axis="y", length=0, pad=7)  # space for a marker at 0
    axes.set_ylim(len(rows) * pitch - pitch / 2 + centre, centre - pitch / 2)
    add_grid(axes, "x")
    _set_range(axes, rows)


def _draw_mode(
    axes: Axes, place: int, mode: str, label: str, rows: Sequence[_Row], pitch: float
) -> None:
    """Draw the mode as one artist: its mean in every row where it is defined."""
    means, heights, below, above = [], [], [], []
    for index, row in enumerate(rows):
        figure = row.figures.get(mode)
        if figure is None or figure.mean is None:
            continue
        mean = figure.mean
        means.append(mean)
        heights.append(index * pitch + place)
        # Some kinds of interval do not contain the mean; a whisker's length cannot be negative.
        low, high = ends_of(figure.ci)
        below.append(0.0 if low is None else max(0.0, mean - low))
        above.append(0.0 if high is None else max(0.0, high - mean))
    style = mode_style(place)
    drawn = axes.errorbar(
        means,
        heights,
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


def _set_range(axes: Axes, rows: Sequence[_Row]) -> None:
    """Set the range from 0 to the largest value, so that small differences look small."""
    ends = [
        end
        for row in rows
        for figure in row.figures.values()
        for end in (figure.mean, *ends_of(figure.ci))
        if end is not None
    ]
    low, high = min([0.0, *ends]), max(ends, default=0.0)
    if high <= low:
        high = low + 1.0
    axes.set_xlim(low - 0.02 * (high - low) * (low < 0), high + 0.03 * (high - low))


def _show_counts(report: BenchmarkReport, name: str) -> str:
    """Return the numbers of queries, if the means are over different queries."""
    if name not in report.unranked:
        return ""
    counts = (f"{result.measures[name].n:,}" for result in report.modes.values())
    return f"\nn = {', '.join(counts)}"


def _is_defined(row: _Row) -> bool:
    return any(figure.mean is not None for figure in row.figures.values())


def _level(report: BenchmarkReport) -> str:
    return f"{report.confidence * 100:g}%"


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
        if len(curves.mean) <= _MOST_BANDS:
            axes.fill_between(
                curves.at, low, high, color=style.colour, alpha=0.13, linewidth=0, zorder=1
            )
        else:
            axes.vlines(
                curves.at,
                low,
                high,
                color=style.colour,
                alpha=0.7,
                linewidth=0.9,
                transform=_beside(axes, place, len(curves.mean)),
                zorder=2,
            )
    add_grid(axes)


def _beside(axes: Axes, place: int, modes: int) -> Transform:
    """Return the transformation that moves the whiskers of a mode so that none hides another."""
    from matplotlib.transforms import ScaledTranslation

    points = (place - (modes - 1) / 2) * _WHISKER_DISTANCE
    figure = axes.get_figure(root=True)
    assert figure is not None
    return axes.transData + ScaledTranslation(points / 72, 0, figure.dpi_scale_trans)


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
