"""The plot of precision over recall for values of a setting, with a line per system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.extraction.runner import Sweep, SweepCurve
from trectools_plus.reporting.plots.style import (
    FAINT,
    INK,
    WIDTH,
    Plot,
    add_grid,
    house_style,
    label_text,
    mode_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 5.2
_CONTOURS = (0.2, 0.4, 0.6, 0.8)


def draw_tradeoff(sweep: Sweep) -> Plot:
    """Return the plot ``precision_recall_tradeoff`` with heading and legend."""
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, _HEIGHT), layout="constrained", dpi=150)
        axes = figure.subplots()
        plot_tradeoff(axes, sweep)
        title = f"Precision and recall by {sweep.parameter}"
        axes.set_title(
            label_text(f"{title}; {sweep.dataset}, {sweep.documents:,} documents", longest=96)
        )
        axes.legend(loc="lower left")
    best = "; ".join(_best_of(curve) for curve in sweep.curves)
    return Plot("precision_recall_tradeoff", title, f"{title}. Best F1: {best}.", figure)


def plot_tradeoff(axes: Axes, sweep: Sweep) -> Axes:
    """Draw micro precision over micro recall, with rings at defaults and curves of equal F1.

    Args:
        axes: The axes to draw on.
        sweep: From :func:`trectools_plus.extraction.runner.sweep_extraction`.

    Returns:
        The same axes.
    """
    _draw_contours(axes)
    for place, curve in enumerate(sweep.curves):
        style = mode_style(place)
        recall = [point.recall for point in curve.points]
        precision = [point.precision for point in curve.points]
        axes.plot(
            recall,
            precision,
            label=label_text(curve.system),
            **style.of_curve(),
        )
        for point in curve.points:
            if point.is_default:
                axes.plot(
                    point.recall,
                    point.precision,
                    marker="o",
                    markersize=13,
                    markerfacecolor="none",
                    markeredgecolor=style.colour,
                    linestyle="none",
                    clip_on=False,
                    zorder=2,
                )
    axes.set_xlim(0.0, 1.02)
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("Recall (micro; ring: the default value)")
    axes.set_ylabel("Precision (micro)")
    add_grid(axes)
    return axes


def _draw_contours(axes: Axes) -> None:
    for f1 in _CONTOURS:
        recall = np.linspace(f1 / (2 - f1), 1.0, 100)
        axes.plot(recall, f1 * recall / (2 * recall - f1), color=FAINT, linewidth=1.0, zorder=1)
        axes.annotate(
            f"F1 {f1:g}",
            (1.0, f1 / (2 - f1)),
            xytext=(-2, 5),
            textcoords="offset points",
            ha="right",
            color=INK,
            alpha=0.6,
            fontsize=7,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
            zorder=2,
        )


def _best_of(curve: SweepCurve) -> str:
    best = max(curve.points, key=lambda point: point.f1)
    return f"{curve.system} {best.f1:.3f} at {best.value:g}"
