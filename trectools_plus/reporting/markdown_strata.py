"""Groups of queries in ``BenchmarkComparison.md``."""

from __future__ import annotations

from trectools_plus.benchmark.report import BenchmarkReport, StratumResult
from trectools_plus.benchmark.report_parts import ends_of
from trectools_plus.reporting.comparison_table import show
from trectools_plus.reporting.markdown_text import escape, plain, table
from trectools_plus.statistics.size import advise_on_size

_MOST_COLUMNS = 5
"""With more modes than this, modes become rows."""
_SMALL = "°"


def strata_section(report: BenchmarkReport) -> str:
    """The first measure by the values of each field; empty where queries have no fields."""
    fields = [name for name, values in report.strata.items() if values]
    if not fields:
        return ""
    level = report.confidence
    others = len(report.measure_names) - 1
    parts = ["## Groups of queries", *(_field(report, name) for name in fields)]
    note = (
        f"{report.measure_names[0]}: mean with its {level * 100:g}% interval, and in brackets how "
        "many queries have the value. Queries without a value are in no group."
    )
    if any(_SMALL in part for part in parts):
        note += f" {_SMALL}: too few queries to say anything in general."
    if others:
        note += " The other measures are in `BenchmarkReport.html` and `BenchmarkReport.json`."
    return "\n\n".join([*parts, note])


def _field(report: BenchmarkReport, field: str) -> str:
    measure = report.measure_names[0]
    labels = [escape(result.label) for result in report.modes.values()]
    rows = []
    for value, modes in report.strata[field].items():
        results = [modes.get(mode, {}).get(measure) for mode in report.modes]
        queries = _count(results)
        shown = (_show(each, queries) for each in results)
        rows.append([f"{_harmless(value)} {_size(queries)}", *shown])
    grid = [[_harmless(field), *labels], *rows]
    if len(labels) > _MOST_COLUMNS:
        grid = [list(column) for column in zip(*grid, strict=True)]
        grid[0][0] = f"Mode by {_harmless(field)}"
    return table(grid[0], grid[1:])


def _count(results: list[StratumResult | None]) -> int:
    return max((each.n for each in results if each is not None), default=0)


def _size(n: int) -> str:
    """``(12)``, marked where that is too few."""
    return f"({n})" + (f" {_SMALL}" if advise_on_size(n).use == "too_small" else "")


def _show(result: StratumResult | None, queries: int) -> str:
    if result is None:
        return show(None)
    low, high = ends_of(result.ci)
    interval = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
    count = f" (n = {result.n})" if result.mean is not None and result.n != queries else ""
    return f"{show(result.mean)}{interval}{count}"


def _harmless(text: str) -> str:
    return plain(escape(text))
