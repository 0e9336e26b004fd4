"""The plots of results as Matplotlib figures with headings and legends, and their files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import polars as pl

from trectools_plus.benchmark.analyses import Curves, measure_curves
from trectools_plus.benchmark.report import BenchmarkReport, MeasureResult, StratumResult
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.benchmark.run.output_folder import PLOTS_FOLDER
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.reporting.comparison import describe_dataset, require_measure
from trectools_plus.reporting.plots.style import (
    COLOURS,
    HEADING,
    INK,
    Plot,
    add_grid,
    as_png,
    finish,
    house_style,
    label_text,
    legend_height,
    mode_style,
    new_figure,
)
from trectools_plus.statistics import mean_intervals
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval, ends_of
from trectools_plus.statistics.method import EQUAL
from trectools_plus.text import plural

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trectools_plus.benchmark.run.runner import BenchmarkResult

ImageFormat = Literal["png", "svg"]
FORMATS: tuple[ImageFormat, ...] = ("png", "svg")
KINDS = ("means", "differences")
"""The plots of :func:`draw_plot`."""
MeanOf = MeasureResult | StratumResult

_CURVES = {
    "IPrec": ("precision_recall", "Interpolated precision at recall levels", "Recall"),
    "HitRate": (
        "hit_rate",
        "Queries with a relevant document in the first k results",
        "k (number of first results, logarithmic)",
    ),
}
_TICKS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
_MOST_PAIRS = 6
_MOST_MODES = 10
"""With more modes, curves show only the best ones, and there are three columns of panels."""
_BEST_MODES = 8
_MOST_BANDS = 4
"""With more modes than this, the bands of the intervals would hide each other."""


def plot_report(report: BenchmarkReport, measures: Sequence[str] | None = None) -> Figure:
    """Return a figure with the means and intervals of measures, a panel for each.

    Args:
        report: The report.
        measures: The measures, in any spelling; by default the headline measures.

    Raises:
        UsageError: If the report does not have a measure.
    """
    return _measures(report, measures).figure


def plot_evaluation(
    evaluation: Evaluation, measures: Sequence[str] | None = None, confidence: float = 0.95
) -> Figure:
    """Return a figure with the means of an evaluation, a panel for each measure.

    The intervals are those that :func:`compare` and benchmarks show by default.

    Args:
        evaluation: The evaluation.
        measures: The measures, in any spelling; by default all.
        confidence: The level of the intervals, between 0 and 1.

    Raises:
        UsageError: If the evaluation does not have a measure, or has no run.
    """
    if not evaluation.run_names:
        raise UsageError("the evaluation has no run", remedy="evaluate at least one run")
    requested = evaluation.measure_names if measures is None else measures
    panels: dict[str, dict[str, MeanOf]] = {evaluation.find_measure(one): {} for one in requested}
    labels = {run: run for run in evaluation.run_names}
    for run in labels if panels else ():
        values = np.column_stack([evaluation.values(run, name) for name in panels])
        for panel, one in zip(panels.values(), _means_of(values, confidence), strict=True):
            panel[run] = one
    rising = {name: evaluation.definition(name).higher_is_better for name in panels}
    queries = {len(ids) for ids in evaluation.query_ids.values()}
    size = plural(queries.pop(), "query", "queries") if len(queries) == 1 else ""
    title = f"{len(labels):,} runs" if len(labels) > 1 else next(iter(labels))
    return _draw_panels(panels, labels, rising, confidence, (title, size))


def _means_of(values: FloatArray, confidence: float) -> Iterator[StratumResult]:
    """Yield the mean of each column with its interval."""
    means = mean_intervals(values, confidence=confidence)
    for mean, low, high, n in zip(means.estimate, means.low, means.high, means.n, strict=True):
        ci = None
        if not np.isnan(low):
            ci = ConfidenceInterval(
                low=low, high=high, level=confidence, method="percentile", resamples=means.resamples
            )
        yield StratumResult(mean=None if np.isnan(mean) else mean, n=n, ci=ci)


def draw_plots(
    report: BenchmarkReport,
    per_query: pl.DataFrame,
    qrels: Qrels | JudgedQueries | None = None,
    runs: Mapping[str, Run] | None = None,
) -> list[Plot]:
    """Draw all plots of a report.

    There is always ``measures``; with judgments and runs ``precision_recall`` and ``hit_rate``; for
    compared modes ``differences`` on the primary measure.

    Args:
        report: The report.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        qrels: The judgments.
        runs: The runs, by mode.
    """
    plots = [_measures(report)]
    if qrels is not None and runs:
        plots += _curves(report, qrels, runs)
    return [*plots, _differences(report, per_query)] if report.comparisons else plots


def draw_plot(
    report: BenchmarkReport, per_query: pl.DataFrame, kind: str, measure: str | None = None
) -> Plot:
    """Draw one plot of a report.

    Args:
        report: The report.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        kind: ``means`` or ``differences``.
        measure: The measure, in any spelling; by default the headline measures for ``means``, and
            the primary measure for the others.

    Raises:
        UsageError: If the report does not have the measure, the plot does not exist, or it needs
            two modes.
    """
    if kind not in KINDS:
        raise UsageError(f"there is no plot {kind!r}", remedy=f"use {', '.join(KINDS)}")
    if kind == "means":
        return _measures(report, None if measure is None else [measure])
    if not report.comparisons:
        raise UsageError("differences need two systems", remedy="use the plot means")
    return _differences(report, per_query, measure)


def write_plots(result: BenchmarkResult, folder: str | Path | None = None) -> list[Path]:
    """Draw the plots of a benchmark and write each as PNG and SVG.

    The same figures give the same bytes with the same version of Matplotlib.

    Args:
        result: From :func:`run_benchmark`.
        folder: The files are written into ``visualizations/`` in this folder; by default the
            output folder of the benchmark.

    Returns:
        The files, in the order of the plots.

    Raises:
        InputError: If a file cannot be written.
    """
    target = Path(result.output_dir if folder is None else folder) / PLOTS_FOLDER
    qrels = None if result.dataset is None else result.dataset.judged
    return save_plots(draw_plots(result.report, result.per_query, qrels, result.runs), target)


def save_plots(plots: list[Plot], folder: str | Path) -> list[Path]:
    """Write plots as ``<name>.png`` and ``<name>.svg``.

    Args:
        plots: The plots.
        folder: The folder; it is created if necessary.

    Returns:
        The files, in the order of the plots.

    Raises:
        InputError: If a file cannot be written.
    """
    images = {f"{plot.name}.{kind}": render_plot(plot, kind) for plot in plots for kind in FORMATS}
    make_folder(Path(folder))
    for name, image in images.items():
        with atomic_write(Path(folder, name), "wb") as stream:
            stream.write(image)
    return [Path(folder, name) for name in images]


def render_plot(plot: Plot, image_format: ImageFormat) -> bytes:
    """Return a plot as PNG (150 dots per inch) or SVG (letters as outlines).

    The SVG contains title and description for readers who cannot see the plot.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    if image_format == "png":
        return as_png(plot.figure)
    named = {"Title": plot.title, "Description": plot.description}
    stream, canvas = io.BytesIO(), cast("Any", FigureCanvasSVG(plot.figure))
    with house_style():
        # Without time and version, the same figure gives the same bytes.
        canvas.print_svg(stream, metadata={"Date": None, "Creator": None, **named})
    return stream.getvalue()


def chosen_pairs(report: BenchmarkReport, measure: str | None = None) -> list[Comparison]:
    """Return the comparisons to draw: six on one measure, those with the best mode first.

    Args:
        report: The report.
        measure: The measure; by default the primary measure.
    """
    measure = measure or report.primary_measure
    best = report.best_mode[measure]
    entries = [entry for entry in report.comparisons if entry.measure == measure]
    if len(entries) > _MOST_PAIRS:
        entries.sort(key=lambda entry: best not in (entry.baseline, entry.contrast))
    return entries[:_MOST_PAIRS]


def _measures(report: BenchmarkReport, measures: Sequence[str] | None = None) -> Plot:
    """Draw the means of the headline measures, or of others."""
    names = report.headline_measures or report.measure_names
    if measures is not None:
        names = [require_measure(report, name) for name in measures]
    panels = {
        name: {mode: result.measures[name] for mode, result in report.modes.items()}
        for name in names
    }
    labels = {mode: result.label for mode, result in report.modes.items()}
    rising = {name: report.higher_is_better(name) for name in names}
    title = "Measures per mode"
    heading = title, describe_dataset(report)
    figure = _draw_panels(panels, labels, rising, report.confidence, heading)
    description = f"Mean of {', '.join(names)} with its interval, for {', '.join(labels.values())}."
    return Plot("measures", title, description, figure)


def _draw_panels(
    panels: Mapping[str, Mapping[str, MeanOf]],
    labels: Mapping[str, str],
    rising: Mapping[str, bool],
    confidence: float,
    heading: tuple[str, str],
) -> Figure:
    """Draw a panel for each measure, with its own scale for all modes."""
    if not panels:
        raise UsageError("no measure is named", remedy="name one, or leave measures out")
    most, longest = (2, 36) if len(labels) <= _MOST_MODES else (3, 18)
    columns = min(len(panels), most)
    lines = ceil(len(panels) / columns)
    with house_style():
        figure = new_figure(lines * (0.19 * len(labels) + 0.62) + HEADING)
        grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
        for axes, (measure, figures) in zip(grid.flat, panels.items(), strict=False):
            _plot_means(axes, figures, labels)
            axes.set_title(label_text(measure, longest) + ("" if rising[measure] else " ↓"))
        for axes in grid.flat[len(panels) :]:
            axes.remove()
        note = "" if all(rising.values()) else "; ↓: lower is better"
        figure.supxlabel(f"Mean with its {confidence * 100:g}% interval{note}", fontsize="medium")
        finish(figure, *heading)
    return figure


def _plot_means(axes: Axes, figures: Mapping[str, MeanOf], labels: Mapping[str, str]) -> None:
    """Draw the means of one measure with their intervals, in a row per mode."""
    means = [one.mean for one in figures.values()]
    ends = [0.0, *(end for one in figures.values() for end in (one.mean, *ends_of(one.ci)) if end)]
    low, high = min(ends), max(ends) if max(ends) > min(ends) else min(ends) + 1.0
    different = len({one.n for one in figures.values() if one.mean is not None}) > 1
    room = 1.25 if different else 1.0  # for the numbers of queries
    # From 0 to the largest value, so that small differences look small.
    axes.set_xlim(low - 0.02 * (high - low) * (low < 0), low + 1.03 * room * (high - low))
    axes.set_ylim(len(figures) - 0.4, -0.6)
    axes.set_yticks(range(len(figures)), [label_text(labels[mode]) for mode in figures])
    axes.tick_params(axis="y", length=0, pad=7)
    add_grid(axes)
    for place, (one, mean) in enumerate(zip(figures.values(), means, strict=True)):
        if mean is not None:
            style = mode_style(place)
            # Some kinds of interval do not contain the mean; a length cannot be negative.
            below, above = (mean if end is None else end for end in ends_of(one.ci))
            axes.errorbar(
                *(mean, place),
                xerr=[[max(0.0, mean - below)], [max(0.0, above - mean)]],
                fmt=style.marker,
                color=style.colour,
                markersize=5.5,
                elinewidth=1.4,
                capsize=2.6,
                capthick=1.2,
                clip_on=False,
                zorder=3,
            )
        if mean is None or different:
            text = "undefined" if mean is None else f"n = {one.n:,}"
            x, side = (0.01, "left") if mean is None else (1.0, "right")
            across = axes.get_yaxis_transform()
            axes.text(x, place, text, transform=across, ha=side, va="center", fontsize="small")


def _curves(
    report: BenchmarkReport, qrels: Qrels | JudgedQueries, runs: Mapping[str, Run]
) -> Iterator[Plot]:
    """Draw curves of all modes, or of the best eight of more than ten."""
    labels, data = {mode: one.label for mode, one in report.modes.items()}, describe_dataset(report)
    if len(labels) > _MOST_MODES:
        measure = report.primary_measure
        sign = -1 if report.higher_is_better(measure) else 1
        means = {mode: one.measures[measure].mean for mode, one in report.modes.items()}
        order = sorted(sign * mean for mean in means.values() if mean is not None)[:_BEST_MODES]
        best = [mode for mode, mean in means.items() if mean is not None and sign * mean in order]
        labels = {mode: labels[mode] for mode in best[:_BEST_MODES]}
        data += (
            f" · the {len(labels)} of {len(report.modes)} {report.noun}s with the best {measure}"
        )
    chosen = {mode: run for mode, run in runs.items() if mode in labels}
    resampling = resampling_of(report.manifest.config)
    resampling["seed"] = report.manifest.seed
    for curves in measure_curves(qrels, chosen, report.manifest.averaging, resampling):
        name, title, at = _CURVES[curves.measure]
        with house_style():
            figure = new_figure(3.6 + HEADING + legend_height(list(labels.values())))
            axes = figure.subplots()
            has_intervals = curves.n > 1 and len(curves.mean) <= _MOST_BANDS
            shown = f"{title}, with {curves.level * 100:g}% intervals" if has_intervals else title
            _plot_curves(axes, curves, labels)
            axes.set_xlabel(at)
            axes.set_ylabel(
                {"HitRate": "HitRate@k", "IPrec": "Interpolated precision"}[curves.measure]
            )
            handles, names = axes.get_legend_handles_labels()
            finish(figure, shown, data, dict(zip(names, handles, strict=True)))
        yield Plot(name, title, f"{shown}, for {', '.join(labels.values())}.", figure)


def _plot_curves(axes: Axes, curves: Curves, labels: Mapping[str, str]) -> None:
    """Draw the means over recall or k, with their intervals."""
    for place, (mode, mean) in enumerate(curves.mean.items()):
        style, (low, high) = mode_style(place), (curves.low[mode], curves.high[mode])
        style.draw_curve(axes, curves.at, mean, labels.get(mode, mode))
        if len(curves.mean) <= _MOST_BANDS:
            axes.fill_between(
                curves.at, low, high, color=style.colour, alpha=0.13, linewidth=0, zorder=1
            )
    add_grid(axes)
    axes.set_ylim(bottom=0.0)
    if curves.measure == "HitRate":
        deepest = max(float(curves.at.max()), 2.0)
        ticks = [tick for tick in _TICKS if tick <= deepest]
        axes.set_xscale("log")
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlim(0.92, deepest * 1.08)


def _differences(
    report: BenchmarkReport, per_query: pl.DataFrame, measure: str | None = None
) -> Plot:
    name = report.primary_measure if measure is None else require_measure(report, measure)
    entries = chosen_pairs(report, name)
    columns = min(len(entries), 2)
    lines = ceil(len(entries) / columns)
    legend: dict[str, Artist] = {}
    reach = 0.0
    title = f"Differences in {name}, query by query"
    with house_style():
        figure = new_figure(2.6 * lines + HEADING + 0.3)
        grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
        for axes, entry in zip(grid.flat, entries, strict=False):
            differences = _query_differences(per_query, entry)
            _plot_differences(axes, report, differences, entry)
            handles, labels = axes.get_legend_handles_labels()
            legend |= dict(zip(labels, handles, strict=True))
            reach = max(reach, float(np.abs(differences).max(initial=0.0)))
        reach = reach if reach > EQUAL else 1.0
        grid[0, 0].set_ylim(-1.08 * reach, 1.3 * reach)  # the mean is written above 0
        for axes in grid[:, 0]:
            axes.set_ylabel("Difference")
        for axes in grid.flat[len(entries) :]:
            axes.remove()
        finish(figure, title, describe_dataset(report), legend)
    pairs = dict.fromkeys((entry.contrast, entry.baseline) for entry in entries)
    shown = ", ".join(
        f"{report.modes[first].label} − {report.modes[second].label}" for first, second in pairs
    )
    return Plot("differences", title, f"{title}: {shown}.", figure)


def _query_differences(per_query: pl.DataFrame, entry: Comparison) -> FloatArray:
    """Return contrast minus baseline per query, largest first, where both are defined."""
    values = per_query.filter(
        pl.col("measure") == entry.measure, pl.col("value").is_not_null()
    ).select("run", "query_id", "value")
    first, second = (values.filter(run=mode) for mode in (entry.contrast, entry.baseline))
    joined = first.join(second, on="query_id", suffix="_baseline")
    differences = (joined["value"] - joined["value_baseline"]).to_numpy()
    return -np.sort(-differences.astype(np.float64))


def _plot_differences(
    axes: Axes, report: BenchmarkReport, differences: FloatArray, entry: Comparison
) -> None:
    """Draw contrast minus baseline for every query as steps, and the mean with its interval."""
    from matplotlib.ticker import MaxNLocator

    edges = np.arange(len(differences) + 1) + 0.5
    sides = [("first", COLOURS[0], None), ("second", COLOURS[1], "////")]  # worse ones are hatched
    rising = report.higher_is_better(entry.measure)
    for sign, (place, colour, hatch) in zip((1, -1), sides if rising else sides[::-1], strict=True):
        if len(differences):
            axes.stairs(
                np.where(sign * differences > EQUAL, differences, 0.0),
                edges,
                fill=True,
                facecolor=colour,
                edgecolor="white" if hatch else colour,
                linewidth=0,
                hatch=hatch,
                label=f"{place} {report.noun} better",
                zorder=2,
            )
    axes.set_xlim(0.5, max(len(differences), 1) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
    axes.axhline(0.0, color=INK, linewidth=0.8, zorder=3)
    add_grid(axes, "y")
    first, second = (
        label_text(report.modes[one].label) for one in (entry.contrast, entry.baseline)
    )
    axes.set_title(f"{first}\n− {second}" if len(first + second) > 34 else f"{first} − {second}")
    axes.set_xlabel(
        f"Queries, sorted: {entry.wins:,} won, {entry.ties:,} tied, {entry.losses:,} lost"
    )
    text, label = "undefined", "mean"
    if entry.difference is not None:
        text = f"mean {_signed(entry.difference)}"
        low, high = ends_of(entry.ci)
        if low is not None and high is not None:
            axes.axhspan(low, high, color=INK, alpha=0.22, linewidth=0, zorder=4)
            unadjusted = "" if entry.has_own_level else "unadjusted "
            label = f"mean and {unadjusted}{report.confidence * 100:g}% interval"
            text += f" [{_signed(low)}, {_signed(high)}]"
        axes.axhline(
            entry.difference, label=label, color=INK, linewidth=1.2, linestyle="--", zorder=5
        )
    axes.text(0.98, 0.97, text, transform=axes.transAxes, ha="right", va="top", fontsize="small")


def _signed(value: float) -> str:
    """Return a value with four decimals, as in the tables, and a minus as wide as the plus."""
    return f"{value:+.4f}".replace("-", "−")
