"""The plots of sweeps: means by the values of settings, and precision over recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trectools_plus.benchmark.sweep.runner import SweepReport
from trectools_plus.extraction.runner import Sweep
from trectools_plus.reporting.plots.style import (
    COLOURS,
    HEADING,
    INK,
    Plot,
    draw_curve,
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
    title = f"{report.measure} by variant; the best is {report.winner.name}"
    with house_style():
        figure = new_figure(HEADING + _HEIGHT * len(settings))
        panels = figure.subplots(len(settings), 1, squeeze=False)[:, 0]
        for axes, setting in zip(panels, settings, strict=True):
            _plot_setting(axes, report, setting)
        data = f"{report.dataset.id}, {report.n_queries:,} queries; without correction for choice"
        finish(figure, title, data)
    return Plot("sweep", title, figure)


def _plot_setting(axes: Axes, report: SweepReport, setting: str) -> None:
    """Draw means with intervals by the values of a setting; the winner is coloured."""
    shown = [one for one in report.variants if not setting or setting in one.settings]
    names = [one.settings.get(setting, one.name) for one in shown]
    order = {"mode": report.config.get("modes"), **report.config["grid"]}.get(setting) or names
    values = [value for value in order if value in names]
    for variant, value in zip(shown, names, strict=True):
        low, high = (variant.mean if end is None else end for end in ends_of(variant.ci))
        axes.errorbar(
            values.index(value),
            variant.mean,
            yerr=[[variant.mean - low], [high - variant.mean]],
            fmt="o",
            color=COLOURS[0] if variant.name == report.winner.name else INK,
            alpha=0.7,
            capsize=2,
        )
    labels = [label_text(value) for value in values] if len(values) <= _LABELS else []
    axes.set_xticks(range(len(labels)), labels, rotation=45 if len("".join(labels)) > 60 else 0)
    axes.set_xlabel(label_text(setting or "variant"))
    axes.set_ylabel(report.measure)
    axes.grid(axis="y")


def draw_tradeoff(sweep: Sweep) -> Plot:
    """Return the plot ``precision_recall_tradeoff``: micro precision over micro recall."""
    title = f"Precision and recall by {sweep.parameter}"
    with house_style():
        figure = new_figure(2 * _HEIGHT)
        axes = figure.subplots()
        for place, curve in enumerate(sweep.curves):
            recalls = [point.recall for point in curve.points]
            precisions = [point.precision for point in curve.points]
            draw_curve(axes, place, recalls, precisions, curve.system)
        axes.set(
            xlabel="Recall (micro)", ylabel="Precision (micro)", xlim=(0, 1.02), ylim=(0, 1.02)
        )
        axes.grid(axis="both")
        finish(figure, title, f"{sweep.dataset}, {sweep.documents:,} documents")
    return Plot("precision_recall_tradeoff", title, figure)
