"""Lines with bands: a measure along recall or rank, with the intervals of its means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.benchmark.curves import Curves
from trectools_plus.reporting.plots.style import INK, label_text, mode_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
_MOST_BANDS = 4
"""More bands than this hide each other; whiskers at the points take their place."""


def plot_precision_recall(
    axes: Axes, curves: Curves, labels: Mapping[str, str] | None = None
) -> Axes:
    """Draw interpolated precision over recall, with the intervals of the means.

    Every mode is one labelled line, so that ``axes.legend()`` names them.

    Args:
        axes: Where to draw.
        curves: From :func:`trectools_plus.benchmark.curves.precision_recall_curves`.
        labels: What the modes are called; their own names when not given.

    Returns:
        The same axes.
    """
    _draw(axes, curves, labels or {})
    axes.set_xlim(-0.02, 1.02)
    ends = [*curves.mean.values(), *curves.high.values()]  # without an interval, nan
    highest = max(float(np.nanmax(end, initial=0.0)) for end in ends)
    axes.set_ylim(0.0, min(1.0, highest * 1.08 or 1.0) * 1.02)
    axes.set_xlabel("Recall")
    axes.set_ylabel("Interpolated precision")
    return axes


def plot_hit_rate(axes: Axes, curves: Curves, labels: Mapping[str, str] | None = None) -> Axes:
    """Draw the share of queries with a relevant document in the first k results, over k.

    Args:
        axes: Where to draw.
        curves: From :func:`trectools_plus.benchmark.curves.hit_rate_curves`.
        labels: What the modes are called; their own names when not given.

    Returns:
        The same axes.
    """
    _draw(axes, curves, labels or {})
    deepest = float(curves.at.max())
    axes.set_xscale("log")
    ticks = [tick for tick in _TICKS if tick <= deepest]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(0.92, max(deepest, 2.0) * 1.08)
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("k (first results looked at, logarithmic)")
    axes.set_ylabel("HitRate@k")
    return axes


def _draw(axes: Axes, curves: Curves, labels: Mapping[str, str]) -> None:
    for place, (mode, mean) in enumerate(curves.mean.items()):
        style = mode_style(place)
        axes.plot(
            curves.at,
            mean,
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markersize=style.size,
            markeredgecolor="white",
            markeredgewidth=0.5,
            linewidth=1.4,
            label=label_text(labels.get(mode, mode)),
            clip_on=False,
            zorder=3,
        )
        low, high = curves.low[mode], curves.high[mode]
        if len(curves.mean) <= _MOST_BANDS:
            axes.fill_between(
                curves.at, low, high, color=style.colour, alpha=0.13, linewidth=0, zorder=1
            )
        else:
            axes.vlines(
                curves.at, low, high, color=style.colour, alpha=0.5, linewidth=0.9, zorder=2
            )
    axes.grid(color=INK, alpha=0.12, linewidth=0.6)
    axes.set_axisbelow(True)
