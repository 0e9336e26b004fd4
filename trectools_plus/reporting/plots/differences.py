"""The plot of sorted per-query differences between two modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.errors import UsageError
from trectools_plus.reporting.comparison import require_measure
from trectools_plus.reporting.plots.style import AHEAD, BEHIND, INK, add_grid, label_text
from trectools_plus.statistics.comparison import Comparison, ends_of
from trectools_plus.statistics.method import EQUAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = npt.NDArray[np.float64]

_MARGIN = 0.03
"""Space right of the bars for the interval, as a fraction of their width, on both of its sides."""


def plot_differences(
    axes: Axes,
    report: BenchmarkReport,
    per_query: pl.DataFrame,
    baseline: str,
    contrast: str,
    measure: str,
) -> Axes:
    """Draw contrast minus baseline for every query, largest first, with the mean and its interval.

    Args:
        axes: The axes to draw on.
        report: The report; its comparison has the mean difference, the interval and the counts.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        baseline: The mode that is subtracted.
        contrast: The mode from which it is subtracted.
        measure: The measure.

    Returns:
        The same axes.

    Raises:
        UsageError: If the report does not have the measure or the comparison.
    """
    measure = require_measure(report, measure)
    entry = report.find_comparison(baseline, contrast, measure)
    if entry is None:
        pairs = dict.fromkeys((one.contrast, one.baseline) for one in report.comparisons)
        known = ", ".join(f"{first} − {second}" for first, second in pairs) or "none"
        raise UsageError(
            f"the report has no comparison {contrast} − {baseline}", remedy=f"it has {known}"
        )
    differences = query_differences(per_query, baseline, contrast, measure)
    higher = report.higher_is_better(measure)
    _draw(axes, differences, report.noun, higher_is_better=higher)
    _draw_mean(axes, entry, report.confidence)
    first, second = (label_text(report.modes[mode].label) for mode in (contrast, baseline))
    axes.set_title(f"{first}\n− {second}" if len(first + second) > 34 else f"{first} − {second}")
    axes.set_xlabel(
        f"Queries, sorted: {entry.wins:,} won, {entry.ties:,} tied, {entry.losses:,} lost"
    )
    axes.set_ylabel(f"Difference in {label_text(measure)}")
    return axes


def query_differences(
    per_query: pl.DataFrame, baseline: str, contrast: str, measure: str
) -> FloatArray:
    """Return contrast minus baseline per query, largest first, where both are defined."""
    values = per_query.filter(pl.col("measure") == measure, pl.col("value").is_not_null())
    first, second = (
        values.filter(pl.col("run") == mode).select("query_id", "value")
        for mode in (contrast, baseline)
    )
    joined = first.join(second, on="query_id", suffix="_baseline")
    differences = (joined["value"] - joined["value_baseline"]).to_numpy()
    return -np.sort(-differences.astype(np.float64))


def _draw(axes: Axes, differences: FloatArray, noun: str, *, higher_is_better: bool) -> None:
    """Draw steps above and below 0; those of worse queries are hatched."""
    from matplotlib.ticker import MaxNLocator

    edges = np.arange(len(differences) + 1) + 0.5
    good = AHEAD, f"first {noun} better", None
    bad = BEHIND, f"second {noun} better", "////"
    above, below = (good, bad) if higher_is_better else (bad, good)
    for values, (colour, label, hatch) in (
        (np.where(differences > EQUAL, differences, 0.0), above),
        (np.where(differences < -EQUAL, differences, 0.0), below),
    ):
        if len(values):
            axes.stairs(
                values,
                edges,
                fill=True,
                facecolor=colour,
                edgecolor="white" if hatch else colour,
                linewidth=0,
                hatch=hatch,
                label=label,
                zorder=2,
            )
    largest = float(np.abs(differences).max(initial=0.0))
    reach = largest if largest > EQUAL else 1.0
    # More space above 0: the mean is written there, where it covers few bars.
    axes.set_ylim(-1.08 * reach, 1.3 * reach)
    axes.set_xlim(0.5, max(len(differences), 1) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
    axes.axhline(0.0, color=INK, linewidth=0.8, zorder=3)
    add_grid(axes, "y")


def _draw_mean(axes: Axes, entry: Comparison, confidence: float) -> None:
    if entry.difference is None:
        axes.text(0.5, 0.75, "undefined", transform=axes.transAxes, ha="center")
        return
    ends = ""
    low, high = ends_of(entry.ci)
    if low is not None and high is not None:
        axes.axhspan(low, high, color=INK, alpha=0.22, linewidth=0, zorder=4)
        _, right = axes.get_xlim()
        axes.set_xlim(right=right * (1 + 2 * _MARGIN))
        axes.errorbar(  # beside the bars, which would hide it
            right * (1 + _MARGIN),
            entry.difference,
            yerr=[[max(0.0, entry.difference - low)], [max(0.0, high - entry.difference)]],
            fmt="none",
            ecolor=INK,
            capsize=3.0,
            capthick=1.2,
            elinewidth=1.2,
            zorder=6,
        )
        ends = f" [{_signed(low)}, {_signed(high)}]"
    axes.axhline(
        entry.difference,
        color=INK,
        linewidth=1.2,
        linestyle="--",
        label="mean" if low is None else f"mean and {_name_interval(entry, confidence)}",
        zorder=5,
    )
    axes.text(
        0.98,
        0.97,
        f"mean {_signed(entry.difference)}{ends}",
        transform=axes.transAxes,
        ha="right",
        va="top",
        fontsize="small",
    )


def _name_interval(entry: Comparison, confidence: float) -> str:
    unadjusted = "" if entry.has_own_level else "unadjusted "
    return f"{unadjusted}{confidence * 100:g}% interval"


def _signed(value: float) -> str:
    """Return a value with four decimals, as in the tables, and a minus as wide as the plus."""
    return f"{value:+.4f}".replace("-", "−")
