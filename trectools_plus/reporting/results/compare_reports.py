"""The comparison of two reports: a table for the terminal, Markdown, JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from trectools_plus.benchmark.compare.compare_reports import (
    ComparedMode,
    ReportComparison,
    state_verdict,
)
from trectools_plus.display import Cell, TableColumn, TextTable
from trectools_plus.reporting.document import Block, Fold, Paragraph, markdown, print_blocks
from trectools_plus.reporting.wording import (
    describe_difference_intervals,
    describe_method,
    describe_test,
    name_interval,
    show,
    show_difference_interval,
    show_mean,
    show_p,
)
from trectools_plus.statistics.comparison import Comparison, ends_of
from trectools_plus.text import plural

_HEADER = ("Metric", "A", "B", "B − A", "Interval", "t", "p", "Adj. p")
_NUMBERS = ("A", "B", "B − A", "t", "p", "Adj. p")
_SHOWN_CHANGES = 8
_MOST_ROWS = 24


def contrast_blocks(
    contrast: ReportComparison, measures: Sequence[str] | None = None
) -> list[Block]:
    """Return the blocks: the verdict, the differences, and the queries that changed most.

    Args:
        contrast: From :func:`compare_reports`.
        measures: The measures to show; by default all.
    """
    places = zip("AB", contrast.names, strict=True)
    changed = [
        [one.query_id, mode.label, measure, show(one.before), show(one.after),
         show(one.after - one.before, "+")]
        for mode in contrast.modes
        for measure, changes in mode.changed.items()
        if measures is None or measure in measures
        for one in changes
    ]  # fmt: skip
    header = ["Query", contrast.noun.capitalize(), "Metric", "A", "B", "B − A"]
    table = TextTable.of(header, changed)
    return [
        Paragraph(state_verdict(contrast), "result"),
        *(Paragraph(f"{place}  {name}") for place, name in places),
        _table(contrast, measures),
        *map(Paragraph, _remarks(contrast)),
        *([Fold("Queries that changed most", [table])] if changed else []),
    ]


def render_contrast_markdown(contrast: ReportComparison) -> str:
    """Return the comparison as GitHub-flavoured Markdown."""
    return markdown(contrast_blocks(contrast))


def contrast_document(contrast: ReportComparison) -> dict[str, Any]:
    """Return the comparison as JSON values.

    Args:
        contrast: From :func:`compare_reports`.
    """
    return {
        "a": contrast.names[0],
        "b": contrast.names[1],
        "queries": contrast.queries,
        "verdict": state_verdict(contrast),
        "modes": [
            {
                "label": mode.label,
                "mode_a": mode.modes[0],
                "mode_b": mode.modes[1],
                "measures": {
                    entry.measure: {
                        "mean_a": mode.means[entry.measure][0],
                        "mean_b": mode.means[entry.measure][1],
                        "n_a": mode.counts[entry.measure][0],
                        "n_b": mode.counts[entry.measure][1],
                        "comparison": entry.model_dump(
                            mode="json", exclude={"baseline", "contrast", "measure"}
                        ),
                        "changed_most": [
                            {"query_id": one.query_id, "a": one.before, "b": one.after}
                            for one in mode.changed[entry.measure]
                        ],
                    }
                    for entry in mode.comparisons
                },
                "latency_ms": _latency_document(mode),
            }
            for mode in contrast.modes
        ],
        "notes": contrast.notes,
        "settings": _changes_document(contrast.settings),
        "packages": _changes_document(contrast.packages),
    }


def _latency_document(mode: ComparedMode) -> dict[str, Any] | None:
    if mode.latency is None or mode.latency_means is None:
        return None
    low, high = ends_of(mode.latency.ci)
    means = dict(zip("ab", mode.latency_means, strict=True))
    difference = {"difference": mode.latency.difference, "low": low, "high": high}
    return {"n": mode.latency.n, **means, **difference}


def _changes_document(changes: Mapping[str, tuple[Any, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {"a": a, "b": b} for name, (a, b) in changes.items()}


def print_contrast(contrast: ReportComparison, stream: TextIO, *, full: bool = False) -> None:
    """Print the comparison, at most 100 characters wide.

    Args:
        contrast: From :func:`compare_reports`.
        stream: The output.
        full: Print all measures instead of as many headline measures as fit into 24 rows.
    """
    shown = contrast.headline_measures[: max(1, _MOST_ROWS // len(contrast.modes))]
    more = 0 if full else len(contrast.higher_is_better) - len(shown)
    print_blocks(contrast_blocks(contrast, shown if more else None), stream, folds=full)
    if more:
        print_blocks([Paragraph(f"{plural(more, 'more measure')}: --all")], stream)


def _table(contrast: ReportComparison, measures: Sequence[str] | None) -> TextTable:
    rows = [
        [
            mode.label,
            entry.measure,
            *_means(mode, entry, contrast.queries),
            show(entry.difference, "+"),
            show_difference_interval(entry),
            _student(entry),
            show_p(entry.p),
            show_p(entry.p_adjusted),
            "yes" if entry.significant else "no",
        ]
        for mode in contrast.modes
        for entry in mode.comparisons
        if measures is None or entry.measure in measures
    ]
    first = contrast.modes[0].comparisons[0]
    names = [name_interval(first) if name == "Interval" else name for name in _HEADER]
    header: list[str | TableColumn] = [
        contrast.noun.capitalize(),
        *names,
        TableColumn(Cell("Significant"), short="Sig."),
    ]
    return TextTable.of(header, rows, right=_NUMBERS)


def _means(mode: ComparedMode, entry: Comparison, queries: int) -> list[str]:
    """Return the means in A and B, with the numbers of queries unless they are all queries."""
    means, counts = mode.means[entry.measure], mode.counts[entry.measure]
    return [show_mean(mean, n, queries) for mean, n in zip(means, counts, strict=True)]


def _student(entry: Comparison) -> str:
    found = entry.t_test
    if found is None:
        return "–"
    return "∞" if found.t is None else f"{found.t:+.2f}"


def _remarks(contrast: ReportComparison) -> list[str]:
    first = contrast.modes[0].comparisons[0]
    test = describe_test(first, contrast.confidence)
    method = describe_method(test, contrast.queries, contrast.config)
    remarks = [f"Significant (*): {method} {describe_difference_intervals(first)}"]
    remarks += [
        f"{mode.label}: {_show_latency(mode.latency, mode.latency_means)}"
        for mode in contrast.modes
        if mode.latency is not None and mode.latency_means is not None
    ]
    for what, changes in (("Settings", contrast.settings), ("Packages", contrast.packages)):
        if changes:
            shown = [
                f"{name} {_show_value(a)} to {_show_value(b)}" for name, (a, b) in changes.items()
            ]
            more = len(shown) - _SHOWN_CHANGES
            remarks.append(
                f"{what} that differ (A to B): {', '.join(shown[:_SHOWN_CHANGES])}"
                + (f" and {more} more." if more > 0 else ".")
            )
    return remarks + [f"Note: {note}." for note in contrast.notes]


def _show_value(value: Any) -> str:
    """Return a setting as text: a list is joined with plus signs, ``None`` is ``none``."""
    if isinstance(value, list | tuple):
        return "+".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _show_latency(found: Comparison, means: tuple[float, float]) -> str:
    interval, ci = "(", found.ci
    if ci is not None:
        interval = f"[{ci.low:+.2f}, {ci.high:+.2f}] ({ci.level * 100:g}% interval, "
    return (
        f"latency {means[0]:.2f} to {means[1]:.2f} ms per query, difference "
        f"{found.difference:+.2f} {interval}{plural(found.n, 'query', 'queries')})."
    )
