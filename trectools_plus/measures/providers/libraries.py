"""Measures of libraries: the standard ones, computed by pytrec_eval, and those of ``ir_measures``.

The libraries that ``ir_measures`` calls break ties in different ways. They therefore get strictly
decreasing scores in the canonical order instead of the scores of the run.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from trectools_plus.errors import MissingExtraError, UsageError
from trectools_plus.measures.definitions.base import (
    AVERAGED_OVER,
    ColumnMeasure,
    Definition,
    FloatArray,
    Measure,
    is_whole,
    known_parameters,
    provided_by,
)
from trectools_plus.measures.definitions.trec_eval_measures import (
    STANDARD_MEASURES,
    TREC_EVAL_MEASURES,
    StandardMeasure,
)

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.measures.judged import IntArray, JudgedQueries, JudgedRun
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
            columns = score_requests(run, grades, requests, level=level, judged_only=False)
            for measure in group:
                column = columns["_".join(filter(None, (measure.trec_name, measure.trec_point)))]
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


_OTHERS = "the others are undefined and counted aside"
UNDEFINED = {
    "Accuracy": "queries of the qrels with a document of grade 1 or more for which a relevant and "
    f"a non-relevant document were retrieved; {_OTHERS}",
    "nNRBP": f"queries of the qrels with a document of grade 1 or more; {_OTHERS}; a query without "
    "results counts 0",
}
"""The queries averaged over, of measures that are undefined for some: Accuracy compares relevant
with non-relevant documents, and nNRBP divides by the value of the best ranking."""
_EXTRA = ("cwl_eval", "pyndeval")
"""The providers that the extra ``measures`` installs."""
_BY_SUBTOPIC = "pyndeval"
"""The provider of measures of diversity."""
_FEWEST_SUBTOPICS = 2
_BY_PERL = "gdeval"
"""The provider that runs a Perl script; this package computes ERR itself."""
IN_TREC_EVAL = {
    "DCG": "dcg",
    "NumQ": "num_q",
    "NumRel": "num_rel",
    "NumRelRet": "num_rel_ret",
    "NumRet": "num_ret",
    "SetRelP": "set_relative_P",
}
"""Measures that only ``trec-eval`` computes, with its names."""


@cache
def _ir_measures() -> Any:
    """Import ``ir_measures`` without the log file of cwl-eval.

    When cwl-eval is imported, it lets the root logger write to cwl.log in the working directory,
    unless that logger has a handler.
    """
    import logging

    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        import ir_measures
    finally:
        root.removeHandler(handler)
    return ir_measures


def ir_measures_labels() -> list[str]:
    """Return every name in the registry of ``ir_measures`` that ``eval`` accepts."""
    return [label for label in _ir_measures().measures.registry if label not in IN_TREC_EVAL]


class IrMeasure(Measure):
    """A measure of ``ir_measures`` with its parameters.

    Args:
        label: A name in its registry.
        parameters: Its parameters.
        at: The value after ``@``; ``None`` for none.

    Raises:
        UsageError: If a parameter is unknown or out of range, or no installed provider computes it.
    """

    sees_documents = True

    def __init__(self, label: str, parameters: Mapping[str, Any], at: Any = None) -> None:
        ir_measures = _ir_measures()
        base = ir_measures.measures.registry[label]
        arguments = parameters if at is None else {**parameters, base.AT_PARAM: at}
        bound = {**base.params, **known_parameters(label, arguments, base.SUPPORTED_PARAMS)}
        self.bound = base(**bound)
        for name, info in base.SUPPORTED_PARAMS.items():
            value = bound.get(name)
            is_valid = info.validate(value) if name in bound else not info.required
            if not is_valid or (name == "cutoff" and name in bound and not is_whole(value, 1)):
                raise UsageError(
                    f"{label} cannot take {name}={value!r}", remedy=f"{name}: {info.desc}"
                )
        self.computed_by = _provider_of(self.bound)
        self.cutoff = self.bound.params.get("cutoff")
        level = self.bound["rel"] if "rel" in base.SUPPORTED_PARAMS else 1
        self.relevance_level = level if isinstance(level, int) else 1
        self.value_without_results = (
            math.nan if self.bound.NAME == "Accuracy" else float(self.bound.DEFAULT)
        )

    @classmethod
    def score_together(cls, measures: Sequence[IrMeasure], run: JudgedRun) -> list[FloatArray]:
        """Score every query; ``nan`` where ``ir_measures`` gives no value or divides by zero.

        Raises:
            UsageError: If ``ir_measures`` fails on this input.
        """
        import numpy as np
        import polars as pl

        ir_measures = _ir_measures()
        assert run.documents is not None
        queries, ranked = run.documents
        # Decreasing and above 0, because Compat treats documents with score 0 as not retrieved.
        decreasing = (pl.len() + 1 - pl.col("rank")).over("query").cast(pl.Float64)
        rankings = _by_query(ranked.select("query", "doc_id", decreasing), ir_measures.ScoredDoc)
        columns = []
        for measure in measures:
            judged = queries.subtopics if measure.counts_subtopics else queries.frame
            qrels = _by_query(judged, ir_measures.Qrel)
            values = np.full(len(queries.query_ids), np.nan)
            for query, ranking in rankings.items():
                values[query] = measure._score_query(qrels[query], ranking)
            columns.append(values)
        return columns

    def _score_query(self, qrels: list[Any], ranking: list[Any]) -> float:
        try:
            values = [
                metric.value for metric in self.computed_by.iter_calc([self.bound], qrels, ranking)
            ]
        except ZeroDivisionError:
            return math.nan
        except Exception as error:
            raise UsageError(
                f"{type(error).__name__}: {error}",
                where=f"{self.name}, computed by ir_measures ({self.computed_by.NAME})",
                remedy="choose another measure",
            ) from error
        return float(values[0]) if values else math.nan

    @property
    def counts_subtopics(self) -> bool:
        """True if it depends on the subtopics of the judgments, in the second column of qrels."""
        return bool(self.computed_by.NAME == _BY_SUBTOPIC)

    def notes_on_qrels(self, queries: JudgedQueries) -> list[str]:
        """Return notes on the qrels; refuse qrels without subtopics if the measure counts them."""
        if self.counts_subtopics and queries.subtopics["iteration"].n_unique() < _FEWEST_SUBTOPICS:
            raise UsageError(
                f"{self.name} needs judgments of several subtopics, but the second column of the "
                "qrels has only one value",
                where=self.requested_name,
                remedy="give the qrels of a diversity task, or another measure",
            )
        notes = super().notes_on_qrels(queries)
        if self.bound.NAME == "Accuracy":
            notes.append("accuracy@k of sentence-transformers and DPR is HitRate@k")
        return notes

    @property
    def name(self) -> str:
        """The name as ``ir_measures`` writes it."""
        return repr(self.bound)

    @property
    def definition(self) -> Definition:
        """The exact meaning of its figures."""
        return self._define(
            self.bound.SHORT_DESC.rstrip("."),
            "as the formula says; a negative grade is not relevant",
            "as the formula says",
            provider=f"{provided_by('ir-measures')} ({self.computed_by.NAME})",
            averaged_over=UNDEFINED.get(self.bound.NAME, AVERAGED_OVER),
        )


def _by_query(rows: pl.DataFrame, make: Callable[..., Any]) -> dict[int, list[Any]]:
    """Return the rows as records of ``ir_measures``, by the position of the query."""
    records: dict[int, list[Any]] = defaultdict(list)
    for query, *fields in rows.iter_rows():
        records[query].append(make(str(query), *fields))
    return records


def _provider_of(bound: Any) -> Any:
    """Return the first installed package that computes a measure, in the order of ir_measures."""
    able = [
        provider
        for provider in _ir_measures().DefaultPipeline.providers
        if provider.NAME != _BY_PERL and provider.supports(bound)
    ]
    for provider in able:
        if provider.is_available():
            if provider.NAME == "cwl_eval" and _version_of("cwl-eval") < [1, 0, 10]:
                raise UsageError(
                    f"{bound!r} needs cwl-eval 1.0.10 or later",
                    remedy="pip install 'cwl-eval>=1.0.10', a source package without compiled code",
                )
            return provider
    if any(provider.NAME in _EXTRA for provider in able):
        raise MissingExtraError(repr(bound), "measures")
    instructions = [text for provider in able if (text := provider.install_instructions())]
    raise UsageError(
        f"no installed package computes {bound!r} for ir_measures",
        remedy=" or ".join(instructions) or "choose other parameters, or another measure",
    )


def _version_of(distribution: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", provided_by(distribution))]
