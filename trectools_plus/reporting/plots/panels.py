"""Figures of means: a panel for each measure, with a row and an interval for each system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trectools_plus.benchmark.report import BenchmarkReport, MeasureResult, StratumResult
from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.reporting.comparison import describe_dataset
from trectools_plus.reporting.plots.layout import HEADING, Plot, finish, new_figure
from trectools_plus.reporting.plots.means import plot_means, require_measure
from trectools_plus.reporting.plots.style import house_style, label_text
from trectools_plus.statistics import mean_intervals
from trectools_plus.statistics.comparison import ConfidenceInterval
from trectools_plus.text import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PANELS = 6
"""Panels of an evaluation if no measures are named."""
_MOST_IN_TWO_COLUMNS = 10
"""With more systems, there are three columns of panels, so that the figure is not too high."""


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
        measures: The measures, in any spelling; by default the first six that are means.
        confidence: The level of the intervals, between 0 and 1.

    Raises:
        UsageError: If the evaluation does not have a measure, or has no run.
    """
    if not evaluation.run_names:
        raise UsageError("the evaluation has no run", remedy="evaluate at least one run")
    given = evaluation.compared_names[:_MOST_PANELS] if measures is None else measures
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
