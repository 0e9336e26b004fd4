"""Style of the plots: colour, marker and line of each mode, and labels without markup.

The colours are by Okabe and Ito (Color Universal Design, 2008), without yellow, which is too pale
on white. Each mode also has a marker, so that readers can distinguish modes without colours.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from trectools_plus.errors import MissingExtraError

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
LINES = ("-", "--", "-.", ":")
AHEAD, BEHIND = "#0072B2", "#D55E00"
INK, FAINT, STRIPE = "#222222", "#D9D9D9", "#F5F5F5"

LONGEST_LABEL = 36
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
        size: The marker's size in points; all markers look equally large.
    """

    colour: str
    marker: str
    line: str
    size: float

    def of_curve(self) -> dict[str, Any]:
        """Return the arguments of ``Axes.plot`` for the curve of the mode."""
        return {
            "color": self.colour,
            "linestyle": self.line,
            "marker": self.marker,
            "markersize": self.size,
            "markeredgecolor": "white",
            "markeredgewidth": 0.5,
            "linewidth": 1.4,
            "clip_on": False,
            "zorder": 3,
        }


def mode_style(place: int) -> ModeStyle:
    """Return the style of the mode at a position, counted from 0; 70 styles are different."""
    marker = MARKERS[place % len(MARKERS)]
    return ModeStyle(
        COLOURS[place % len(COLOURS)],
        marker,
        LINES[place % len(LINES)],
        {"*": 9.0, "P": 6.5, "X": 6.5}.get(marker, 5.5),
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
