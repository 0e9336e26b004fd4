"""Provider of the standard measures; the only module that calls pytrec_eval.

The measures of trec_eval depend only on the ranks and grades of documents, so documents are renamed
to their ranks: all queries with n documents share one dictionary ``{"1": -1.0, "2": -2.0, …}``, and
the qrels contain only judged documents. Documents below all requested cutoffs, or below the last
judged document, are left out if no requested measure depends on them. The values are the same as
with the original document ids, bit for bit.

The extension module of pytrec_eval is called directly, because its Python layer does not accept
parameters, for example ``ndcg.1=3,2=9`` or ``utility.1,-1,0,0``, which ``trec-eval`` needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

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
    StandardMeasure,
)
from trectools_plus.measures.judged import IntArray, JudgedRun, RankedRun

TREC_EVAL_VERSION = "9.0.8"
MAX_GAIN = 2**20
"""The highest gain: trec_eval uses a counter per grade and query, here 8 MiB and 1 ms."""

MAX_BETA = 2**53
"""Whole numbers below it are exact as decimal numbers."""

_STANDARD = {one.label: one for one in STANDARD_MEASURES}


def call_pytrec_eval(
    requests: Iterable[str],
    qrels: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Mapping[str, float]],
    *,
    level: int,
    judged_only: bool,
) -> Mapping[str, Mapping[str, float]]:
    """Call pytrec_eval.

    Args:
        requests: Values of trec_eval's ``-m``, for example ``P.5,10``.
        qrels: Grades by query and document; each query has a grade of 0 or more.
        rankings: Scores by query and document.
        level: The lowest grade that is relevant.
        judged_only: Whether unjudged documents are removed from the rankings first.

    Returns:
        By query, values by the names that trec_eval prints; only for queries with a ranking.
    """
    import pytrec_eval_ext

    evaluator: Any = pytrec_eval_ext.RelevanceEvaluator(
        query_relevance=qrels,
        measures={*requests},
        relevance_level=level,
        judged_docs_only_flag=judged_only,
    )
    values: Mapping[str, Mapping[str, float]] = evaluator.evaluate(rankings) if rankings else {}
    return values


@dataclass(frozen=True)
class RenamedRun:
    """A run and its qrels with documents renamed to their ranks, for pytrec_eval.

    Attributes:
        qrels: Grades by query position (as a string) and document.
        rankings: Scores by query position and document, for queries with results.
        n_queries: The number of queries.
    """

    qrels: dict[str, dict[str, int]]
    rankings: dict[str, dict[str, float]]
    n_queries: int

    @classmethod
    def of(cls, run: JudgedRun, grades: IntArray, depth: IntArray) -> RenamedRun:
        """Rename documents.

        Args:
            run: The ranks of judged documents.
            grades: The grade of each judged document to pass to trec_eval.
            depth: The number of documents per query to pass to trec_eval; 0 omits the query.
        """
        deepest = int(depth.max(initial=0))
        lengths = np.bincount(run.query, minlength=len(depth))
        starts = np.r_[0, np.cumsum(lengths)]
        # A judged document outside all rankings gets a number after the deepest rank.
        position = np.arange(len(run.query)) - starts[run.query]
        shown = (run.rank > 0) & (run.rank <= depth[run.query])
        keys = np.where(shown, run.rank, deepest + 1 + position)
        names = np.array([str(number) for number in range(int(keys.max(initial=0)) + 1)], object)
        documents, gains = names[keys].tolist(), grades.tolist()
        # Without any grade of 0 or more all values are 0, and trec_eval would crash.
        highest = np.full(len(depth), -1)
        np.maximum.at(highest, run.query, grades)
        scored = np.flatnonzero((depth > 0) & (highest >= 0)).tolist()
        bounds = starts.tolist()
        qrels = {
            str(number): dict(
                zip(
                    documents[bounds[number] : bounds[number + 1]],
                    gains[bounds[number] : bounds[number + 1]],
                    strict=True,
                )
            )
            for number in scored
        }
        shared = _Rankings(deepest)
        return cls(qrels, {str(one): shared[int(depth[one])] for one in scored}, len(depth))

    def score(
        self,
        requests: Iterable[str],
        keys: Sequence[str],
        *,
        level: int,
        judged_only: bool,
    ) -> FloatArray:
        """Score the run with pytrec_eval.

        Args:
            requests: As in :func:`call_pytrec_eval`.
            keys: Names of values in its result, at least one.
            level: The lowest grade that is relevant.
            judged_only: Whether unjudged documents are removed from the rankings first.

        Returns:
            Shape (queries, keys); 0 for a query without results.
        """
        results = call_pytrec_eval(
            requests, self.qrels, self.rankings, level=level, judged_only=judged_only
        )
        pick = itemgetter(*keys)
        rows = [pick(result) for result in results.values()]
        values = np.zeros((self.n_queries, len(keys)))
        scored = np.array([int(number) for number in results], np.int64)
        values[scored] = np.array(rows, np.float64).reshape(len(rows), len(keys))
        return values


class _Rankings(dict[int, dict[str, float]]):
    """Rankings of n renamed documents by n, created on first use."""

    def __init__(self, deepest: int) -> None:
        self._items = [(str(rank), -float(rank)) for rank in range(1, deepest + 1)]

    def __missing__(self, depth: int) -> dict[str, float]:
        ranking = self[depth] = dict(self._items[:depth])
        return ranking


def visible_depths(run: JudgedRun, cutoff: int | None, *, sees_tail: bool) -> IntArray:
    """Return the number of top documents of each query on which measures depend.

    Args:
        run: The run.
        cutoff: The deepest cutoff of the measures; ``None`` for the whole ranking.
        sees_tail: Whether documents below the last judged one can change a measure.

    Returns:
        One number per query, at least 1 if there is any document.
    """
    if sees_tail:
        return run.retrieved
    deepest = np.zeros_like(run.retrieved)
    np.maximum.at(deepest, run.query, run.rank)
    if cutoff is not None:
        deepest = np.minimum(deepest, cutoff)
    return np.minimum(np.maximum(deepest, 1), run.retrieved)


class PytrecEvalProvider:
    """Computes the standard measures, which depend only on grades and ranks."""

    sees_documents = False

    def labels(self) -> list[str]:
        """Return the labels of the standard measures."""
        return list(_STANDARD)

    def construct(self, label: str, parameters: Mapping[str, Any], at: Any) -> Measure | None:
        """Construct a measure with its parameters."""
        found = _STANDARD.get(label)
        if found is None:
            return None
        parameters = fold_parameters(parameters, found.defaults)
        refuse_unknown_parameters(label, parameters, found.defaults)
        return TrecEvalMeasure(found, at, parameters)

    def score(self, measures: Sequence[TrecEvalMeasure], run: RankedRun) -> list[FloatArray]:
        """Score every query; 0 for a query without results.

        Raises:
            UsageError: If a gain is too large for trec_eval.
        """
        values: dict[TrecEvalMeasure, FloatArray] = {}
        for (level, _, judged_only, _), group in _group_by_call(measures).items():
            grades = _gains(group[0], run.query_ids, run.judged)
            values.update(_score_group(group, run.judged, grades, level, judged_only))
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

    @property
    def name(self) -> str:
        """The name as ``ir_measures`` writes it."""
        parameters, defaults = dict(self.parameters), dict(self.standard.defaults)
        at = self.cutoff if self.recall is None else self.recall
        if parameters.get("gains") is not None:
            parameters["gains"] = _Verbatim(_spell_gains(parameters["gains"]))
        return canonical_name(self.standard.label, parameters, defaults, at)

    def values_without_results(
        self, query: npt.NDArray[np.integer], grade: npt.NDArray[np.integer], n_queries: int
    ) -> FloatArray:
        """Return the numbers that depend on the qrels only, as ``trec_eval -c``; 0 for others."""
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
    def level(self) -> int | None:
        """The relevance level for trec_eval; ``None`` if the value does not depend on it."""
        level = self.parameters.get("rel")
        return level if level is None else int(level)

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

    @property
    def gain_key(self) -> str:
        """A key that is equal for measures that replace grades in the same way."""
        return "" if self.gain_of is None else f"{self.standard.label} {self.parameters}"

    @property
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
        return Definition(
            name=self.name,
            formula=formula,
            gain=self._describe_gain() or standard.gain.format(**words),
            cutoff=self.cutoff,
            denominator=standard.denominator.format(**words),
            relevance_level=self.relevance_level,
            provider=trec_eval_provider(),
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
            return f"the grade, replaced by {_spell_gains(self.parameters['gains'], ': ', ', ')}"
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
    for measure in sorted(measures, key=lambda measure: measure.level is None):
        name, parameter = measure.trec_request
        set_f = f"set_F_{parameter}" if name == "set_F" else ""
        rest = (measure.gain_key, measure.judged_only)
        level = measure.level or next((key[0] for key in calls if key[1:3] == rest), 1)
        # With replaced gains, also the binary ones of num_rel, the level is 1.
        level = 1 if measure.gain_key else level
        calls[level, *rest, set_f].append(measure)
    return calls


def _gains(measure: TrecEvalMeasure, query_ids: Sequence[str], run: JudgedRun) -> IntArray:
    """Return the grades for trec_eval."""
    gain_of = measure.gain_of
    if gain_of is None:
        return run.grade
    grades, positions = np.unique(run.grade, return_inverse=True)
    gains = [gain_of(int(grade)) for grade in grades]
    for index, gain in enumerate(gains):
        if gain > MAX_GAIN:
            query = query_ids[run.query[positions == index][0]]
            raise UsageError(
                f"grade {grades[index]} gives a gain of {gain:.3g}, above {MAX_GAIN:,}",
                where=f"{measure.name}, query {query}",
                remedy="rescale the grades",
            )
    return np.array(gains, np.int64)[positions]


def _score_group(
    group: Sequence[TrecEvalMeasure],
    run: JudgedRun,
    grades: IntArray,
    level: int,
    judged_only: bool,
) -> dict[TrecEvalMeasure, FloatArray]:
    """Score measures that one call can score."""
    if all(one.standard.sees_relevant_only and not one.judged_only for one in group):
        run, grades = _relevant_only(run, grades)
    depths = [measure.depth for measure in group]
    cutoff = None if None in depths else max(depth or 0 for depth in depths)
    depth = visible_depths(run, cutoff, sees_tail=any(one.standard.sees_tail for one in group))
    parameters: dict[str, set[str]] = defaultdict(set)
    for name, parameter in (measure.trec_request for measure in group):
        parameters[name].update([parameter] if parameter else [])
    requests = [
        f"{name}.{','.join(sorted(given, key=float))}" if given else name
        for name, given in parameters.items()
    ]
    keys = list(dict.fromkeys(measure.trec_result for measure in group))
    values = RenamedRun.of(run, grades, depth).score(
        requests, keys, level=level, judged_only=judged_only
    )
    return {one: _cut(one, values[:, keys.index(one.trec_result)]) for one in group}


def _cut(measure: TrecEvalMeasure, values: FloatArray) -> FloatArray:
    """Apply the cutoff of RR@k: a recip_rank below 1/k means that the first hit is below rank k."""
    if measure.standard.label == "RR" and measure.cutoff is not None:
        return np.where(values >= 1.0 / measure.cutoff, values, 0.0)
    return values


def _relevant_only(run: JudgedRun, grades: IntArray) -> tuple[JudgedRun, IntArray]:
    """Remove judged documents without gain, which do not change the values."""
    kept = grades > 0
    run = replace(run, query=run.query[kept], rank=run.rank[kept], grade=run.grade[kept])
    return run, grades[kept]


def trec_eval_provider() -> str:
    """Return the names and versions of pytrec_eval and trec_eval."""
    return f"{provided_by('pytrec-eval-terrier')} (trec_eval {TREC_EVAL_VERSION})"


class _Verbatim(str):
    """A text whose ``repr`` has no quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _spell_gains(gains: Mapping[int, int], colon: str = ":", comma: str = ",") -> str:
    changed = (f"{grade}{colon}{gain}" for grade, gain in sorted(gains.items()) if grade != gain)
    return "{" + comma.join(changed) + "}"


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
