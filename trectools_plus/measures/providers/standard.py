"""The standard measures, which pytrec_eval computes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import (
    ColumnMeasure,
    Definition,
    FloatArray,
    provided_by,
)
from trectools_plus.measures.definitions.trec_eval_measures import (
    STANDARD_MEASURES,
    TREC_EVAL_MEASURES,
    StandardMeasure,
)

if TYPE_CHECKING:
    from trectools_plus.measures.judged import IntArray, JudgedRun
    from trectools_plus.measures.providers.pytrec_eval import Request

TREC_EVAL_VERSION = "9.0.8"
STANDARD = {row.label: row for row in STANDARD_MEASURES}
_SEES = {measure.name: measure.sees for measure in TREC_EVAL_MEASURES}


class TrecEvalMeasure(ColumnMeasure):
    """A standard measure with its parameters.

    Args:
        row: The measure.
        cutoff: The value after ``@``; ``None`` for none.
        parameters: Values for names in its defaults.

    Raises:
        UsageError: If a value is out of range.
    """

    def __init__(self, row: StandardMeasure, cutoff: Any = None, **parameters: Any) -> None:
        self.row = row
        self.label, self.parameter_defaults = row.label, row.defaults
        self.formula, self.gain, self.denominator = row.formula, row.gain, row.denominator
        self.requires_cutoff = row.trec_name is None
        super().__init__(cutoff, **parameters)
        if cutoff is not None and row.trec_cut_name is None:
            raise UsageError(
                f"{row.label} takes no cutoff but got @{cutoff}", remedy=f"write it as {row.label}"
            )
        formula = str(self.parameters.get("dcg", "log2")).lower()
        if formula not in ("log2", "exp-log2"):
            raise UsageError(
                f"dcg must be 'log2' or 'exp-log2' but got {formula!r}", where=row.label
            )
        self.is_exponential = formula == "exp-log2"
        if self.is_exponential:
            self.parameters = {"dcg": formula}
            self.gain = "2^grade - 1 (exponential); a negative grade counts as 0"

    @property
    def trec_name(self) -> str:
        """The name of trec_eval's measure, without the cutoff."""
        names = self.row.trec_name, self.row.trec_cut_name
        return str(names[self.cutoff is not None])

    @property
    def trec_point(self) -> str:
        """The cutoff for trec_eval; empty without one, and for RR, whose cutoff comes later."""
        return "" if self.cutoff is None or self.label == "RR" else str(self.cutoff)

    @property
    def definition(self) -> Definition:
        """The exact meaning of its figures, with the trec_eval call that prints the same."""
        at_level = f" -l {self.relevance_level}" if self.relevance_level > 1 else ""
        to_depth = f" -M {self.cutoff}" if self.cutoff and not self.trec_point else ""
        name = ".".join(filter(None, (self.trec_name, self.trec_point)))
        call = f"trec_eval -c{at_level}{to_depth} -m {name} QRELS RUN"
        return replace(
            super().definition,
            provider=f"{provided_by('pytrec-eval-terrier')} (trec_eval {TREC_EVAL_VERSION})",
            trec_eval_call=None if self.is_exponential else call,
        )

    def score(self, run: JudgedRun) -> FloatArray:
        """Score every query; 0 for a query without results."""
        return self.score_together([self], run)[0]

    @classmethod
    def score_together(cls, measures: Sequence[Self], run: JudgedRun) -> list[FloatArray]:
        """Score every query with one call for each relevance level and kind of gain.

        Raises:
            UsageError: If a gain is too large for trec_eval.
        """
        from trectools_plus.measures.providers.pytrec_eval import score_requests

        calls: dict[tuple[int, bool], list[Self]] = defaultdict(list)
        for measure in measures:
            calls[measure.relevance_level, measure.is_exponential].append(measure)
        values: dict[Self, FloatArray] = {}
        for (level, is_exponential), group in calls.items():
            grades = _exponential(run.grade) if is_exponential else run.grade
            requests = _join_requests(group)
            found = score_requests(run, grades, requests, level=level, judged_only=False)
            for measure in group:
                column = found["_".join(filter(None, (measure.trec_name, measure.trec_point)))]
                if measure.cutoff and not measure.trec_point:
                    column = column * (column >= 1.0 / measure.cutoff)  # else the rank is below k
                values[measure] = column
        return [values[measure] for measure in measures]


class IPrec(TrecEvalMeasure):
    """Interpolated precision at a level of recall, in [0, 1] in steps of 0.01."""

    def __init__(self, row: StandardMeasure, recall: Any, /, **parameters: Any) -> None:
        super().__init__(row, **parameters)
        is_number = isinstance(recall, int | float) and not isinstance(recall, bool)
        if not is_number or not 0 <= recall <= 1 or round(recall, 2) != recall:
            raise UsageError(
                f"recall must be between 0 and 1 in steps of 0.01 but got {recall!r}",
                where=self.label,
                remedy="write it as IPrec@0.1",
            )
        self.recall = float(recall)
        self.formula = row.formula.format(recall=self.recall)

    @property
    def name(self) -> str:
        """The name with the level of recall."""
        return f"{super().name}@{self.recall}"

    @property
    def trec_point(self) -> str:
        """The level of recall, as trec_eval prints it."""
        return f"{self.recall:.2f}"


def _join_requests(measures: Sequence[TrecEvalMeasure]) -> list[Request]:
    """Return one request for all cutoffs of each of trec_eval's measures."""
    from trectools_plus.measures.providers.pytrec_eval import Request

    points: dict[str, set[str]] = defaultdict(set)
    for measure in measures:
        points[measure.trec_name].add(measure.trec_point)
    requests = []
    for name, of_measure in points.items():
        ordered = sorted(filter(None, of_measure), key=float)
        text = f"{name}.{','.join(ordered)}" if ordered else name
        keys = [f"{name}_{point}" for point in ordered] or [name]
        depths = [measure.cutoff for measure in measures if measure.trec_name == name]
        deepest = None if None in depths else max(filter(None, depths))
        requests.append(Request(text, keys, _SEES[name], deepest))
    return requests


def _exponential(grades: IntArray) -> IntArray:
    """Return 2^grade - 1 for positive grades, at most 2^62; trec_eval ignores negative ones."""
    import numpy as np

    return np.where(grades > 0, (1 << np.clip(grades, 0, 62)) - 1, grades)
