"""The critical-difference diagram: mean ranks of systems, joined if they do not differ."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.reporting.plots.means import require_measure
from trectools_plus.reporting.plots.style import INK, label_text, mode_style
from trectools_plus.statistics import mean_ranks
from trectools_plus.statistics.method import alpha_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEWEST_MODES = 5
"""With fewer modes, a benchmark draws no diagram: the table shows their differences."""
LINE_INCHES = 0.24
"""Height of a label and of a joining line, in inches."""


@dataclass(frozen=True, slots=True)
class CriticalDifference:
    """The content of a critical-difference diagram.

    Attributes:
        measure: The measure.
        ranks: The mean rank over the queries of each mode, the best (smallest) first.
        groups: The report's groups of at least two modes without a significant difference.
        queries: The number of queries with a value of each mode.
        nemenyi: Nemenyi's critical difference of mean ranks, for readers who expect it. It does
            not decide on the groups.
    """

    measure: str
    ranks: dict[str, float]
    groups: tuple[tuple[str, ...], ...]
    queries: int
    nemenyi: float


def find_critical_difference(
    report: BenchmarkReport, per_query: pl.DataFrame, measure: str | None = None
) -> CriticalDifference:
    """Return the mean ranks of the modes and the groups that do not differ significantly.

    The groups are those of the report, so the diagram agrees with its tables. Nemenyi's test on
    mean ranks would be a second family of tests, whose result on two modes depends on the others
    (Benavoli, Corani and Mangili, JMLR 17, 2016).

    Args:
        report: The report.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        measure: The measure; by default the primary measure.

    Raises:
        UsageError: If the report does not have the measure, has fewer than three modes, or no query
            has a value of each mode.
    """
    name = require_measure(report, report.primary_measure if measure is None else measure)
    # Numbers as names of columns: Polars reads a name such as ^a$ as a pattern.
    places = [str(place) for place in range(len(report.modes))]
    wide = (
        per_query.filter(pl.col("measure") == name, pl.col("run").is_in(list(report.modes)))
        .with_columns(pl.col("run").replace_strict(list(report.modes), places))
        .pivot(on="run", index="query_id", values="value")
    )
    columns = [wide[place].cast(pl.Float64).fill_null(np.nan).to_numpy() for place in places]
    sign = 1.0 if report.higher_is_better(name) else -1.0
    found = mean_ranks(sign * np.column_stack(columns), level=alpha_of(report.confidence))
    ranks = dict(zip(report.modes, found.ranks, strict=True))
    groups = (tuple(group) for group in report.groups.get(name, ()) if len(group) > 1)
    return CriticalDifference(
        measure=name,
        ranks=dict(sorted(ranks.items(), key=lambda item: item[1])),
        groups=tuple(groups),
        queries=found.queries,
        nemenyi=found.critical_difference,
    )


def plot_critical_difference(
    axes: Axes, report: BenchmarkReport, per_query: pl.DataFrame, measure: str | None = None
) -> Axes:
    """Draw the modes on an axis of mean ranks, the best on the left.

    A line joins modes that do not differ significantly; its dots are the members of the group.

    Args:
        axes: The axes to draw on.
        report: The report.
        per_query: ``run, query_id, measure, value``; undefined values are null.
        measure: The measure; by default the primary measure.

    Returns:
        The same axes.

    Raises:
        UsageError: As :func:`find_critical_difference`.
    """
    found = find_critical_difference(report, per_query, measure)
    systems, lines = len(found.ranks), len(found.groups)
    deepest = lines + (systems + 1) // 2 + 1
    axes.set_ylim(deepest, 0.0)  # downwards, one unit for each line
    best, *_, worst = found.ranks.values()
    left_edge, right_edge = floor(best), max(ceil(worst), floor(best) + 1)
    axes.set_xlim(left_edge, right_edge)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xticks(range(left_edge, right_edge + 1))
    axes.set_xlabel(
        f"Mean rank on {label_text(found.measure)} over {found.queries:,} queries (1 is the best)"
    )
    axes.yaxis.set_visible(False)
    for side in ("left", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["top"].set_visible(True)
    for depth, group in enumerate(found.groups, 1):
        places = [found.ranks[mode] for mode in group]
        axes.plot(places, [depth] * len(places), color=INK, linewidth=2.2, clip_on=False, zorder=3)
        axes.plot(places, [depth] * len(places), "o", color=INK, markersize=4.5, clip_on=False)
    order = {mode: mode_style(place).colour for place, mode in enumerate(report.modes)}
    half = (systems + 1) // 2
    for place, (mode, rank) in enumerate(found.ranks.items()):
        left = place < half
        depth = lines + 1 + (place if left else systems - 1 - place)
        edge = left_edge if left else right_edge
        axes.plot(
            [rank, rank, edge],
            [0.0, depth, depth],
            color=order[mode],
            linewidth=1.0,
            clip_on=False,
            zorder=2,
        )
        axes.annotate(
            f"{label_text(report.modes[mode].label)} {rank:.2f}"
            if left
            else f"{rank:.2f} {label_text(report.modes[mode].label)}",
            (edge, depth),
            xytext=(-4 if left else 4, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            annotation_clip=False,
        )
    return axes
