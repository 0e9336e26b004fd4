"""One run, many measures: each measure goes to whoever computes it, on the one ranking.

Nothing here checks the input; ``evaluate`` does that first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from trectools_plus.measures.base import BaseMeasure, FloatArray, Measure
from trectools_plus.measures.delegation import score_by_trec_eval
from trectools_plus.measures.external import IrMeasure, score_by_ir_measures
from trectools_plus.measures.judged import JudgedQueries, JudgedRun
from trectools_plus.measures.own import ColumnMeasure
from trectools_plus.measures.trec_eval import TrecEvalMeasure
from trectools_plus.measures.user import score_by_users


def score_ranking(
    measures: Sequence[Measure], queries: JudgedQueries, ranked: pl.DataFrame
) -> FloatArray:
    """Score a ranking.

    Args:
        measures: The measures, none twice.
        queries: The queries and judgments.
        ranked: ``query, doc_id, rank`` as :meth:`JudgedQueries.rank` makes it.

    Returns:
        Array of shape (queries, measures); ``nan`` where a measure is undefined. A query without
        results has each measure's ``value_without_results``.

    Raises:
        UsageError: If a measure cannot take this input.
    """
    run = JudgedRun.from_ranking(queries, shallowest(measures, ranked))
    by_grades = [one for one in measures if isinstance(one, TrecEvalMeasure | ColumnMeasure)]
    by_users = [one for one in measures if isinstance(one, BaseMeasure)]
    by_ir_measures = [one for one in measures if isinstance(one, IrMeasure)]
    columns: dict[Measure, FloatArray] = {}
    if by_grades:
        columns.update(
            zip(by_grades, score_grades(by_grades, queries.query_ids, run).T, strict=True)
        )
    if by_users:
        columns.update(zip(by_users, score_by_users(by_users, queries, ranked), strict=True))
    if by_ir_measures:
        scored = score_by_ir_measures(by_ir_measures, queries, ranked)
        columns.update(zip(by_ir_measures, scored, strict=True))
    return _tabled(measures, columns, run)


def see_grades_only(measures: Iterable[Measure]) -> bool:
    """Whether no measure looks at document ids, so that a :class:`JudgedRun` is all they need."""
    return all(isinstance(measure, TrecEvalMeasure | ColumnMeasure) for measure in measures)


def score_judged(
    measures: Sequence[Measure], query_ids: Sequence[str], run: JudgedRun
) -> FloatArray:
    """:func:`score_ranking`, for measures that :func:`see_grades_only`.

    Args:
        measures: The measures, none twice.
        query_ids: The queries, for messages.
        run: Where all of a run's judged documents stand.

    Returns:
        Array of shape (queries, measures), as by :func:`score_ranking`.
    """
    run = run.cut(depth_seen(measures))
    by_grades = [one for one in measures if isinstance(one, TrecEvalMeasure | ColumnMeasure)]
    scored = score_grades(by_grades, query_ids, run).T
    return _tabled(measures, dict(zip(by_grades, scored, strict=True)), run)


def _tabled(
    measures: Sequence[Measure], columns: Mapping[Measure, FloatArray], run: JudgedRun
) -> FloatArray:
    table = np.empty((len(run.retrieved), len(measures)))
    for position, measure in enumerate(measures):
        table[:, position] = np.where(
            run.retrieved > 0, columns[measure], measure.value_without_results
        )
    return table


def score_grades(
    measures: Sequence[TrecEvalMeasure | ColumnMeasure], query_ids: Sequence[str], run: JudgedRun
) -> FloatArray:
    """Score where each judged document stands, for measures that see nothing else.

    Args:
        measures: The measures, none twice.
        query_ids: The queries, for messages.
        run: The grades along the ranking.

    Returns:
        Array of shape (queries, measures).
    """
    delegated = [measure for measure in measures if isinstance(measure, TrecEvalMeasure)]
    columns: dict[Measure, FloatArray] = dict(
        zip(delegated, score_by_trec_eval(delegated, query_ids, run), strict=True)
    )
    columns |= {one: one.score(run) for one in measures if isinstance(one, ColumnMeasure)}
    table = np.empty((len(run.retrieved), len(measures)))
    for position, measure in enumerate(measures):
        table[:, position] = columns[measure]
    return table


def shallowest(measures: Sequence[Measure], ranked: pl.DataFrame) -> pl.DataFrame:
    """The ranking, cut at the deepest rank that any of these measures can see."""
    depth = depth_seen(measures)
    return ranked if depth is None else ranked.filter(pl.col("rank") <= depth)


def depth_seen(measures: Sequence[Measure]) -> int | None:
    """The deepest rank that any measure by grades can see; ``None`` for the whole ranking."""
    depths = [
        measure.depth if isinstance(measure, TrecEvalMeasure) else measure.cutoff
        for measure in measures
        if isinstance(measure, TrecEvalMeasure | ColumnMeasure)
    ]
    tail = any(isinstance(one, TrecEvalMeasure) and one.family.sees_tail for one in measures)
    if tail or None in depths:
        return None
    return max((depth or 0 for depth in depths), default=1)
