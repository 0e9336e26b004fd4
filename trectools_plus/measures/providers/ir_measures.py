"""Measures that only ``ir_measures`` supports.

The libraries that ``ir_measures`` calls break ties in different ways. They therefore get strictly
decreasing scores in the canonical order instead of the run's scores.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from trectools_plus.errors import MissingExtraError, UsageError
from trectools_plus.measures.definitions.base import (
    AVERAGED_OVER,
    Definition,
    FloatArray,
    Measure,
    is_whole,
    known_parameters,
    provided_by,
)

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.measures.judged import JudgedQueries, JudgedRun

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
        given = parameters if at is None else {**parameters, base.AT_PARAM: at}
        bound = {**base.params, **known_parameters(label, given, base.SUPPORTED_PARAMS)}
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
        is_accuracy = self.bound.NAME == "Accuracy"
        self.value_without_results = math.nan if is_accuracy else float(self.bound.DEFAULT)

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
        return super().notes_on_qrels(queries)

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
    found: dict[int, list[Any]] = defaultdict(list)
    for query, *fields in rows.iter_rows():
        found[query].append(make(str(query), *fields))
    return found


def _provider_of(bound: Any) -> Any:
    """Return the first installed package that computes a measure, in the order of ir_measures."""
    able = [
        one
        for one in _ir_measures().DefaultPipeline.providers
        if one.NAME != _BY_PERL and one.supports(bound)
    ]
    for provider in able:
        if provider.is_available():
            if provider.NAME == "cwl_eval" and _version_of("cwl-eval") < [1, 0, 10]:
                raise UsageError(
                    f"{bound!r} needs cwl-eval 1.0.10 or later",
                    remedy="pip install 'cwl-eval>=1.0.10', a source package without compiled code",
                )
            return provider
    if any(one.NAME in _EXTRA for one in able):
        raise MissingExtraError(repr(bound), "measures")
    instructions = [text for one in able if (text := one.install_instructions())]
    raise UsageError(
        f"no installed package computes {bound!r} for ir_measures",
        remedy=" or ".join(instructions) or "choose other parameters, or another measure",
    )


def _version_of(distribution: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", provided_by(distribution))]
