"""The comparison of two reports: blocks and JSON."""

from __future__ import annotations

from typing import Any

from trectools_plus.benchmark.compare.compare_reports import (
    ComparedMode,
    ReportComparison,
    state_verdict,
)
from trectools_plus.display import TextTable
from trectools_plus.reporting.document import Block, Bullets, Fold, Paragraph
from trectools_plus.reporting.wording import (
    describe_difference_intervals,
    describe_method,
    describe_test,
    name_interval,
    show,
    show_ci,
    show_mean,
    show_p,
)
from trectools_plus.statistics.comparison import Comparison
from trectools_plus.text import plural

_NUMBERS = ("A", "B", "B − A", "t", "p", "Adj. p")
_SHOWN_CHANGES = 8
_MOST_ROWS = 24


def contrast_blocks(contrast: ReportComparison, *, full: bool = True) -> list[Block]:
    """Return the blocks: the verdict, the differences, and the queries that changed most.

    Args:
        contrast: From :func:`compare_reports`.
        full: Show all measures instead of as many headline measures as fit into 24 rows.
    """
    report, every = contrast.report, list(contrast.modes[0].means)
    noun = report.noun.capitalize()
    some = contrast.headline_measures[: max(1, _MOST_ROWS // len(contrast.modes))]
    measures = every if full else some
    first = contrast.modes[0].comparisons[0]
    header = [noun, "Metric", "A", "B", "B − A", name_interval(first), "t", "p", "Adj. p"]
    rows = [
        _row(contrast, mode, entry)
        for mode in contrast.modes
        for entry in mode.comparisons
        if entry.measure in measures
    ]
    changed = [
        [one.query_id, mode.label, measure, show(one.before), show(one.after),
         show(one.after - one.before, "+")]
        for mode in contrast.modes
        for measure, changes in mode.changed.items()
        if measure in measures
        for one in changes
    ]  # fmt: skip
    changes = TextTable.of(["Query", noun, "Metric", "A", "B", "B − A"], changed)
    more = len(every) - len(measures)
    values = [f"{name} {a} to {b}" for name, (a, b) in contrast.settings.items()]
    rest = len(values) - _SHOWN_CHANGES
    changed_settings = (
        f"{', '.join(values[:_SHOWN_CHANGES])}{f' and {rest} more' if rest > 0 else ''}."
    )
    test = describe_test(first, report.confidence)
    method = describe_method(test, report.manifest.dataset.queries, report.manifest.config)
    return [
        Paragraph(state_verdict(contrast), "result"),
        *(Paragraph(f"{place}  {name}") for place, name in zip("AB", contrast.names, strict=True)),
        TextTable.of([*header, "Significant"], rows, right=_NUMBERS),
        Paragraph(f"{plural(more, 'more measure')}: --all" if more else ""),
        Paragraph(f"Significant (*): {method} {describe_difference_intervals(first)}", "small"),
        Paragraph(f"Settings that differ (A to B): {changed_settings}" if values else ""),
        Bullets([f"Note: {note}." for note in contrast.notes]),
        Fold("Queries that changed most", [changes]),
    ]


def contrast_document(contrast: ReportComparison) -> dict[str, Any]:
    """Return the comparison as JSON values.

    Args:
        contrast: From :func:`compare_reports`.
    """
    return {
        "a": contrast.names[0],
        "b": contrast.names[1],
        "queries": contrast.report.manifest.dataset.queries,
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
            }
            for mode in contrast.modes
        ],
        "notes": contrast.notes,
        "settings": {name: {"a": a, "b": b} for name, (a, b) in contrast.settings.items()},
    }


def _row(contrast: ReportComparison, mode: ComparedMode, entry: Comparison) -> list[str]:
    means, counts = mode.means[entry.measure], mode.counts[entry.measure]
    queries = contrast.report.manifest.dataset.queries
    t = "–"
    if entry.t_test is not None:
        t = "∞" if entry.t_test.t is None else f"{entry.t_test.t:+.2f}"
    return [
        mode.label,
        entry.measure,
        *(show_mean(mean, n, queries) for mean, n in zip(means, counts, strict=True)),
        show(entry.difference, "+"),
        show_ci(entry.ci, "+", decimals=4) or "–",
        t,
        show_p(entry.p),
        show_p(entry.p_adjusted),
        "yes" if entry.significant else "no",
    ]
