"""The result of ``compare`` as JSON, tables and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trectools_plus.benchmark.report.model import BenchmarkReport
from trectools_plus.reporting.comparison import Layout
from trectools_plus.reporting.export import (
    DEFAULT_LAYOUT,
    TABLE_KINDS,
    check_suffixes,
    table_as_text,
    write_table,
    write_text,
)

if TYPE_CHECKING:
    from trectools_plus.benchmark.compare.comparisons import Comparisons

COMPARISON_SUFFIXES = (*TABLE_KINDS, ".json")
_IN_DOCUMENT = (
    *("primary_measure", "headline_measures", "verdict", "best_overall", "comparisons"),
    *("best_mode", "best_mode_significant", "unranked", "groups"),
)


def comparisons_document(found: Comparisons) -> dict[str, Any]:
    """Return the result as JSON values, with the keys of ``BenchmarkReport.json``.

    ``modes`` has label and measures of each system. Undefined figures are null.
    """
    report = found.report
    whole = report.model_dump(mode="json")
    modes = {
        mode: {"label": result["label"], "measures": result["measures"]}
        for mode, result in whole["modes"].items()
    }
    return {
        "qrels": report.manifest.dataset.id or None,
        "queries": report.manifest.dataset.queries,
        "config": report.manifest.config,
        "modes": modes,
        **{key: whole[key] for key in _IN_DOCUMENT},
        "notes": found.evaluation.notes,
    }


def render_comparisons_latex(
    report: BenchmarkReport, measures: Sequence[str] | None, *layout: Any
) -> str:
    """Return the table of the means as LaTeX.

    Args:
        report: The report of the result.
        measures: The measures in order, in any spelling.
        layout: The arguments of :class:`Layout`.
    """
    return table_as_text(report, "latex", measures, Layout(*layout))


def render_comparisons_json(found: Comparisons) -> str:
    """Return :func:`comparisons_document` as text."""
    document = comparisons_document(found)
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_comparisons(
    found: Comparisons, *paths: str | Path, layout: Layout = DEFAULT_LAYOUT
) -> None:
    """Write the result into files; the suffix of each decides its format.

    Args:
        found: The result.
        paths: ``.json`` has the whole result; the others are those of :func:`write_table`.
        layout: The layout of ``.tex`` and ``.md``.

    Raises:
        UsageError: If a file has another suffix; then no file is written.
        InputError: If a file cannot be written.
    """
    check_suffixes(*paths, known=COMPARISON_SUFFIXES)
    for path in paths:
        if Path(path).suffix.lower() == ".json":
            write_text(path, render_comparisons_json(found))
        else:
            write_table(found.report, path, layout=layout)
