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
    checked_level,
    fold_parameters,
    provided_by,
    refuse_unknown_parameters,
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

    from trectools_plus.measures.judged import IntArray, RankedRun
    from trectools_plus.measures.providers.pytrec_eval import Request

TREC_EVAL_VERSION = "9.0.8"
MAX_GAIN = 2**20
"""The highest gain: trec_eval uses a counter per grade and query, here 8 MiB and 1 ms."""

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
        found = _STANDARD[label]
        parameters = fold_parameters(parameters, found.defaults)
        refuse_unknown_parameters(label, parameters, found.defaults)
        return TrecEvalMeasure(found, at, parameters)

    def score(self, measures: Sequence[TrecEvalMeasure], run: RankedRun) -> list[FloatArray]:
        """Score every query; 0 for a query without results.

        Raises:
            UsageError: If a gain is too large for trec_eval.
        """
        from trectools_plus.measures.providers.pytrec_eval import score_requests

        values: dict[TrecEvalMeasure, FloatArray] = {}
        for (level, _, judged_only, _), group in _group_by_call(measures).items():
            grades = _gains(group[0], run)
            found = score_requests(
                run.judged, grades, _join_requests(group), level=level, judged_only=judged_only
            )
            values |= {one: one.cut_values(found[one.trec_result]) for one in group}
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
        if isinstance(parameters.get("dcg"), str):
            parameters = {**parameters, "dcg": parameters["dcg"].lower()}
        self.parameters: dict[str, Any] = {**standard.defaults, **parameters}
        self.recall: float | None = None
        if standard.cutoff_parameter == "recall":
            self.recall = _checked_recall(cutoff, standard.label)
        else:
            if cutoff is not None and not standard.trec_cut_name:
                raise UsageError(
                    f"{standard.label} takes no cutoff but got @{cutoff}",
                    remedy=f"write it as {standard.label}",
                )
            required = standard.trec_name is None
            self.cutoff = checked_cutoff(cutoff, standard.label, required=required)
        for key, value in parameters.items():
            _check_parameter(key, value, standard.label)
        if "beta" in self.parameters:  # beta=2 and beta=2.0 are the same measure
            self.parameters["beta"] = float(self.parameters["beta"])
        self.relevance_level = self.parameters.get("rel") or 1

    def at_level(self, level: int) -> Measure:
        """Return the measure with a relevance level; see :meth:`Measure.at_level`."""
        if not self._takes_level() or level == 1:
            return self
        at = self.cutoff if self.recall is None else self.recall
        return TrecEvalMeasure(self.standard, at, {**self.parameters, "rel": level})

    @cached_property
    def name(self) -> str:
        """The name as ``ir_measures`` writes it."""
        parameters, defaults = dict(self.parameters), dict(self.standard.defaults)
        at = self.cutoff if self.recall is None else self.recall
        if parameters.get("gains") is not None:
            parameters["gains"] = _changed(parameters["gains"])
        name = canonical_name(self.standard.label, parameters, defaults, at)
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
            return lambda grade: 2**grade - 1 if grade > 0 else grade
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

    def cut_values(self, values: FloatArray) -> FloatArray:
        """Apply the cutoff of RR@k, which trec_eval computes without it.

        A recip_rank below 1/k means that the first relevant document is below rank k.
        """
        import numpy as np

        if self.standard.label != "RR" or self.cutoff is None:
            return values
        return np.where(values < 1.0 / self.cutoff, 0.0, values)

    @property
    def trec_call(self) -> str | None:
        """The trec_eval call that prints the same figures; ``None`` if there is none."""
        if self.gain_of is not None:
            return None
        options = ["-c"]
        if self.judged_only:
            options.append("-J")
        if self.relevance_level > 1:
            options.append(f"-l {self.relevance_level}")
        if self.standard.label == "RR" and self.cutoff is not None:
            options.append(f"-M {self.cutoff}")
        name = ".".join(part for part in self.trec_request if part)
        return f"trec_eval {' '.join(options)} -m {name} QRELS RUN"

    @property
    def _definition(self) -> Definition:
        standard = self.standard
        words = {
            "first": "in the ranking" if self.cutoff is None else f"in the first {self.cutoff}",
            "k": "the number retrieved" if self.cutoff is None else self.cutoff,
            "level": self.relevance_level,
            "recall": self.recall,
            "beta": self.parameters.get("beta"),
        }
        formula = standard.formula.format(**words)
        if self.judged_only:
            formula += "; unjudged documents are removed from the ranking first"
        return self._define(
            formula,
            self._describe_gain() or standard.gain.format(**words),
            standard.denominator.format(**words),
            provider=f"{provided_by('pytrec-eval-terrier')} (trec_eval {TREC_EVAL_VERSION})",
            trec_eval_call=self.trec_call,
            see_also=self._see_also(),
        )

    def _see_also(self) -> str | None:
        """Return the measure of the same name in other tools; ``None`` if this is that one."""
        standard = self.standard
        if standard.see_also is None or self.parameters.get("dcg") == "exp-log2":
            return None
        if self.cutoff is None and standard.label == "AP":
            return None
        return standard.see_also.format(at="" if self.cutoff is None else f"@{self.cutoff}")

    def _describe_gain(self) -> str | None:
        """Describe the gains that a parameter sets; ``None`` if none does."""
        if self.parameters.get("dcg") == "exp-log2":
            return "2^grade - 1 (exponential); a negative grade counts as 0"
        if self.parameters.get("gains") is not None:
            return f"the grade, replaced by {_changed(self.parameters['gains'])}"
        return None


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


def _gains(measure: TrecEvalMeasure, run: RankedRun) -> IntArray:
    """Return the grades for trec_eval.

    Raises:
        UsageError: If a gain is too large for trec_eval.
    """
    import numpy as np

    gain_of, judged = measure.gain_of, run.judged
    if gain_of is None:
        return judged.grade
    grades, positions = np.unique(judged.grade, return_inverse=True)
    gains = [gain_of(int(grade)) for grade in grades]
    for index, gain in enumerate(gains):
        if gain > MAX_GAIN:
            query = run.query_ids[judged.query[positions == index][0]]
            raise UsageError(
                f"grade {grades[index]} gives a gain above {MAX_GAIN:,}",
                where=f"{measure.name}, query {query}",
                remedy="rescale the grades",
            )
    return np.array(gains, np.int64)[positions]


def _changed(gains: Mapping[int, int]) -> dict[int, int]:
    """Return the gains that differ from their grade, by grade."""
    return {grade: gain for grade, gain in sorted(gains.items()) if grade != gain}


def _checked_recall(recall: Any, label: str) -> float:
    number = isinstance(recall, int | float) and not isinstance(recall, bool)
    if not number or not 0 <= recall <= 1 or round(recall, 2) != recall:
        raise UsageError(
            f"{label} needs a recall between 0 and 1 in steps of 0.01 but got {recall!r}",
            remedy=f"write it as {label}@0.1",
        )
    return float(recall)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_beta(value: Any) -> bool:
    # pytrec_eval does not read exponents, so 1e-05 would become 1.
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < value < MAX_BETA and "e" not in repr(float(value))


def _is_gains(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_whole, [*value, *value.values()]))


_CHECKS: dict[str, tuple[Callable[[Any], bool], str, str | None]] = {
    "judged_only": (
        lambda value: isinstance(value, bool),
        "judged_only must be True or False",
        None,
    ),
    "relative": (lambda value: isinstance(value, bool), "relative must be True or False", None),
    "dcg": (
        lambda value: value in ("log2", "exp-log2"),
        "dcg must be 'log2' or 'exp-log2'",
        None,
    ),
    "beta": (_is_beta, "beta must be a number above 0", "write it as SetF(beta=2)"),
    "gains": (
        _is_gains,
        "gains must map whole grades to whole gains",
        "write it as nDCG(gains={0:0,1:1,2:5})@10",
    ),
}
"""By parameter: a check of its value, and the beginning and remedy of the error message."""


def _check_parameter(name: str, value: Any, label: str) -> None:
    if name == "rel":
        checked_level(value, label)
        return
    is_valid, expected, remedy = _CHECKS[name]
    if not is_valid(value):
        raise UsageError(f"{expected} but got {value!r}", where=label, remedy=remedy)


PROVIDER = TrecEvalMeasure.provider
