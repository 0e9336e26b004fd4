"""Measures that neither pytrec_eval nor ir_measures supports.

Each takes a :class:`JudgedRun` and returns one value per query; ``nan`` is undefined.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import Definition, FloatArray
from trectools_plus.measures.judged import IntArray, JudgedRun, ordinals
from trectools_plus.measures.providers.builtin import ColumnMeasure

UNDEFINED = (
    "queries of the qrels with a document of grade 1 or more for which a relevant document was "
    "retrieved; the others are undefined and counted aside"
)


class APcap(ColumnMeasure):
    """Average precision with a denominator capped at the cutoff, as in many RAG benchmarks."""

    label = "APcap"
    plain_name = "map_capped"
    requires_cutoff = True

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values between 0 and 1, with sums in rank order as in ``m_map_cut.c``."""
        hits = self._hits(run)
        queries = run.query[hits]
        precisions = ordinals(queries) / run.rank[hits]
        sums = np.bincount(queries, weights=precisions, minlength=len(run.retrieved))
        relevant = run.count(run.grade >= self.relevance_level)
        maximum = np.minimum(relevant, self.cutoff or 0)
        return np.nan_to_num(_ratio(sums, maximum), nan=0.0)

    @property
    def _definition(self) -> Definition:
        k = self.cutoff
        return self._define(
            f"sum of precision at the rank of each relevant document in the first {k}, "
            f"divided by min(R, {k}); not AP@{k}, which divides by R",
            self._binary_gain,
            f"min(R, {k}), R = all relevant documents of the query",
        )


class F1(ColumnMeasure):
    """Harmonic mean of precision and recall in the first k."""

    label = "F1"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values between 0 and 1."""
        hits = run.count(self._hits(run))
        relevant = run.count(run.grade >= self.relevance_level)
        k = run.retrieved if self.cutoff is None else self.cutoff
        # 2PR / (P + R) with P = hits / k and R = hits / relevant.
        return np.nan_to_num(_ratio(2.0 * hits, k + relevant), nan=0.0)

    @property
    def _definition(self) -> Definition:
        at = "" if self.cutoff is None else f"@{self.cutoff}"
        k = "the number retrieved" if self.cutoff is None else str(self.cutoff)
        return self._define(
            f"harmonic mean of P{at} and R{at}: 2 * relevant documents {self._found} / "
            f"({k} + R), R = all relevant documents of the query",
            self._binary_gain,
            f"{k} + R",
        )


class _RankOfRelevant(ColumnMeasure):
    """Base of rank measures, which are undefined for a query without relevant results."""

    value_without_results = math.nan
    higher_is_better = False

    def _define_rank(self, formula: str, denominator: str) -> Definition:
        return self._define(
            formula,
            f"a grade of {self.relevance_level} or more is relevant; lower ranks are better",
            denominator,
            averaged_over=UNDEFINED,
        )


class MeanRank(_RankOfRelevant):
    """Mean rank of the relevant documents retrieved."""

    label = "MeanRank"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the mean of the ranks of the relevant documents retrieved, at least 1."""
        hits = self._hits(run)
        sums = np.bincount(run.query[hits], weights=run.rank[hits], minlength=len(run.retrieved))
        return _ratio(sums, run.count(hits))

    @property
    def _definition(self) -> Definition:
        return self._define_rank(
            f"mean of the ranks of the relevant documents {self._found}",
            f"relevant documents {self._found}; undefined when there are none",
        )


class MinRank(_RankOfRelevant):
    """Rank of the first relevant document."""

    label = "MinRank"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the rank of the first relevant document retrieved, at least 1."""
        hits = self._hits(run)
        first = np.full(len(run.retrieved), np.inf)
        np.minimum.at(first, run.query[hits], run.rank[hits])
        return np.where(np.isinf(first), np.nan, first)

    @property
    def _definition(self) -> Definition:
        return self._define_rank(
            f"rank of the first relevant document {self._found}",
            "none; undefined when no relevant document is found",
        )


class RelRet(ColumnMeasure):
    """Number of relevant documents retrieved."""

    label = "RelRet"

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the number of relevant documents in the first k."""
        return run.count(self._hits(run)).astype(np.float64)

    @property
    def _definition(self) -> Definition:
        found = "" if self.cutoff is None else f" in the first {self.cutoff}"
        level = "" if self.relevance_level == 1 else f"-l {self.relevance_level} "
        cut = "" if self.cutoff is None else f"-M {self.cutoff} "
        return self._define(
            f"number of relevant documents retrieved{found}. "
            "The summary is the mean; trec_eval prints the sum",
            self._binary_gain,
            "none",
            trec_eval_call=f"trec_eval -c {level}{cut}-m num_rel_ret QRELS RUN",
        )


class Judged(ColumnMeasure):
    """Share of judged documents in the first k."""

    label = "Judged"
    plain_name = "judged"
    parameter_defaults = MappingProxyType({})

    def score(self, run: JudgedRun) -> FloatArray:
        """Return the share of judged documents in the first k, from 0 to 1; 0 without results."""
        seen = run.retrieved if self.cutoff is None else np.minimum(run.retrieved, self.cutoff)
        return np.nan_to_num(_ratio(run.count(run.within(self.cutoff)), seen), nan=0.0)

    @property
    def _definition(self) -> Definition:
        return self._define(
            f"share of the documents {self._found} that have a judgment with any grade",
            "1 for a judged document (negative grades too), else 0",
            f"documents {self._found} (fewer than the cutoff when fewer were returned)",
        )


def _ratio(numerator: Any, denominator: IntArray) -> FloatArray:
    """Return the quotients; ``nan`` where the denominator is 0."""
    result = np.full(len(denominator), np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


HIGHEST_GRADE = 4
"""The g_max of the formula, as in ``gdeval.pl``."""


class ERR(ColumnMeasure):
    """Expected reciprocal rank of the document that satisfies the user.

    It is the expectation of 1 / the rank at which a user stops reading (Chapelle, Metzler, Zhang
    and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009), with the highest grade
    of the TREC Web track's script ``gdeval.pl``, so that the values are equal. ``ir_measures`` runs
    that script, which needs Perl.
    """

    label = "ERR"
    parameter_defaults = MappingProxyType({})

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values between 0 and 1: sums over ranks, added from the top as in ``gdeval.pl``.

        Raises:
            UsageError: If a grade is above :data:`HIGHEST_GRADE`.
        """
        highest = int(run.grade.max(initial=0))
        if highest > HIGHEST_GRADE:
            raise UsageError(
                f"grade {highest} is above {HIGHEST_GRADE}, the highest grade that ERR accepts",
                where=self.name,
                remedy=f"rescale the grades to 0 to {HIGHEST_GRADE}",
            )
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

    @property
    def _definition(self) -> Definition:
        return self._define(
            f"sum over ranks {self._ranks} of gain / rank times the product of (1 - gain) of the "
            "documents above",
            f"(2^grade - 1) / 2^{HIGHEST_GRADE}: the chance that the document satisfies; "
            "a negative grade counts as 0",
            "the rank of the document that satisfies",
        )


MEASURES = (APcap, F1, MeanRank, MinRank, RelRet, Judged, ERR)
