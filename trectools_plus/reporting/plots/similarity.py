"""The heatmap of the similarity of each two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.benchmark.report.figures import Similarity
from trectools_plus.reporting.plots.style import INK, label_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NUMBERS = 16
"""The numbers of more runs would be too small to read."""
_DARK = 0.55


def plot_similarity(axes: Axes, similarity: Similarity, labels: Sequence[str]) -> Axes:
    """Draw the rank-biased overlap of each two runs, darker for more similar ones.

    Args:
        axes: The axes to draw on.
        similarity: The matrix.
        labels: The names of the runs in tables.

    Returns:
        The same axes.
    """
    values = np.array(similarity.rbo, dtype=np.float64)
    places = range(len(labels))
    shown = np.ma.masked_invalid(values)
    mesh = axes.pcolormesh(shown, cmap="Blues", vmin=0.0, vmax=1.0, edgecolors="white")
    if len(labels) <= _MOST_NUMBERS:
        for row in places:
            for column in places:
                value = values[row, column]
                axes.text(
                    column + 0.5,
                    row + 0.5,
                    "–" if np.isnan(value) else f"{value:.2f}",
                    ha="center",
                    va="center",
                    fontsize=8 if len(labels) <= 10 else 6,
                    color="white" if value > _DARK else INK,
                )
    names = [label_text(label, 24) for label in labels]
    size = 8 if len(labels) <= 24 else 5
    centres = [place + 0.5 for place in places]
    axes.set_xticks(centres, names, rotation=90, fontsize=size)
    axes.set_yticks(centres, names, fontsize=size)
    axes.tick_params(length=0)
    axes.invert_yaxis()
    axes.set_aspect("equal")
    axes.spines[:].set_visible(False)
    figure = axes.figure
    figure.colorbar(mesh, ax=axes, label="Mean RBO over queries", shrink=0.8)
    return axes
