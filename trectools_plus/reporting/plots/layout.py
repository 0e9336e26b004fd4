"""The layout of figures: size, heading above the panels, legend below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from trectools_plus.reporting.plots.style import label_text

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

WIDTH = 7.2
"""Width of a figure in inches."""
HEADING = 0.75
"""Height of the heading in inches."""
DOTS_PER_INCH = 150
_MOST_DOTS = 30_000
"""Maximum height of a figure in dots; Matplotlib draws at most 65,535."""
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


def new_figure(height: float) -> Figure:
    """Return an empty figure of a height in inches, whose panels are laid out by ``finish``."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from trectools_plus.reporting.plots.inline import InlineFigure

    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    dots = min(DOTS_PER_INCH, _MOST_DOTS / height)
    return InlineFigure(figsize=(WIDTH, height), dpi=dots, layout=layout)


def finish(
    figure: Figure,
    title: str,
    data: str,
    legend: tuple[Sequence[Artist], Sequence[str]] = ((), ()),
) -> None:
    """Add the heading with title and data above, and the legend below the panels."""
    heading = "\n".join(label_text(line, 90) for line in (title, data) if line)
    figure.suptitle(heading, x=0.01, ha="left", fontsize="large")
    handles, labels = legend
    if labels:
        columns = _legend_columns(labels)
        figure.legend(list(handles), list(labels), loc="outside lower center", ncols=columns)
    # Lay out once for all files: the layout takes longer than the drawing.
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
        figure.set_layout_engine("none")


def _legend_columns(labels: Sequence[str]) -> int:
    longest = max(map(len, labels), default=0) + 8
    return max(1, min(len(labels), _LETTERS_A_LINE // longest))


def legend_height(labels: Sequence[str]) -> float:
    """Return the height in inches of a legend."""
    return 0.2 + 0.18 * ceil(len(labels) / _legend_columns(labels))
