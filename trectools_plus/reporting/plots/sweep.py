"""The plots of sweeps: means of the variants, and precision over recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trectools_plus.benchmark.sweep.runner import SweepReport
from trectools_plus.extraction.runner import Sweep
from trectools_plus.reporting.plots.figures import plot_means
from trectools_plus.reporting.plots.style import (
    HEADING,
    draw_curve,
    finish,
    house_style,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_VARIANTS = 50


def draw_variants(report: SweepReport) -> Figure:
    """Return a figure of the means of at most fifty variants, the best first."""
    shown = report.variants[:_MOST_VARIANTS]
    title = f"{report.measure} by variant; the best is {report.winner.name}"
    with house_style():
        figure = new_figure(0.19 * len(shown) + 1.0 + HEADING)
        axes = figure.subplots()
        plot_means(axes, [variant.name for variant in shown], shown)
        axes.set_xlabel("Mean with its interval, without correction for choice")
        finish(figure, title, f"{report.dataset.id}, {report.n_queries:,} queries")
    return figure


def draw_tradeoff(sweep: Sweep) -> Figure:
    """Return a figure of micro precision over micro recall."""
    title = f"Precision and recall by {sweep.parameter}"
    with house_style():
        figure = new_figure(5.2)
        axes = figure.subplots()
        for place, curve in enumerate(sweep.curves):
            recalls = [point.recall for point in curve.points]
            precisions = [point.precision for point in curve.points]
            draw_curve(axes, place, recalls, precisions, curve.system)
        axes.set(
            xlabel="Recall (micro)", ylabel="Precision (micro)", xlim=(0, 1.02), ylim=(0, 1.02)
        )
        axes.grid(axis="both")
        finish(figure, title, f"{sweep.dataset}, {sweep.documents:,} documents")
    return figure
