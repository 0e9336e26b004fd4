"""Measures that pytrec_eval does not give, or not as version 10 of trec_eval computes them.

``relstring`` is a text, and pytrec_eval knows no ``-N`` for ``utility``. ``iprec_at_recall`` and
``11pt_avg`` turn a share of the relevant documents into a number of documents: version 9 adds 0.9
and cuts, version 10 rounds to the nearest, halves away from zero. ``rbp``, ``rbp_resid``, ``unj``,
``dcg`` and ``ideal_dcg`` are new in version 10. The order of summation is trec_eval's, so that the
last bit is too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.judged import IntArray, JudgedRun
from trectools_plus.trec_eval.arguments import Requested

_HIGHEST_DIGIT = 9

Rounding = Callable[[FloatArray], FloatArray]
Scorer = Callable[[Requested, JudgedRun, int], FloatArray]


def relevant_counts(run: JudgedRun, level: int) -> tuple[IntArray, IntArray]:
    """Return the relevant documents of each query: in the qrels, and retrieved."""
    relevant = run.grade >= level
    return run.count(relevant), run.count(relevant & run.within(None))


def relevance_strings(requested: Requested, run: JudgedRun) -> list[str]:
    """The grades of the first documents, a character each (``m_relstring.c``).

    A digit for grades 0 to 9, ``>`` above, ``-`` for a document that is not in the qrels, ``.``
    for one with a negative grade.

    Args:
        requested: relstring, with its length.
        run: The rankings.

    Returns:
        A text per query, shorter where fewer documents were retrieved.
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
    return [
        "".join(row[:kept])
        for row, kept in zip(signs.tolist(), run.retrieved.tolist(), strict=True)
    ]


def utility(requested: Requested, run: JudgedRun, level: int, collection_size: int) -> FloatArray:
    """A weighted sum over the four cells of retrieved and relevant (``m_utility.c``).

    Args:
        requested: utility, with the weights of: relevant retrieved, other retrieved, relevant not
            retrieved, other not retrieved.
        run: The rankings.
        level: The lowest grade that is relevant.
        collection_size: Documents in the collection.

    Returns:
        One value per query.
    """
    hit, noise, missed, rejected = requested.numbers
    relevant, found = relevant_counts(run, level)
    retrieved = run.retrieved
    value: FloatArray = (
        hit * found
        + noise * (retrieved - found)
        + missed * (relevant - found)
        + rejected * (collection_size + found - retrieved - relevant)
    )
    return value


def round_half_away(numbers: FloatArray) -> FloatArray:
    """C's ``lround``: to the nearest whole number, halves away from zero."""
    size = np.abs(numbers)
    floor = np.floor(size)
    rounded: FloatArray = np.copysign(floor + (size - floor >= 0.5), numbers)
    return rounded


def interpolated_precision(
    requested: Requested, run: JudgedRun, level: int, rounding: Rounding = round_half_away
) -> FloatArray:
    """Highest precision at or behind each recall point (``m_iprec_at_recall.c``).

    Args:
        requested: The recall points, in any order. trec_eval walks them from the last to the first
            while it walks up the ranking, and gives a point that it has passed the last value.
        run: The rankings.
        level: The lowest grade that is relevant.
        rounding: How a share of the relevant documents becomes a number of documents.

    Returns:
        Shape (queries, points).
    """
    n_relevant, found = relevant_counts(run, level)
    best = _best_from(run, level)
    starts = np.r_[0, np.cumsum(found)]
    with np.errstate(invalid="ignore"):
        # C's 0/0 has the sign bit set, and is printed as -nan.
        nothing = np.where(run.retrieved > 0, 0.0, -np.nan)
    first = nothing.copy()
    some = found > 0
    first[some] = best[starts[:-1][some]]
    values = np.zeros((len(found), len(requested.numbers)))
    reached, walking, passed = found.copy(), np.zeros(len(found), bool), np.zeros(len(found), bool)
    for column in range(len(requested.numbers) - 1, -1, -1):
        place = rounding(requested.numbers[column] * n_relevant.astype(np.float64)).astype(np.int64)
        walking |= place <= found
        passed |= walking & ((place > reached) | (place < 1))
        at_place = walking & ~passed
        values[walking, column] = first[walking]
        values[at_place, column] = best[starts[:-1][at_place] + place[at_place] - 1]
        reached = np.where(at_place, place, reached)
    return values


def eleven_points(
    requested: Requested, run: JudgedRun, level: int, rounding: Rounding = round_half_away
) -> FloatArray:
    """Interpolated precision averaged over the recall points (``m_11pt_avg.c``)."""
    points = interpolated_precision(requested, run, level, rounding)
    total = np.zeros(len(points))
    for column in range(points.shape[1] - 1, -1, -1):
        total += points[:, column]
    return _column(total / points.shape[1])


def rank_biased_precision(requested: Requested, run: JudgedRun, _level: int) -> FloatArray:
    """(1 - p) times the sum of gain times p^(rank - 1) (Moffat and Zobel 2008; ``m_rbp.c``).

    Gains outside 0 to 1 are scaled to it over all grades of the query. (trec_eval looks for the
    lowest and highest gain from variables that it does not set; from 0 is what it means.)
    """
    weight = _discounts(requested.persistence, int(run.rank.max(initial=0)))
    gain = _scaled(_gains(requested, run), requested, run)
    shown = run.within(None) & (run.grade >= 0)
    products = gain[shown] * weight[run.rank[shown] - 1]
    total = np.bincount(run.query[shown], products, len(run.retrieved))
    return _column((1.0 - requested.persistence) * total)


def rank_biased_residual(requested: Requested, run: JudgedRun, _level: int) -> FloatArray:
    """Return what rbp could gain at most if all unjudged documents had gain 1 (``m_rbp_resid.c``).

    p^n for the documents behind the ranking, and (1 - p) p^(rank - 1) for each unjudged one in
    it; 0 when all n are judged.
    """
    weight = _discounts(requested.persistence, int(run.retrieved.max(initial=0)) + 1)
    query = np.repeat(np.arange(len(run.retrieved)), run.retrieved)
    starts = np.cumsum(run.retrieved) - run.retrieved
    weights = weight[np.arange(len(query)) - starts[query]]
    judged = run.within(None) & (run.grade >= 0)
    weights[starts[run.query[judged]] + run.rank[judged] - 1] = 0.0
    total = np.bincount(query, weights, len(run.retrieved))
    some = run.count(judged) < run.retrieved
    return _column(np.where(some, weight[run.retrieved] + (1 - requested.persistence) * total, 0.0))


def unjudged(requested: Requested, run: JudgedRun, _level: int) -> FloatArray:
    """Share of unjudged documents in the first k; missing documents are none (``m_unjudged.c``)."""
    columns = []
    for cutoff in requested.numbers:
        judged = run.count(run.within(int(cutoff)) & (run.grade >= 0))
        columns.append((np.minimum(run.retrieved, int(cutoff)) - judged) / cutoff)
    return np.stack(columns, axis=1)


def discounted_gain(requested: Requested, run: JudgedRun, _level: int) -> FloatArray:
    """Sum of gain / log2(rank + 1) over the ranking (``m_ndcg.c``)."""
    shown = run.within(None) & (run.grade >= 0)
    products = _gains(requested, run)[shown] / np.log2(run.rank[shown] + 1.0)
    return _column(np.bincount(run.query[shown], products, len(run.retrieved)))


def ideal_discounted_gain(requested: Requested, run: JudgedRun, _level: int) -> FloatArray:
    """The highest discounted gain that an order of the judged documents can have."""
    gain = _gains(requested, run)
    counts = (run.grade >= 0) & (gain > 0)
    query, gain = run.query[counts], gain[counts]
    order = np.lexsort((-gain, query))
    query, gain = query[order], gain[order]
    sizes = np.bincount(query, minlength=len(run.retrieved))
    rank = np.arange(len(query)) - (np.cumsum(sizes) - sizes)[query] + 1.0
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
"""Those of version 10 by measure name; each returns values of shape (queries, lines)."""


def _column(values: npt.NDArray[Any]) -> FloatArray:
    # NumPy's bincount gives integers where there is nothing to add.
    return values.astype(np.float64)[:, None]


def _best_from(run: JudgedRun, level: int) -> FloatArray:
    """Of each retrieved relevant document: the highest precision at it or at a later one."""
    hits = run.within(None) & (run.grade >= level)
    query, rank = run.query[hits], run.rank[hits]
    sizes = np.bincount(query, minlength=len(run.retrieved))
    number = np.arange(len(query)) - (np.cumsum(sizes) - sizes)[query] + 1
    ranked = pl.DataFrame({"query": query, "precision": number / rank})
    best = ranked.select(pl.col("precision").cum_max(reverse=True).over("query"))
    highest: FloatArray = best.to_series().to_numpy()
    return highest


def _discounts(persistence: float, length: int) -> FloatArray:
    """p^0, p^1, … by repeated multiplication."""
    weight: FloatArray = np.full(max(length, 1), persistence)
    weight[0] = 1.0
    return np.multiply.accumulate(weight)


def _gains(requested: Requested, run: JudgedRun) -> FloatArray:
    """The gain of each judged document; a negative grade's is not to be used."""
    gain = run.grade.astype(np.float64)
    for grade, value in requested.gains.items():
        gain[run.grade == grade] = value
    return gain


def _scaled(gain: FloatArray, requested: Requested, run: JudgedRun) -> FloatArray:
    """Scale gains to 0 to 1 by the lowest and the highest, where some lie outside."""
    highest = np.zeros(len(run.retrieved), np.int64)
    np.maximum.at(highest, run.query, run.grade)
    levels, at = np.unique(highest, return_inverse=True)
    given = [0.0, *requested.gains.values()]
    low = min(given)
    top = np.array([max(*given, _gain_of_grade(int(level), requested.gains)) for level in levels])[
        at
    ]
    outside = (low < 0) | (top > 1)
    span = np.where(outside, top - low, 1.0)
    return np.where(outside[run.query], gain - low, gain) / span[run.query]


def _gain_of_grade(level: int, gains: Mapping[int, float]) -> float:
    """The gain of the highest grade, up to this one, that has none given: the grade itself."""
    while level in gains:
        level -= 1
    return max(level, 0)
