"""Plots of a report: functions that draw on Matplotlib axes, and files of whole figures.

Matplotlib is imported when a plot is drawn. Its global state (``pyplot``) is never changed.
"""

from trectools_plus.reporting.plots.differences import plot_differences
from trectools_plus.reporting.plots.figures import (
    draw_plot,
    draw_plots,
    render_plot,
    save_plots,
    write_plots,
)
from trectools_plus.reporting.plots.means import (
    plot_evaluation,
    plot_hit_rate,
    plot_means,
    plot_precision_recall,
    plot_report,
)
from trectools_plus.reporting.plots.style import Plot

__all__ = [
    "Plot",
    "draw_plot",
    "draw_plots",
    "plot_differences",
    "plot_evaluation",
    "plot_hit_rate",
    "plot_means",
    "plot_precision_recall",
    "plot_report",
    "render_plot",
    "save_plots",
    "write_plots",
]
