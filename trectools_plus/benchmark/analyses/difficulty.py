"""Difficulty of queries, and the ability of measures to distinguish modes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from trectools_plus.benchmark.report import Comparison
from trectools_plus.benchmark.report.analyses import (
    Difficulty,
    DiscriminativePower,
    QueryDifficulty,
)
from trectools_plus.benchmark.report.parts import none_if_nan
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.measures.judged import IntArray
from trectools_plus.statistics.rankings import kendall_tau

_LISTED = 10
_FEWEST_MODES = 2
_FEWEST_TO_DISCRIMINATE = 4
"""With fewer modes there are at most three pairs, so a share of them would have no meaning."""


def find_difficulty(evaluation: Evaluation, measure: str) -> Difficulty | None:
    """Compute the mean of a measure over the modes for each query.

    It is what Mizzaro and Robertson (SIGIR 2007) call average average precision, for any measure.

    Args:
        evaluation: The modes, over the same queries.
        measure: The measure.

    Returns:
        ``None`` for fewer than two modes, or if no query has a value for every mode.
    """
    if len(evaluation.run_names) < _FEWEST_MODES:
        return None
    table = np.column_stack([evaluation.values(name, measure) for name in evaluation.run_names])
    defined = ~np.isnan(table).any(axis=1)
    if not defined.any():
        return None
    every_id = evaluation.query_ids[evaluation.run_names[0]]
    ids = [every_id[place] for place in np.flatnonzero(defined).tolist()]
    table = table[defined]
    means = table.mean(axis=1)
    easier = means if evaluation.definition(measure).higher_is_better else -means
    # Rounded, so that queries whose means differ only in the last bits are ordered by id.
    order = np.lexsort((ids, np.round(easier, 12)))
    from_easiest = np.lexsort((ids, -np.round(easier, 12)))
    without_relevant = {*evaluation.queries_without_relevant}
    has_relevant = np.array([query_id not in without_relevant for query_id in ids], bool)
    return Difficulty(
        measure=measure,
        n=len(means),
        mean=float(means.mean()),
        std=float(means.std(ddof=1)) if len(means) > 1 else None,
        quartiles=[float(value) for value in np.quantile(means, [0.25, 0.5, 0.75])],
        hardest=_list_queries(ids, means, order[has_relevant[order]]),
        easiest=_list_queries(ids, means, from_easiest),
        agreement={
            name: _agreement(table, column) for column, name in enumerate(evaluation.run_names)
        },
    )


def _list_queries(ids: Sequence[str], means: FloatArray, order: IntArray) -> list[QueryDifficulty]:
    return [
        QueryDifficulty(query_id=ids[place], mean=float(means[place]))
        for place in order[:_LISTED].tolist()
    ]


def _agreement(table: FloatArray, column: int) -> float | None:
    others = np.round(np.delete(table, column, axis=1).mean(axis=1), 12)
    return none_if_nan(kendall_tau(np.round(table[:, column], 12), others))


def find_discriminative_power(
    every_pair: Iterable[Comparison], measures: Sequence[str], modes: int
) -> dict[str, DiscriminativePower]:
    """Count by measure the pairs of modes that differ significantly.

    Sakai, Evaluating Evaluation Metrics based on the Bootstrap, SIGIR 2006; here with the test and
    the correction of the report, so that there is no second family of tests.

    Args:
        every_pair: The comparisons of every pair of modes.
        measures: The compared measures.
        modes: Number of modes.

    Returns:
        Empty for fewer than four modes.
    """
    if modes < _FEWEST_TO_DISCRIMINATE:
        return {}
    found: dict[str, DiscriminativePower] = {}
    entries = [one for one in every_pair if one.difference is not None]
    for name in measures:
        sizes: dict[bool, list[float]] = {True: [], False: []}
        for one in entries:
            if one.measure == name and one.difference is not None:
                sizes[one.significant].append(abs(one.difference))
        if sizes[True] or sizes[False]:
            found[name] = DiscriminativePower(
                pairs=len(sizes[True]) + len(sizes[False]),
                significant=len(sizes[True]),
                smallest_significant=min(sizes[True], default=None),
                largest_not_significant=max(sizes[False], default=None),
            )
    return found
