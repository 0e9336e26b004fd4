"""Texts, lists and notes about a report that all renderings share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trectools_plus.benchmark.report.model import BenchmarkReport
from trectools_plus.statistics.comparison import (
    DEFAULT_CORRECTION,
    DEFAULT_TEST,
    Comparison,
    ConfidenceInterval,
    alpha_of,
)
from trectools_plus.text import plural

MOST_QUERIES = 50
"""Maximum number of queries in a list; the JSON report has all."""
TEST_NAMES = {
    "t_test": "paired t-test",
    "paired_bootstrap": "paired bootstrap test",
    "randomisation": "randomisation test",
    "wilcoxon": "Wilcoxon test",
}
CORRECTION_NAMES = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "no correction"}
NARROW = "†"
"""Marks an interval that may be too narrow, because it has a note."""
CLAIMS_TITLE = "Reported by the writer, not verified"
"""The heading of what a report states and nobody can derive from the files beside it."""


def show(value: float | None, sign: str = "", *, decimals: int | None = None) -> str:
    """Return a figure with four decimals, or a dash if undefined; ``sign="+"`` adds plus signs."""
    places = 4 if decimals is None else decimals
    return "–" if value is None else f"{value:{sign},.{places}f}".replace("-", "−")


def show_interval(
    low: float | None, high: float | None, sign: str = "", *, decimals: int | None = None
) -> str:
    """Return an interval in square brackets, with three decimals; empty if undefined."""
    if low is None or high is None:
        return ""
    places = 3 if decimals is None else decimals
    return f"[{show(low, sign, decimals=places)}, {show(high, sign, decimals=places)}]"


def show_ci(ci: ConfidenceInterval | None, sign: str = "", *, decimals: int | None = None) -> str:
    """Return an interval as :func:`show_interval` does, with :data:`NARROW` if it has a note."""
    if ci is None:
        return ""
    return show_interval(ci.low, ci.high, sign, decimals=decimals) + NARROW * bool(ci.note)


def show_p(p: float | None) -> str:
    """Return a p-value with four decimals, ``<0.0001`` for smaller ones, a dash if undefined."""
    return "<0.0001" if p is not None and p < 0.0001 else show(p)


def show_wins(entry: Comparison) -> str:
    """Return the numbers of queries won, tied and lost."""
    return f"{entry.wins:,}/{entry.ties:,}/{entry.losses:,}"


def list_claims(report: BenchmarkReport) -> list[str]:
    """Return what the writer of a report states and ``verify`` cannot derive, a line each."""
    manifest = report.manifest
    facts = {
        "Experiment": f"{manifest.experiment_id}, created {manifest.created_at}",
        "Command": manifest.command or "called from Python",
        "Machine": f"{manifest.python} on {manifest.platform}",
        **{f"Package {name}": version for name, version in manifest.packages.items()},
        "Limit of threads of matrix products": manifest.blas_threads,
        "Version of the dataset": manifest.dataset.version,
        "Documents": manifest.dataset.documents,
        **{mode.label: mode.reason for mode in report.unscored.values()},
        **{f"Index of {mode}": key for mode, key in manifest.index_snapshots.items()},
        **{f"Model {role}": f"{one.path} {one.sha256}" for role, one in manifest.models.items()},
    }
    claims = [f"{name}: {fact}" for name, fact in facts.items() if fact is not None]
    findings = [("the data", manifest.dataset.findings)]
    for result in report.modes.values():
        findings.append((result.label, result.diagnostics.findings))
        if result.run.source is not None:
            claims.append(f"Original of {result.label}: {result.run.source.path}")
        claims.append(f"Ties of {result.label}, as fetched or given: {result.run.ties.pairs:,}")
        if (ms := result.latency_ms) is not None:
            timed = "" if ms.queries is None else f" of {ms.queries:,} timed queries"
            claims.append(
                f"Latency of {result.label}, ms per query{timed}: mean {ms.mean:,.2f}, "
                f"p50 {ms.p50:,.2f}, p95 {ms.p95:,.2f}, p99 {ms.p99:,.2f}"
            )
    return claims + [
        f"Finding on {label}: {item.shown_severity} {item.code}: {item.message}"
        for label, items in findings
        for item in items
    ]


def narrow_lines(intervals: Iterable[ConfidenceInterval | None]) -> list[str]:
    """Explain the mark of intervals that may be too narrow, a line for each reason."""
    notes = dict.fromkeys(ci.note for ci in intervals if ci is not None and ci.note)
    return [f"{NARROW} {note}." for note in notes]


def name_interval(family: Iterable[Comparison]) -> str:
    """Return the heading of a column of intervals of differences."""
    return "Interval" if all(pair.has_own_level for pair in family) else "Unadjusted interval"


def describe_difference_intervals(entry: Comparison) -> str:
    """Return a sentence on the intervals of a family, of which one comparison is given."""
    if entry.has_own_level and entry.test == "t_test":
        return "An interval excludes 0 exactly if the difference is significant."
    return (
        "The intervals are those of a t-test, so one may exclude 0 although the difference is not "
        "significant."
    )


def describe_test(entry: Comparison, confidence: float) -> str:
    """Describe the test of a family, of which one comparison is given; see :func:`name_test`."""
    return name_test(entry.family, confidence, entry.test, entry.correction)


def name_test(
    family: str,
    confidence: float,
    test: str = DEFAULT_TEST,
    correction: str = DEFAULT_CORRECTION,
) -> str:
    """Name test, correction and family, for example in a report.

    ``paired t-test, Holm over 19 comparisons with bm25 on one measure, p ≤ 0.05``.

    Args:
        family: A description of the family.
        confidence: The confidence, between 0 and 1.
        test: The test.
        correction: The correction.
    """
    adjusted = f"{CORRECTION_NAMES.get(correction, correction)} over "
    over = "" if family.startswith("1 comparison") else adjusted
    return f"{TEST_NAMES.get(test, test)}, {over}{family}, p ≤ {alpha_of(confidence):g}"


def method_line(report: BenchmarkReport) -> str:
    """Name the method of the verdict and the tables in one line; empty without a comparison."""
    if not report.comparisons:
        return ""
    test = describe_test(report.comparisons[0], report.confidence)
    return describe_method(test, report.manifest.dataset.queries, report.manifest.config)


def describe_method(test: str, queries: int, config: Mapping[str, Any]) -> str:
    """Name test, correction, family and number of queries, and which queries count 0; one line.

    Args:
        test: From :func:`describe_test`.
        queries: The number of queries in the means.
        config: The configuration of the manifest.
    """
    counted = {"zero": "count 0", "drop": "are left out"}
    missing, none = (
        counted[config.get(name, default)]
        for name, default in (("missing", "zero"), ("no_relevant", "drop"))
    )
    counts = f"those without results {missing}, those without a relevant document {none}"
    if missing == none:
        counts = f"those without results or without a relevant document {none}"
    return f"{test[:1].upper()}{test[1:]}; {plural(queries, 'query', 'queries')}; {counts}."
