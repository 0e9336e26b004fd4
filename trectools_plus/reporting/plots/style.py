"""Style of the plots: colours, markers and lines of modes, labels, and the layout of figures.

The colours are by Okabe and Ito (Color Universal Design, 2008), without yellow, which is too pale
on white. Each mode also has a marker, so that readers can distinguish modes without colours.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, cast

from trectools_plus.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
LINES = ("-", "--", "-.", ":")
INK, FAINT = "#222222", "#D9D9D9"

LONGEST_LABEL = 36
HEADING = 0.75
"""Height of the heading in inches."""
_WIDTH = 7.2
"""Width of a figure in inches."""
_DOTS_PER_INCH = 150
_MOST_DOTS = 30_000
"""Maximum height of a figure in dots; Matplotlib draws at most 65,535."""
_LETTERS_A_LINE = 96
_PIXELS_PER_INCH = 96
_SETTINGS: dict[str, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "white",
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "trectools-plus",
    "hatch.linewidth": 0.6,
}


@dataclass(frozen=True, slots=True)
class ModeStyle:
    """Colour, marker and line of a mode.

    Attributes:
        colour: Hexadecimal RGB.
        marker: The marker's name in Matplotlib.
        line: The line style's name in Matplotlib.
    """

    colour: str
    marker: str
    line: str

    def draw_curve(self, axes: Axes, x: Any, y: Any, label: str) -> None:
        """Draw the curve of the mode."""
        axes.plot(
            *(x, y),
            label=label_text(label),
            color=self.colour,
            linestyle=self.line,
            marker=self.marker,
            markersize=5.5,
            markeredgecolor="white",
            markeredgewidth=0.5,
            linewidth=1.4,
            clip_on=False,
            zorder=3,
        )


def mode_style(place: int) -> ModeStyle:
    """Return the style of the mode at a position, counted from 0; 70 styles are different."""
    return ModeStyle(
        COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)], LINES[place % len(LINES)]
    )


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


def add_grid(axes: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw pale lines at the ticks, behind everything else."""
    axes.grid(axis=axis, color=INK, alpha=0.12, linewidth=0.6)
    axes.set_axisbelow(True)


def label_text(text: str, longest: int = LONGEST_LABEL) -> str:
    """Return text from outside as a label on one line; a long one is cut in the middle.

    Matplotlib would set ``$…$`` as a formula, and omit labels with a leading underscore from
    legends.
    """
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    text = " ".join(text.split()) or "?"
    if len(text) > longest:
        head = longest // 2
        text = f"{text[:head]}…{text[len(text) - (longest - head - 1) :]}"
    text = text.replace("\\$", "$").replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


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

    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    dots = min(_DOTS_PER_INCH, _MOST_DOTS / height)
    return _inline_figure()(figsize=(_WIDTH, height), dpi=dots, layout=layout)


@cache
def _inline_figure() -> type[Figure]:
    """Return the class of figures that notebooks show once, with any backend and without pyplot."""
    from matplotlib.figure import Figure

    class InlineFigure(Figure):
        def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
            """Return the image and its width on the page, at which the text has its size."""
            return as_png(self), {"width": round(self.get_figwidth() * _PIXELS_PER_INCH)}

    return InlineFigure


def as_png(figure: Figure) -> bytes:
    """Return a figure as PNG; the same figure gives the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    stream, canvas = io.BytesIO(), cast("Any", FigureCanvasAgg(figure))
    with house_style():  # not with savefig, which would draw each figure twice to lay it out
        canvas.print_png(stream, metadata={"Software": None})
    return stream.getvalue()


def finish(
    figure: Figure, title: str, data: str, legend: Mapping[str, Artist] | None = None
) -> None:
    """Add the heading with title and data above, and the legend below the panels."""
    heading = "\n".join(label_text(line, 90) for line in (title, data) if line)
    figure.suptitle(heading, x=0.01, ha="left", fontsize="large")
    if legend:
        columns = _legend_columns(list(legend))
        handles = list(legend.values())
        figure.legend(handles, list(legend), loc="outside lower center", ncols=columns)
    # Lay out once for all files: the layout takes longer than the drawing.
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
        figure.set_layout_engine("none")


def _legend_columns(labels: list[str]) -> int:
    longest = max(map(len, labels)) + 8
    return max(1, min(len(labels), _LETTERS_A_LINE // longest))


def legend_height(labels: list[str]) -> float:
    """Return the height in inches of a legend."""
    return 0.2 + 0.18 * ceil(len(labels) / _legend_columns(labels))
