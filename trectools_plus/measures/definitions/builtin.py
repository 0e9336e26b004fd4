"""Measures that neither pytrec_eval nor ir_measures supports.

Each takes a :class:`JudgedRun` and returns one value per query; ``nan`` is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import NO_PARAMETERS, ColumnMeasure, FloatArray
from trectools_plus.measures.judged import IntArray, JudgedRun
from trectools_plus.validation.views.places import places_in_query


class APcap(ColumnMeasure):
    """Average precision with a denominator capped at the cutoff, as in many RAG benchmarks."""

    requires_cutoff = True
    formula = (
        "sum of precision at the rank of each relevant document {first}, "
        "divided by min(R, {k}); not AP@{k}, which divides by R"
    )
    denominator = "min(R, {k}), R = all relevant documents of the query"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values between 0 and 1, with sums in rank order as in ``m_map_cut.c``."""
        hits = self._hits(run)
        precisions = (places_in_query(run.query[hits]) + 1) / run.rank[hits]
        maximum = np.minimum(self._count_relevant(run), self.cutoff or 0)
        return np.nan_to_num(_ratio(run.total(hits, precisions), maximum), nan=0.0)


class F1(ColumnMeasure):
    """Harmonic mean of precision and recall in the first k."""

    formula = (
        "harmonic mean of P{at} and R{at}: 2 * relevant documents {first} / ({k} + R), "
        "R = all relevant documents of the query"
    )
    denominator = "{k} + R"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values between 0 and 1."""
        k = run.retrieved if self.cutoff is None else self.cutoff
        # 2PR / (P + R) with P = hits / k and R = hits / relevant.
        hits = 2.0 * run.count(self._hits(run))
        return np.nan_to_num(_ratio(hits, k + self._count_relevant(run)), nan=0.0)


class MeanRank(ColumnMeasure):
    """Mean rank of the relevant documents retrieved, undefined for a query without any."""

    value_without_results = math.nan
    higher_is_better = False
    formula = "mean of the ranks of the relevant documents {first}"
    gain = "a grade of {level} or more is relevant; lower ranks are better"
    denominator = "relevant documents {first}; undefined when there are none"
    averaged_over = (
        "queries of the qrels with a document of grade 1 or more for which a relevant document was "
        "retrieved; the others are undefined and counted aside"
    )

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the mean of the ranks of the relevant documents retrieved, at least 1."""
        hits = self._hits(run)
        return _ratio(run.total(hits, run.rank[hits]), run.count(hits))


class MinRank(MeanRank):
    """Rank of the first relevant document, undefined for a query without any."""

    formula = "rank of the first relevant document {first}"
    denominator = "none; undefined when no relevant document is found"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the rank of the first relevant document retrieved, at least 1."""
        hits = self._hits(run)
        first = np.full(len(run.retrieved), np.inf)
        np.minimum.at(first, run.query[hits], run.rank[hits])
        return np.where(np.isinf(first), np.nan, first)


class RelRet(ColumnMeasure):
    """Number of relevant documents retrieved."""

    formula = (
        "number of relevant documents {first}. The summary is the mean; trec_eval's num_rel_ret "
        "is the sum"
    )

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the number of relevant documents in the first k."""
        return run.count(self._hits(run)).astype(np.float64)


class Judged(ColumnMeasure):
    """Share of judged documents in the first k."""

    parameter_defaults = NO_PARAMETERS
    formula = "share of the documents {first} that have a judgment with any grade"
    gain = "1 for a judged document (negative grades too), else 0"
    denominator = "documents {first} (fewer than the cutoff when fewer were returned)"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the share of judged documents in the first k, from 0 to 1; 0 without results."""
        seen = run.cut(self.cutoff).retrieved
        return np.nan_to_num(_ratio(run.count(run.within(self.cutoff)), seen), nan=0.0)


HIGHEST_GRADE = 4
"""The g_max of the formula of ERR, as in ``gdeval.pl``."""


class ERR(ColumnMeasure):
    """Expected reciprocal rank of the document that satisfies the user.

    It is the expectation of 1 / the rank at which a user stops reading (Chapelle, Metzler, Zhang
    and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009), with the highest grade
    of the TREC Web track's script ``gdeval.pl``, so that the values are equal. ``ir_measures`` runs
    that script, which needs Perl.
    """

    parameter_defaults = NO_PARAMETERS
    formula = (
        "sum of gain / rank times the product of (1 - gain) of the documents above, over the "
        "documents {first}"
    )
    gain = (
        f"(2^grade - 1) / 2^{HIGHEST_GRADE}: the chance that the document satisfies; a negative "
        "grade counts as 0"
    )
    denominator = "the rank of the document that satisfies"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values between 0 and 1: sums over ranks, added from the top as in ``gdeval.pl``.

        Raises:
            UsageError: If a grade is above :data:`HIGHEST_GRADE`.
        """
        if (grade := int(run.grade.max(initial=0))) > HIGHEST_GRADE:
            raise UsageError(
                f"grade {grade} is above {HIGHEST_GRADE}, the highest grade that it accepts",
                where=self.name,
                remedy=f"rescale the grades to 0 to {HIGHEST_GRADE}",
            )
        hits = self._hits(run)
        chances = (2.0 ** run.grade[hits] - 1.0) / 2.0**HIGHEST_GRADE
        values, still_reading = np.zeros(len(run.retrieved)), np.ones(len(run.retrieved))
        for query, rank, chance in zip(run.query[hits], run.rank[hits], chances, strict=True):
            values[query] += chance * still_reading[query] / rank
            still_reading[query] *= 1.0 - chance
        return values


def _ratio(numerator: Any, denominator: IntArray) -> FloatArray:
    """Return the quotients; ``nan`` where the denominator is 0."""
    result = np.full(len(denominator), np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


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


def scale_gains(run: JudgedRun, gain: FloatArray, gain_of_grade: Mapping[int, float]) -> FloatArray:
    """Scale the gains of a query to the range from 0 to 1 if one is outside it.

    Args:
        run: The rankings.
        gain: The gain of each judged document.
        gain_of_grade: Gains that replace grades; the gain of other grades is the grade.
    """
    highest = np.zeros(len(run.retrieved), np.int64)
    np.maximum.at(highest, run.query, run.grade)
    levels, level_of_query = np.unique(highest, return_inverse=True)
    values = [0.0, *gain_of_grade.values()]
    low = min(values)
    tops = [max(*values, _highest_default_gain(int(level), gain_of_grade)) for level in levels]
    top = np.array(tops)[level_of_query]
    outside = (low < 0) | (top > 1)
    span = np.where(outside, top - low, 1.0)
    return np.where(outside[run.query], gain - low, gain) / span[run.query]


def _highest_default_gain(level: int, gains: Mapping[int, float]) -> float:
    """Return the highest gain, up to ``level``, of grades without a given gain; it is the grade."""
    while level in gains:
        level -= 1
    return max(level, 0)
