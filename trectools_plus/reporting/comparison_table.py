"""The table at the head of every rendering: measures by modes, the best marked.

Markdown and the console show the same :class:`Row` objects, so they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report_parts import ends_of
from trectools_plus.reporting.significance import (
    denominator_line,
    describe_claim,
    describe_test,
)
from trectools_plus.text import plural

_LETTERS = "ᵃᵇᶜᵈᵉᶠᵍʰ"
"""One mark per mode; with more modes than letters the table marks the best only."""

AHEAD_OF_ALL = "*"
NOT_AHEAD_OF_ALL = "n.s."


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure.

    Attributes:
        mean: The mean; ``None`` when undefined.
        low: Lower end of its interval.
        high: Upper end.
        best: Whether it is the best mean of its row, or one of several equal ones but not of all.
        marks: Letters of the modes that it is significantly better than.
        n: Queries that the mean is over, where these are not all queries; else ``None``.
    """

    mean: float | None
    low: float | None
    high: float | None
    best: bool
    marks: str
    n: int | None = None

    @property
    def mean_text(self) -> str:
        """The mean with four decimals."""
        return show(self.mean)

    @property
    def n_text(self) -> str:
        """``n = 19`` where the mean is not over all queries; else empty."""
        return "" if self.n is None else f"n = {self.n}"

    @property
    def interval_text(self) -> str:
        """The interval with three decimals, in square brackets; empty when undefined."""
        if self.low is None or self.high is None:
            return ""
        return f"[{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True)
class Row:
    """One measure across the modes.

    Attributes:
        measure: Its name.
        cells: One per mode, in the report's order.
        best: The best mode's label with its mark; ``tie``, or a dash for a single mode
            and where the means are over different queries.
    """

    measure: str
    cells: tuple[Cell, ...]
    best: str


def comparison_rows(report: BenchmarkReport) -> list[Row]:
    """The rows of the table, one per measure."""
    return [_row(report, measure) for measure in report.measure_names]


def mode_marks(report: BenchmarkReport) -> dict[str, str]:
    """The letter that stands for each mode; empty when there are too many or too few modes."""
    if not 2 <= len(report.modes) <= len(_LETTERS):
        return {}
    return dict(zip(report.modes, _LETTERS, strict=False))


def legend(report: BenchmarkReport) -> list[str]:
    """What the table's marks mean, one sentence an item."""
    results = (each for mode in report.modes.values() for each in mode.measures.values())
    ci = next((each.ci for each in results if each.ci is not None), None)
    if ci is None:
        lines = ["Mean. There are no intervals: one query does not show how queries vary."]
    else:
        drawn = f"{ci.method}; {ci.resamples:,} resamples of the queries"
        lines = [
            f"Mean with its {ci.level * 100:g}% interval ({drawn}, the same ones for every measure "
            "and mode)."
        ]
    lines.append(denominator_line(report))
    if len(report.modes) < 2:
        return lines
    if len(report.unranked) < len(report.measure_names):
        lines[0] += " Bold: best mean."
    if report.unranked:
        lines.append(
            f"Not ranked, as their means are over different queries (n): "
            f"{', '.join(report.unranked)}."
        )
    marks = mode_marks(report)
    used = {mark for row in comparison_rows(report) for cell in row.cells for mark in cell.marks}
    test = describe_test(report.comparisons[0], report.confidence) if used else ""
    if used:
        named = ", ".join(
            f"{mark} {report.modes[mode].label}" for mode, mark in marks.items() if mark in used
        )
        lines.append(f"Significantly above: {named} ({test}).")
    best = _best_line(report, test)
    return [*lines, best] if best else lines


def _best_line(report: BenchmarkReport, said: str) -> str:
    """What the marks behind the best modes mean, and by which test where it was not ``said``."""
    meanings = {
        AHEAD_OF_ALL: "significantly ahead of every other mode",
        NOT_AHEAD_OF_ALL: "not significantly ahead of every other mode",
    }
    shown = {row.best.rpartition(" ")[2] for row in comparison_rows(report)}
    explained = [f"{mark} {words}" for mark, words in meanings.items() if mark in shown]
    if not explained:
        return ""
    claim = describe_claim(report)
    return f"{'; '.join(explained)}{'' if claim in ('', said) else f' ({claim})'}."


def describe_dataset(report: BenchmarkReport) -> str:
    """One line: what was searched, and for how many queries."""
    dataset = report.manifest.dataset
    parts = [dataset.id, plural(dataset.queries, "query", "queries")]
    if dataset.documents is not None:
        parts.append(plural(dataset.documents, "document"))
    return " · ".join(parts)


def show(value: float | None, sign: str = "") -> str:
    """A figure with four decimals, or a dash when undefined; ``sign="+"`` shows plus signs."""
    return "–" if value is None else f"{value:{sign}.4f}"


def _row(report: BenchmarkReport, measure: str) -> Row:
    cells = tuple(_cell(report, mode, measure) for mode in report.modes)
    best = report.best_mode[measure]
    if best is None:
        ranked = len(report.modes) > 1 and measure not in report.unranked
        return Row(measure, cells, "tie" if ranked else "–")
    mark = AHEAD_OF_ALL if report.best_mode_significant[measure] else NOT_AHEAD_OF_ALL
    return Row(measure, cells, f"{report.modes[best].label} {mark}")


def _cell(report: BenchmarkReport, mode: str, measure: str) -> Cell:
    figures = report.modes[mode].measures[measure]
    means = [other.measures[measure].mean for other in report.modes.values()]
    defined = [mean for mean in means if mean is not None]
    best = (max if report.higher_is_better(measure) else min)(defined, default=None)
    marks = mode_marks(report)
    ranked = len(set(means)) > 1 and measure not in report.unranked
    low, high = ends_of(figures.ci)
    all_queries = figures.n == report.manifest.dataset.queries
    return Cell(
        mean=figures.mean,
        low=low,
        high=high,
        best=ranked and figures.mean is not None and figures.mean == best,
        marks="".join(
            mark for other, mark in marks.items() if is_beaten(report, mode, other, measure)
        ),
        n=None if all_queries or figures.mean is None else figures.n,
    )


def is_beaten(report: BenchmarkReport, mode: str, other: str, measure: str) -> bool:
    """Whether ``mode`` is significantly better than ``other``.

    Never where their means are over different queries: the difference is over those of both, and a
    mark beside the means would speak of others.
    """
    if measure in report.unranked:
        return False
    for baseline, contrast, sign in ((other, mode, 1), (mode, other, -1)):
        entry = report.find_comparison(baseline, contrast, measure)
        if entry is not None and entry.significant and entry.difference is not None:
            better = sign if report.higher_is_better(measure) else -sign
            return entry.difference * better > 0
    return False
