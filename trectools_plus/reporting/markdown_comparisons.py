"""The paired differences in ``BenchmarkComparison.md``, with every test."""

from __future__ import annotations

from trectools_plus.benchmark.report import BenchmarkReport, Comparison
from trectools_plus.benchmark.report_parts import ends_of
from trectools_plus.reporting.comparison_table import show
from trectools_plus.reporting.markdown_text import escape, table
from trectools_plus.reporting.report_facts import choose_comparisons, name_difference
from trectools_plus.reporting.significance import (
    TEST_NAMES,
    describe_test,
    group_lines,
    show_p,
)

_TESTS = ("paired_bootstrap", "t_test", "wilcoxon", "randomisation", "sign_test")


def differences_section(report: BenchmarkReport) -> str:
    """Differences with intervals, tests, groups; empty where nothing was compared."""
    entries = choose_comparisons(report)
    if not entries:
        return ""
    header = ["Metric", "Difference", "Mean", "Interval", "Adjusted p", "Significant"]
    header += ["d_z", "Detectable", "Won/tied/lost"]
    rows = [
        [
            entry.measure,
            name_difference(report, entry),
            show(entry.difference, "+"),
            show_interval(entry),
            show_p(entry.p_adjusted),
            "yes" if entry.significant else "no",
            "–" if entry.effect_size is None else f"{entry.effect_size:+.2f}",
            show(entry.detectable_difference),
            f"{entry.wins} / {entry.ties} / {entry.losses}",
        ]
        for entry in entries
    ]
    left_out = len(report.comparisons) - len(entries)
    parts = [
        "## Paired differences",
        table(header, rows),
        "Each row compares two modes query by query; won, tied and lost are queries, as seen "
        "from the first mode. d_z is the mean difference by the standard deviation of the "
        "differences. Detectable is the smallest true difference that a t-test over so many "
        "queries, differing as much as these, finds in 80 of 100 sets of queries: a smaller one "
        "may be there and not be seen. The intervals are those of one comparison alone. "
        f"Significant: {describe_test(entries[0], report.confidence)}; nothing is corrected for "
        "the number of measures, so decide on one before looking."
        + (f" {left_out} more are in `BenchmarkReport.json`." if left_out else ""),
        _groups(report),
        _tests(report, entries),
    ]
    return "\n\n".join(part for part in parts if part)


def show_interval(entry: Comparison) -> str:
    """The interval of a difference, or a dash."""
    low, high = ends_of(entry.ci)
    return "–" if low is None or high is None else f"[{low:+.4f}, {high:+.4f}]"


def _groups(report: BenchmarkReport) -> str:
    lines = group_lines(report)
    if not lines:
        return ""
    listed = "\n".join(f"- {escape(line)}" for line in lines)
    return f"Modes that cannot be told apart, best group first:\n\n{listed}"


def _tests(report: BenchmarkReport, entries: list[Comparison]) -> str:
    """Every test's own p-value, none of them adjusted."""
    found = [name for name in _TESTS if any(getattr(entry, name) for entry in entries)]
    if not found:
        return ""
    header = ["Metric", "Difference", "t", *(TEST_NAMES[name] for name in found)]
    rows = [
        [
            entry.measure,
            name_difference(report, entry),
            "–" if entry.t_test is None or entry.t_test.t is None else f"{entry.t_test.t:+.3f}",
            *(show_p(getattr(getattr(entry, name), "p", None)) for name in found),
        ]
        for entry in entries
    ]
    return (
        "<details><summary>p-values of every test, not adjusted</summary>\n\n"
        f"{table(header, rows)}\n\n</details>"
    )
