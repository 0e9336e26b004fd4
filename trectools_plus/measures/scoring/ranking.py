"""Scores of one ranking; all providers score the same ranking.

The input is not checked here; ``evaluate`` has checked it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.measures.definitions.base import FloatArray, Measure, Provider
from trectools_plus.measures.judged import JudgedQueries, JudgedRun, RankedRun

if TYPE_CHECKING:
    import polars as pl


def score_ranking(
    measures: Sequence[Measure], queries: JudgedQueries, ranked: pl.DataFrame
) -> FloatArray:
    """Score a ranking.

    Args:
        measures: The measures, each once.
        queries: The queries and judgments.
        ranked: ``query, doc_id, rank`` as :meth:`JudgedQueries.rank` makes it.

    Returns:
        Array of shape (queries, measures); ``nan`` where a measure is undefined. Queries without
        results have each measure's ``value_without_results``.

    Raises:
        UsageError: If a measure cannot score this input.
    """
    import polars as pl

    depth = deepest_rank_needed(measures)
    cut = ranked if depth is None else ranked.filter(pl.col("rank") <= depth)
    judged = JudgedRun.from_ranking(queries, cut)
    return _table(measures, RankedRun(queries.query_ids, judged, (queries, ranked)))


def score_judged(
    measures: Sequence[Measure], query_ids: Sequence[str], run: JudgedRun
) -> FloatArray:
    """Score a run with only the ranks of its judged documents.

    Args:
        measures: The measures, each once, that all :func:`depend_on_grades_only`.
        query_ids: The queries, for messages.
        run: The ranks of all judged documents.

    Returns:
        As :func:`score_ranking`.
    """
    return _table(measures, RankedRun(query_ids, run.cut(deepest_rank_needed(measures))))


def score_by_provider(measures: Sequence[Measure], run: RankedRun) -> FloatArray:
    """Score a run with the provider of each measure.

    Args:
        measures: The measures, each once.
        run: The run.

    Returns:
        Array of shape (queries, measures); values of queries without results are meaningless.
    """
    groups: dict[Provider, list[int]] = {}
    for position, measure in enumerate(measures):
        groups.setdefault(measure.provider, []).append(position)
    table = np.empty((len(run.judged.retrieved), len(measures)))
    for provider, positions in groups.items():
        columns = provider.score([measures[position] for position in positions], run)
        for position, column in zip(positions, columns, strict=True):
            table[:, position] = column
    return table


def depend_on_grades_only(measures: Iterable[Measure]) -> bool:
    """Return whether all measures depend only on the content of a :class:`JudgedRun`."""
    return not any(measure.provider.sees_documents for measure in measures)


def deepest_rank_needed(measures: Sequence[Measure]) -> int | None:
    """Return the deepest rank that measures of grades and ranks need; ``None`` for all ranks."""
    depths = [one.depth for one in measures if not one.provider.sees_documents]
    return None if None in depths else max((depth or 0 for depth in depths), default=1)


def _table(measures: Sequence[Measure], run: RankedRun) -> FloatArray:
    values = score_by_provider(measures, run)
    judged, count = run.judged, len(run.judged.retrieved)
    has_results = judged.retrieved[:, None] > 0
    without_results = np.empty((count, len(measures)))
    for column, measure in enumerate(measures):
        without_results[:, column] = measure.values_without_results(
            judged.query, judged.grade, count
        )
    return np.where(has_results, values, without_results)
