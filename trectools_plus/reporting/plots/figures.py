"""All plots of a report as figures with layout, headings and legends, and their files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from trectools_plus.benchmark.curves import hit_rate_curves, precision_recall_curves
from trectools_plus.benchmark.report import BenchmarkReport, Comparison
from trectools_plus.benchmark.report.analyses import Similarity
from trectools_plus.benchmark.report.parts import ends_of
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.benchmark.run.output_folder import PLOTS_FOLDER
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.reporting.comparison import describe_dataset
from trectools_plus.reporting.plots.critical_difference import (
    FEWEST_MODES,
    LINE_INCHES,
    find_critical_difference,
    plot_critical_difference,
)
from trectools_plus.reporting.plots.differences import plot_differences
from trectools_plus.reporting.plots.means import (
    MOST_VALUES,
    ROW_PADDING,
    plot_hit_rate,
    plot_measures,
    plot_precision_recall,
    plot_strata,
    require_measure,
)
from trectools_plus.reporting.plots.similarity import plot_similarity
from trectools_plus.reporting.plots.style import house_style, label_text
from trectools_plus.reporting.wording import describe_test

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

    from trectools_plus.benchmark.run.runner import BenchmarkResult

ImageFormat = Literal["png", "svg"]
FORMATS: tuple[ImageFormat, ...] = ("png", "svg")
KINDS = ("means", "differences", "critical_difference")
"""The plots of :func:`draw_plot`."""

# Without time and version, the same figure gives the same bytes.
_NO_ORIGIN = {"Date": None, "Creator": None}
WIDTH = 7.2
"""Width of a figure in inches."""
DOTS_PER_INCH = 150
_MOST_DOTS = 30_000
"""Maximum height of a figure in dots; Matplotlib draws at most 65,535."""
_HEADING = 0.75
_MOST_PAIRS = 6
_LETTERS_A_LINE = 96


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """A finished figure.

    Attributes:
        name: The name of the file without its suffix.
        title: The heading.
        description: The text for readers who cannot see the plot.
        figure: The Matplotlib figure.
    """

    name: str
    title: str
    description: str
    figure: Figure


def draw_plots(
    report: BenchmarkReport,
    per_query: pl.DataFrame,
    qrels: Qrels | None = None,
    runs: Mapping[str, Run] | None = None,
) -> list[Plot]:
    """Draw all plots of a report.

    There is always ``measures``; with judgments and runs ``precision_recall`` and ``hit_rate``; for
    compared modes ``differences`` on the primary measure; with strata ``strata`` on the first
    measure; for three modes or more ``run_similarity``; for five or more, of which every pair is
    compared, ``critical_difference``.

    Args:
        report: The report.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        qrels: The judgments.
        runs: The runs, by mode.
    """
    with house_style():
        plots = [_measures(report)]
        if qrels is not None and runs:
            plots += _curves(report, qrels, runs)
        if report.comparisons:
            plots.append(_differences(report, per_query))
        if any(report.strata.values()):
            plots.append(_strata(report))
        if report.similarity is not None:
            labels = [report.modes[mode].label for mode in report.similarity.modes]
            plots.append(draw_similarity(report.similarity, labels, describe_dataset(report)))
        if len(report.modes) >= FEWEST_MODES and report.groups.get(report.primary_measure):
            with suppress(UsageError):  # no query for which every mode defines the measure
                plots.append(_critical_difference(report, per_query))
    return plots


def draw_plot(
    report: BenchmarkReport, per_query: pl.DataFrame, kind: str, measure: str | None = None
) -> Plot:
    """Draw one plot of a report.

    Args:
        report: The report.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        kind: ``means``, ``differences`` or ``critical_difference``.
        measure: The measure, in any spelling; by default the headline measures for ``means``, and
            the primary measure for the others.

    Raises:
        UsageError: If the report does not have the measure, the plot does not exist, or it needs
            more modes.
    """
    if kind not in KINDS:
        raise UsageError(f"there is no plot {kind!r}", remedy=f"use {', '.join(KINDS)}")
    name = None if measure is None else require_measure(report, measure)
    if kind == "differences" and not report.comparisons:
        raise UsageError("differences need two systems", remedy="use the plot means")
    with house_style():
        if kind == "means":
            return _measures(report, report.headline_measures if name is None else [name])
        if kind == "differences":
            return _differences(report, per_query, name)
        return _critical_difference(report, per_query, name)


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


def _measures(report: BenchmarkReport, measures: Sequence[str] | None = None) -> Plot:
    """Draw the means: one scale for all measures up to 1, and one for each other measure."""
    names = report.measure_names if measures is None else measures
    panels = [panel for panel in _scales(report, names) if panel]
    rows = [len(panel) * (len(report.modes) + ROW_PADDING) for panel in panels]
    figure = _new_figure(_height(rows) + _legend_height(report))
    every = figure.subplots(len(panels), 1, squeeze=False, height_ratios=rows)
    for axes, panel in zip(every[:, 0], panels, strict=True):
        plot_measures(axes, report, panel)
    title = "Measures per mode"
    _finish(figure, report, title, every[0, 0].get_legend_handles_labels())
    description = f"Mean of {', '.join(names)} with its interval, for {_modes(report)}."
    return Plot("measures", title, description, figure)


def _scales(report: BenchmarkReport, names: Sequence[str]) -> list[list[str]]:
    within: list[str] = []
    beyond: list[list[str]] = []
    for name in names:
        figures = [result.measures[name] for result in report.modes.values()]
        ends = [end for one in figures for end in (one.mean, ends_of(one.ci)[1]) if end is not None]
        if max(ends, default=0.0) <= 1.0:
            within.append(name)
        else:
            beyond.append([name])
    return [within, *beyond]


def _curves(report: BenchmarkReport, qrels: Qrels, runs: Mapping[str, Run]) -> Iterator[Plot]:
    labels = {mode: result.label for mode, result in report.modes.items()}
    for name, title, compute, plot in (
        (
            "precision_recall",
            "Interpolated precision at recall levels",
            precision_recall_curves,
            plot_precision_recall,
        ),
        (
            "hit_rate",
            "Queries with a relevant document in the first k results",
            hit_rate_curves,
            plot_hit_rate,
        ),
    ):
        curves = compute(
            qrels,
            runs,
            missing=report.manifest.config.get("missing", "zero"),
            **resampling_of(report.manifest.config) | {"seed": report.manifest.seed},
        )
        figure = _new_figure(3.6 + _HEADING + _legend_height(report))
        axes = plot(figure.subplots(), curves, labels)
        shown = title if curves.n < 2 else f"{title}, with {curves.level * 100:g}% intervals"
        _finish(figure, report, shown, axes.get_legend_handles_labels())
        yield Plot(name, title, f"{shown}, for {_modes(report)}.", figure)


def _differences(
    report: BenchmarkReport, per_query: pl.DataFrame, measure: str | None = None
) -> Plot:
    entries = chosen_pairs(report, measure)
    columns = min(len(entries), 2)
    lines = ceil(len(entries) / columns)
    figure = _new_figure(2.6 * lines + _HEADING + 0.3)
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
    _finish(figure, report, title, (list(legend.values()), list(legend)))
    pairs = "; ".join(
        f"{report.modes[entry.contrast].label} minus {report.modes[entry.baseline].label}: "
        f"{entry.wins} won, {entry.ties} tied, {entry.losses} lost"
        for entry in entries
    )
    return Plot("differences", title, f"{title}, largest first. {pairs}.", figure)


def _strata(report: BenchmarkReport) -> Plot:
    measure = report.measure_names[0]
    fields = [field for field, values in report.strata.items() if values]
    counts = [min(len(report.strata[field]), MOST_VALUES) for field in fields]
    rows = [count * (len(report.modes) + ROW_PADDING) for count in counts]
    figure = _new_figure(_height(rows) + 0.25 * len(rows) + _legend_height(report))
    every = figure.subplots(len(fields), 1, squeeze=False, height_ratios=rows)
    for axes, field in zip(every[:, 0], fields, strict=True):
        plot_strata(axes, report, field, measure)
    title = f"{measure} by groups of queries"
    _finish(figure, report, title, every[0, 0].get_legend_handles_labels())
    description = f"Mean {measure} with its interval by {', '.join(fields)}, for {_modes(report)}."
    return Plot("strata", title, description, figure)


def _critical_difference(
    report: BenchmarkReport, per_query: pl.DataFrame, measure: str | None = None
) -> Plot:
    found = find_critical_difference(report, per_query, measure)
    lines = len(found.groups) + (len(found.ranks) + 1) // 2 + 3
    figure = _new_figure(LINE_INCHES * lines + _HEADING)
    plot_critical_difference(figure.subplots(), report, per_query, found.measure)
    title = f"Mean ranks on {found.measure}"
    joined = "Lines join modes without a significant difference"
    test = next((one for one in report.comparisons if one.measure == found.measure), None)
    if test is not None:
        joined += f" ({describe_test(test, report.confidence)})"
    figure.supxlabel(fill(f"{joined}.", 100), x=0.01, ha="left", fontsize="small")
    _finish(figure, report, title, ([], []))
    ranks = ", ".join(
        f"{report.modes[mode].label} {rank:.2f}" for mode, rank in found.ranks.items()
    )
    groups = "; ".join(
        " and ".join(report.modes[mode].label for mode in group) for group in found.groups
    )
    description = f"{title}, the best first: {ranks}. {joined}: {groups or 'none'}."
    return Plot("critical_difference", title, description, figure)


def draw_similarity(similarity: Similarity, labels: Sequence[str], dataset: str) -> Plot:
    """Return the plot ``run_similarity``: the rank-biased overlap of each two runs.

    Args:
        similarity: The matrix.
        labels: The names of the runs in tables.
        dataset: A description of the data.
    """
    with house_style():
        figure = _new_figure(min(7.0, 2.2 + 0.45 * len(labels)) + _HEADING)
        plot_similarity(figure.subplots(), similarity, labels)
        title = f"Similarity of the first {similarity.depth} results (RBO, p = {similarity.p:g})"
        _add_heading(figure, title, dataset)
        _lay_out(figure)
    pairs = "; ".join(
        f"{labels[row]} and {labels[column]} {value:.2f}"
        for row in range(len(labels))
        for column in range(row)
        if (value := similarity.rbo[row][column]) is not None
    )
    return Plot("run_similarity", title, f"{title}: {pairs}.", figure)


def _height(rows: Sequence[float]) -> float:
    """Return the height in inches of panels with these numbers of rows, scales and heading."""
    return sum(0.16 * count + 0.5 for count in rows) + _HEADING


def _new_figure(height: float) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    dots = min(DOTS_PER_INCH, _MOST_DOTS / height)
    return Figure(figsize=(WIDTH, height), dpi=dots, layout=layout)


def _finish(
    figure: Figure,
    report: BenchmarkReport,
    title: str,
    legend: tuple[Sequence[Artist], Sequence[str]],
) -> None:
    """Add the heading above and the legend below the panels."""
    _add_heading(figure, title, describe_dataset(report))
    handles, labels = legend
    columns = _legend_columns(labels)
    figure.legend(list(handles), list(labels), loc="outside lower center", ncols=columns)
    _lay_out(figure)


def _add_heading(figure: Figure, title: str, dataset: str) -> None:
    heading = f"{label_text(title, 90)}\n{label_text(dataset, 90)}"
    figure.suptitle(heading, x=0.01, ha="left", fontsize="large")


def _lay_out(figure: Figure) -> None:
    """Lay out the figure once for all files: the layout takes longer than the drawing."""
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
        figure.set_layout_engine("none")


def _legend_columns(labels: Sequence[str]) -> int:
    longest = max(map(len, labels), default=0) + 8
    return max(1, min(len(labels), _LETTERS_A_LINE // longest))


def _legend_height(report: BenchmarkReport) -> float:
    labels = [label_text(result.label) for result in report.modes.values()]
    return 0.2 + 0.18 * ceil(len(labels) / _legend_columns(labels))


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
    qrels = None if result.dataset is None else result.dataset.qrels
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
    target = Path(folder)
    make_folder(target)
    files = []
    for plot in plots:
        for image_format in FORMATS:
            path = target / f"{plot.name}.{image_format}"
            with atomic_write(path, "wb") as stream:
                stream.write(render_plot(plot, image_format))
            files.append(path)
    return files


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
