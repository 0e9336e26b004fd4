"""Texts, lists and notes about a report that all renderings share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trectools_plus.benchmark.report import (
    BenchmarkReport,
    DatasetInfo,
    FindingRecord,
    MeasureDefinition,
    StratumResult,
)
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval
from trectools_plus.statistics.method import (
    DEFAULT_CORRECTION,
    DEFAULT_TEST,
    alpha_of,
)
from trectools_plus.text import join_names, plural

MOST_PAIRS = 60
"""Maximum number of pairs in a table of differences; the JSON report has all."""
MOST_QUERIES = 50
"""Maximum number of queries in a list; the JSON report has all."""
_NAMED = 3
"""With more modes than this, a sentence gives only their number."""
_NAMED_IN_GROUP = 8
"""The same for the modes of a group."""
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
    mark = NARROW if ci.note else ""
    return show_interval(ci.low, ci.high, sign, decimals=decimals) + mark


def choose_comparisons(report: BenchmarkReport) -> list[Comparison]:
    """Return the comparisons by measure; of more than 60, only those with the best mode.

    The headline measures come first.
    """
    names = dict.fromkeys([*report.headline_measures, *report.measure_names])
    order = {name: place for place, name in enumerate(names)}
    entries = sorted(report.comparisons, key=lambda entry: order[entry.measure])
    if len(entries) <= MOST_PAIRS:
        return entries
    return [
        entry
        for entry in entries
        if report.best_mode[entry.measure] in (entry.baseline, entry.contrast)
    ][:MOST_PAIRS]


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
    claims = [f"{mode.label}: {mode.reason}." for mode in report.unscored.values()]
    versions = ", ".join(f"{name} {version}" for name, version in manifest.packages.items())
    claims += [
        f"Experiment {manifest.experiment_id}, created {manifest.created_at}.",
        f"Command: {manifest.command or 'called from Python'}",
        f"Machine: {manifest.python} on {manifest.platform}; {versions}.",
        *dataset_claims(manifest.dataset),
        *(f"Index of {mode}: {key}" for mode, key in manifest.index_snapshots.items()),
        *(f"Model {role}: {one.path} {one.sha256}" for role, one in manifest.models.items()),
    ]
    for result in report.modes.values():
        claims += _list_findings(result.label, result.diagnostics.findings)
        if result.run.source is not None:
            claims.append(f"Original of {result.label}: {result.run.source.path}.")
        claims.append(f"Ties of {result.label}, as fetched or given: {result.run.ties.pairs:,}.")
        if (ms := result.latency_ms) is not None:
            count = "" if ms.queries is None else f" of {ms.queries:,} timed queries"
            claims.append(
                f"Latency of {result.label}, ms per query{count}: mean {ms.mean:,.2f}, "
                f"p50 {ms.p50:,.2f}, p95 {ms.p95:,.2f}, p99 {ms.p99:,.2f}."
            )
    if manifest.blas_threads:
        claims.append(f"Matrix products were limited to {plural(manifest.blas_threads, 'thread')}.")
    return claims


def dataset_claims(dataset: DatasetInfo) -> list[str]:
    """Return what a report states about its data and ``verify`` cannot derive, a line each."""
    version, documents = dataset.version, dataset.documents
    return [
        *([] if version is None else [f"Version of the dataset: {version}."]),
        *([] if documents is None else [f"Size of the collection: {documents:,} documents."]),
        *_list_findings("the data", dataset.findings),
    ]


def _list_findings(label: str, findings: Iterable[FindingRecord]) -> list[str]:
    return [
        f"Finding on {label}: {item.shown_severity} {item.code}: {item.message}"
        for item in findings
    ]


def narrow_lines(intervals: Iterable[ConfidenceInterval | None]) -> list[str]:
    """Explain the mark of intervals that may be too narrow, a line for each reason."""
    notes = dict.fromkeys(ci.note for ci in intervals if ci is not None and ci.note)
    return [f"{NARROW} {note}." for note in notes]


def list_hashes(report: BenchmarkReport) -> list[tuple[str, str]]:
    """Return name and SHA-256 of all data, files, runs and settings behind the figures."""
    manifest = report.manifest
    runs = (result.run for result in report.modes.values())
    return [
        *((f"data: {kind} (contents)", each) for kind, each in manifest.dataset.contents.items()),
        *((f"file: {file.path}", file.sha256) for file in manifest.dataset.files.values()),
        *((run.path, run.sha256) for run in runs if run.path is not None and run.sha256),
        ("configuration", manifest.config_hash),
    ]


def other_name(name: str, definition: MeasureDefinition) -> str | None:
    """Return a measure's canonical name if it is labelled otherwise, or the class's address.

    In reports of earlier versions, the label is the canonical name, and the alias the name that
    was requested.
    """
    if definition.name is not None and definition.name != name:
        return definition.name
    return definition.alias if definition.alias != name else None


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


def join_labels(labels: list[str], named: int = _NAMED, *, noun: str) -> str:
    """Return ``a``, ``a and b``, ``a, b and c``; with more than ``named`` modes, ``12 modes``."""
    return join_names(labels, f"{noun}s", named)


def show_p(p: float | None) -> str:
    """Return a p-value with four decimals, ``<0.0001`` for smaller ones, a dash if undefined."""
    if p is None:
        return "–"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def name_interval(entry: Comparison | None) -> str:
    """Return the heading of a column of intervals of differences."""
    return "Interval" if entry is None or entry.has_own_level else "Unadjusted interval"


def describe_difference_intervals(entry: Comparison) -> str:
    """Return a sentence on the intervals of differences.

    Args:
        entry: One comparison of the family.
    """
    if not entry.has_own_level:
        return (
            "The intervals are not adjusted for the number of comparisons, so one may exclude 0 "
            "although the difference is not significant."
        )
    if entry.test not in ("t_test", "max_t"):
        return "The intervals are those of a t-test (t), so one may disagree with this test."
    return "An interval excludes 0 exactly if the difference is significant."


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
    alone = family.startswith("1 comparison") or test == correction
    over = "" if alone else f"{adjusted} over "
    return f"{name}, {over}{family}, p ≤ {alpha_of(confidence):g}"


def describe_result(entry: Comparison) -> str:
    """Return the result of the deciding test: ``p 0.0123, 0.0369 adjusted; significant``."""
    verdict = "significant" if entry.significant else "not significant"
    if entry.ci is not None and not entry.has_own_level:
        verdict += " (the interval is unadjusted)"
    tested = f"p {show_p(entry.p)}, {show_p(entry.p_adjusted)} adjusted; "
    return verdict if entry.p_adjusted is None else tested + verdict


def method_line(report: BenchmarkReport) -> str:
    """Name the method of the verdict and the tables in one line; empty without a comparison."""
    entry = next(iter(report.comparisons), None)
    if entry is None:
        return ""
    queries = report.manifest.dataset.queries
    return describe_method(describe_test(entry, report.confidence), queries, report.manifest.config)


def describe_method(test: str, queries: int, config: Mapping[str, Any]) -> str:
    """Name test, correction, family and number of queries, and which queries count 0; one line.

    Args:
        test: From :func:`describe_test`.
        queries: The number of queries in the means.
        config: The configuration of the manifest.
    """
    counted = {"zero": "count 0", "drop": "are left out"}
    missing, none = (
        counted[config.get("missing", "zero")],
        counted[config.get("no_relevant", "drop")],
    )
    counts = f"those without results {missing}, those without a relevant document {none}"
    if missing == none:
        counts = f"those without results or without a relevant document {none}"
    number = plural(queries, "query", "queries")
    return f"{test[:1].upper()}{test[1:]}; {number}; {counts}."


def shown_groups(report: BenchmarkReport, measure: str) -> list[list[str]]:
    """Return the groups of a measure; earlier reports also have groups of one mode."""
    return [group for group in report.groups.get(measure, []) if len(group) > 1]


def group_lines(report: BenchmarkReport) -> list[str]:
    """Describe the groups of modes without a significant difference, one line per grouping.

    Returns:
        ``nDCG@10, AP@100: Hybrid and Lexical-Only; Vector-Only``; empty if not every pair was
        compared, or if each mode differs from all others.
    """
    by_groups: dict[str, list[str]] = {}
    for measure in report.measure_names:
        labels = (
            [report.modes[mode].label for mode in group] for group in shown_groups(report, measure)
        )
        named = "; ".join(join_labels(one, _NAMED_IN_GROUP, noun=report.noun) for one in labels)
        by_groups.setdefault(named, []).append(measure)
    return [f"{', '.join(measures)}: {named}" for named, measures in by_groups.items() if named]


def denominator_line(report: BenchmarkReport, measures: Iterable[str] | None = None) -> str:
    """State the number of queries behind every mean, and measures undefined for some of them."""
    queries = report.manifest.dataset.queries
    line = f"Every mean is over the same {plural(queries, 'query', 'queries')}"
    for name in report.measure_names if measures is None else measures:
        counts = [result.measures[name].n for result in report.modes.values()]
        # A larger number would mean that scores of two tables were mixed.
        assert max(counts) <= queries
        span = " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)}))
        if name in report.unranked:
            line += f"; {name} over {span} of them, not the same ones for every {report.noun}"
        elif min(counts) != queries:
            line += f"; {name} over the {span} of them for which it is defined"
    return f"{line}."
