"""What each ranking contributes to a fusion, in words and tables."""

from __future__ import annotations

from trectools_plus.benchmark.report import BenchmarkReport, ComponentMeasure, ComponentResult
from trectools_plus.benchmark.report_parts import ends_of
from trectools_plus.reporting.markdown_text import escape, table

EXPLANATION = (
    "The fusion of all minus the fusion without one: above 0, that one raises the measure."
)


def components_section(report: BenchmarkReport) -> str:
    """Leave-one-out differences for the Markdown; empty where nothing was merged."""
    if not report.components:
        return ""
    level = 100 * report.confidence
    rows = [
        [
            escape(report.modes[one.mode].label),
            f"without {escape(left_out(report, one))}",
            *(show_contribution(one.measures.get(name)) for name in report.measure_names),
        ]
        for one in report.components
    ]
    return (
        "## What each component contributes\n\n"
        + table(["Fusion", "Left out", *report.measure_names], rows)
        + f"\n\n{EXPLANATION} In brackets its {level:g}% interval; \\* is a significant "
        f"difference{describe_components_test(report)}. The runs are in `components/`."
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
        lower = "" if report.higher_is_better(name) else ", lower is better"
        lines.append(
            f"{report.modes[mode].label}, with minus without each component on {name}{lower}: "
            f"{'; '.join(parts)}."
        )
    return lines


def describe_components_test(report: BenchmarkReport) -> str:
    """How significance of the components' differences was decided, as the end of a sentence."""
    figures = (figure for one in report.components for figure in one.measures.values())
    family = next((figure.family for figure in figures), "")
    if not family:
        return ", adjusted for the components"
    return f", by the test of the paired differences, in one family with them ({family})"


def left_out(report: BenchmarkReport, one: ComponentResult) -> str:
    """The component, and which mode the fusion without it is: ``dense (the same as BM25)``."""
    label = component_label(report, one)
    mode = report.modes.get(one.same_as or "")
    return label if mode is None else f"{label} (the same as {mode.label})"


def component_label(report: BenchmarkReport, one: ComponentResult) -> str:
    """The component's name in tables: that of the mode beside it, where there is one."""
    mode = report.modes.get(one.component)
    return one.component if mode is None else mode.label


def show_contribution(figure: ComponentMeasure | None) -> str:
    """``+0.0123 [+0.001, +0.024] *``."""
    if figure is None or figure.difference is None:
        return "–"
    text = f"{figure.difference:+.4f}"
    low, high = ends_of(figure.ci)
    if low is not None and high is not None:
        text += f" [{low:+.3f}, {high:+.3f}]"
    return f"{text} *" if figure.significant else text
