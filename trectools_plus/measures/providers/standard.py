"""Provider of the standard measures, which pytrec_eval computes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import (
    Definition,
    FloatArray,
    Measure,
    canonical_name,
    checked_cutoff,
    is_whole,
    known_parameters,
    provided_by,
)
from trectools_plus.measures.definitions.trec_eval_measures import (
    STANDARD_MEASURES,
    TREC_EVAL_MEASURES,
    Sees,
    StandardMeasure,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from trectools_plus.measures.judged import IntArray, JudgedRun
    from trectools_plus.measures.providers.pytrec_eval import Request

TREC_EVAL_VERSION = "9.0.8"
MAX_BETA = 2**53
"""Whole numbers below it are exact as decimal numbers."""

_STANDARD = {one.label: one for one in STANDARD_MEASURES}
_SEES: Mapping[str, Sees] = {one.name: one.sees for one in TREC_EVAL_MEASURES}


class PytrecEvalProvider:
    """Computes the standard measures, which depend only on grades and ranks."""

    sees_documents = False

    def labels(self) -> list[str]:
        """Return the labels of the standard measures."""
        return list(_STANDARD)

    def construct(self, label: str, parameters: Mapping[str, Any], at: Any) -> Measure:
        """Construct a measure with its parameters."""
        standard = _STANDARD[label]
        return TrecEvalMeasure(standard, at, known_parameters(label, parameters, standard.defaults))

    def score(self, measures: Sequence[TrecEvalMeasure], run: JudgedRun) -> list[FloatArray]:
        """Score every query; 0 for a query without results.

        Raises:
            UsageError: If a gain is too large for trec_eval.
        """
        from trectools_plus.measures.providers.pytrec_eval import score_requests

        values: dict[TrecEvalMeasure, FloatArray] = {}
        for (level, _, judged_only, _), group in _group_by_call(measures).items():
            results = score_requests(
                run,
                _gains(group[0], run),
                _join_requests(group),
                level=level,
                judged_only=judged_only,
            )
            for measure in group:
                column = results[measure.trec_result]
                # trec_eval computes RR without a cutoff: a value below 1/k means a rank below k.
                is_cut = measure.standard.label == "RR" and measure.cutoff is not None
                values[measure] = (
                    column * (column >= 1.0 / (measure.cutoff or 1)) if is_cut else column
                )
        return [values[measure] for measure in measures]


class TrecEvalMeasure(Measure):
    """A standard measure with its parameters.

    Args:
        standard: The measure.
        cutoff: The value after ``@``; ``None`` for none.
        parameters: Values for names in its defaults.

    Raises:
        UsageError: If a value is out of range.
    """

    provider = PytrecEvalProvider()

    def __init__(
        self, standard: StandardMeasure, cutoff: Any, parameters: Mapping[str, Any]
    ) -> None:
        self.standard = standard
        self.aggregate = standard.aggregate
        self.parameters: dict[str, Any] = {**standard.defaults, **parameters}
        if isinstance(self.parameters.get("dcg"), str):
            self.parameters["dcg"] = self.parameters["dcg"].lower()
        self.recall: float | None = None
        checked = {name: self.parameters[name] for name in parameters}
        if standard.cutoff_parameter == "recall":
            checked["recall"] = self.recall = cutoff
        else:
            if cutoff is not None and not standard.trec_cut_name:
                raise UsageError(
                    f"{standard.label} takes no cutoff but got @{cutoff}",
                    remedy=f"write it as {standard.label}",
                )
            required = standard.trec_name is None
            self.cutoff = checked_cutoff(cutoff, standard.label, required=required)
        for name, value in checked.items():
            is_valid, expected = _CHECKS[name]
            if not is_valid(value):
                raise UsageError(
                    f"{name} must be {expected} but got {value!r}", where=standard.label
                )
        if "beta" in self.parameters:  # beta=2 and beta=2.0 are the same measure
            self.parameters["beta"] = float(self.parameters["beta"])
        self.recall = None if self.recall is None else float(self.recall)
        self.relevance_level = self.parameters.get("rel") or 1

    @property
    def _at(self) -> float | None:
        return self.cutoff if self.recall is None else self.recall

    def at_level(self, level: int) -> Measure:
        """Return the measure with a relevance level; see :meth:`Measure.at_level`."""
        if not self._takes_level() or level == 1:
            return self
        return TrecEvalMeasure(self.standard, self._at, {**self.parameters, "rel": level})

    @cached_property
    def name(self) -> str:
        """The name as ``ir_measures`` writes it."""
        parameters = dict(self.parameters)
        if parameters.get("gains") is not None:
            parameters["gains"] = _changed(parameters["gains"])
        name = canonical_name(self.standard.label, parameters, self.standard.defaults, self._at)
        return name.replace(": ", ":").replace(", ", ",")

    def values_without_results(
        self, query: npt.NDArray[np.integer], grade: npt.NDArray[np.integer], n_queries: int
    ) -> FloatArray:
        """Return the numbers that depend on the qrels only, as ``trec_eval -c``; 0 for others."""
        import numpy as np

        if self.standard.label == "NumQ":
            return np.ones(n_queries)
        if self.standard.label == "NumRel":
            relevant = query[grade >= self.relevance_level]
            return np.bincount(relevant, minlength=n_queries).astype(np.float64)
        return super().values_without_results(query, grade, n_queries)

    @property
    def judged_only(self) -> bool:
        """True if unjudged documents are removed from the ranking first."""
        return bool(self.parameters.get("judged_only", False))

    @property
    def depth(self) -> int | None:
        """The deepest rank that can change its value; ``None`` for the whole ranking."""
        return None if self.judged_only else self.cutoff

    @property
    def gain_of(self) -> Callable[[int], int] | None:
        """The function that replaces grades for trec_eval; ``None`` for the grades themselves."""
        level, gains = self.relevance_level, self.parameters.get("gains")
        # trec_eval ignores negative grades.
        if self.parameters.get("dcg") == "exp-log2":
            return lambda grade: 2 ** min(grade, 64) - 1 if grade > 0 else grade
        if gains is not None:
            return lambda grade: int(gains.get(grade, grade))
        if self.standard.label == "NumRel" and level > 1:
            # trec_eval's num_rel counts grades from 1, whatever the relevance level.
            return lambda grade: int(grade >= level) if grade > 0 else grade
        return None

    @cached_property
    def trec_request(self) -> tuple[str, str]:
        """trec_eval's measure and parameter; an empty string for no parameter."""
        standard, parameters = self.standard, self.parameters
        if self.recall is not None:
            return str(standard.trec_name), f"{self.recall:.2f}"
        if standard.label == "SetF" and parameters["beta"] != 1.0:
            return "set_F", str(parameters["beta"])
        if standard.label == "SetP" and parameters["relative"]:
            return "set_relative_P", ""
        if standard.label == "NumRet" and parameters["rel"] is not None:
            return "num_rel_ret", ""
        if self.cutoff is None or standard.trec_cut_name == standard.trec_name:
            return str(standard.trec_name), ""
        return str(standard.trec_cut_name), str(self.cutoff)

    @property
    def trec_result(self) -> str:
        """The name of its value in pytrec_eval's result, which omits the parameter of set_F."""
        name, parameter = self.trec_request
        return f"{name}_{parameter}" if parameter and name != "set_F" else name

    @property
    def trec_call(self) -> str | None:
        """The trec_eval call that prints the same figures; ``None`` if there is none."""
        if self.gain_of is not None:
            return None
        options = {
            " -J": self.judged_only,
            f" -l {self.relevance_level}": self.relevance_level > 1,
            f" -M {self.cutoff}": self.standard.label == "RR" and self.cutoff is not None,
        }
        name = ".".join(filter(None, self.trec_request))
        given = "".join(option for option, is_given in options.items() if is_given)
        return f"trec_eval -c{given} -m {name} QRELS RUN"

    @property
    def definition(self) -> Definition:
        """The exact meaning of its figures."""
        standard, gain, see_also = self.standard, self.standard.gain, self.standard.see_also
        formula = standard.formula
        if self.judged_only:
            formula += "; unjudged documents are removed from the ranking first"
        if self.parameters.get("gains") is not None:
            gain = "the grade, replaced by {gains}"
        if self.parameters.get("dcg") == "exp-log2":
            gain, see_also = "2^grade - 1 (exponential); a negative grade counts as 0", None
        if standard.label == "AP" and self.cutoff is None:
            see_also = None
        words = {"recall": self.recall, **self.parameters}
        if words.get("gains") is not None:
            words["gains"] = _changed(words["gains"])
        return self._define(
            formula,
            gain,
            standard.denominator,
            words,
            provider=f"{provided_by('pytrec-eval-terrier')} (trec_eval {TREC_EVAL_VERSION})",
            trec_eval_call=self.trec_call,
            see_also=see_also,
        )


_CallKey = tuple[int, str, bool, str]


def _group_by_call(
    measures: Sequence[TrecEvalMeasure],
) -> dict[_CallKey, list[TrecEvalMeasure]]:
    """Group the measures that one call to trec_eval can score.

    A call has one relevance level, one set of gains and one set_F. Measures that do not depend on
    the level are added to any call.
    """
    calls: dict[_CallKey, list[TrecEvalMeasure]] = defaultdict(list)
    for measure in sorted(measures, key=lambda measure: measure.parameters.get("rel") is None):
        name, parameter = measure.trec_request
        set_f = f"set_F_{parameter}" if name == "set_F" else ""
        gains = "" if measure.gain_of is None else f"{measure.standard.label} {measure.parameters}"
        rest = (gains, measure.judged_only)
        level = measure.parameters.get("rel") or next(
            (key[0] for key in calls if key[1:3] == rest), 1
        )
        # With replaced gains, also the binary ones of num_rel, the level is 1.
        calls[1 if gains else level, *rest, set_f].append(measure)
    return calls


def _join_requests(measures: Iterable[TrecEvalMeasure]) -> list[Request]:
    """Return a request for each of trec_eval's measures that one call can score."""
    from trectools_plus.measures.providers.pytrec_eval import Request

    by_name: dict[str, list[TrecEvalMeasure]] = defaultdict(list)
    for measure in measures:
        by_name[measure.trec_request[0]].append(measure)
    requests = []
    for name, group in by_name.items():
        parameters = {measure.trec_request[1] for measure in group} - {""}
        text = f"{name}.{','.join(sorted(parameters, key=float))}" if parameters else name
        keys = list(dict.fromkeys(measure.trec_result for measure in group))
        depths = [measure.depth or 0 for measure in group]
        requests.append(Request(text, keys, _SEES[name], max(depths) if all(depths) else None))
    return requests


def _gains(measure: TrecEvalMeasure, run: JudgedRun) -> IntArray:
    """Return the grades for trec_eval."""
    import numpy as np

    from trectools_plus.measures.providers.pytrec_eval import MAX_GAIN

    if measure.gain_of is None:
        return run.grade
    grades, positions = np.unique(run.grade, return_inverse=True)
    gains = [min(measure.gain_of(int(grade)), MAX_GAIN + 1) for grade in grades]
    return np.array(gains, np.int64)[positions]


def _changed(gains: Mapping[int, int]) -> dict[int, int]:
    """Return the gains that differ from their grade, by grade."""
    return {grade: gain for grade, gain in sorted(gains.items()) if grade != gain}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "rel": (
        lambda level: is_whole(level, 1),
        "a whole number of at least 1 (documents of grade 0 or less are never relevant)",
    ),
    "judged_only": (lambda value: isinstance(value, bool), "True or False"),
    "relative": (lambda value: isinstance(value, bool), "True or False"),
    "dcg": (lambda formula: formula in ("log2", "exp-log2"), "'log2' or 'exp-log2'"),
    "beta": (
        # pytrec_eval does not read exponents, so 1e-05 would become 1.
        lambda beta: _is_number(beta) and 0 < beta < MAX_BETA and "e" not in repr(float(beta)),
        "a number above 0, as in SetF(beta=2)",
    ),
    "gains": (
        lambda gains: isinstance(gains, dict) and all(map(is_whole, [*gains, *gains.values()])),
        "whole gains by whole grades, as in nDCG(gains={0:0,1:1,2:5})@10",
    ),
    "recall": (
        lambda recall: _is_number(recall) and 0 <= recall <= 1 and round(recall, 2) == recall,
        "between 0 and 1 in steps of 0.01, as in IPrec@0.1",
    ),
}
"""By parameter: a check of its value, and what is expected."""


PROVIDER = TrecEvalMeasure.provider
