"""The plots of results as Matplotlib figures with headings and legends, and their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from trectools_plus.benchmark.analyses import Curves, measure_curves
from trectools_plus.benchmark.compare.compare import summarise
from trectools_plus.benchmark.report import BenchmarkReport, MeasureResult
from trectools_plus.benchmark.run.config import Comparing, resampling_of
from trectools_plus.benchmark.run.output_folder import PLOTS_FOLDER
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.reporting.comparison import best_first, describe_dataset, require_measure
from trectools_plus.reporting.plots.style import (
    COLOURS,
    HEADING,
    INK,
    Plot,
    as_image,
    draw_curve,
    finish,
    house_style,
    label_text,
    mode_style,
    new_figure,
)
from trectools_plus.reporting.wording import show, show_ci
from trectools_plus.statistics.comparison import Comparison, ends_of
from trectools_plus.statistics.method import EQUAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trectools_plus.benchmark.run.runner import BenchmarkResult

FORMATS: tuple[Literal["png", "svg"], ...] = ("png", "svg")
_CURVES = {
    "IPrec": ("precision_recall", "Interpolated precision at recall levels", "Recall"),
    "HitRate": (
        "hit_rate",
        "Queries with a relevant document in the first k results",
        "k (number of first results, logarithmic)",
    ),
}
_MOST_PAIRS = 6
_MOST_MODES = 10
"""With more modes, curves show only the best ones, and there are three columns of panels."""
_MOST_BANDS = 4
"""With more modes than this, the bands of the intervals would hide each other."""
Row = tuple[str, Mapping[str, MeasureResult]]
"""A mode in words, and its measures."""


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
    names = [evaluation.find_measure(name) for name in requested]
    rows = summarise(evaluation, Comparing.of({"confidence": confidence}, ()))
    return _draw_panels([*rows.items()], names, confidence, ("Means per run", ""))


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
    if kind == "means":
        return _measures(report, None if measure is None else [measure])
    if kind != "differences" or not report.comparisons:
        raise UsageError(
            f"there is no plot {kind!r}", remedy="use means, or differences of two systems or more"
        )
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
    """Write plots as ``<name>.png`` (150 dots per inch) and ``<name>.svg`` (letters as outlines).

    Args:
        plots: The plots.
        folder: The folder; it is created if necessary.

    Returns:
        The files, in the order of the plots.

    Raises:
        InputError: If a file cannot be written.
    """
    make_folder(Path(folder))
    images = {
        Path(folder, f"{plot.name}.{kind}"): as_image(plot.figure, kind, plot.title)
        for plot in plots
        for kind in FORMATS
    }
    for path, image in images.items():
        with atomic_write(path, "wb") as stream:
            stream.write(image)
    return [*images]


def _measures(report: BenchmarkReport, measures: Sequence[str] | None = None) -> Plot:
    """Draw the means of the headline measures, or of others."""
    names = report.headline_measures
    if measures is not None:
        names = [require_measure(report, name) for name in measures]
    rows = [(result.label, result.measures) for result in report.modes.values()]
    heading = title, _ = "Measures per mode", describe_dataset(report)
    return Plot("measures", title, _draw_panels(rows, names, report.confidence, heading))


def _draw_panels(
    rows: Sequence[Row], names: Sequence[str], confidence: float, heading: tuple[str, str]
) -> Figure:
    """Draw a panel for each measure, with its own scale for all modes."""
    if not names:
        raise UsageError("no measure is named", remedy="name one, or leave measures out")
    most, longest = (2, 36) if len(rows) <= _MOST_MODES else (3, 18)
    columns = min(len(names), most)
    lines = ceil(len(names) / columns)
    falling = [name for name in names if not rows[0][1][name].definition.direction_of(name)]
    with house_style():
        figure = new_figure(lines * (0.19 * len(rows) + 0.62) + HEADING)
        grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
        for axes, name in zip(grid.flat, names, strict=False):
            _plot_means(axes, [measures[name] for _, measures in rows])
            axes.set_yticks(range(len(rows)), [label_text(label) for label, _ in rows])
            axes.set_title(label_text(name, longest) + (" ↓" if name in falling else ""))
        for axes in grid.flat[len(names) :]:
            axes.remove()
        note = "; ↓: lower is better" if falling else ""
        figure.supxlabel(f"Mean with its {confidence * 100:g}% interval{note}", fontsize="medium")
        finish(figure, *heading)
    return figure


def _plot_means(axes: Axes, figures: Sequence[MeasureResult]) -> None:
    """Draw the means of one measure with their intervals, in a row per mode."""
    for place, figure in enumerate(figures):
        if (mean := figure.mean) is not None:
            style = mode_style(place)
            # Some kinds of interval do not contain the mean; a length cannot be negative.
            low, high = (mean if end is None else end for end in ends_of(figure.ci))
            axes.errorbar(
                *(mean, place),
                xerr=[[max(0.0, mean - low)], [max(0.0, high - mean)]],
                fmt=style.marker,
                color=style.colour,
                capsize=2.6,
                clip_on=False,
                zorder=3,
            )
    axes.set_ylim(len(figures) - 0.4, -0.6)
    # From 0, so that small differences look small.
    axes.set_xlim(left=min(0.0, axes.dataLim.x0))
    axes.grid(axis="both")


def _curves(
    report: BenchmarkReport, qrels: Qrels | JudgedQueries, runs: Mapping[str, Run]
) -> Iterator[Plot]:
    """Draw curves of all modes, or of the best ten."""
    best = best_first(report)[:_MOST_MODES]
    labels = {mode: one.label for mode, one in report.modes.items() if mode in best}
    more = f" · the {len(best)} best {report.noun}s" if len(best) < len(report.modes) else ""
    chosen = {mode: run for mode, run in runs.items() if mode in labels}
    resampling = resampling_of({**report.manifest.config, "seed": report.manifest.seed})
    for curves in measure_curves(qrels, chosen, report.manifest.averaging, resampling):
        name, title, _ = _CURVES[curves.measure]
        with house_style():
            figure = new_figure(4.0 + HEADING + 0.1 * len(labels))
            _plot_curves(figure.subplots(), curves, labels)
            finish(figure, title, describe_dataset(report) + more)
        yield Plot(name, title, figure)


def _plot_curves(axes: Axes, curves: Curves, labels: Mapping[str, str]) -> None:
    """Draw the means over recall or k, with their intervals."""
    for place, (mode, mean) in enumerate(curves.mean.items()):
        draw_curve(axes, place, curves.at, mean, labels[mode])
        if len(curves.mean) <= _MOST_BANDS:
            ends = curves.low[mode], curves.high[mode]
            axes.fill_between(curves.at, *ends, color=mode_style(place).colour, alpha=0.13)
    axes.set_xlabel(_CURVES[curves.measure][2])
    axes.set_ylim(bottom=0.0)
    axes.grid(axis="both")
    if curves.measure == "HitRate":
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")


def _differences(
    report: BenchmarkReport, per_query: pl.DataFrame, measure: str | None = None
) -> Plot:
    """Draw at most six pairs on one measure, those with the best mode first."""
    name = report.primary_measure if measure is None else require_measure(report, measure)
    pairs = [entry for entry in report.comparisons if entry.measure == name]
    if len(pairs) > _MOST_PAIRS:
        pairs.sort(key=lambda pair: report.best_mode[name] not in (pair.baseline, pair.contrast))
    pairs = pairs[:_MOST_PAIRS]
    columns = min(len(pairs), 2)
    lines = ceil(len(pairs) / columns)
    title = f"Differences in {name}, query by query"
    with house_style():
        figure = new_figure(2.6 * lines + HEADING + 0.3)
        grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
        for axes, pair in zip(grid.flat, pairs, strict=False):
            _plot_differences(axes, report, _query_differences(per_query, pair), pair)
        for axes in grid.flat[len(pairs) :]:
            axes.remove()
        finish(figure, title, describe_dataset(report))
    return Plot("differences", title, figure)


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
    edges = np.arange(len(differences) + 1) + 0.5
    sides = [("first", COLOURS[0], None), ("second", COLOURS[1], "////")]  # worse ones are hatched
    rising = report.higher_is_better(entry.measure)
    for sign, (place, colour, hatch) in zip((1, -1), sides if rising else sides[::-1], strict=True):
        axes.stairs(
            np.where(sign * differences > EQUAL, differences, 0.0),
            edges,
            fill=True,
            facecolor=colour,
            edgecolor="white" if hatch else colour,
            linewidth=0,
            hatch=hatch,
            label=f"{place} {report.noun} better",
        )
    axes.axhline(0.0, color=INK, linewidth=0.8)
    axes.grid(axis="y")
    names = [label_text(report.modes[mode].label) for mode in (entry.contrast, entry.baseline)]
    shown = f"mean {show(entry.difference, '+')} {show_ci(entry.ci, '+', decimals=4)}"
    axes.set_title("\n− ".join(names) + f"\n{shown.rstrip()}")
    axes.set_xlabel(
        f"Queries, sorted: {entry.wins:,} won, {entry.ties:,} tied, {entry.losses:,} lost"
    )
    if entry.difference is not None:
        low, high = ends_of(entry.ci)
        if low is not None and high is not None:
            axes.axhspan(low, high, color=INK, alpha=0.22, linewidth=0, zorder=4)
        axes.axhline(entry.difference, label="mean and its interval", color=INK, linestyle="--")
