"""The plots of results as Matplotlib figures with headings and legends, and their files.

The colours are by Okabe and Ito (Color Universal Design, 2008), without yellow, which is too pale
on white. Each mode also has a marker, so that readers can distinguish modes without colours.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trectools_plus.benchmark.compare import summarise, summarise_means
from trectools_plus.benchmark.report import BenchmarkReport, ComparisonReport, MeasureResult
from trectools_plus.benchmark.run.config import Comparing, resampling_of
from trectools_plus.benchmark.run.output_folder import PLOTS_FOLDER
from trectools_plus.errors import MissingExtraError, UsageError
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import Evaluation, JudgedQueries, parse_measures, score_runs
from trectools_plus.reporting.comparison import (
    cut_middle,
    describe_dataset,
    require_measure,
    show_wins,
)
from trectools_plus.reporting.document import show, show_ci
from trectools_plus.statistics.comparison import ends_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trectools_plus.benchmark.run.runner import BenchmarkResult
    from trectools_plus.benchmark.sweep import ScoredVariant, SweepReport
    from trectools_plus.extraction.runner import Sweep

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
INK = "#222222"

_WIDTH = 7.2
"""Width of a figure in inches."""
_DOTS_PER_INCH = 150
_MOST_DOTS = 30_000
"""Maximum height of a figure in dots; Matplotlib draws at most 65,535."""
_SETTINGS: dict[str, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.alpha": 0.12,
    "legend.frameon": False,
    "svg.hashsalt": "trectools-plus",
}
FORMATS = ("png", "svg")
_RANKS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
_CURVES = {
    "precision_recall": (
        "IPrec",
        tuple(step / 10 for step in range(11)),
        "Interpolated precision at recall levels",
        "Recall",
    ),
    "hit_rate": (
        "HitRate",
        _RANKS,
        "Queries with a relevant document in the first k results",
        "k (number of first results, logarithmic)",
    ),
}
"""By name: the measure, its cutoffs, the title, and what is horizontal."""
_MOST_PAIRS = 6
_MOST_BANDS = 4
"""With more modes than this, the bands of the intervals would hide each other."""
_MOST_VARIANTS = 50


def mode_style(place: int) -> dict[str, Any]:
    """Return the look of the mode at a position, counted from 0; 70 modes look different."""
    look = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
    return {**look, "clip_on": False, "zorder": 3}


def can_draw() -> bool:
    """Return whether Matplotlib, which the extra ``plots`` installs, is available."""
    return find_spec("matplotlib") is not None


@contextmanager
def house_style() -> Iterator[None]:
    """Use Matplotlib's defaults with these settings, independent of the user's settings file.

    Raises:
        MissingExtraError: If Matplotlib is not installed.
    """
    if not can_draw():
        raise MissingExtraError("a plot", "plots")
    import matplotlib.style

    with matplotlib.style.context(["default", _SETTINGS]), warnings.catch_warnings():
        # A letter that the built-in font lacks is drawn as a box, which is warning enough.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield


def label_text(text: str, longest: int = 36) -> str:
    """Return text from outside as a label on one line; a long one is cut in the middle.

    Matplotlib would set ``$…$`` as a formula, and omit labels with a leading underscore from
    legends.
    """
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    label = cut_middle(" ".join(shown.split()) or "?", longest)
    return label.replace("\\$", "$").replace("$", r"\$").replace("_", " _", label[0] == "_")


@cache
def _inline_figure() -> type[Figure]:
    """Return the class of figures that notebooks show once, with any backend and without pyplot."""
    from matplotlib.figure import Figure

    class InlineFigure(Figure):
        def _repr_png_(self) -> bytes:
            return as_image(self, "png")

    return InlineFigure


def as_image(figure: Figure, kind: str) -> bytes:
    """Return a figure as PNG or SVG; the same figure gives the same bytes."""
    # Without time and version.
    svg = {"Date": None, "Creator": None, "Title": figure.get_suptitle()}
    stream = io.BytesIO()
    with house_style():
        figure.savefig(stream, format=kind, metadata=svg if kind == "svg" else {"Software": None})
    return stream.getvalue()


@contextmanager
def drawing(
    title: str, data: str, height: float, count: int = 1
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure and its panels, in two columns; its heading and legend are added at the end.

    Args:
        title: The first line of the heading.
        data: The second line.
        height: The height of a panel in inches.
        count: The number of panels, whose vertical axes are equal.

    Raises:
        MissingExtraError: If Matplotlib is not installed.
    """
    with house_style():
        columns = min(count, 2)
        lines = ceil(count / columns)
        total = lines * height + 0.75  # inches, with the heading
        dots = min(_DOTS_PER_INCH, _MOST_DOTS / total)
        figure = _inline_figure()(figsize=(_WIDTH, total), dpi=dots, layout="constrained")
        panels = figure.subplots(lines, columns, squeeze=False, sharey=True).ravel().tolist()
        for axes in panels[count:]:
            axes.remove()
        yield figure, panels[:count]
        heading = (label_text(line, 90) for line in (title, data) if line)
        figure.suptitle("\n".join(heading), x=0.01, ha="left", fontsize="large")
        handles = {
            label: handle
            for axes in figure.axes
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        if handles:
            figure.legend(handles.values(), handles, loc="outside lower center", ncols=2)


def plot_report(report: ComparisonReport, measures: Sequence[str] | None = None) -> Figure:
    """Return a figure with the means and intervals of measures, a panel for each.

    Args:
        report: The report.
        measures: The measures, in any spelling; by default the headline measures.

    Raises:
        UsageError: If the report does not have a measure.
    """
    names = [require_measure(report, name) for name in measures or report.headline_measures]
    rows = [(result.label, result.measures) for result in report.modes.values()]
    data = describe_dataset(report)
    return _draw_means(rows, names, report.confidence, "Measures per mode", data)


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
    names = [evaluation.find_measure(name) for name in measures or evaluation.measure_names]
    rows = summarise(evaluation, Comparing.of({"confidence": confidence}, ()))
    return _draw_means([*rows.items()], names, confidence, "Means per run")


def draw_plots(
    report: BenchmarkReport,
    per_query: pl.DataFrame,
    qrels: Qrels | JudgedQueries | None = None,
    runs: Mapping[str, Run] | None = None,
) -> dict[str, Figure]:
    """Draw all plots of a report, by name.

    There is always ``measures``; with judgments and runs ``precision_recall`` and ``hit_rate``; for
    compared modes ``differences`` on the primary measure.

    Args:
        report: The report.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        qrels: The judgments.
        runs: The runs, by mode.
    """
    figures = {"measures": plot_report(report)}
    if qrels is not None and runs:
        figures |= _draw_curves(report, qrels, runs)
    if report.comparisons:
        figures["differences"] = plot_differences(report, per_query)
    return figures


def plot_differences(
    report: ComparisonReport, per_query: pl.DataFrame, measure: str | None = None
) -> Figure:
    """Return a figure of the differences of at most six pairs, query by query.

    Args:
        report: The report.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        measure: The measure, in any spelling; by default the primary measure.

    Raises:
        UsageError: If the report does not have the measure, or two modes.
    """
    name = require_measure(report, measure or report.primary_measure)
    pairs = [pair for pair in report.comparisons if pair.measure == name]
    if not pairs:
        raise UsageError("differences need two systems", remedy="use the plot means")
    best = report.best_mode[name]
    pairs.sort(key=lambda pair: best not in (pair.baseline, pair.contrast))
    values = per_query.filter(measure=name).pivot("run", index="query_id", values="value")
    labels = [f"{place} {report.setup.noun} better" for place in ("first", "second")]
    if not report.higher_is_better(name):
        labels.reverse()
    title = f"Differences in {name}, query by query"
    count = min(len(pairs), _MOST_PAIRS)
    with drawing(title, describe_dataset(report), 2.7, count) as (figure, panels):
        for axes, pair in zip(panels, pairs, strict=False):
            defined = (values[pair.contrast] - values[pair.baseline]).drop_nulls()
            differences = defined.sort(descending=True).to_numpy()
            edges = np.arange(len(differences) + 1) + 0.5
            sides = differences.clip(min=0.0), differences.clip(max=0.0)
            for bars, label in zip(sides, labels, strict=True):
                colour = COLOURS["second" in label]
                axes.stairs(bars, edges, fill=True, color=colour, label=label)
            axes.axhline(0.0, color=INK, linewidth=0.8)
            names = (
                label_text(report.modes[mode].label) for mode in (pair.contrast, pair.baseline)
            )
            mean = f"mean {show(pair.difference, '+')} {show_ci(pair.ci, '+', 4)}"
            axes.set_title("\n− ".join([*names]) + f"\n{mean.rstrip()}")
            axes.set_xlabel(f"Queries, sorted; won/tied/lost: {show_wins(pair)}")
            if pair.difference is not None:
                axes.axhline(pair.difference, label="mean", color=INK, linestyle="--")
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
    paths = []
    for name, figure in figures.items():
        for kind in FORMATS:
            paths.append(Path(folder, f"{name}.{kind}"))
            image = as_image(figure, kind)
            with atomic_write(paths[-1], "wb") as stream:
                stream.write(image)
    return paths


def _draw_means(
    rows: Sequence[tuple[str, Mapping[str, MeasureResult]]],
    names: Sequence[str],
    confidence: float,
    title: str,
    data: str = "",
) -> Figure:
    """Draw a panel for each measure, with its own scale for all modes."""
    with drawing(title, data, 0.19 * len(rows) + 0.62, len(names)) as (figure, panels):
        for axes, name in zip(panels, names, strict=True):
            figures = [measures[name] for _, measures in rows]
            plot_means(axes, [label for label, _ in rows], figures)
            is_rising = figures[0].definition.direction_of(name)
            axes.set_title(label_text(name) + " ↓" * (not is_rising))
        note = f"Mean with its {confidence * 100:g}% interval; ↓: lower is better"
        figure.supxlabel(note, fontsize="medium")
    return figure


def plot_means(
    axes: Axes, labels: Sequence[str], figures: Sequence[MeasureResult | ScoredVariant]
) -> None:
    """Draw the means of one measure with their intervals, in a row per mode."""
    for place, figure in enumerate(figures):
        if (mean := figure.mean) is not None:
            # Some kinds of interval do not contain the mean; a length cannot be negative.
            low, high = (mean if end is None else end for end in ends_of(figure.ci))
            lengths = [[max(0.0, mean - low)], [max(0.0, high - mean)]]
            axes.errorbar(
                mean, place, xerr=lengths, capsize=2.6, linestyle="none", **mode_style(place)
            )
    axes.set_yticks(range(len(labels)), list(map(label_text, labels)))
    axes.set_ylim(len(figures) - 0.4, -0.6)
    # From 0, so that small differences look small.
    axes.set_xlim(left=min(0.0, axes.dataLim.x0))


def _draw_curves(
    report: BenchmarkReport, qrels: Qrels | JudgedQueries, runs: Mapping[str, Run]
) -> dict[str, Figure]:
    """Draw curves of all modes over recall or k; those of few modes with their intervals."""
    options = resampling_of({**report.manifest.config, "seed": report.manifest.seed})
    deepest = max(int(run.rows.sizes.max(initial=1)) for run in runs.values())
    figures = {}
    for name, (measure, every, title, horizontal) in _CURVES.items():
        points = [point for point in every if point <= deepest]
        measures = parse_measures([f"{measure}@{point:g}" for point in points])
        scores = score_runs(qrels, runs, measures, report.manifest.averaging)
        height = 4.0 + 0.1 * len(runs)
        with drawing(title, describe_dataset(report), height) as (figures[name], [axes]):
            for place, (mode, summary) in enumerate(summarise_means(scores, options).items()):
                means = np.array([one.mean for one in summary.values()], np.float64)
                label = label_text(report.modes[mode].label)
                axes.plot(points, means, label=label, **mode_style(place))
                if len(runs) <= _MOST_BANDS:
                    ends = np.array([ends_of(one.ci) for one in summary.values()], np.float64).T
                    axes.fill_between(points, *ends, color=COLOURS[place], alpha=0.13)
            axes.set_xlabel(horizontal)
            axes.set_ylim(bottom=0.0)
            if measure == "HitRate":
                axes.set_xscale("log")
                axes.xaxis.set_major_formatter("{x:g}")
    return figures


def draw_variants(report: SweepReport) -> Figure:
    """Return a figure of the means of at most fifty variants, the best first."""
    shown = report.variants[:_MOST_VARIANTS]
    title = f"{report.measure} by variant; the best is {report.winner.name}"
    data = f"{report.dataset.id}, {report.n_queries:,} queries"
    with drawing(title, data, 0.19 * len(shown) + 1.0) as (figure, [axes]):
        plot_means(axes, [variant.name for variant in shown], shown)
        axes.set_xlabel("Mean with its interval, without correction for choice")
    return figure


def draw_tradeoff(sweep: Sweep) -> Figure:
    """Return a figure of micro precision over micro recall."""
    title = f"Precision and recall by {sweep.parameter}"
    data = f"{sweep.dataset}, {sweep.documents:,} documents"
    with drawing(title, data, 4.4) as (figure, [axes]):
        for place, curve in enumerate(sweep.curves):
            recalls = [point.recall for point in curve.points]
            precisions = [point.precision for point in curve.points]
            axes.plot(recalls, precisions, label=label_text(curve.system), **mode_style(place))
        ends = (0, 1.02)
        axes.set(xlabel="Recall (micro)", ylabel="Precision (micro)", xlim=ends, ylim=ends)
    return figure
