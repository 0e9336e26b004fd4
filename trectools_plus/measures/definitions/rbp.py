"""Rank-biased precision: the rate at which a user with persistence p gains relevance.

Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS 27(1),
2008, computed as by trec_eval 10 (``m_rbp.c``). ``ir_measures`` needs the package cwl-eval for it,
which ignores documents below rank 1,000.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import ColumnMeasure, FloatArray
from trectools_plus.measures.judged import JudgedRun


class RBP(ColumnMeasure):
    """Rank-biased precision, with binary relevance (``rel``) or with grades as gains."""

    parameter_defaults = MappingProxyType({"p": 0.8, "rel": None})
    formula = "(1 - {p}) times the sum of gain * {p}^(rank - 1) {first}, as rbp of trec_eval 10"
    denominator = "1 / (1 - {p}), the sum for an endless ranking of relevant documents"

    def __init__(self, cutoff: int | None = None, **parameters: Any) -> None:
        super().__init__(cutoff, **parameters)
        p = self.parameters["p"]
        if not isinstance(p, float) or not 0 < p < 1:
            raise UsageError(
                f"p must be a decimal number between 0 and 1 but got {p!r}",
                where=self.name,
                remedy="write it as RBP(p=0.8)",
            )
        if self.parameters["rel"] is None:
            self.gain = (
                "grade / the highest grade of the query (if that is above 1); a negative grade "
                "counts as 0"
            )

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values between 0 and 1."""
        if self.parameters["rel"] is None:
            gain = scale_gains(run, run.grade.astype(np.float64), {})
        else:
            gain = (run.grade >= self.relevance_level).astype(np.float64)
        return rank_biased_sum(run, gain, self.parameters["p"], self.cutoff)


def rank_biased_sum(
    run: JudgedRun, gain: FloatArray, persistence: float, cutoff: int | None = None
) -> FloatArray:
    """Return (1 - p) times the sum of gain · p^(rank - 1) for each query.

    Args:
        run: The rankings.
        gain: The gain of each judged document, from 0 to 1; ignored for negative grades.
        persistence: The p, between 0 and 1.
        cutoff: The deepest rank that counts; ``None`` for the whole ranking.
    """
    weight = discounts(persistence, int(run.rank.max(initial=0)))
    shown = run.within(cutoff) & (run.grade >= 0)
    products = gain[shown] * weight[run.rank[shown] - 1]
    return (1.0 - persistence) * run.total(shown, products)


def discounts(persistence: float, length: int) -> FloatArray:
    """Return p^0, p^1, … by repeated multiplication."""
    weight: FloatArray = np.full(max(length, 1), persistence)
    weight[0] = 1.0
    return np.multiply.accumulate(weight)


def scale_gains(run: JudgedRun, gain: FloatArray, given: Mapping[int, float]) -> FloatArray:
    """Scale the gains of a query to the range from 0 to 1 if one is outside it.

    Args:
        run: The rankings.
        gain: The gain of each judged document.
        given: Gains that replace grades; the gain of other grades is the grade.
    """
    highest = np.zeros(len(run.retrieved), np.int64)
    np.maximum.at(highest, run.query, run.grade)
    levels, level_of_query = np.unique(highest, return_inverse=True)
    values = [0.0, *given.values()]
    low = min(values)
    tops = [max(*values, _highest_default_gain(int(level), given)) for level in levels]
    top = np.array(tops)[level_of_query]
    outside = (low < 0) | (top > 1)
    span = np.where(outside, top - low, 1.0)
    return np.where(outside[run.query], gain - low, gain) / span[run.query]


def _highest_default_gain(level: int, gains: Mapping[int, float]) -> float:
    """Return the highest gain, up to ``level``, of grades without a given gain; it is the grade."""
    while level in gains:
        level -= 1
    return max(level, 0)
