"""Plots as PNG and SVG files whose bytes depend on the figures only."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trectools_plus.benchmark.output_folder import PLOTS_FOLDER
from trectools_plus.errors import InputError
from trectools_plus.formats.atomic import atomic_write
from trectools_plus.reporting.plots.gallery import Plot, draw_plots
from trectools_plus.reporting.plots.style import house_style

if TYPE_CHECKING:
    from trectools_plus.benchmark.runner import BenchmarkResult

ImageFormat = Literal["png", "svg"]
FORMATS: tuple[ImageFormat, ...] = ("png", "svg")

# Matplotlib's own marks: times and versions would make other bytes of the same figure.
_NO_ORIGIN = {"Date": None, "Creator": None}


def write_plots(result: BenchmarkResult, folder: str | Path | None = None) -> list[Path]:
    """Draw a benchmark's plots and write each as PNG and SVG.

    The same figures give the same bytes with the same version of Matplotlib.

    Args:
        result: What :func:`run_benchmark` returned.
        folder: The files go to ``visualizations/`` in it; the benchmark's own output folder when
            not given.

    Returns:
        The files, in the order of the plots.

    Raises:
        InputError: If a file cannot be written.
    """
    target = Path(result.output_dir if folder is None else folder) / PLOTS_FOLDER
    qrels = None if result.dataset is None else result.dataset.qrels
    plots = draw_plots(result.report, result.per_query, qrels, result.runs)
    return save_plots(plots, target)


def save_plots(plots: list[Plot], folder: str | Path) -> list[Path]:
    """Write plots as ``<name>.png`` and ``<name>.svg``; the folder is made.

    Returns:
        The files, in the order of the plots.

    Raises:
        InputError: If a file cannot be written.
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder for plots cannot be made: {error.strerror or error}",
            where=str(target),
            remedy="name another folder",
        ) from error
    files = []
    for plot in plots:
        for image_format in FORMATS:
            path = target / f"{plot.name}.{image_format}"
            with atomic_write(path, "wb") as stream:
                stream.write(render_plot(plot, image_format))
            files.append(path)
    return files


def render_plot(plot: Plot, image_format: ImageFormat) -> bytes:
    """The bytes of a plot as PNG (150 dots an inch) or SVG (letters as outlines).

    The SVG carries title and description for those who cannot see it.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    stream = io.BytesIO()
    with house_style():
        # Not by savefig, which would draw each figure once more to lay it out.
        if image_format == "png":
            agg: Any = FigureCanvasAgg(plot.figure)
            agg.print_png(stream, metadata={"Software": None})
        else:
            named = {"Title": plot.title, "Description": plot.description}
            svg: Any = FigureCanvasSVG(plot.figure)
            svg.print_svg(stream, metadata={**_NO_ORIGIN, **named})
    return stream.getvalue()
