"""Plots of a report: functions that take and return Matplotlib axes, and the files made of them.

Matplotlib is imported where it is used, and its global state (``pyplot``) is never touched.
"""

from trectools_plus.reporting.plots.differences import plot_differences
from trectools_plus.reporting.plots.figures import (
    Plot,
    draw_plots,
    render_plot,
    save_plots,
    write_plots,
)
from trectools_plus.reporting.plots.means import (
    plot_hit_rate,
    plot_measures,
    plot_precision_recall,
    plot_strata,
)

__all__ = [
    "Plot",
    "draw_plots",
    "plot_differences",
    "plot_hit_rate",
    "plot_measures",
    "plot_precision_recall",
    "plot_strata",
    "render_plot",
    "save_plots",
    "write_plots",
]
