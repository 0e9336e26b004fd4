"""Texts, lists and notes about a report that all renderings share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trectools_plus.benchmark.report import (
    BenchmarkReport,
    DatasetInfo,
    FindingRecord,
    StratumResult,
)
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval
from trectools_plus.statistics.method import DEFAULT_CORRECTION, DEFAULT_TEST, alpha_of
from trectools_plus.text import join_names, plural

MOST_PAIRS = 60
"""Maximum number of pairs in a table of differences; the JSON report has all."""
MOST_QUERIES = 50
"""Maximum number of queries in a list; the JSON report has all."""
_NAMED_IN_GROUP = 8
"""Of a group with more modes, a sentence gives only the number."""
TEST_NAMES = {
    "t_test": "paired t-test",
    "paired_bootstrap": "paired bootstrap test",
    "randomisation": "randomisation test",
    "wilcoxon": "Wilcoxon test",
}
CORRECTION_NAMES = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "no correction"}
NARROW = "†"
"""Marks an interval that may be too narrow, because it has a note."""


def show(value: float | None, sign: str = "", *, decimals: int = 4) -> str:
    """Return a figure with four decimals, or a dash if undefined; ``sign="+"`` adds plus signs."""
    return "–" if value is None else f"{value:{sign},.{decimals}f}"


def show_mean(mean: float | None, n: int, queries: int) -> str:
    """Return a mean, with the number of queries behind it unless it is over all of them."""
    return show(mean) if mean is None or n == queries else f"{show(mean)} (n = {n:,})"


def show_interval(
    low: float | None, high: float | None, sign: str = "", *, decimals: int = 3
) -> str:
    """Return an interval in square brackets; empty if undefined. ``sign="+"`` adds plus signs."""
    if low is None or high is None:
        return ""
    return f"[{low:{sign}.{decimals}f}, {high:{sign}.{decimals}f}]"


def show_ci(ci: ConfidenceInterval | None, sign: str = "", *, decimals: int = 3) -> str:
    """Return an interval as :func:`show_interval` does, with :data:`NARROW` if it has a note."""
    if ci is None:
        return ""
    return show_interval(ci.low, ci.high, sign, decimals=decimals) + NARROW * bool(ci.note)


def show_p(p: float | None) -> str:
    """Return a p-value with four decimals, ``<0.0001`` for smaller ones, a dash if undefined."""
    return "<0.0001" if p is not None and p < 0.0001 else show(p)


def show_wins(entry: Comparison, between: str = " / ") -> str:
    """Return the numbers of queries won, tied and lost."""
    return between.join(f"{count:,}" for count in (entry.wins, entry.ties, entry.losses))


def name_difference(report: BenchmarkReport, entry: Comparison) -> str:
    """Return ``Hybrid − Lexical-Only``, with the number of queries if it is not all of them."""
    name = f"{report.modes[entry.contrast].label} − {report.modes[entry.baseline].label}"
    all_queries = entry.n == report.manifest.dataset.queries
    return name if all_queries else f"{name} (n = {entry.n:,})"


CLAIMS_TITLE = "Reported by the writer, not verified"
"""The heading of what a report states and nobody can derive from the files beside it."""


def list_claims(report: BenchmarkReport) -> list[str]:
    """Return what the writer of a report states and ``verify`` cannot derive, a line each."""
    manifest = report.manifest
    facts = {
        "Experiment": f"{manifest.experiment_id}, created {manifest.created_at}",
        "Command": manifest.command or "called from Python",
        "Machine": f"{manifest.python} on {manifest.platform}; {list_versions(manifest.packages)}",
        "Limit of threads of matrix products": manifest.blas_threads,
        **{mode.label: mode.reason for mode in report.unscored.values()},
        **{f"Index of {mode}": key for mode, key in manifest.index_snapshots.items()},
        **{f"Model {role}": f"{one.path} {one.sha256}" for role, one in manifest.models.items()},
    }
    claims = [f"{name}: {fact}" for name, fact in facts.items() if fact is not None]
    claims += dataset_claims(manifest.dataset)
    for result in report.modes.values():
        claims += _list_findings(result.label, result.diagnostics.findings)
        if result.run.source is not None:
            claims.append(f"Original of {result.label}: {result.run.source.path}")
        claims.append(f"Ties of {result.label}, as fetched or given: {result.run.ties.pairs:,}")
        if (ms := result.latency_ms) is not None:
            timed = "" if ms.queries is None else f" of {ms.queries:,} timed queries"
            claims.append(
                f"Latency of {result.label}, ms per query{timed}: mean {ms.mean:,.2f}, "
                f"p50 {ms.p50:,.2f}, p95 {ms.p95:,.2f}, p99 {ms.p99:,.2f}"
            )
    return claims


def list_versions(packages: Mapping[str, str]) -> str:
    """Return packages with their versions, separated by commas."""
    return ", ".join(f"{name} {version}" for name, version in packages.items())


def dataset_claims(dataset: DatasetInfo) -> list[str]:
    """Return what a report states about its data and ``verify`` cannot derive, a line each."""
    facts = {"Version of the dataset": dataset.version, "Documents": dataset.documents}
    claims = [f"{name}: {fact}" for name, fact in facts.items() if fact is not None]
    return [*claims, *_list_findings("the data", dataset.findings)]


def _list_findings(label: str, findings: Iterable[FindingRecord]) -> list[str]:
    return [
        f"Finding on {label}: {item.shown_severity} {item.code}: {item.message}"
        for item in findings
    ]


def narrow_lines(intervals: Iterable[ConfidenceInterval | None]) -> list[str]:
    """Explain the mark of intervals that may be too narrow, a line for each reason."""
    notes = dict.fromkeys(ci.note for ci in intervals if ci is not None and ci.note)
    return [f"{NARROW} {note}." for note in notes]


def list_stratum(
    report: BenchmarkReport, field: str, measure: str
) -> list[tuple[str, int, list[StratumResult | None]]]:
    """Return each value of a query field, its number of queries, and the result of each mode."""
    rows = []
    for value, modes in report.strata[field].items():
        results = [modes.get(mode, {}).get(measure) for mode in report.modes]
        queries = max((each.n for each in results if each is not None), default=0)
        rows.append((value, queries, results))
    return rows


def name_interval(entry: Comparison | None) -> str:
    """Return the heading of a column of intervals of differences."""
    return "Interval" if entry is None or entry.has_own_level else "Unadjusted interval"


def describe_difference_intervals(entry: Comparison) -> str:
    """Return a sentence on the intervals of differences.

    Args:
        entry: One comparison of the family.
    """
    if entry.has_own_level and entry.test == "t_test":
        return "An interval excludes 0 exactly if the difference is significant."
    if entry.has_own_level:
        return "The intervals are those of a t-test (t), so one may disagree with this test."
    return (
        "The intervals are not adjusted for the number of comparisons, so one may exclude 0 "
        "although the difference is not significant."
    )


DETECTABLE = (
    "Detectable is the smallest true difference that this test and correction find in at least 80 "
    "of 100 sets of queries, for this number of queries and this spread of the differences."
)


def describe_test(entry: Comparison, confidence: float) -> str:
    """Describe the test of significance; see :func:`name_test`.

    Args:
        entry: One comparison of the family.
        confidence: The report's level, between 0 and 1.
    """
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
    name = TEST_NAMES.get(test, test.replace("_", " "))
    adjusted = CORRECTION_NAMES.get(correction, correction.replace("_", " "))
    over = "" if family.startswith("1 comparison") else f"{adjusted} over "
    return f"{name}, {over}{family}, p ≤ {alpha_of(confidence):g}"


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
    missing = counted[config.get("missing", "zero")]
    none = counted[config.get("no_relevant", "drop")]
    counts = f"those without results {missing}, those without a relevant document {none}"
    if missing == none:
        counts = f"those without results or without a relevant document {none}"
    number = plural(queries, "query", "queries")
    return f"{test[:1].upper()}{test[1:]}; {number}; {counts}."


def describe_groups(report: BenchmarkReport, measure: str) -> str:
    """Name the groups of modes without a significant difference on a measure, best first.

    Returns:
        ``Hybrid and Lexical-Only``; empty if not every pair was compared, or all modes differ.
    """
    return "; ".join(
        join_names([report.modes[mode].label for mode in group], f"{report.noun}s", _NAMED_IN_GROUP)
        for group in report.groups.get(measure, [])
        if len(group) > 1
    )


def group_lines(report: BenchmarkReport) -> list[str]:
    """Return a line for each grouping of modes: ``nDCG@10, AP@100: Hybrid and Lexical-Only``."""
    measures_of: dict[str, list[str]] = {}
    for measure in report.measure_names:
        measures_of.setdefault(describe_groups(report, measure), []).append(measure)
    return [f"{', '.join(measures)}: {named}" for named, measures in measures_of.items() if named]


def denominator_line(report: BenchmarkReport, measures: Iterable[str]) -> str:
    """State the number of queries behind every mean, and measures undefined for some of them."""
    queries = report.manifest.dataset.queries
    line = f"Every mean is over the same {plural(queries, 'query', 'queries')}"
    for name in measures:
        counts = {result.measures[name].n for result in report.modes.values()}
        span = " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)}))
        if name in report.unranked:
            line += f"; {name} over {span} of them, different ones, so it is not ranked"
        elif counts != {queries}:
            line += f"; {name} over the {span} of them for which it is defined"
    return f"{line}."
