"""Plots of results as Matplotlib figures, and their files.

Matplotlib is imported when a plot is drawn. Its global state (``pyplot``) is never changed.
"""

from trectools_plus.reporting.plots.figures import (
    draw_plots,
    plot_differences,
    plot_evaluation,
    plot_report,
    save_plots,
    write_plots,
)

__all__ = [
    "draw_plots",
    "plot_differences",
    "plot_evaluation",
    "plot_report",
    "save_plots",
    "write_plots",
]
