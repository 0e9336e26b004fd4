"""Strata: the same figures over groups of queries, by the fields that topics carry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.compare.compare import interval_of, none_if_nan
from trectools_plus.benchmark.report import StratumResult
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.formats.tables import TOPICS_SCHEMA, Topics
from trectools_plus.measures.evaluation import Evaluation

FEWEST_VALUES = 2
"""A field with one value is the whole set again."""
MOST_VALUES = 30
"""A field with more values describes single queries rather than kinds of them."""
FEWEST_PER_VALUE = 2
"""Queries per value on average; with fewer nearly every query has a value of its own."""

Strata = dict[str, dict[str, dict[str, dict[str, StratumResult]]]]
"""By field, value, mode and measure."""
Rows = npt.NDArray[np.intp]
FloatArray = npt.NDArray[np.float64]


def make_strata(topics: Topics, evaluation: Evaluation, config: BenchmarkConfig) -> Strata:
    """Mean, number of queries and interval of every mode and measure, per value of each field.

    One set of resamples of a stratum's queries serves all its modes and measures. Values that are
    undefined are left out, as in the whole; ``n`` says over how many queries the mean is taken.

    Args:
        topics: The queries with their fields.
        evaluation: Runs over the same queries.
        config: Level, resamples and seed of the intervals.

    Returns:
        By field in the order of the topics, value (most queries first), mode and measure; empty
        where no field makes strata.
    """
    query_ids = next(iter(evaluation.query_ids.values()))
    cases = [(run, name) for run in evaluation.run_names for name in evaluation.measure_names]
    table = np.column_stack([evaluation.values(*case) for case in cases])
    return {
        field: {
            value: summarise_stratum(table[rows], cases, config) for value, rows in values.items()
        }
        for field, values in find_strata(topics, query_ids).items()
    }


def find_strata(topics: Topics, query_ids: list[str]) -> dict[str, dict[str, Rows]]:
    """Which of the queries have which value, for the fields that make strata.

    A field does when the queries have at least 2 and at most 30 different values of it, and at
    least 2 queries per value on average. White space around values does not count; an empty value
    is none, and queries without one are in no stratum of the field.

    Args:
        topics: The queries with their fields; those not in ``query_ids`` do not count.
        query_ids: The queries averaged over.

    Returns:
        By field, then by value with most queries first (equal ones by name): places in
        ``query_ids``, rising.
    """
    known = topics.frame.unique("query_id", keep="first")
    frame = pl.DataFrame({"query_id": query_ids}, schema={"query_id": pl.String}).join(
        known, on="query_id", how="left", maintain_order="left"
    )
    found = {}
    for field in further_fields(topics):
        text = pl.col(field).cast(pl.String).str.strip_chars()
        column = frame.select(text.replace("", None)).to_series()
        counts = column.drop_nulls().value_counts(name="queries")
        if not FEWEST_VALUES <= counts.height <= MOST_VALUES:
            continue
        if counts["queries"].sum() < FEWEST_PER_VALUE * counts.height:
            continue
        ordered = counts.sort("queries", field, descending=[True, False])[field].to_list()
        found[field] = {value: column.eq_missing(value).arg_true().to_numpy() for value in ordered}
    return found


def further_fields(topics: Topics) -> list[str]:
    """Names of the fields beside id and text whose values are plain, in the topics' order."""
    return [
        name
        for name, dtype in topics.frame.schema.items()
        if name not in TOPICS_SCHEMA and not dtype.is_nested()
    ]


def summarise_stratum(
    table: FloatArray, cases: list[tuple[str, str]], config: BenchmarkConfig
) -> dict[str, dict[str, StratumResult]]:
    """Mean, number of queries and interval of each case over the queries of one stratum.

    Args:
        table: Values of shape (queries, cases); ``nan`` is undefined.
        cases: Run and measure of each column.
        config: Level, resamples and seed of the intervals.

    Returns:
        By run and measure.
    """
    from trectools_plus.statistics.bootstrap import bootstrap_means

    intervals = bootstrap_means(
        table, resamples=config.resamples, seed=config.seed, confidence=config.confidence
    )
    results: dict[str, dict[str, StratumResult]] = {}
    for column, (run, name) in enumerate(cases):
        results.setdefault(run, {})[name] = StratumResult(
            mean=none_if_nan(_mean(table[:, column])),
            n=int(intervals.n[column]),
            ci=interval_of(intervals, column),
        )
    return results


def _mean(values: npt.NDArray[Any]) -> float:
    """Mean of the defined values, exactly rounded as that of the whole; ``nan`` without any."""
    defined = values[~np.isnan(values)].tolist()
    return math.fsum(defined) / len(defined) if defined else math.nan
