"""Measures for ``-l 0`` and below, and for ``-M 0``, which pytrec_eval does not accept.

trec_eval marks a document that is not in the qrels with -1, and one with a negative grade with -2.
So with ``-l -1`` documents that are not in the qrels are relevant in the ranking, but do not count
among the relevant documents. The formulas are those of trec_eval 10, files ``m_<measure>.c``.
Sums are added in trec_eval's order, so that they are equal bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.judged import JudgedRun
from trectools_plus.trec_eval.arguments import Arguments, Requested
from trectools_plus.trec_eval.builtin import Scorer, relevant_counts, utility
from trectools_plus.trec_eval.output import MIN_GEO_MEAN

_NOT_IN_QRELS, _NOT_JUDGED = -1, -2
_INFAP_EPSILON = 0.00001
"""The smoothing of infAP (``trec_eval.h``)."""


@dataclass(frozen=True, eq=False)
class _Ranking:
    """The documents of a query.

    Attributes:
        grades: The grade of each retrieved document; -1 if it is not in the qrels, -2 if its grade
            is negative.
        n_relevant: The number of relevant documents in the qrels, of a grade of 0 or more.
        n_found: The number of those that were retrieved.
        level: The lowest grade that is relevant.
        version: The version of trec_eval.
    """

    grades: list[int]
    n_relevant: int
    n_found: int
    level: int
    version: int

    @cached_property
    def hits(self) -> list[int]:
        """The ranks of relevant documents."""
        return [rank for rank, grade in enumerate(self.grades, 1) if grade >= self.level]

    def n_hits(self, cutoff: float) -> int:
        return sum(rank <= cutoff for rank in self.hits)

    def sum_of_precisions(self, cutoff: float = math.inf) -> float:
        total = 0.0
        for number, rank in enumerate(self.hits, 1):
            if rank <= cutoff:
                total += number / rank
        return total

    def per_relevant(self, total: float, without: float = 0.0) -> float:
        """Divide by the number of relevant documents; return ``without`` if there is none."""
        return total / self.n_relevant if self.n_relevant else without

    def average_precision(self) -> float:
        # map, gm_map and binG divide if anything was found, also by 0.
        total = self.sum_of_precisions()
        return self.per_relevant(total, math.inf if total else 0.0)

    def preference(self) -> float:
        """Return bpref: no document is judged non-relevant, so each one found counts 1."""
        return self.per_relevant(self.n_found)

    def inferred_precision(self) -> float:
        total, n_before, n_unjudged = 0.0, 0, 0
        for above, grade in enumerate(self.grades):
            n_unjudged += grade == _NOT_JUDGED
            if grade < 0:
                continue
            if above:
                total += 1.0 / (above + 1.0) + (above / (above + 1.0)) * (
                    (n_before + n_unjudged) / above
                ) * ((n_before + _INFAP_EPSILON) / (n_before + 2 * _INFAP_EPSILON))
            else:
                total += 1.0
            n_before += 1
        return self.per_relevant(total)

    def interpolated(self, points: Sequence[float]) -> list[float]:
        """Return the highest precision at or after each recall point."""
        shares = [point * self.n_relevant for point in points]
        is_new = self.version == 10
        cutoffs = [math.floor(share + 0.5) if is_new else int(share + 0.9) for share in shares]
        values, at, left = [0.0] * len(points), len(points) - 1, self.n_found
        while at >= 0 and cutoffs[at] > left:
            at -= 1
        best = left / len(self.grades) if self.grades else -math.nan
        relevant = {*self.hits}
        for rank in range(len(self.grades), 0, -1):
            if left == 0:
                break
            best = max(best, left / rank)
            if rank in relevant:
                while at >= 0 and left == cutoffs[at]:
                    values[at] = best
                    at -= 1
                left -= 1
        values[: at + 1] = [best] * (at + 1)
        return values

    def precision_at_multiples(self, multiples: Sequence[float]) -> list[float]:
        cutoffs = [int(multiple * self.n_relevant + 0.9) for multiple in multiples]
        values, at, left = [0.0] * len(multiples), len(multiples) - 1, self.n_found
        while at >= 0 and cutoffs[at] > len(self.grades):
            values[at] = left / cutoffs[at]
            at -= 1
        relevant = {*self.hits}
        for rank in range(len(self.grades), 0, -1):
            if left == 0:
                break
            while at >= 0 and rank == cutoffs[at]:
                values[at] = left / rank
                at -= 1
            left -= rank in relevant
        return values

    def binary_gain(self) -> float:
        total = 0.0
        for number, rank in enumerate(self.hits, 1):
            total += 1.0 / math.log2(2 + rank - number)
        return self.per_relevant(total, math.inf if total else 0.0)

    def precision(self) -> float:
        return self.n_found / len(self.grades) if self.grades else 0.0

    def f_measure(self, weight: float) -> float:
        if not self.n_found:
            return 0.0
        precision, recall = self.precision(), self.n_found / self.n_relevant
        return (weight + 1.0) * precision * recall / (weight * precision + recall)

    def transformed_precision(self) -> float:
        total = self.sum_of_precisions()
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.float64(1.0 + total) / np.float64(1.0 + self.n_relevant - total)
            return float(np.log(odds))


_Scorer = Callable[[_Ranking, Sequence[float]], Sequence[float]]


def _of_cutoffs(function: Callable[[_Ranking, float], float]) -> _Scorer:
    return lambda ranking, cutoffs: [function(ranking, cutoff) for cutoff in cutoffs]


def _single(function: Callable[[_Ranking], float]) -> _Scorer:
    return lambda ranking, _: [function(ranking)]


_SCORERS: Mapping[str, _Scorer] = {
    "num_rel": _single(lambda one: one.n_relevant),
    "num_rel_ret": _single(lambda one: one.n_found),
    "map": _single(_Ranking.average_precision),
    "gm_map": _single(lambda one: math.log(max(one.average_precision(), MIN_GEO_MEAN))),
    "Rprec": _single(lambda one: one.per_relevant(one.n_hits(one.n_relevant))),
    "bpref": _single(_Ranking.preference),
    "recip_rank": _single(lambda one: 1.0 / one.hits[0] if one.hits else 0.0),
    "iprec_at_recall": _Ranking.interpolated,
    "P": _of_cutoffs(lambda one, cutoff: one.n_hits(cutoff) / cutoff),
    "recall": _of_cutoffs(lambda one, cutoff: one.per_relevant(one.n_hits(cutoff))),
    "infAP": _single(_Ranking.inferred_precision),
    "gm_bpref": _single(lambda one: math.log(max(one.preference(), MIN_GEO_MEAN))),
    "Rprec_mult": _Ranking.precision_at_multiples,
    "11pt_avg": lambda one, points: [sum(reversed(one.interpolated(points))) / len(points)],
    "binG": _single(_Ranking.binary_gain),
    "map_cut": _of_cutoffs(lambda one, cutoff: one.per_relevant(one.sum_of_precisions(cutoff))),
    "relative_P": _of_cutoffs(
        lambda one, cutoff: (
            one.n_hits(cutoff) / min(cutoff, one.n_relevant) if one.n_relevant else 0.0
        )
    ),
    "success": _of_cutoffs(lambda one, cutoff: float(one.n_hits(cutoff) > 0)),
    "set_P": _single(_Ranking.precision),
    "set_relative_P": _single(
        lambda one: one.n_found / min(len(one.grades), one.n_relevant) if one.n_found else 0.0
    ),
    "set_recall": _single(_Ranking.preference),
    "set_map": _single(
        lambda one: (
            one.n_found * one.n_found / (len(one.grades) * one.n_relevant) if one.n_found else 0.0
        )
    ),
    "set_F": lambda one, weights: [one.f_measure(weights[0])],
    "num_nonrel_judged_ret": _single(
        lambda one: sum(grade >= 0 for grade in one.grades) - one.n_found
    ),
    "yaap": _single(_Ranking.transformed_precision),
}


def scorer_of(name: str) -> Scorer | None:
    """Return the function that computes a measure that depends on ``-l``; ``None`` for others."""
    if name == "utility":
        return _utility
    return _score_plainly if name in _SCORERS else None


def _utility(requested: Requested, run: JudgedRun, arguments: Arguments) -> FloatArray:
    # It has no place in the ranking at which a document without a judgment could count.
    return utility(requested, run, replace(arguments, level=max(arguments.level, 0)))


def _score_plainly(requested: Requested, run: JudgedRun, arguments: Arguments) -> FloatArray:
    """Score every query; no retrieved document is judged non-relevant.

    Args:
        requested: The measure.
        run: The ranks of judged documents, after ``-M`` and ``-J``.
        arguments: ``-l`` and the version are used.

    Returns:
        Shape (queries, lines).
    """
    score = _SCORERS[requested.measure.name]
    rankings = _rankings_of(run, arguments.level, arguments.version)
    values = [score(ranking, requested.numbers) for ranking in rankings]
    return np.array(values, np.float64).reshape(len(rankings), len(requested.names))


@lru_cache(maxsize=1)
def _rankings_of(run: JudgedRun, level: int, version: int) -> list[_Ranking]:
    """Return the ranking of every query, once for all measures."""
    n_relevant, n_found = relevant_counts(run, max(level, 0))
    grades = [[_NOT_IN_QRELS] * count for count in run.retrieved.tolist()]
    shown = run.within(None)
    for query, rank, grade in zip(run.query[shown], run.rank[shown], run.grade[shown], strict=True):
        grades[query][rank - 1] = grade if grade >= 0 else _NOT_JUDGED
    return [
        _Ranking(own, total, found, level, version)
        for own, total, found in zip(grades, n_relevant.tolist(), n_found.tolist(), strict=True)
    ]
