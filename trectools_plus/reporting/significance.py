"""What the tests of a report say, in words that every rendering shares."""

from __future__ import annotations

from trectools_plus.benchmark.compare.compare import alpha_of, describe_family
from trectools_plus.benchmark.report import BenchmarkReport, Comparison
from trectools_plus.benchmark.report.parts import ends_of
from trectools_plus.reporting.facts import join_labels
from trectools_plus.reporting.table import show_interval
from trectools_plus.text import plural

_NAMED = 8
"""How many modes of a group are named before they are only counted."""
TEST_NAMES = {
    "paired_bootstrap": "paired bootstrap",
    "t_test": "t-test",
    "wilcoxon": "Wilcoxon",
    "randomisation": "randomisation",
    "sign_test": "sign test",
    "tukey_hsd": "randomised Tukey HSD",
}
CORRECTION_NAMES = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini_hochberg": "Benjamini–Hochberg",
    "tukey_hsd": "Tukey HSD",
    "none": "no correction",
}


def show_p(p: float | None) -> str:
    """A p-value with four decimals, ``<0.0001`` below them, a dash when undefined."""
    if p is None:
        return "–"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def show_difference_interval(entry: Comparison) -> str:
    """The interval of a difference, or a dash."""
    return show_interval(*ends_of(entry.ci), "+", decimals=4) or "–"


def describe_test(entry: Comparison, confidence: float) -> str:
    """How significance was decided: ``randomisation test, p ≤ 0.05 after Holm over 3 …``.

    Args:
        entry: One comparison of the family.
        confidence: The report's level, between 0 and 1.
    """
    name = TEST_NAMES.get(entry.test, entry.test)
    noun = "" if name.endswith(("test", "HSD")) else " test"
    level = f"{name}{noun}, p ≤ {alpha_of(confidence):g}"
    if entry.test == "tukey_hsd":
        return f"{level}, for {entry.family}"
    correction = CORRECTION_NAMES.get(entry.correction, entry.correction)
    return f"{level} after {correction} over {entry.family}"


def describe_claim(report: BenchmarkReport) -> str:
    """How a best mode's lead was judged: over every pair of modes, whatever the baseline is.

    Empty where the report holds no comparison that could tell which test it was.
    """
    entry = next(iter(report.comparisons), None)
    if entry is None:
        return ""
    if "every pair" not in entry.family:  # a baseline's own family, in a report of version 1.0
        modes = len(report.modes)
        family = describe_family(modes, 0, modes * (modes - 1) // 2)
        entry = entry.model_copy(update={"family": family})
    return describe_test(entry, report.confidence)


def group_lines(report: BenchmarkReport) -> list[str]:
    """Which modes cannot be told apart, measures with the same groups in one line.

    Returns:
        ``nDCG@10, AP@100: Hybrid and Lexical-Only; Vector-Only``; empty where every pair was not
        compared, or fewer than two modes were.
    """
    by_groups: dict[str, list[str]] = {}
    for measure, groups in report.groups.items():
        if len(report.modes) < 2 or all(len(group) < 2 for group in groups):
            continue
        named = "; ".join(
            join_labels([report.modes[mode].label for mode in group], _NAMED) for group in groups
        )
        by_groups.setdefault(named, []).append(measure)
    return [f"{', '.join(measures)}: {named}" for named, measures in by_groups.items()]


def denominator_line(report: BenchmarkReport) -> str:
    """The one number of queries behind every mean, and the measures undefined for some of them."""
    queries = report.manifest.dataset.queries
    line = f"Every mean is over the same {plural(queries, 'query', 'queries')}"
    for name in report.measure_names:
        counts = [result.measures[name].n for result in report.modes.values()]
        # A larger number would mean that two tables of scores were mixed up.
        assert max(counts) <= queries
        if set(counts) != {queries}:
            few, many = min(counts), max(counts)
            span = f"{few:,}" if few == many else f"{few:,} to {many:,}"
            if name in report.unranked:
                line += f"; {name} over {span} of them, not the same ones for every mode"
            else:
                line += f"; {name} over the {span} of them for which it is defined"
    return f"{line}."
