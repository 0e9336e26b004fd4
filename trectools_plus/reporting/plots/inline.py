"""A figure that notebooks show."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from trectools_plus.reporting.plots.style import house_style

_PIXELS_PER_INCH = 96


class InlineFigure(Figure):
    """A figure that notebooks show once, as PNG, with any backend and without ``pyplot``."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        """Return the image and its width on the page, at which the text has its size."""
        return self.as_png(), {"width": round(self.get_figwidth() * _PIXELS_PER_INCH)}

    def as_png(self) -> bytes:
        """Return the image as PNG; the same figure gives the same bytes."""
        stream = io.BytesIO()
        canvas: Any = FigureCanvasAgg(self)
        with house_style():
            canvas.print_png(stream, metadata={"Software": None})
        return stream.getvalue()
