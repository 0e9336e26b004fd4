"""The analyses of a report as titled tables, which all renderings share."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.display import TextTable
from trectools_plus.reporting.wording import show
from trectools_plus.text import plural


@dataclass(frozen=True, slots=True)
class Section:
    """An analysis.

    Attributes:
        title: The heading.
        text: An explanation of the figures.
        table: The figures.
    """

    title: str
    text: str
    table: TextTable


def analysis_sections(report: BenchmarkReport) -> list[Section]:
    """Return the analyses of a report; those that it does not have are left out.

    Args:
        report: The report.
    """
    found = (_judgments(report), _difficulty(report), _power(report))
    return [section for section in found if section is not None]


def _judgments(report: BenchmarkReport) -> Section | None:
    pool = report.pool
    if pool is None:
        return None
    noun = report.noun
    header = [noun.capitalize(), "Judged@10", pool.measure, "Unjudged documents"]
    rows = []
    for mode, one in pool.modes.items():
        bounds = "–" if one.low is None else f"{show(one.low)} to {show(one.high)}"
        share = "–" if one.judged is None else f"{one.judged:.1%}"
        rows.append([report.modes[mode].label, share, show(one.score), bounds])
    text = (
        f"Unjudged documents: the mean {pool.measure} with each query's lower, and with its higher "
        "value if its unjudged documents are all irrelevant or all relevant."
    )
    if pool.tau is not None:
        text += f" Kendall's tau of Judged@10 and {pool.measure} over {noun}s: {pool.tau:+.2f}."
    return Section("Judgments", text, TextTable.of(header, rows, right=header[1:]))


def _difficulty(report: BenchmarkReport) -> Section | None:
    found = report.difficulty
    if found is None:
        return None
    header = ["Hardest queries", "Mean", "Easiest queries", "Mean "]
    rows = [
        [
            *(("", "") if one is None else (one.query_id, show(one.mean))),
            *(("", "") if other is None else (other.query_id, show(other.mean))),
        ]
        for one, other in zip_longest(found.hardest, found.easiest)
    ]
    first, median, third = found.quartiles
    spread = "" if found.std is None else f", standard deviation {found.std:.4f}"
    agreement = ", ".join(
        f"{report.modes[mode].label} {'–' if tau is None else f'{tau:.2f}'}"
        for mode, tau in found.agreement.items()
    )
    text = (
        f"Difficulty of a query: its mean {found.measure} over all {report.noun}s. Mean of "
        f"{plural(found.n, 'query', 'queries')}: {found.mean:.4f}{spread}; quartiles {first:.4f}, "
        f"{median:.4f}, {third:.4f}. Kendall's tau of each {report.noun} and the mean of the "
        f"others, query by query: {agreement}. Near 1, the same queries are difficult for both."
    )
    return Section(
        "Difficulty of queries", text, TextTable.of(header, rows, right=("Mean", "Mean "))
    )


def _power(report: BenchmarkReport) -> Section | None:
    if not report.discriminative_power:
        return None
    header = [
        "Metric",
        "Significant pairs",
        "Share",
        "Smallest significant difference",
        "Largest other difference",
    ]
    rows = [
        [
            name,
            f"{one.significant:,} of {one.pairs:,}",
            f"{one.significant / one.pairs:.0%}",
            show(one.smallest_significant),
            show(one.largest_not_significant),
        ]
        for name, one in report.discriminative_power.items()
    ]
    text = (
        f"Pairs of {report.noun}s that differ significantly, by the tests of the paired "
        f"differences. A measure with a larger share distinguishes more {report.noun}s with these "
        "queries. Differences are absolute."
    )
    return Section("Discriminative power", text, TextTable.of(header, rows, right=header[1:]))
