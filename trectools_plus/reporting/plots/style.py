"""Style of the plots: colours, markers and lines of modes, labels, and the layout of figures.

The colours are by Okabe and Ito (Color Universal Design, 2008), without yellow, which is too pale
on white. Each mode also has a marker, so that readers can distinguish modes without colours.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from trectools_plus.errors import MissingExtraError
from trectools_plus.reporting.comparison import cut_middle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
LINES = ("-", "--", "-.", ":")
INK = "#222222"

HEADING = 0.75
"""Height of the heading in inches."""
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
    "grid.alpha": 0.12,
    "figure.facecolor": "white",
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "trectools-plus",
}


def mode_style(place: int) -> dict[str, str]:
    """Return the look of the mode at a position, counted from 0; 70 modes look different."""
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": LINES[place % len(LINES)],
    }


def draw_curve(axes: Axes, place: int, x: Any, y: Any, label: str) -> None:
    """Draw the curve of the mode at a position."""
    look: dict[str, Any] = mode_style(place)
    axes.plot(x, y, label=label_text(label), clip_on=False, zorder=3, **look)


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


def new_figure(height: float) -> Figure:
    """Return an empty figure of a height in inches, whose panels are laid out when it is drawn."""
    dots = min(_DOTS_PER_INCH, _MOST_DOTS / height)
    return _inline_figure()(figsize=(_WIDTH, height), dpi=dots, layout="constrained")


@cache
def _inline_figure() -> type[Figure]:
    """Return the class of figures that notebooks show once, with any backend and without pyplot."""
    from matplotlib.figure import Figure

    class InlineFigure(Figure):
        def _repr_png_(self) -> bytes:
            return as_image(self, "png")

    return InlineFigure


def as_image(figure: Figure, kind: Literal["png", "svg"]) -> bytes:
    """Return a figure as PNG or SVG; the same figure gives the same bytes."""
    # Without time and version.
    svg = {"Date": None, "Creator": None, "Title": figure.get_suptitle()}
    stream = io.BytesIO()
    with house_style():
        figure.savefig(stream, format=kind, metadata=svg if kind == "svg" else {"Software": None})
    return stream.getvalue()


def finish(figure: Figure, title: str, data: str) -> None:
    """Add the heading with title and data above, and a legend of all panels below them."""
    lines = (label_text(line, 90) for line in (title, data) if line)
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize="large")
    handles = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if handles:
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=2)
