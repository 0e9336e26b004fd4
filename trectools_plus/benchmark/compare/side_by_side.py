"""The runs of a comparison side by side: for each query, and for groups of queries."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trectools_plus.benchmark.compare.compare import further_fields, group_queries
from trectools_plus.benchmark.compare.comparisons import Comparisons
from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Topics
from trectools_plus.statistics.arrays import FloatArray, none_if_nan


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The runs on one measure, each row for a query or for a group of queries.

    Attributes:
        of: ``query_id``, or the field of the topics whose values are the groups.
        measure: The measure.
        rows: The query or the value, with its number of queries.
        values: The value or mean of each row, by run; null if undefined.
        differences: The mean difference of each row, over the queries that both runs define, by the
            names of the runs: ``b − a``.
    """

    of: str
    measure: str
    rows: list[tuple[str, int]]
    values: dict[str, list[float | None]]
    differences: dict[str, list[float | None]]

    def as_frame(self) -> pl.DataFrame:
        """Return a row per query or group; a run named like another column has a suffix."""
        labels, counts = [label for label, _ in self.rows], [count for _, count in self.rows]
        known = {self.of: labels, "queries": counts, "measure": [self.measure] * len(labels)}
        if self.of == "query_id":
            del known["queries"]
        values = {
            f"{run} (run)" if run in known else run: values for run, values in self.values.items()
        }
        schema = dict.fromkeys((*values, *self.differences), pl.Float64)
        return pl.DataFrame({**known, **values, **self.differences}, schema_overrides=schema)


def list_queries(found: Comparisons, worst: int | None = None) -> list[SideBySide]:
    """Return the values of each query and measure, those with the worst difference first.

    Args:
        found: The comparisons.
        worst: The number of queries of each measure; by default all.
    """
    evaluation = found.evaluation
    ids = next(iter(evaluation.query_ids.values()))
    tables = []
    for measure in evaluation.measure_names:
        columns = {run: evaluation.values(run, measure) for run in found.systems}
        changes = _differences(found, measure)
        sign = 1.0 if found.report.higher_is_better(measure) else -1.0
        smallest = np.full(len(ids), np.inf)
        for column in changes.values():
            smallest = np.fmin(smallest, sign * column)
        order = [int(place) for place in np.argsort(smallest, kind="stable")][:worst]
        values, differences = (
            {name: [none_if_nan(column[place]) for place in order] for name, column in kind.items()}
            for kind in (columns, changes)
        )
        rows = [(ids[place], 1) for place in order]
        tables.append(SideBySide("query_id", measure, rows, values, differences))
    return tables


def list_groups(found: Comparisons, topics: Topics, field: str) -> list[SideBySide]:
    """Return the means of each group of queries and measure, the largest group first.

    Args:
        found: The comparisons.
        topics: The queries with their fields.
        field: The field whose values are the groups.

    Raises:
        UsageError: If the topics do not have the field, or no compared query has a value of it.
    """
    evaluation = found.evaluation
    known = further_fields(topics)
    ids = next(iter(evaluation.query_ids.values()))
    groups = group_queries(topics, ids, field) if field in known else {}
    if not groups:
        problem = "no compared query has" if field in known else "the topics do not have"
        raise UsageError(
            f"{problem} the field '{field}'",
            where=topics.path,
            remedy=f"the fields are {', '.join(known) or 'none'}",
        )
    parts = [
        replace(evaluation, tables={run: one[rows] for run, one in evaluation.tables.items()})
        for rows in groups.values()
    ]
    return [
        SideBySide(
            field,
            measure,
            [(value, len(rows)) for value, rows in groups.items()],
            {run: [none_if_nan(one.mean(run, measure)) for one in parts] for run in found.systems},
            {
                pair: [
                    float(defined.mean()) if defined.size else None
                    for rows in groups.values()
                    for defined in [changes[rows][~np.isnan(changes[rows])]]
                ]
                for pair, changes in _differences(found, measure).items()
            },
        )
        for measure in evaluation.measure_names
    ]


def _differences(found: Comparisons, measure: str) -> dict[str, FloatArray]:
    """Return the differences of each query by pair of runs.

    The pairs are all comparisons with baselines, or those of the best run on the primary measure.
    """
    report = found.report
    best = report.best_mode[report.primary_measure] or found.systems[0]
    has_baseline = bool(report.manifest.config["baseline"])
    values = {run: found.evaluation.values(run, measure) for run in found.systems}
    return {
        f"{pair.contrast} − {pair.baseline}": values[pair.contrast] - values[pair.baseline]
        for pair in report.comparisons
        if pair.measure == measure and (has_baseline or best in (pair.contrast, pair.baseline))
    }
