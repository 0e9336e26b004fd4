"""How plots look: one colour, marker and line per mode, and labels that are never read as markup.

The colours are those of Okabe and Ito (Color Universal Design, 2008) without yellow, which is too
pale on white; with a marker each, modes can be told apart without any colour.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

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
    """What tells a mode from the others.

    Attributes:
        colour: Hexadecimal RGB.
        marker: Matplotlib's name of its marker.
        line: Matplotlib's name of its line.
        size: The marker's size in points, so that all look equally large.
    """

    colour: str
    marker: str
    line: str
    size: float


def mode_style(place: int) -> ModeStyle:
    """The style of the mode at a place, counted from 0; seventy differ in colour or marker."""
    marker = MARKERS[place % len(MARKERS)]
    return ModeStyle(
        COLOURS[place % len(COLOURS)],
        marker,
        LINES[place % len(LINES)],
        {"*": 9.0, "P": 6.5, "X": 6.5}.get(marker, 5.5),
    )


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's own defaults with our settings, whatever the user's settings file says."""
    import matplotlib.style

    with matplotlib.style.context(["default", _SETTINGS]), warnings.catch_warnings():
        # A letter that the built-in font lacks is drawn as a box; nobody need be told twice.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield


def label_text(text: str, longest: int = LONGEST_LABEL) -> str:
    """A text from outside as a label: one line, cut in its middle, dollars no formula.

    Matplotlib sets ``$…$`` as a formula and leaves labels with a leading underscore out of legends.
    """
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    text = " ".join(text.split()) or "?"
    if len(text) > longest:
        head = longest // 2
        text = f"{text[:head]}…{text[len(text) - (longest - head - 1) :]}"
    text = text.replace("\\$", "$").replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
