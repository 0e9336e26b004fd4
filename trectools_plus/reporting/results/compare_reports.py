"""The comparison of two reports: blocks and JSON."""

from __future__ import annotations

from typing import Any

from trectools_plus.benchmark.two_reports import ReportComparison, state_verdict
from trectools_plus.reporting.comparison import difference_row
from trectools_plus.reporting.document import Block, Bullets, Fold, Paragraph, table_of
from trectools_plus.reporting.wording import (
    describe_difference_intervals,
    describe_method,
    describe_test,
    show,
)
from trectools_plus.text import plural

_MOST_ROWS, _MOST_CHANGED = 24, 10


def contrast_blocks(contrast: ReportComparison, *, full: bool = True) -> list[Block]:
    """Return the blocks: the verdict, the differences, and the queries that changed most.

    Args:
        contrast: From :func:`compare_reports`.
        full: Show all measures instead of as many headline measures as fit into 24 rows.
    """
    report, every = contrast.report, list(contrast.modes[0].means)
    noun, queries = report.noun.capitalize(), report.manifest.dataset.queries
    some = contrast.headline_measures[: max(1, _MOST_ROWS // len(contrast.modes))]
    measures = every if full else some
    means, changes = [], []
    for mode in contrast.modes:
        for pair, scores in zip(mode.comparisons, mode.scores, strict=True):
            if pair.measure in measures:
                row = {noun: mode.label, "Metric": pair.measure}
                before, after = mode.means[pair.measure]
                means.append({**row, "A": before, "B": after, **difference_row(pair, queries)})
                changes += [
                    {
                        "Query": change.query_id,
                        **row,
                        "A": change.before,
                        "B": change.after,
                        "B − A": show(change.after - change.before, "+"),
                    }
                    for change in scores.changes()[:_MOST_CHANGED]
                ]
    first, more = contrast.modes[0].comparisons[0], len(every) - len(measures)
    values = ", ".join(f"{name} {a} to {b}" for name, (a, b) in contrast.settings.items())
    test = describe_test(first, report.confidence)
    method = describe_method(test, queries, report.manifest.config)
    return [
        Paragraph(state_verdict(contrast), "result"),
        *(Paragraph(f"{place}  {name}") for place, name in zip("AB", contrast.names, strict=True)),
        table_of(means),
        Paragraph(f"{plural(more, 'more measure')}: --all" if more else ""),
        Paragraph(
            f"Δ: B − A; * significant. {method} {describe_difference_intervals(first)}", "small"
        ),
        Paragraph(f"Settings that differ (A to B): {values}." if values else ""),
        Bullets([f"Note: {note}." for note in contrast.notes]),
        Fold("Queries that changed most", [table_of(changes)]),
    ]


def contrast_document(contrast: ReportComparison) -> dict[str, Any]:
    """Return the comparison as JSON values.

    Args:
        contrast: From :func:`compare_reports`.
    """
    modes = []
    for mode in contrast.modes:
        measures = {}
        for pair, scores in zip(mode.comparisons, mode.scores, strict=True):
            measures[pair.measure] = {
                **dict(zip(("mean_a", "mean_b"), mode.means[pair.measure], strict=True)),
                **dict(zip(("n_a", "n_b"), scores.counts, strict=True)),
                "comparison": pair.model_dump(
                    mode="json", exclude={"baseline", "contrast", "measure"}
                ),
                "changed_most": [
                    {"query_id": change.query_id, "a": change.before, "b": change.after}
                    for change in scores.changes()[:_MOST_CHANGED]
                ],
            }
        names = dict(zip(("mode_a", "mode_b"), mode.modes, strict=True))
        modes.append({"label": mode.label, **names, "measures": measures})
    return {
        "a": contrast.names[0],
        "b": contrast.names[1],
        "queries": contrast.report.manifest.dataset.queries,
        "verdict": state_verdict(contrast),
        "modes": modes,
        "notes": contrast.notes,
        "settings": {name: {"a": a, "b": b} for name, (a, b) in contrast.settings.items()},
    }
