"""The plots of sweeps: means by the values of settings, and precision over recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.benchmark.sweep.runner import SweepReport
from trectools_plus.extraction.runner import Sweep
from trectools_plus.reporting.plots.style import (
    COLOURS,
    FAINT,
    HEADING,
    INK,
    Plot,
    add_grid,
    finish,
    house_style,
    label_text,
    mode_style,
    new_figure,
)
from trectools_plus.statistics.comparison import ends_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 2.6
"""Height of the panel of a setting in inches."""
_LABELS = 25
"""More values of a setting have no labels."""
_CONTOURS = (0.2, 0.4, 0.6, 0.8)


def draw_variants(report: SweepReport) -> Plot:
    """Return the plot ``sweep`` with a panel for each setting, or one for variants without any."""
    settings = list(dict.fromkeys(name for one in report.variants for name in one.settings)) or [""]
    with house_style():
        figure = new_figure(HEADING + _HEIGHT * len(settings))
        panels = figure.subplots(len(settings), 1, squeeze=False)[:, 0]
        for axes, setting in zip(panels, settings, strict=True):
            _plot_setting(axes, report, setting)
        title = f"{report.measure} by variant"
        data = f"{report.dataset.id}, {report.n_queries:,} queries; without correction for choice"
        finish(figure, title, data)
    best = f"The best is {report.winner.name}: {report.winner.mean:.4f}."
    return Plot("sweep", title, f"{title}. {best}", figure)


def _plot_setting(axes: Axes, report: SweepReport, setting: str) -> None:
    """Draw means with intervals by the values of a setting; the winner is coloured."""
    shown = [one for one in report.variants if not setting or setting in one.settings]
    names = [one.settings.get(setting, one.name) for one in shown]
    order = {"mode": report.config.get("modes"), **report.config["grid"]}.get(setting) or names
    values = [value for value in order if value in names]
    for one, value in zip(shown, names, strict=True):
        best = one.name == report.winner.name
        low, high = ends_of(one.ci)
        axes.errorbar(
            values.index(value),
            one.mean,
            yerr=None if low is None or high is None else [[one.mean - low], [high - one.mean]],
            fmt="o",
            color=COLOURS[0] if best else INK,
            alpha=1.0 if best else 0.5,
            zorder=3 if best else 2,
            capsize=2,
        )
    labels = [label_text(value) for value in values] if len(values) <= _LABELS else []
    axes.set_xticks(range(len(labels)), labels, rotation=45 if len("".join(labels)) > 60 else 0)
    axes.set_xlabel(label_text(setting or "variant"))
    axes.set_ylabel(report.measure)
    add_grid(axes, "y")


def draw_tradeoff(sweep: Sweep) -> Plot:
    """Return the plot ``precision_recall_tradeoff``: micro precision over micro recall.

    There are rings at defaults, and curves of equal F1.
    """
    title = f"Precision and recall by {sweep.parameter}"
    with house_style():
        figure = new_figure(2 * _HEIGHT)
        axes = figure.subplots()
        for f1 in _CONTOURS:
            recall = np.linspace(f1 / (2 - f1), 1.0, 100)
            axes.plot(recall, f1 * recall / (2 * recall - f1), color=FAINT, linewidth=1.0, zorder=1)
            axes.text(1.0, f1 / (2 - f1), f"F1 {f1:g}", ha="right", alpha=0.6, fontsize=7)
        for place, curve in enumerate(sweep.curves):
            style = mode_style(place)
            recalls = [point.recall for point in curve.points]
            precisions = [point.precision for point in curve.points]
            style.draw_curve(axes, recalls, precisions, curve.system)
            rings = [(point.recall, point.precision) for point in curve.points if point.is_default]
            for ring in rings:
                axes.scatter(*ring, s=170, facecolors="none", edgecolors=style.colour)
        axes.set_xlim(0.0, 1.02)
        axes.set_ylim(0.0, 1.02)
        axes.set_xlabel("Recall (micro; ring: the default value)")
        axes.set_ylabel("Precision (micro)")
        axes.legend(loc="lower left")
        add_grid(axes)
        finish(figure, title, f"{sweep.dataset}, {sweep.documents:,} documents")
    best = [(curve.system, max(point.f1 for point in curve.points)) for curve in sweep.curves]
    shown = "; ".join(f"{system} {f1:.3f}" for system, f1 in best)
    return Plot("precision_recall_tradeoff", title, f"{title}. Best F1: {shown}.", figure)
