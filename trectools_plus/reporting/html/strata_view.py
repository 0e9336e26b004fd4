"""Means per group of queries, as the page draws them."""

from __future__ import annotations

from dataclasses import dataclass

from trectools_plus.benchmark.report import BenchmarkReport, StratumResult
from trectools_plus.benchmark.report_parts import ends_of
from trectools_plus.reporting.html.whiskers import Scale, Whisker, make_scale
from trectools_plus.statistics.size import advise_on_size


@dataclass(frozen=True, slots=True)
class StratumRow:
    """A value of a field: how many queries have it, and each mode's mean over them."""

    value: str
    n: int
    too_few: bool
    cells: list[tuple[StratumResult | None, Whisker]]


@dataclass(frozen=True, slots=True)
class StrataTable:
    """One measure by the values of one field."""

    field: str
    measure: str
    scale: Scale
    rows: list[StratumRow]


def view_strata(report: BenchmarkReport) -> dict[str, list[StrataTable]]:
    """By field, one table per measure, the first measure first."""
    return {
        name: [_table(report, name, measure) for measure in report.measure_names]
        for name in report.strata
    }


def _table(report: BenchmarkReport, field: str, measure: str) -> StrataTable:
    found = {
        value: [modes.get(mode, {}).get(measure) for mode in report.modes]
        for value, modes in report.strata[field].items()
    }
    scale = make_scale(
        end
        for results in found.values()
        for each in results
        if each is not None
        for end in (*ends_of(each.ci), each.mean)
    )
    rows = []
    for value, results in found.items():
        n = max((each.n for each in results if each is not None), default=0)
        cells = [(each, _draw(scale, each)) for each in results]
        rows.append(StratumRow(value, n, advise_on_size(n).use == "too_small", cells))
    return StrataTable(field, measure, scale, rows)


def _draw(scale: Scale, result: StratumResult | None) -> Whisker:
    if result is None:
        return Whisker(None, None, None)
    return scale.whisker(result.mean, *ends_of(result.ci))
