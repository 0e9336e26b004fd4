"""The standard measures, which pytrec_eval computes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
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
    def trec_cutoff(self) -> int | None:
        """The cutoff that trec_eval applies; ``None`` for RR, whose cutoff is applied later."""
        return None if self.trec_name == "recip_rank" else self.cutoff

    @property
    def definition(self) -> Definition:
        """The exact meaning of its figures, with the trec_eval call that prints the same."""
        level, k = self.relevance_level, self.cutoff
        at_level = f" -l {level}" if level > 1 else ""
        to_depth = f" -M {k}" if self.trec_cutoff != k else ""
        cut = "" if self.trec_cutoff is None else f".{k}"
        call = f"trec_eval -c{at_level}{to_depth} -m {self.trec_name}{cut} QRELS RUN"
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
                cutoff = measure.trec_cutoff
                column = found[measure.trec_name + ("" if cutoff is None else f"_{cutoff}")]
                if cutoff != measure.cutoff:  # a value below 1/k means a rank below k
                    column = column * (column >= 1.0 / (measure.cutoff or 1))
                values[measure] = column
        return [values[measure] for measure in measures]


def _join_requests(measures: Iterable[TrecEvalMeasure]) -> list[Request]:
    """Return one request for all cutoffs of each of trec_eval's measures."""
    from trectools_plus.measures.providers.pytrec_eval import Request

    cutoffs: dict[str, set[int]] = defaultdict(set)
    for measure in measures:
        cutoffs[measure.trec_name].update(filter(None, [measure.trec_cutoff]))
    requests = []
    for name, numbers in cutoffs.items():
        joined = ",".join(map(str, sorted(numbers)))
        keys = [f"{name}_{k}" for k in sorted(numbers)] or [name]
        text = f"{name}.{joined}" if joined else name
        requests.append(Request(text, keys, _SEES[name], max(numbers, default=None)))
    return requests


def _exponential(grades: IntArray) -> IntArray:
    """Return 2^grade - 1 for positive grades, at most 2^62; trec_eval ignores negative ones."""
    import numpy as np

    return np.where(grades > 0, (1 << np.clip(grades, 0, 62)) - 1, grades)
