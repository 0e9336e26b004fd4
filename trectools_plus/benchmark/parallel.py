"""Comparisons of languages on parallel test sets, query by query.

Test sets are parallel if they have the same query ids and, id by id, the same terms of the highest
grade: each query is the same meaning in another language. The difference of two languages is then
paired, and its interval does not contain the variation between meanings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.benchmark.compare.compare import compare_evaluation, interval_of
from trectools_plus.benchmark.report import Comparison
from trectools_plus.benchmark.report.parts import ConfidenceInterval
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.formats.tables import Qrels
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Averaging, Evaluation
from trectools_plus.measures.parser import parse_measures
from trectools_plus.statistics import variance_of_means
from trectools_plus.text import listed, plural

_SHOWN = 3


def describe_differences(judged: Mapping[str, Qrels]) -> str | None:
    """Return the reasons why sets are not parallel, in one line; ``None`` if they are.

    Args:
        judged: The judgments of each language, at least two. Each language is compared with the
            first.
    """
    expected = {language: _best_terms(qrels) for language, qrels in judged.items()}
    first, *others = expected
    reasons = []
    for other in others:
        here, there = expected[first], expected[other]
        for lacking, absent in (
            (other, [one for one in here if one not in there]),
            (first, [one for one in there if one not in here]),
        ):
            if absent:
                having = first if lacking == other else other
                reasons.append(
                    f"{lacking} lacks {plural(len(absent), 'query', 'queries')} of {having} "
                    f"({listed(absent, _SHOWN)})"
                )
        differing = [one for one in here if one in there and here[one] != there[one]]
        if differing:
            query_id = differing[0]
            more = f", and {len(differing) - 1:,} more" if len(differing) > 1 else ""
            reasons.append(
                f"query {query_id} expects {_named(here[query_id])} in {first} and "
                f"{_named(there[query_id])} in {other}{more}"
            )
    return "; ".join(reasons) or None


def _best_terms(qrels: Qrels) -> dict[str, frozenset[str]]:
    """Return the terms with the highest grade of each query, in the order of the set."""
    rows = qrels.frame.filter(
        (pl.col("relevance") > 0)
        & (pl.col("relevance") == pl.col("relevance").max().over("query_id"))
    ).group_by("query_id", maintain_order=True)
    return {
        query_id: frozenset(doc_ids)
        for query_id, doc_ids in rows.agg("doc_id").select("query_id", "doc_id").iter_rows()
    }


def _named(terms: frozenset[str]) -> str:
    return " and ".join(sorted(terms))


class ParallelScores:
    """The scores of one mode in several languages, on parallel sets.

    Args:
        tables: By language, ``query_id, measure, value`` of the mode; the same queries in each.
        measures: The measures as requested.
        config: The settings of a manifest: the intervals, the test and its correction.
    """

    def __init__(
        self, tables: Mapping[str, pl.DataFrame], measures: list[str], config: Mapping[str, Any]
    ) -> None:
        self._config = config
        self._options = resampling_of(config)
        query_ids = next(iter(tables.values()))["query_id"].unique().sort().to_list()
        self._evaluation = Evaluation(
            measures=parse_measures(measures),
            averaging=Averaging(),
            query_ids=dict.fromkeys(tables, query_ids),
            counts={},
            queries_without_relevant=[],
            tables={
                language: _score_table(table, query_ids, measures)
                for language, table in tables.items()
            },
        )

    def compare(self) -> list[Comparison]:
        """Return the difference of every pair of languages on each measure, except for sums.

        The p-values are adjusted for all pairs on one measure.
        """
        return compare_evaluation(
            self._evaluation,
            correction=str(self._config.get("correction", "holm")),
            test=str(self._config.get("test", "randomisation")),
            **self._options,
        )

    def interval_of_variance(self, measure: str) -> ConfidenceInterval | None:
        """Return the interval of the variance of the languages' means (ddof 1).

        Each resample draws the same queries for all languages. ``None`` if a value is undefined, or
        no interval is valid.
        """
        evaluation = self._evaluation
        scores = np.column_stack([evaluation.values(one, measure) for one in evaluation.run_names])
        if np.isnan(scores).any():
            return None
        return interval_of(variance_of_means(scores, **self._options), 0)


def _score_table(table: pl.DataFrame, query_ids: list[str], measures: list[str]) -> FloatArray:
    """Return the values as an array of shape (queries, measures); undefined values are ``nan``."""
    wide = table.pivot("measure", index="query_id", values="value").sort("query_id")
    assert wide["query_id"].to_list() == query_ids
    return wide.select(pl.col(measures).cast(pl.Float64).fill_null(np.nan)).to_numpy()
