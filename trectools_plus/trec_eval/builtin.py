"""Measures that pytrec_eval does not support, or that version 10 of trec_eval computes differently.

The value of ``relstring`` is a text, and pytrec_eval has no ``-N`` for ``utility``.
``iprec_at_recall`` and ``11pt_avg`` convert a share of the relevant documents to a number of
documents: version 9 adds 0.9 and truncates, version 10 rounds to the nearest, halves away from
zero. ``rbp``, ``rbp_resid``, ``unj``, ``dcg`` and ``ideal_dcg`` are new in version 10. Sums are
added in trec_eval's order, so that they are equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.definitions.builtin import discounts, rank_biased_sum, scale_gains
from trectools_plus.measures.judged import IntArray, JudgedRun, ordinals
from trectools_plus.trec_eval.arguments import Arguments, Requested

_HIGHEST_DIGIT = 9

Rounding = Callable[[FloatArray], FloatArray]
Scorer = Callable[[Requested, JudgedRun, Arguments], npt.NDArray[Any]]


def relevant_counts(run: JudgedRun, level: int) -> tuple[IntArray, IntArray]:
    """Return each query's number of relevant documents: in the qrels, and retrieved."""
    relevant = run.grade >= level
    return run.count(relevant), run.count(relevant & run.within(None))


def relevance_strings(requested: Requested, run: JudgedRun, _: Arguments) -> npt.NDArray[np.str_]:
    """Return the grades of the first documents, one character each (``m_relstring.c``).

    The character is a digit for grades 0 to 9, ``>`` for higher grades, ``.`` for negative grades,
    and ``-`` for a document that is not in the qrels.

    Args:
        requested: relstring, with its length.
        run: The rankings.

    Returns:
        A text per query, of shape (queries, 1), shorter where fewer documents were retrieved.
    """
    length = max(int(requested.numbers[0]), 0)
    length = min(length, int(run.retrieved.max(initial=0)))
    signs = np.full((len(run.retrieved), length), "-", "U1")
    shown = run.within(length)
    grade = run.grade[shown]
    digits = np.clip(grade, 0, _HIGHEST_DIGIT).astype("U1")
    signs[run.query[shown], run.rank[shown] - 1] = np.where(
        grade < 0, ".", np.where(grade > _HIGHEST_DIGIT, ">", digits)
    )
    rows = zip(signs.tolist(), run.retrieved.tolist(), strict=True)
    return np.array(["".join(row[:size]) for row, size in rows], str)[:, None]


def utility(requested: Requested, run: JudgedRun, arguments: Arguments) -> FloatArray:
    """Return weighted sums of the numbers of relevant and other documents, retrieved or not.

    Source: ``m_utility.c``.

    Args:
        requested: utility, with the weights of relevant retrieved, other retrieved, relevant not
            retrieved and other not retrieved documents.
        run: The rankings.
        arguments: ``-l`` and ``-N`` are used.
    """
    hit_weight, noise_weight, missed_weight, rejected_weight = requested.numbers
    relevant, found = relevant_counts(run, arguments.level)
    retrieved = run.retrieved
    return _column(
        hit_weight * found
        + noise_weight * (retrieved - found)
        + missed_weight * (relevant - found)
        + rejected_weight * (arguments.collection_size + found - retrieved - relevant)
    )


def round_half_away(numbers: FloatArray) -> FloatArray:
    """Round as C's ``lround``: to the nearest whole number, halves away from zero."""
    size = np.abs(numbers)
    floor = np.floor(size)
    return np.asarray(np.copysign(floor + (size - floor >= 0.5), numbers))


def interpolated_precision(
    requested: Requested, run: JudgedRun, arguments: Arguments, rounding: Rounding = round_half_away
) -> FloatArray:
    """Return the highest precision at or after each recall point (``m_iprec_at_recall.c``).

    Args:
        requested: The recall points, in any order. trec_eval processes them from the last to the
            first while it moves up the ranking. After a point that is out of order, all points get
            the highest precision of the ranking.
        run: The rankings.
        arguments: ``-l`` is used.
        rounding: Converts a share of the relevant documents to a number of documents.

    Returns:
        Shape (queries, points).
    """
    n_relevant, found = relevant_counts(run, arguments.level)
    best = _highest_precision_from(run, arguments.level)
    starts = np.r_[0, np.cumsum(found)]
    with np.errstate(invalid="ignore"):
        # In C, 0/0 has the sign bit set and is printed as -nan.
        first = np.where(run.retrieved > 0, 0.0, -np.nan)
    has_hits = found > 0
    first[has_hits] = best[starts[:-1][has_hits]]
    values = np.zeros((len(found), len(requested.numbers)))
    position = found.copy()
    started, finished = np.zeros(len(found), bool), np.zeros(len(found), bool)
    for column in range(len(requested.numbers) - 1, -1, -1):
        point = rounding(requested.numbers[column] * n_relevant.astype(np.float64)).astype(np.int64)
        started |= point <= found
        finished |= started & ((point > position) | (point < 1))
        at_point = started & ~finished
        values[started, column] = first[started]
        values[at_point, column] = best[starts[:-1][at_point] + point[at_point] - 1]
        position = np.where(at_point, point, position)
    return values


def eleven_points(
    requested: Requested, run: JudgedRun, arguments: Arguments, rounding: Rounding = round_half_away
) -> FloatArray:
    """Return interpolated precision averaged over the recall points (``m_11pt_avg.c``)."""
    points = interpolated_precision(requested, run, arguments, rounding)
    total = np.zeros(len(points))
    for column in range(points.shape[1] - 1, -1, -1):
        total += points[:, column]
    return _column(total / points.shape[1])


def rank_biased_precision(requested: Requested, run: JudgedRun, _: Arguments) -> FloatArray:
    """Return (1 - p) times the sum of gain · p^(rank - 1) (Moffat and Zobel 2008; ``m_rbp.c``).

    If a gain is outside 0 to 1, all gains of the query are scaled to this range. (trec_eval
    compares gains with two variables that it does not initialise; here they are 0.)
    """
    gain = scale_gains(run, _gains(requested, run), requested.gains)
    return _column(rank_biased_sum(run, gain, requested.persistence))


def rank_biased_residual(requested: Requested, run: JudgedRun, _: Arguments) -> FloatArray:
    """Return the increase of rbp if all unjudged documents had gain 1 (``m_rbp_resid.c``).

    It is p^n for the documents below the n retrieved ones, plus (1 - p) p^(rank - 1) for each
    unjudged document among them; 0 if all n are judged.
    """
    weight = discounts(requested.persistence, int(run.retrieved.max(initial=0)) + 1)
    judged = run.grade >= 0
    query, rank = replace(
        run, query=run.query[judged], rank=run.rank[judged], grade=run.grade[judged]
    ).unjudged(None)
    total = np.bincount(query, weight[rank - 1], len(run.retrieved))
    has_unjudged = np.bincount(query, minlength=len(run.retrieved)) > 0
    residual = weight[run.retrieved] + (1 - requested.persistence) * total
    return _column(np.where(has_unjudged, residual, 0.0))


def unjudged(requested: Requested, run: JudgedRun, _: Arguments) -> FloatArray:
    """Return the share of unjudged documents in the first k (``m_unjudged.c``).

    The divisor is k, even if fewer documents were retrieved.
    """
    columns = []
    for cutoff in requested.numbers:
        judged = run.count(run.within(int(cutoff)) & (run.grade >= 0))
        columns.append((np.minimum(run.retrieved, int(cutoff)) - judged) / cutoff)
    return np.stack(columns, axis=1)


def discounted_gain(requested: Requested, run: JudgedRun, _: Arguments) -> FloatArray:
    """Return the sum of gain / log2(rank + 1) over the ranking (``m_ndcg.c``)."""
    shown = run.within(None) & (run.grade >= 0)
    products = _gains(requested, run)[shown] / np.log2(run.rank[shown] + 1.0)
    return _column(np.bincount(run.query[shown], products, len(run.retrieved)))


def ideal_discounted_gain(requested: Requested, run: JudgedRun, _: Arguments) -> FloatArray:
    """Return the highest discounted gain over all orders of the judged documents."""
    gain = _gains(requested, run)
    has_gain = (run.grade >= 0) & (gain > 0)
    query, gain = run.query[has_gain], gain[has_gain]
    order = np.lexsort((-gain, query))
    query, gain = query[order], gain[order]
    rank = ordinals(query)
    return _column(np.bincount(query, gain / np.log2(rank + 1.0), len(run.retrieved)))


SCORERS: Mapping[str, Scorer] = {
    "iprec_at_recall": interpolated_precision,
    "11pt_avg": eleven_points,
    "rbp": rank_biased_precision,
    "rbp_resid": rank_biased_residual,
    "unj": unjudged,
    "dcg": discounted_gain,
    "ideal_dcg": ideal_discounted_gain,
}
"""The measures of version 10 by name; each function returns shape (queries, lines)."""


def _column(values: npt.NDArray[Any]) -> FloatArray:
    # np.bincount of an empty array returns integers.
    return values.astype(np.float64)[:, None]


def _highest_precision_from(run: JudgedRun, level: int) -> FloatArray:
    """Return the highest precision at or after each retrieved relevant document."""
    hits = run.within(None) & (run.grade >= level)
    query = run.query[hits]
    # Numbers of precisions, higher ones for earlier queries, so that no maximum crosses a query.
    precisions, number = np.unique(ordinals(query) / run.rank[hits], return_inverse=True)
    number = number + (len(run.retrieved) - query) * len(precisions)
    best = np.maximum.accumulate(number[::-1])[::-1]
    return np.asarray(precisions[best % len(precisions)] if len(best) else precisions)


def _gains(requested: Requested, run: JudgedRun) -> FloatArray:
    """Return the gain of each judged document; meaningless for negative grades."""
    gain = run.grade.astype(np.float64)
    for grade, value in requested.gains.items():
        gain[run.grade == grade] = value
    return gain
