"""The head of the page: what was compared, and what came out of it in a sentence."""

from __future__ import annotations

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report_parts import ends_of
from trectools_plus.reporting.comparison import show
from trectools_plus.reporting.facts import join_labels
from trectools_plus.text import plural


def make_title(report: BenchmarkReport) -> str:
    """Which modes were compared on what."""
    labels = [result.label for result in report.modes.values()]
    return f"{join_labels(labels)} on {report.manifest.dataset.id}"


def make_verdict(report: BenchmarkReport) -> str:
    """What the first measure says of the modes, and whether the queries suffice to say it."""
    measure = report.measure_names[0]
    mode = report.best_mode[measure]
    if mode is not None:
        return _judge_best(report, measure, mode)
    if measure in report.unranked:
        counts = ", ".join(
            f"{result.label} {show(figures.mean)} over {figures.n}"
            for result in report.modes.values()
            if (figures := result.measures[measure]).mean is not None
        )
        return (
            f"The means of {measure} are over different queries, so they are not ranked: {counts}."
        )
    means = [result.measures[measure].mean for result in report.modes.values()]
    mean = means[0]
    if mean is None or None in means:
        return f"{measure} is undefined for some mode, so there is no best one."
    if len(means) > 1:
        return f"No mode is ahead of the others on {measure}: the best ones reach {_best(report)}."
    ((label, figures),) = (
        (result.label, result.measures[measure]) for result in report.modes.values()
    )
    interval = ""
    low, high = ends_of(figures.ci)
    if low is not None and high is not None:
        interval = f" ({report.confidence * 100:g}% interval {low:.3f} to {high:.3f})"
    return f"{label} reaches {measure} {mean:.4f}{interval} over {_queries(figures.n)}."


def _judge_best(report: BenchmarkReport, measure: str, mode: str) -> str:
    figures = report.modes[mode].measures[measure]
    extreme = "highest" if report.higher_is_better(measure) else "lowest"
    opening = f"{report.modes[mode].label} has the {extreme} {measure}, {show(figures.mean)}"
    others = [name for name in report.modes if name != mode]
    if report.best_mode_significant[measure]:
        every = report.modes[others[0]].label if len(others) == 1 else "every other mode"
        return f"{opening}, and is significantly ahead of {every} over {_queries(figures.n)}."
    close = [report.modes[name].label for name in others if _is_close(report, mode, name, measure)]
    if not close:
        return f"{opening}, but is not significantly ahead of every other mode."
    return f"{opening}, but {_queries(figures.n)} cannot tell it from {join_labels(close)}."


def _is_close(report: BenchmarkReport, mode: str, other: str, measure: str) -> bool:
    """Whether the two were compared, and their difference may as well be 0."""
    entry = report.find_comparison(other, mode, measure) or report.find_comparison(
        mode, other, measure
    )
    return entry is not None and not entry.significant


def _best(report: BenchmarkReport) -> str:
    measure = report.measure_names[0]
    means = [result.measures[measure].mean for result in report.modes.values()]
    known = [mean for mean in means if mean is not None]
    return f"{(max if report.higher_is_better(measure) else min)(known):.4f}"


def _queries(n: int) -> str:
    return plural(n, "query", "queries")
