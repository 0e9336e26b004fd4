"""The plots of results as Matplotlib figures with headings and legends, and their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from trectools_plus.benchmark.compare.compare import summarise, summarise_means
from trectools_plus.benchmark.report.model import BenchmarkReport, MeasureResult
from trectools_plus.benchmark.run.config import Comparing, resampling_of
from trectools_plus.benchmark.run.output_folder import PLOTS_FOLDER
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import Evaluation, score_runs
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.parser import parse_measures
from trectools_plus.reporting.comparison import best_first, describe_dataset, require_measure
from trectools_plus.reporting.plots.style import (
    COLOURS,
    HEADING,
    INK,
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trectools_plus.benchmark.run.runner import BenchmarkResult
    from trectools_plus.benchmark.sweep.runner import ScoredVariant

FORMATS: tuple[Literal["png", "svg"], ...] = ("png", "svg")
_MOST_PAIRS = 6
_MOST_MODES = 10
"""With more modes, curves show only the best ones."""
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
    names = report.headline_measures
    if measures is not None:
        names = [require_measure(report, name) for name in measures]
    rows = [(result.label, result.measures) for result in report.modes.values()]
    title = "Measures per mode", describe_dataset(report)
    return _draw_means(rows, names, report.confidence, *title)


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
    return _draw_means([*rows.items()], names, confidence, "Means per run")


def draw_plots(
    report: BenchmarkReport,
    per_query: pl.DataFrame,
    qrels: Qrels | JudgedQueries | None = None,
    runs: Mapping[str, Run] | None = None,
) -> dict[str, Figure]:
    """Draw all plots of a report, by name.

    There is always ``measures``; with judgments and runs ``precision_recall``; for compared
    modes ``differences`` on the primary measure.

    Args:
        report: The report.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        qrels: The judgments.
        runs: The runs, by mode.
    """
    figures = {"measures": plot_report(report)}
    if qrels is not None and runs:
        figures["precision_recall"] = _draw_precision(report, qrels, runs)
    if report.comparisons:
        figures["differences"] = plot_differences(report, per_query)
    return figures


def plot_differences(
    report: BenchmarkReport, per_query: pl.DataFrame, measure: str | None = None
) -> Figure:
    """Return a figure of the differences of at most six pairs, query by query.

    Args:
        report: The report.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        measure: The measure, in any spelling; by default the primary measure.

    Raises:
        UsageError: If the report does not have the measure, or two modes.
    """
    name = report.primary_measure if measure is None else require_measure(report, measure)
    pairs = [pair for pair in report.comparisons if pair.measure == name]
    if not pairs:
        raise UsageError("differences need two systems", remedy="use the plot means")
    best = report.best_mode[name]
    pairs.sort(key=lambda pair: best not in (pair.baseline, pair.contrast))
    with house_style():
        figure, panels = _panels(min(len(pairs), _MOST_PAIRS), 2.7)
        for axes, pair in zip(panels, pairs, strict=False):
            _plot_differences(axes, report, per_query, pair)
        finish(figure, f"Differences in {name}, query by query", describe_dataset(report))
    return figure


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


def save_plots(figures: Mapping[str, Figure], folder: str | Path) -> list[Path]:
    """Write plots as ``<name>.png`` (150 dots per inch) and ``<name>.svg`` (letters as outlines).

    Args:
        figures: The figures by name.
        folder: The folder; it is created if necessary.

    Returns:
        The files, in the order of the plots.

    Raises:
        InputError: If a file cannot be written.
    """
    make_folder(Path(folder))
    images = {
        Path(folder, f"{name}.{kind}"): as_image(figure, kind)
        for name, figure in figures.items()
        for kind in FORMATS
    }
    for path, image in images.items():
        with atomic_write(path, "wb") as stream:
            stream.write(image)
    return [*images]


def _panels(count: int, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels of a height, in two columns, whose vertical axes are equal."""
    columns = min(count, 2)
    lines = ceil(count / columns)
    figure = new_figure(lines * height + HEADING)
    grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
    for axes in grid.flat[count:]:
        axes.remove()
    return figure, [*grid.flat[:count]]


def _draw_means(
    rows: Sequence[tuple[str, Mapping[str, MeasureResult]]],
    names: Sequence[str],
    confidence: float,
    title: str,
    data: str = "",
) -> Figure:
    """Draw a panel for each measure, with its own scale for all modes."""
    if not names:
        raise UsageError("no measure is named", remedy="name one, or leave measures out")
    with house_style():
        figure, panels = _panels(len(names), 0.19 * len(rows) + 0.62)
        for axes, name in zip(panels, names, strict=True):
            figures = [measures[name] for _, measures in rows]
            plot_means(axes, [label for label, _ in rows], figures)
            is_rising = figures[0].definition.direction_of(name)
            axes.set_title(label_text(name) + " ↓" * (not is_rising))
        note = f"Mean with its {confidence * 100:g}% interval; ↓: lower is better"
        figure.supxlabel(note, fontsize="medium")
        finish(figure, title, data)
    return figure


def plot_means(
    axes: Axes, labels: Sequence[str], figures: Sequence[MeasureResult | ScoredVariant]
) -> None:
    """Draw the means of one measure with their intervals, in a row per mode."""
    for place, figure in enumerate(figures):
        if (mean := figure.mean) is not None:
            look: dict[str, Any] = {**mode_style(place), "linestyle": "none"}
            # Some kinds of interval do not contain the mean; a length cannot be negative.
            low, high = (mean if end is None else end for end in ends_of(figure.ci))
            lengths = [[max(0.0, mean - low)], [max(0.0, high - mean)]]
            axes.errorbar(mean, place, xerr=lengths, capsize=2.6, clip_on=False, zorder=3, **look)
    axes.set_yticks(range(len(labels)), list(map(label_text, labels)))
    axes.set_ylim(len(figures) - 0.4, -0.6)
    # From 0, so that small differences look small.
    axes.set_xlim(left=min(0.0, axes.dataLim.x0))
    axes.grid(axis="both")


def _draw_precision(
    report: BenchmarkReport, qrels: Qrels | JudgedQueries, runs: Mapping[str, Run]
) -> Figure:
    """Draw interpolated precision over recall, for all modes or for the best ten."""
    best = best_first(report)[:_MOST_MODES]
    chosen = {mode: run for mode, run in runs.items() if mode in best}
    levels = [step / 10 for step in range(11)]
    measures = parse_measures([f"IPrec@{level:g}" for level in levels])
    scores = score_runs(qrels, chosen, measures, report.manifest.averaging)
    options = resampling_of({**report.manifest.config, "seed": report.manifest.seed})
    with house_style():
        figure = new_figure(4.0 + HEADING + 0.1 * len(chosen))
        axes = figure.subplots()
        for place, (mode, figures) in enumerate(summarise_means(scores, options).items()):
            means = [one.mean for one in figures.values()]
            draw_curve(axes, place, levels, means, report.modes[mode].label)
            if len(chosen) <= _MOST_BANDS:
                ends = np.array([ends_of(one.ci) for one in figures.values()], np.float64).T
                axes.fill_between(levels, *ends, color=COLOURS[place], alpha=0.13)
        axes.set_xlabel("Recall")
        axes.set_ylim(bottom=0.0)
        axes.grid(axis="both")
        more = f" · the {len(best)} best {report.noun}s" * (len(best) < len(report.modes))
        title = "Interpolated precision at recall levels"
        finish(figure, title, describe_dataset(report) + more)
    return figure


def _plot_differences(
    axes: Axes, report: BenchmarkReport, per_query: pl.DataFrame, entry: Comparison
) -> None:
    """Draw contrast minus baseline for every query as steps, and the mean with its interval."""
    values = per_query.filter(measure=entry.measure).pivot("run", index="query_id", values="value")
    defined = (values[entry.contrast] - values[entry.baseline]).drop_nulls()
    differences = defined.sort(descending=True).to_numpy()
    edges = np.arange(len(differences) + 1) + 0.5
    labels = [f"{place} {report.noun} better" for place in ("first", "second")]
    parts = [differences.clip(min=0.0), differences.clip(max=0.0)]
    if not report.higher_is_better(entry.measure):
        parts.reverse()
    for bars, label, colour in zip(parts, labels, COLOURS, strict=False):
        axes.stairs(bars, edges, fill=True, color=colour, label=label)
    axes.axhline(0.0, color=INK, linewidth=0.8)
    axes.grid(axis="y")
    names = [label_text(report.modes[mode].label) for mode in (entry.contrast, entry.baseline)]
    mean = f"mean {show(entry.difference, '+')} {show_ci(entry.ci, '+', decimals=4)}".rstrip()
    axes.set_title("\n− ".join(names) + f"\n{mean}")
    axes.set_xlabel(
        f"Queries, sorted: {entry.wins:,} won, {entry.ties:,} tied, {entry.losses:,} lost"
    )
    if entry.difference is not None:
        axes.axhline(entry.difference, label="mean and its interval", color=INK, linestyle="--")
    low, high = ends_of(entry.ci)
    if low is not None and high is not None:
        axes.axhspan(low, high, color=INK, alpha=0.22, linewidth=0, zorder=4)
