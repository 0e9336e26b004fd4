"""Scoring by pytrec_eval without handing it a single document id.

trec_eval sees of a document only its place and its grade, so documents are renamed to their ranks:
all queries with n documents share one dictionary ``{"1": -1.0, "2": -2.0, …}``, and only judged
documents are named in the qrels. Documents below every asked cutoff, or behind the last judged
one, are left off where no asked measure can see them. The figures are those of the original
dictionaries, bit for bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.measures.base import FloatArray
from trectools_plus.measures.judged import IntArray, JudgedRun
from trectools_plus.measures.trec_eval import TrecEvalMeasure

MAX_GAIN = 2**20
"""trec_eval keeps and walks one counter per grade level and query: this is 8 MiB and 1 ms."""

_CallKey = tuple[int, str, bool, str]


def score_by_trec_eval(
    measures: Sequence[TrecEvalMeasure], query_ids: Sequence[str], run: JudgedRun
) -> list[FloatArray]:
    """Score every query with every measure.

    Args:
        measures: The measures.
        query_ids: The queries, for messages.
        run: The grades along the ranking.

    Returns:
        One array per measure, one value per query; 0 for a query without results.

    Raises:
        UsageError: If a gain is too large for trec_eval.
    """
    values: dict[TrecEvalMeasure, FloatArray] = {}
    for (level, _, judged_only, _), group in _calls(measures).items():
        grades = _gains(group[0], query_ids, run)
        values.update(_call(group, run, grades, level, judged_only))
    return [values[measure] for measure in measures]


def _calls(measures: Sequence[TrecEvalMeasure]) -> dict[_CallKey, list[TrecEvalMeasure]]:
    """Group measures that one call to trec_eval can answer.

    trec_eval takes one relevance level, one set of gains and one set_F per call. Measures that do
    not depend on the level join whichever call there is.
    """
    calls: dict[_CallKey, list[TrecEvalMeasure]] = defaultdict(list)
    for measure in sorted(measures, key=lambda measure: measure.level is None):
        set_f = measure.trec_request if measure.trec_result == "set_F" else ""
        rest = (measure.gain_key, measure.judged_only)
        level = measure.level or next((key[0] for key in calls if key[1:3] == rest), 1)
        # num_rel is asked of binary gains, at level 1.
        level = 1 if measure.gain_key else level
        calls[level, *rest, set_f].append(measure)
    return calls


def _gains(measure: TrecEvalMeasure, query_ids: Sequence[str], run: JudgedRun) -> IntArray:
    """The grades that trec_eval is to see."""
    gain_of = measure.gain_of
    if gain_of is None:
        return run.grade
    grades, positions = np.unique(run.grade, return_inverse=True)
    gains = [gain_of(int(grade)) for grade in grades]
    for index, gain in enumerate(gains):
        if gain > MAX_GAIN:
            query = query_ids[run.query[positions == index][0]]
            raise UsageError(
                f"grade {grades[index]} gives a gain of {gain:.3g}, the most is {MAX_GAIN:,}",
                where=f"{measure.name}, query {query}",
                remedy="rescale the grades",
            )
    return np.array(gains, np.int64)[positions]


def _call(
    group: Sequence[TrecEvalMeasure],
    run: JudgedRun,
    grades: IntArray,
    level: int,
    judged_only: bool,
) -> dict[TrecEvalMeasure, FloatArray]:
    import pytrec_eval

    if all(one.family.sees_relevant_only and not one.judged_only for one in group):
        run, grades = _relevant_only(run, grades)
    depth = _depths(group, run)
    qrels, rankings = rename_documents(run, grades, depth)
    requests = {measure.trec_request for measure in group}
    answers = {}
    if rankings:
        evaluator = pytrec_eval.RelevanceEvaluator(
            qrels, requests, relevance_level=level, judged_docs_only_flag=judged_only
        )
        answers = evaluator.evaluate(rankings)
    answered = np.array([int(number) for number in answers], np.int64)
    columns = {}
    for measure in group:
        key = measure.trec_result
        values = np.zeros(len(run.retrieved))
        values[answered] = [answer[key] for answer in answers.values()]
        columns[measure] = _cut(measure, values)
    return columns


def _cut(measure: TrecEvalMeasure, values: FloatArray) -> FloatArray:
    """RR@k: recip_rank knows no cutoff, but a value below 1/k is a first hit below rank k."""
    if measure.family.label == "RR" and measure.cutoff is not None:
        return np.where(values >= 1.0 / measure.cutoff, values, 0.0)
    return values


def _depths(group: Sequence[TrecEvalMeasure], run: JudgedRun) -> IntArray:
    """How many documents of each query these measures need: at least one if there is any."""
    if any(measure.family.sees_tail for measure in group):
        return run.retrieved
    deepest = np.zeros_like(run.retrieved)
    np.maximum.at(deepest, run.query, run.rank)
    cutoffs = [measure.depth for measure in group]
    if None not in cutoffs:
        deepest = np.minimum(deepest, max(cutoff or 0 for cutoff in cutoffs))
    return np.minimum(np.maximum(deepest, 1), run.retrieved)


def _relevant_only(run: JudgedRun, grades: IntArray) -> tuple[JudgedRun, IntArray]:
    """Leave out judged documents without gain; a query without any other is 0 everywhere."""
    gains = grades > 0
    run = replace(run, query=run.query[gains], rank=run.rank[gains], grade=run.grade[gains])
    return run, grades[gains]


def rename_documents(
    run: JudgedRun, grades: IntArray, depth: IntArray
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Qrels and rankings of the queries with results, documents named by rank.

    Args:
        run: Where the judged documents stand.
        grades: The grade of each, as trec_eval is to see it.
        depth: How many documents of each query it is to see; none for a query to leave out.

    Returns:
        Both by the queries' positions, written as text.
    """
    deepest = int(depth.max(initial=0))
    lengths = np.bincount(run.query, minlength=len(depth))
    starts = np.r_[0, np.cumsum(lengths)]
    # A judged document that no ranking shows needs a name of its own: its place behind them all.
    place = np.arange(len(run.query)) - starts[run.query]
    shown = (run.rank > 0) & (run.rank <= depth[run.query])
    keys = np.where(shown, run.rank, deepest + 1 + place)
    names = np.array([str(number) for number in range(int(keys.max(initial=0)) + 1)], object)
    documents, gains = names[keys].tolist(), grades.tolist()
    # A query without any gain is 0 everywhere; trec_eval crashes when all are negative.
    highest = np.full(len(depth), -1)
    np.maximum.at(highest, run.query, grades)
    wanted = np.flatnonzero((depth > 0) & (highest >= 0)).tolist()
    bounds = starts.tolist()
    qrels = {
        str(number): dict(
            zip(
                documents[bounds[number] : bounds[number + 1]],
                gains[bounds[number] : bounds[number + 1]],
                strict=True,
            )
        )
        for number in wanted
    }
    shared = _Rankings(deepest)
    return qrels, {str(number): shared[int(depth[number])] for number in wanted}


class _Rankings(dict[int, dict[str, float]]):
    """The ranking of n renamed documents, made once for each n."""

    def __init__(self, deepest: int) -> None:
        self._items = [(str(rank), -float(rank)) for rank in range(1, deepest + 1)]

    def __missing__(self, depth: int) -> dict[str, float]:
        ranking = self[depth] = dict(self._items[:depth])
        return ranking
