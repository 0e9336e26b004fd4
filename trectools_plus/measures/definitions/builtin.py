"""Measures that neither pytrec_eval nor ir_measures supports.

Each takes a :class:`JudgedRun` and returns one value per query; ``nan`` is undefined.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.judged import IntArray, JudgedRun, ordinals
from trectools_plus.measures.providers.builtin import ColumnMeasure

NO_PARAMETERS = MappingProxyType[str, Any]({})


class APcap(ColumnMeasure):
    """Average precision with a denominator capped at the cutoff, as in many RAG benchmarks."""

    label = "APcap"
    plain_name = "map_capped"
    requires_cutoff = True
    formula = (
        "sum of precision at the rank of each relevant document {first}, "
        "divided by min(R, {k}); not AP@{k}, which divides by R"
    )
    denominator = "min(R, {k}), R = all relevant documents of the query"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values between 0 and 1, with sums in rank order as in ``m_map_cut.c``."""
        hits = self._hits(run)
        precisions = ordinals(run.query[hits]) / run.rank[hits]
        maximum = np.minimum(self._count_relevant(run), self.cutoff or 0)
        return np.nan_to_num(_ratio(run.total(hits, precisions), maximum), nan=0.0)


class F1(ColumnMeasure):
    """Harmonic mean of precision and recall in the first k."""

    label = "F1"
    formula = (
        "harmonic mean of P{at} and R{at}: 2 * relevant documents {found} / ({k} + R), "
        "R = all relevant documents of the query"
    )
    denominator = "{k} + R"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values between 0 and 1."""
        k = run.retrieved if self.cutoff is None else self.cutoff
        # 2PR / (P + R) with P = hits / k and R = hits / relevant.
        hits = 2.0 * run.count(self._hits(run))
        return np.nan_to_num(_ratio(hits, k + self._count_relevant(run)), nan=0.0)


class _RankOfRelevant(ColumnMeasure):
    """Base of rank measures, which are undefined for a query without relevant results."""

    value_without_results = math.nan
    higher_is_better = False
    gain = "a grade of {level} or more is relevant; lower ranks are better"
    averaged_over = (
        "queries of the qrels with a document of grade 1 or more for which a relevant document was "
        "retrieved; the others are undefined and counted aside"
    )


class MeanRank(_RankOfRelevant):
    """Mean rank of the relevant documents retrieved."""

    label = "MeanRank"
    formula = "mean of the ranks of the relevant documents {found}"
    denominator = "relevant documents {found}; undefined when there are none"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the mean of the ranks of the relevant documents retrieved, at least 1."""
        hits = self._hits(run)
        return _ratio(run.total(hits, run.rank[hits]), run.count(hits))


class MinRank(_RankOfRelevant):
    """Rank of the first relevant document."""

    label = "MinRank"
    formula = "rank of the first relevant document {found}"
    denominator = "none; undefined when no relevant document is found"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the rank of the first relevant document retrieved, at least 1."""
        hits = self._hits(run)
        first = np.full(len(run.retrieved), np.inf)
        np.minimum.at(first, run.query[hits], run.rank[hits])
        return np.where(np.isinf(first), np.nan, first)


class RelRet(ColumnMeasure):
    """Number of relevant documents retrieved."""

    label = "RelRet"
    formula = (
        "number of relevant documents retrieved{within}. "
        "The summary is the mean; trec_eval prints the sum"
    )
    trec_eval_call = "trec_eval -c {at_level}{to_depth}-m num_rel_ret QRELS RUN"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the number of relevant documents in the first k."""
        return run.count(self._hits(run)).astype(np.float64)


class Judged(ColumnMeasure):
    """Share of judged documents in the first k."""

    label = "Judged"
    plain_name = "judged"
    parameter_defaults = NO_PARAMETERS
    formula = "share of the documents {found} that have a judgment with any grade"
    gain = "1 for a judged document (negative grades too), else 0"
    denominator = "documents {found} (fewer than the cutoff when fewer were returned)"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the share of judged documents in the first k, from 0 to 1; 0 without results."""
        seen = run.retrieved if self.cutoff is None else np.minimum(run.retrieved, self.cutoff)
        return np.nan_to_num(_ratio(run.count(run.within(self.cutoff)), seen), nan=0.0)


def _ratio(numerator: Any, denominator: IntArray) -> FloatArray:
    """Return the quotients; ``nan`` where the denominator is 0."""
    result = np.full(len(denominator), np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


HIGHEST_GRADE = 4
"""The g_max of the formula of ERR, as in ``gdeval.pl``."""


class ERR(ColumnMeasure):
    """Expected reciprocal rank of the document that satisfies the user.

    It is the expectation of 1 / the rank at which a user stops reading (Chapelle, Metzler, Zhang
    and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009), with the highest grade
    of the TREC Web track's script ``gdeval.pl``, so that the values are equal. ``ir_measures`` runs
    that script, which needs Perl.
    """

    label = "ERR"
    parameter_defaults = NO_PARAMETERS
    formula = (
        "sum over ranks {ranks} of gain / rank times the product of (1 - gain) of the documents "
        "above"
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
        self._refuse_above(HIGHEST_GRADE, run.grade)
        hits = self._hits(run)
        # The first step processes the first relevant document of every query, and so on.
        step = ordinals(run.query[hits])
        order = np.argsort(step, kind="stable")
        query, rank, grade = (a[hits][order] for a in (run.query, run.rank, run.grade))
        satisfied = (2.0**grade - 1.0) / 2.0**HIGHEST_GRADE
        values, still_reading = np.zeros(len(run.retrieved)), np.ones(len(run.retrieved))
        bounds = np.flatnonzero(np.diff(step[order])) + 1
        for at in np.split(np.arange(len(order)), bounds):
            values[query[at]] += satisfied[at] * still_reading[query[at]] / rank[at]
            still_reading[query[at]] *= 1.0 - satisfied[at]
        return values


class CG(ColumnMeasure):
    """Cumulative gain: the sum of the grades of the documents retrieved.

    CG and DCG: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM TOIS
    20(4), 2002, with the discount log2(rank + 1) of trec_eval.
    """

    label = "CG"
    plain_name = "cg"
    parameter_defaults = NO_PARAMETERS
    formula = "sum of gain {found}"
    gain = "the grade (linear); a negative grade counts as 0"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values of at least 0, which have no upper limit."""
        hits = self._hits(run)
        return run.total(hits, run.grade[hits])


class DCG(ColumnMeasure):
    """Discounted cumulative gain: the numerator of nDCG."""

    label = "DCG"
    plain_name = "dcg"
    parameter_defaults = MappingProxyType({"dcg": "log2"})
    formula = "sum of gain / log2(rank + 1) {found}"

    def __init__(self, cutoff: int | None = None, **parameters: Any) -> None:
        super().__init__(cutoff, **parameters)
        formula = str(self.parameters["dcg"]).lower()
        if formula not in ("log2", "exp-log2"):
            raise UsageError(
                f"dcg must be 'log2' or 'exp-log2' but got {self.parameters['dcg']!r}",
                where=self.label,
                remedy="write it as DCG(dcg='exp-log2')@10",
            )
        self.parameters = {"dcg": formula}
        if formula == "log2":
            self.gain = CG.gain
            self.see_also = "nDCG{at} is divided by the best possible value"
            self.trec_eval_call = "trec_eval -c {to_depth}-m dcg QRELS RUN  # trec_eval 10"
        else:
            self.gain = "2^grade - 1 (exponential); a negative grade counts as 0"
            self.see_also = "nDCG(dcg='exp-log2'){at} is divided by the best possible value"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values of at least 0, which have no upper limit.

        Raises:
            UsageError: If a grade is too high for an exponential gain to be finite.
        """
        hits = self._hits(run)
        gain = run.grade[hits].astype(np.float64)
        if self.parameters["dcg"] == "exp-log2":
            self._refuse_above(1000, run.grade)
            gain = np.exp2(gain) - 1.0
        return run.total(hits, gain / np.log2(run.rank[hits] + 1.0))


MEASURES = (APcap, F1, MeanRank, MinRank, RelRet, Judged, ERR, CG, DCG)
