"""What each ranking contributes to a fusion, in words and tables."""

from __future__ import annotations

from trectools_plus.benchmark.compare import is_lower_better
from trectools_plus.benchmark.report import BenchmarkReport, ComponentMeasure, ComponentResult
from trectools_plus.reporting.markdown_text import escape, table

EXPLANATION = (
    "The fusion of all minus the fusion without one: above 0, that one raises the measure."
)


def components_section(report: BenchmarkReport) -> str:
    """Leave-one-out differences for the Markdown; empty where nothing was merged."""
    if not report.components:
        return ""
    level = _level(report)
    rows = [
        [
            escape(report.modes[one.mode].label),
            f"without {escape(component_label(report, one))}",
            *(show_contribution(one.measures.get(name)) for name in report.measure_names),
        ]
        for one in report.components
    ]
    return (
        "## What each component contributes\n\n"
        + table(["Fusion", "Left out", *report.measure_names], rows)
        + f"\n\n{EXPLANATION} In brackets its {level:g}% interval; \\* is a significant "
        "difference, adjusted for the components. The runs are in `components/`."
    )


def component_lines(report: BenchmarkReport) -> list[str]:
    """One sentence for each mode that merges, on the first measure; for the terminal."""
    name = report.measure_names[0]
    lines = []
    for mode in dict.fromkeys(one.mode for one in report.components):
        parts = [
            f"{component_label(report, one)} {show_contribution(one.measures.get(name))}"
            for one in report.components
            if one.mode == mode
        ]
        lower = ", lower is better" if is_lower_better(name) else ""
        lines.append(
            f"{report.modes[mode].label}, with minus without each component on {name}{lower}: "
            f"{'; '.join(parts)}."
        )
    return lines


def component_label(report: BenchmarkReport, one: ComponentResult) -> str:
    """The component's name in tables: that of the mode beside it, where there is one."""
    mode = report.modes.get(one.component)
    return one.component if mode is None else mode.label


def show_contribution(figure: ComponentMeasure | None) -> str:
    """``+0.0123 [+0.001, +0.024] *``."""
    if figure is None or figure.difference is None:
        return "–"
    text = f"{figure.difference:+.4f}"
    if figure.ci.low is not None and figure.ci.high is not None:
        text += f" [{figure.ci.low:+.3f}, {figure.ci.high:+.3f}]"
    return f"{text} *" if figure.significant else text


def _level(report: BenchmarkReport) -> float:
    figures = (figure for one in report.components for figure in one.measures.values())
    return next((100 * figure.ci.level for figure in figures), 95.0)
