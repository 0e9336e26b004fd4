"""Cumulative gain, with and without a discount, before it is divided by that of an ideal ranking.

Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4), 2002,
with the discount log2(rank + 1) of trec_eval.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import Definition, FloatArray
from trectools_plus.measures.judged import JudgedRun
from trectools_plus.measures.providers.builtin import ColumnMeasure

_HIGHEST_EXPONENT = 1000
"""The highest grade whose exponential gain is a finite number, whatever the sum."""


class CG(ColumnMeasure):
    """Cumulative gain: the sum of the grades of the documents retrieved."""

    label = "CG"
    plain_name = "cg"
    parameter_defaults = MappingProxyType({})

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values of at least 0, which have no upper limit."""
        hits = self._hits(run)
        return np.bincount(run.query[hits], run.grade[hits], len(run.retrieved)).astype(np.float64)

    @property
    def _definition(self) -> Definition:
        return self._define(
            f"sum of gain {self._found}",
            "the grade (linear); a negative grade counts as 0",
            "none",
        )


class DCG(ColumnMeasure):
    """Discounted cumulative gain: the numerator of nDCG."""

    label = "DCG"
    plain_name = "dcg"
    parameter_defaults = MappingProxyType({"dcg": "log2"})

    def __init__(self, cutoff: int | None = None, **parameters: Any) -> None:
        if isinstance(parameters.get("dcg"), str):
            parameters["dcg"] = parameters["dcg"].lower()
        super().__init__(cutoff, **parameters)
        if self.parameters["dcg"] not in ("log2", "exp-log2"):
            raise UsageError(
                f"dcg must be 'log2' or 'exp-log2' but got {self.parameters['dcg']!r}",
                where=self.label,
                remedy="write it as DCG(dcg='exp-log2')@10",
            )

    @property
    def _is_exponential(self) -> bool:
        return bool(self.parameters["dcg"] == "exp-log2")

    def score(self, run: JudgedRun) -> FloatArray:
        """Return values of at least 0, which have no upper limit.

        Raises:
            UsageError: If a grade is too high for an exponential gain.
        """
        hits = self._hits(run)
        gain = run.grade[hits].astype(np.float64)
        if self._is_exponential:
            if (highest := gain.max(initial=0)) > _HIGHEST_EXPONENT:
                raise UsageError(
                    f"the gain of grade {highest:.0f} is too large",
                    where=self.name,
                    remedy="rescale the grades, or use the linear gain of DCG",
                )
            gain = np.exp2(gain) - 1.0
        weighted = gain / np.log2(run.rank[hits] + 1.0)
        return np.bincount(run.query[hits], weighted, len(run.retrieved)).astype(np.float64)

    @property
    def _definition(self) -> Definition:
        at = "" if self.cutoff is None else f"@{self.cutoff}"
        cut = "" if self.cutoff is None else f"-M {self.cutoff} "
        if self._is_exponential:
            return self._define(
                f"sum of gain / log2(rank + 1) {self._found}",
                "2^grade - 1 (exponential); a negative grade counts as 0",
                "none",
                see_also=f"nDCG(dcg='exp-log2'){at} is divided by the best possible value",
            )
        return self._define(
            f"sum of gain / log2(rank + 1) {self._found}",
            "the grade (linear); a negative grade counts as 0",
            "none",
            see_also=f"nDCG{at} is divided by the best possible value",
            trec_eval_call=f"trec_eval -c {cut}-m dcg QRELS RUN  # trec_eval 10",
        )


MEASURES = (CG, DCG)
