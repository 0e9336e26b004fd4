"""Expected reciprocal rank: the expectation of 1 / the rank at which a user stops reading.

Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009,
with the highest grade of the TREC Web track's script ``gdeval.pl``, so that the values are equal.
``ir_measures`` runs that script, which needs Perl.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import Definition, FloatArray
from trectools_plus.measures.judged import JudgedRun, ordinals
from trectools_plus.measures.providers.builtin import ColumnMeasure

HIGHEST_GRADE = 4
"""The g_max of the formula, as in ``gdeval.pl``."""


class ERR(ColumnMeasure):
    """Expected reciprocal rank of the document that satisfies the user."""

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


MEASURES = (ERR,)
