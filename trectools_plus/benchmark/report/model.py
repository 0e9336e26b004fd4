"""The report of a benchmark: the model of ``BenchmarkReport.json``, schema version 1.1.

An undefined float (a mean over no query) is ``None``, never NaN. Latencies are in milliseconds,
everything else in the measure's unit. Later versions add keys; readers ignore unknown keys and
accept version 1.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from trectools_plus.arguments import checked
from trectools_plus.benchmark.report.figures import SCHEMA_VERSION, FailingQuery, ReportFigures
from trectools_plus.benchmark.report.parts import MeasureResult
from trectools_plus.benchmark.report.verdict import (
    add_result,
)
from trectools_plus.display import TextTable
from trectools_plus.errors import InputError
from trectools_plus.formats.files.closed import read_document
from trectools_plus.lazy_names import render
from trectools_plus.plugins import without_user_code
from trectools_plus.text import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class BenchmarkReport(ReportFigures):
    """The result of a benchmark."""

    def _text(self) -> str:
        """The experiment, the modes, the numbers of measures and queries, and the verdict."""
        queries = plural(self.manifest.dataset.queries, "query", "queries")
        measures = plural(len(self.measure_names), "measure")
        modes = ", ".join(self.modes)
        named = f"<BenchmarkReport {self.manifest.experiment_id}: {modes}; {measures}, {queries}>"
        return f"{named}\n{self.verdict.text}" if self.verdict else named

    def _content(self) -> TextTable:
        measures = self.headline_measures or self.measure_names
        rows = []
        queries = self.manifest.dataset.queries
        for result in self.modes.values():
            shown = [_show(result.measures[name], queries) for name in measures]
            rows.append([result.label, *shown])
        dataset = self.manifest.dataset
        size = plural(dataset.queries, "query", "queries")
        caption = f"{dataset.id}, {size}; {self.confidence * 100:g}% intervals"
        if self.verdict:
            caption = f"{self.verdict.text} {caption}"
        return TextTable.of([self.noun.capitalize(), *measures], rows, caption=caption)

    @checked
    def plot(self, measures: Sequence[str] | None = None) -> Figure:
        """Return a Matplotlib figure of means with their intervals.

        Each measure has a panel with its own scale, and a row for each mode. A notebook shows the
        figure if it is the last expression of a cell.

        Args:
            measures: The measures, in any spelling; by default the headline measures.

        Raises:
            UsageError: If the report does not have a measure.
        """
        found: Figure = render("plot_report", self, measures)
        return found

    def of_mode(self, mode: str, failing: Sequence[FailingQuery]) -> BenchmarkReport:
        """Return the report of one mode: its figures and diagnostics, without comparisons.

        Args:
            mode: One of the modes.
            failing: The queries for which this mode scores 0 on the primary measure.
        """
        alone = self.model_copy(
            update={
                "modes": {mode: self.modes[mode]},
                "unscored": {},
                "comparisons": [],
                "best_mode": dict.fromkeys(self.best_mode),
                "best_mode_significant": dict.fromkeys(self.best_mode_significant, False),
                "unranked": [],
                "groups": {},
                "strata": {
                    field: {
                        value: {mode: modes[mode]}
                        for value, modes in values.items()
                        if mode in modes
                    }
                    for field, values in self.strata.items()
                },
                "failing_queries": list(failing),
                "near_misses": self.near_misses
                and [one for one in self.near_misses if one.mode == mode],
                "diagnosis": [one for one in self.diagnosis if one.mode == mode],
                "pool": None,
                "difficulty": None,
            }
        )
        return add_result(alone)


def _show(result: MeasureResult, queries: int) -> str:
    if result.mean is None:
        return "–"
    count = "" if result.n == queries else f" (n = {result.n:,})"
    if result.ci is None or result.ci.low is None or result.ci.high is None:
        return f"{result.mean:.4f}{count}"
    return f"{result.mean:.4f} [{result.ci.low:.3f}, {result.ci.high:.3f}]{count}"


def report_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``BenchmarkReport.json``."""
    schema = BenchmarkReport.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def load_report(path: str | Path) -> BenchmarkReport:
    """Read a report that :func:`trectools_plus.reporting.write_reports` wrote.

    Args:
        path: The file ``BenchmarkReport.json``.

    Returns:
        The report.

    Raises:
        InputError: If the file cannot be read, is not a report, or has another schema version.
    """
    text = read_document(path)
    try:
        with without_user_code():
            report = BenchmarkReport.model_validate_json(text)
            is_complete = report.primary_measure and report.headline_measures and report.verdict
            return report if is_complete else add_result(report)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(
            f"not a benchmark report of schema version {SCHEMA_VERSION}: {field}: {first['msg']}",
            where=str(path),
            remedy="use a BenchmarkReport.json written by `benchmark run`",
        ) from error
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise InputError("not a benchmark report", where=str(path)) from error
