"""Paired differences as the page draws them, with the tests that the report holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trectools_plus.benchmark.report import BenchmarkReport, Comparison
from trectools_plus.benchmark.report_parts import ends_of
from trectools_plus.reporting.html.whiskers import Scale, Whisker, make_scale
from trectools_plus.reporting.report_facts import choose_comparisons, name_difference


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One comparison.

    Attributes:
        entry: The comparison.
        name: ``Hybrid − Lexical-Only``, with the number of queries where that is not all.
        verdict: ``ahead`` or ``behind`` where the difference is significant, else empty.
        whisker: Its difference and interval on the table's axis.
        p_values: One per test of the table, unadjusted; ``None`` where it has none.
    """

    entry: Comparison
    name: str
    verdict: str
    whisker: Whisker
    p_values: list[float | None]


@dataclass(frozen=True, slots=True)
class DifferencesView:
    """The table of differences.

    Attributes:
        rows: Its rows.
        scale: The axis of all differences, 0 in the middle.
        tests: Names of the tests, in the report's order.
        adjusted: The row that says how p-values are adjusted; ``None`` when they are not.
        left_out: Comparisons that only the JSON holds.
    """

    rows: list[DifferenceRow]
    scale: Scale
    tests: list[str]
    adjusted: Comparison | None
    left_out: int


def view_differences(report: BenchmarkReport) -> DifferencesView:
    """Every comparison, or those with the best mode where there are very many."""
    entries = choose_comparisons(report)
    dumps = [entry.model_dump() for entry in entries]
    tests = list(dict.fromkeys(name for dump in dumps for name in dump if _is_test(dump[name])))
    scale = make_scale(
        (end for entry in entries for end in (*ends_of(entry.ci), entry.difference)),
        around_zero=True,
    )
    rows = [
        DifferenceRow(
            entry=entry,
            name=name_difference(report, entry),
            verdict=_judge(report, entry),
            whisker=scale.whisker(entry.difference, *ends_of(entry.ci)),
            p_values=[dump[name]["p"] if _is_test(dump[name]) else None for name in tests],
        )
        for entry, dump in zip(entries, dumps, strict=True)
    ]
    return DifferencesView(
        rows=rows,
        scale=scale,
        tests=tests,
        adjusted=next((entry for entry in entries if entry.p_adjusted is not None), None),
        left_out=len(report.comparisons) - len(entries),
    )


def _judge(report: BenchmarkReport, entry: Comparison) -> str:
    if not entry.significant or not entry.difference:
        return ""
    return "ahead" if (entry.difference > 0) == report.higher_is_better(entry.measure) else "behind"


def _is_test(part: Any) -> bool:
    """Whether this part of a comparison is a test: something with a p-value."""
    return isinstance(part, Mapping) and "p" in part
