"""All plots of a report as figures with layout, headings and legends, and their files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from trectools_plus.benchmark.curves import ScoredCurves, resample_curves, score_curves
from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.benchmark.run.output_folder import PLOTS_FOLDER
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.reporting.comparison import describe_dataset, require_measure
from trectools_plus.reporting.plots.differences import plot_differences
from trectools_plus.reporting.plots.means import (
    MOST_BANDS,
    measures_plot,
    plot_hit_rate,
    plot_precision_recall,
)
from trectools_plus.reporting.plots.style import (
    HEADING,
    Plot,
    finish,
    house_style,
    label_text,
    legend_height,
    new_figure,
)
from trectools_plus.statistics.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.artist import Artist

    from trectools_plus.benchmark.run.runner import BenchmarkResult

ImageFormat = Literal["png", "svg"]
FORMATS: tuple[ImageFormat, ...] = ("png", "svg")
KINDS = ("means", "differences")
"""The plots of :func:`draw_plot`."""

# Without time and version, the same figure gives the same bytes.
_NO_ORIGIN = {"Date": None, "Creator": None}
_CURVES = {
    "IPrec": (
        "precision_recall",
        "Interpolated precision at recall levels",
        plot_precision_recall,
    ),
    "HitRate": (
        "hit_rate",
        "Queries with a relevant document in the first k results",
        plot_hit_rate,
    ),
}
_MOST_PAIRS = 6
_MOST_MODES = 10
"""With more modes, curves show only the best ones."""
_BEST_MODES = 8


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
    curves: ScoredCurves = {}
    if qrels is not None and runs:
        curves = _score_curves(report, qrels, runs)
    with house_style():
        plots = [measures_plot(report), *_curves(report, curves)]
        if report.comparisons:
            plots.append(_differences(report, per_query))
    return plots


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
    name = None if measure is None else require_measure(report, measure)
    if kind == "differences" and not report.comparisons:
        raise UsageError("differences need two systems", remedy="use the plot means")
    with house_style():
        if kind == "means":
            return measures_plot(report, None if name is None else [name])
        return _differences(report, per_query, name)


def chosen_pairs(report: BenchmarkReport, measure: str | None = None) -> list[Comparison]:
    """Return the comparisons to draw: six on one measure, those with the best mode first.

    Args:
        report: The report.
        measure: The measure; by default the primary measure.
    """
    measure = measure or report.primary_measure
    entries = [entry for entry in report.comparisons if entry.measure == measure]
    if len(entries) <= _MOST_PAIRS:
        return entries
    best = report.best_mode[measure]
    entries.sort(key=lambda entry: best not in (entry.baseline, entry.contrast))
    return entries[:_MOST_PAIRS]


def _best_modes(report: BenchmarkReport) -> tuple[BenchmarkReport, str]:
    """Return the report with the modes that can be distinguished in one panel, and the heading.

    Those are all modes, or the best eight of more than ten.
    """
    data = describe_dataset(report)
    if len(report.modes) <= _MOST_MODES:
        return report, data
    measure = report.primary_measure
    sign = 1 if report.higher_is_better(measure) else -1
    means = {mode: result.measures[measure].mean for mode, result in report.modes.items()}
    defined = {mode: sign * mean for mode, mean in means.items() if mean is not None}
    best = set(sorted(defined, key=lambda mode: -defined[mode])[:_BEST_MODES])
    chosen = {mode: one for mode, one in report.modes.items() if mode in best}
    described = (
        f"{data} · the {len(chosen)} of {len(report.modes)} {report.noun}s with the best {measure}"
    )
    return report.model_copy(update={"modes": chosen}), described


def _score_curves(
    report: BenchmarkReport, qrels: Qrels | JudgedQueries, runs: Mapping[str, Run]
) -> ScoredCurves:
    """Score the points of the curves of the modes that are drawn."""
    chosen, _ = _best_modes(report)
    return score_curves(
        qrels,
        {mode: run for mode, run in runs.items() if mode in chosen.modes},
        report.manifest.averaging,
    )


def _curves(report: BenchmarkReport, scored: ScoredCurves) -> Iterator[Plot]:
    report, data = _best_modes(report)
    labels = {mode: result.label for mode, result in report.modes.items()}
    resampling = resampling_of(report.manifest.config)
    resampling["seed"] = report.manifest.seed
    for measure, (points, scores) in scored.items():
        name, title, plot = _CURVES[measure]
        curves = resample_curves(measure, points, scores, resampling)
        figure = new_figure(3.6 + HEADING + legend_height(_labels(report)))
        axes = plot(figure.subplots(), curves, labels)
        has_intervals = curves.n > 1 and len(curves.mean) <= MOST_BANDS
        shown = title if not has_intervals else f"{title}, with {curves.level * 100:g}% intervals"
        finish(figure, shown, data, axes.get_legend_handles_labels())
        yield Plot(name, title, f"{shown}, for {_modes(report)}.", figure)


def _differences(
    report: BenchmarkReport, per_query: pl.DataFrame, measure: str | None = None
) -> Plot:
    entries = chosen_pairs(report, measure)
    columns = min(len(entries), 2)
    lines = ceil(len(entries) / columns)
    figure = new_figure(2.6 * lines + HEADING + 0.3)
    every = figure.subplots(lines, columns, squeeze=False, sharey=True)
    legend: dict[str, Artist] = {}
    reach = 0.0
    for axes, entry in zip(every.flat, entries, strict=False):
        plot_differences(axes, report, per_query, entry.baseline, entry.contrast, entry.measure)
        handles, labels = axes.get_legend_handles_labels()
        legend |= dict(zip(labels, handles, strict=True))
        reach = max(reach, axes.get_ylim()[1])
    every[0, 0].set_ylim(-reach, reach)
    for axes in every[:, 1:].flat:
        axes.set_ylabel("")
    for axes in every.flat[len(entries) :]:
        axes.remove()
    title = f"Differences in {measure or report.primary_measure}, query by query"
    finish(figure, title, describe_dataset(report), (list(legend.values()), list(legend)))
    pairs = "; ".join(
        f"{report.modes[entry.contrast].label} minus {report.modes[entry.baseline].label}: "
        f"{entry.wins:,} won, {entry.ties:,} tied, {entry.losses:,} lost"
        for entry in entries
    )
    return Plot("differences", title, f"{title}, largest first. {pairs}.", figure)


def _labels(report: BenchmarkReport) -> list[str]:
    return [label_text(result.label) for result in report.modes.values()]


def _modes(report: BenchmarkReport) -> str:
    return ", ".join(result.label for result in report.modes.values())


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
    plots = draw_plots(result.report, result.per_query, qrels, result.runs)
    return save_plots(plots, target)


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
    images = render_plots(plots)
    target = Path(folder)
    make_folder(target)
    for name, image in images.items():
        with atomic_write(target / name, "wb") as stream:
            stream.write(image)
    return [target / name for name in images]


def render_plots(plots: Iterable[Plot]) -> dict[str, bytes]:
    """Return each plot as PNG and SVG by the name of its file."""
    return {
        f"{plot.name}.{image_format}": render_plot(plot, image_format)
        for plot in plots
        for image_format in FORMATS
    }


def render_plot(plot: Plot, image_format: ImageFormat) -> bytes:
    """Return a plot as PNG (150 dots per inch) or SVG (letters as outlines).

    The SVG contains title and description for readers who cannot see the plot.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    stream = io.BytesIO()
    with house_style():
        # Not with savefig, which would draw each figure twice to lay it out.
        if image_format == "png":
            agg: Any = FigureCanvasAgg(plot.figure)
            agg.print_png(stream, metadata={"Software": None})
        else:
            named = {"Title": plot.title, "Description": plot.description}
            svg: Any = FigureCanvasSVG(plot.figure)
            svg.print_svg(stream, metadata={**_NO_ORIGIN, **named})
    return stream.getvalue()
