"""Figures of a report from per-query values: of all queries, and of groups of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.report import MeasureDefinition, MeasureResult, StratumResult
from trectools_plus.benchmark.run.comparing import Comparing
from trectools_plus.benchmark.run.targets import (
    Target,
    find_uplift_baseline,
    judge_mean,
    judge_uplift,
)
from trectools_plus.formats.tables import TOPICS_SCHEMA, Topics
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.statistics import Intervals, mean_intervals
from trectools_plus.statistics.arrays import IntervalOptions, none_if_nan
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.statistics.scores import interval_of


def summarise(
    evaluation: Evaluation, comparing: Comparing, targets: Mapping[str, Target] | None = None
) -> dict[str, dict[str, MeasureResult]]:
    """Compute mean, median, standard deviation and interval of every run and measure.

    All of them use one set of resamples, so their intervals can be compared.

    Args:
        evaluation: Runs over the same queries.
        comparing: The settings of the intervals, and the baseline of uplifts.
        targets: The targets by canonical measure name.

    Returns:
        By run, then by the measures' names as requested.
    """
    intervals = _intervals(evaluation, comparing.options)
    baseline = find_uplift_baseline(comparing.baseline, evaluation.run_names)
    results: dict[str, dict[str, MeasureResult]] = {}
    for column, (run, name) in enumerate(_cases(evaluation)):
        mean = none_if_nan(evaluation.mean(run, name))
        definition = evaluation.definition(name)
        target = (targets or {}).get(definition.name)
        ci = interval_of(intervals, column)
        judged = target and judge_mean(
            mean, target, *ends_of(ci), higher_is_better=definition.higher_is_better
        )
        if judged and target and target.uplift and baseline is not None and run != baseline:
            of_baseline = none_if_nan(evaluation.mean(baseline, name))
            uplift = judge_uplift(mean, (baseline, of_baseline), target.uplift)
            judged = judged.model_copy(update={"uplift": uplift})
        results.setdefault(run, {})[name] = MeasureResult(
            mean=mean,
            median=none_if_nan(evaluation.median(run, name)),
            std=none_if_nan(evaluation.std(run, name)),
            n=evaluation.n(run, name),
            ci=ci,
            definition=MeasureDefinition.model_validate(definition.as_dict()),
            target=judged,
        )
    return results


FEWEST_VALUES = 2
"""A field with one value has all queries in one stratum."""
MOST_VALUES = 30
"""A field with more values describes single queries rather than groups."""
FEWEST_PER_VALUE = 2
"""Queries per value on average; with fewer, nearly every query has another value."""

Strata = dict[str, dict[str, dict[str, dict[str, StratumResult]]]]
"""By field, value, mode and measure."""
Rows = npt.NDArray[np.intp]


def make_strata(topics: Topics, evaluation: Evaluation, options: IntervalOptions) -> Strata:
    """Compute mean, number of queries and interval of each mode and measure, per value of a field.

    All modes and measures of a stratum use one set of resamples. Undefined values are left out;
    ``n`` is the number of queries in the mean.

    Args:
        topics: The queries with their fields.
        evaluation: Runs over the same queries.
        options: The settings of the intervals.

    Returns:
        By field in the order of the topics, value (most queries first), mode and measure; empty
        if no field forms strata.
    """
    query_ids = next(iter(evaluation.query_ids.values()))
    return {
        field: {value: summarise_rows(evaluation, rows, options) for value, rows in values.items()}
        for field, values in find_strata(topics, query_ids).items()
    }


def find_strata(topics: Topics, query_ids: list[str]) -> dict[str, dict[str, Rows]]:
    """Find the queries with each value of the fields that form strata.

    A field forms strata if the queries have at least 2 and at most 30 different values of it, and
    at least 2 queries per value on average. The field ``language`` needs no number of queries,
    because a mean over several languages is not meaningful. White space around values is ignored.
    Queries with an empty value or without one are in no stratum of the field.

    Args:
        topics: The queries with their fields; those not in ``query_ids`` are ignored.
        query_ids: The queries in the means.

    Returns:
        By field, then by value with most queries first (equal ones by name): ascending positions
        in ``query_ids``.
    """
    by_field = {field: group_queries(topics, query_ids, field) for field in further_fields(topics)}
    return {
        field: groups
        for field, groups in by_field.items()
        if FEWEST_VALUES <= len(groups) <= MOST_VALUES
        and (
            field == "language" or sum(map(len, groups.values())) >= FEWEST_PER_VALUE * len(groups)
        )
    }


def group_queries(topics: Topics, query_ids: list[str], field: str) -> dict[str, Rows]:
    """Return the positions of the queries with each value of a field; see :func:`find_strata`."""
    known = topics.frame.unique("query_id", keep="first")
    frame = pl.DataFrame({"query_id": query_ids}, schema={"query_id": pl.String}).join(
        known, on="query_id", how="left", maintain_order="left"
    )
    text = pl.col(field).cast(pl.String).str.strip_chars()
    column = frame.select(text.replace("", None)).to_series()
    counts = column.drop_nulls().value_counts(name="queries")
    ordered = counts.sort("queries", field, descending=[True, False])[field].to_list()
    return {value: column.eq_missing(value).arg_true().to_numpy() for value in ordered}


def further_fields(topics: Topics) -> list[str]:
    """List the fields other than id and text with plain values, in the topics' order."""
    return [
        name
        for name, dtype in topics.frame.schema.items()
        if name not in TOPICS_SCHEMA and not dtype.is_nested()
    ]


def summarise_rows(
    evaluation: Evaluation, rows: Rows, options: IntervalOptions
) -> dict[str, dict[str, StratumResult]]:
    """Compute mean, number of queries and interval of each run and measure in one stratum.

    Args:
        evaluation: Runs over the same queries.
        rows: The queries of the stratum, as positions.
        options: The settings of the intervals.

    Returns:
        By run and measure.
    """
    tables = {run: table[rows] for run, table in evaluation.tables.items()}
    part = replace(evaluation, tables=tables)
    intervals = _intervals(part, options)
    results: dict[str, dict[str, StratumResult]] = {run: {} for run in part.run_names}
    for column, (run, name) in enumerate(_cases(part)):
        results[run][name] = StratumResult(
            mean=none_if_nan(part.mean(run, name)),
            n=part.n(run, name),
            ci=interval_of(intervals, column),
        )
    return results


def _cases(evaluation: Evaluation) -> list[tuple[str, str]]:
    return [(run, name) for run in evaluation.run_names for name in evaluation.measure_names]


def _intervals(evaluation: Evaluation, options: IntervalOptions) -> Intervals:
    """Compute the intervals of all runs and measures with one set of resamples."""
    cases = _cases(evaluation)
    values = np.column_stack([evaluation.values(*case) for case in cases])
    higher_is_better = [evaluation.definition(name).higher_is_better for _, name in cases]
    return mean_intervals(values, proportions=np.array(higher_is_better), **options)
