"""The plot of a sweep: the mean of each variant by the values of each setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trectools_plus.benchmark.sweep.report import SweepReport
from trectools_plus.reporting.plots.style import (
    COLOURS,
    HEADING,
    INK,
    Plot,
    finish,
    house_style,
    label_text,
    new_figure,
)
from trectools_plus.statistics.comparison import ends_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 2.6
"""Height of the panel of a setting in inches."""
_LABELS = 25
"""More values of a setting have no labels."""


def draw_variants(report: SweepReport) -> Plot:
    """Return the plot ``sweep`` with a panel for each setting, or one for variants without any."""
    settings = list(dict.fromkeys(name for one in report.variants for name in one.settings)) or [""]
    with house_style():
        figure = new_figure(HEADING + _HEIGHT * len(settings))
        panels = figure.subplots(len(settings), 1, squeeze=False)[:, 0]
        for axes, setting in zip(panels, settings, strict=True):
            _plot_setting(axes, report, setting)
        title = f"{report.measure} by variant"
        data = f"{report.dataset.id}, {report.n_queries:,} queries; without correction for choice"
        finish(figure, title, data)
    best = f"The best is {report.winner.name}: {report.winner.mean:.4f}."
    return Plot("sweep", title, f"{title}. {best}", figure)


def _plot_setting(axes: Axes, report: SweepReport, setting: str) -> None:
    """Draw means with intervals by the values of a setting; the winner is coloured."""
    shown = [one for one in report.variants if not setting or setting in one.settings]
    names = [one.settings.get(setting, one.name) for one in shown]
    order = {"mode": report.config.get("modes"), **report.config["grid"]}.get(setting) or names
    values = [value for value in order if value in names]
    for one, value in zip(shown, names, strict=True):
        best = one.name == report.winner.name
        low, high = ends_of(one.ci)
        axes.errorbar(
            values.index(value),
            one.mean,
            yerr=None if low is None or high is None else [[one.mean - low], [high - one.mean]],
            fmt="o",
            color=COLOURS[0] if best else INK,
            alpha=1.0 if best else 0.5,
            zorder=3 if best else 2,
            capsize=2,
        )
    labels = [label_text(value) for value in values] if len(values) <= _LABELS else []
    axes.set_xticks(range(len(labels)), labels, rotation=45 if len("".join(labels)) > 60 else 0)
    axes.set_xlabel(label_text(setting or "variant"))
    axes.set_ylabel(report.measure)
    axes.grid(axis="y", color=INK, alpha=0.12, linewidth=0.6)
    axes.set_axisbelow(True)
