"""Provider of measures that only ``ir_measures`` supports.

The libraries that ``ir_measures`` calls break ties in different ways. They therefore get strictly
decreasing scores in the canonical order instead of the run's scores.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from trectools_plus.errors import MissingExtraError, UsageError
from trectools_plus.measures.definitions.base import (
    AVERAGED_OVER,
    Definition,
    FloatArray,
    Measure,
    fold_parameters,
    provided_by,
    refuse_unknown_parameters,
)
from trectools_plus.measures.queries import RELEVANT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from trectools_plus.measures.judged import JudgedQueries, RankedRun

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


@cache
def _ir_measures() -> Any:
    """Import ``ir_measures`` without the log file of cwl-eval.

    When cwl-eval is imported, it lets the root logger write to cwl.log in the working directory,
    unless that logger has a handler.
    """
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        import ir_measures
    finally:
        root.removeHandler(handler)
    return ir_measures


class IrMeasuresProvider:
    """Computes measures with ``ir_measures``."""

    sees_documents = True

    def labels(self) -> list[str]:
        """Return every name in the registry of ``ir_measures``."""
        return list(_ir_measures().measures.registry)

    def construct(self, label: str, parameters: Mapping[str, Any], at: Any) -> Measure:
        """Construct a measure with its parameters."""
        return IrMeasure(label, parameters, at)

    def score(self, measures: Sequence[IrMeasure], run: RankedRun) -> list[FloatArray]:
        """Score every query; ``nan`` where ``ir_measures`` gives no value or divides by zero.

        Raises:
            UsageError: If ``ir_measures`` fails on this input.
        """
        import numpy as np
        import polars as pl

        ir_measures = _ir_measures()
        assert run.documents is not None
        queries, ranked = run.documents
        graded = queries.frame.join(ranked.select("query").unique(), on="query", how="semi")
        qrels = [
            ir_measures.Qrel(str(query), doc_id, relevance)
            for query, doc_id, relevance in graded.iter_rows()
        ]
        # Decreasing and above 0, because Compat treats documents with score 0 as not retrieved.
        decreasing = (pl.len() + 1 - pl.col("rank")).over("query").cast(pl.Float64)
        scored = [
            ir_measures.ScoredDoc(str(query), doc_id, score)
            for query, doc_id, score in ranked.select("query", "doc_id", decreasing).iter_rows()
        ]
        of_subtopics = [
            ir_measures.Qrel(str(query), doc_id, relevance, iteration)
            for query, iteration, doc_id, relevance in (
                queries.subtopics.join(ranked.select("query").unique(), on="query", how="semi")
                if any(measure.counts_subtopics for measure in measures)
                else queries.subtopics.clear()
            ).iter_rows()
        ]
        columns = []
        for measure in measures:
            values = np.full(len(queries.query_ids), np.nan)
            judged = of_subtopics if measure.counts_subtopics else qrels
            for query, value in _scores(measure, judged, scored).items():
                values[int(query)] = value
            columns.append(values)
        return columns


class IrMeasure(Measure):
    """A measure of ``ir_measures`` with its parameters.

    Args:
        label: A name in its registry.
        parameters: Its parameters.
        at: The value after ``@``; ``None`` for none.

    Raises:
        UsageError: If a parameter is unknown or out of range, or no installed provider computes it.
    """

    provider = IrMeasuresProvider()

    def __init__(self, label: str, parameters: Mapping[str, Any], at: Any = None) -> None:
        ir_measures = _ir_measures()
        base = ir_measures.measures.registry[label]
        bound = {**base.params, **fold_parameters(parameters, base.SUPPORTED_PARAMS)}
        if at is not None:
            bound[base.AT_PARAM] = at
        self.bound = base(**bound)
        _check_parameters(self.bound, label)
        self.computed_by = _provider_of(self.bound)
        self.cutoff = self.bound.params.get("cutoff")
        level = self.bound["rel"] if "rel" in base.SUPPORTED_PARAMS else 1
        self.relevance_level = level if isinstance(level, int) else 1
        is_accuracy = self.bound.NAME == "Accuracy"
        self.value_without_results = math.nan if is_accuracy else float(self.bound.DEFAULT)

    def values_without_results(
        self, query: npt.NDArray[np.integer], grade: npt.NDArray[np.integer], n_queries: int
    ) -> FloatArray:
        """Return the same value for all; ``nan`` where no ranking has one."""
        import numpy as np

        values = super().values_without_results(query, grade, n_queries)
        if self.bound.NAME not in UNDEFINED:
            return values
        relevant = np.bincount(query[grade >= RELEVANT], minlength=n_queries)
        return np.where(relevant > 0, values, math.nan)

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
    def _definition(self) -> Definition:
        return self._define(
            self.bound.SHORT_DESC.rstrip("."),
            "as the formula says; a negative grade is not relevant",
            "as the formula says",
            provider=f"{provided_by('ir-measures')} ({self.computed_by.NAME})",
            averaged_over=UNDEFINED.get(self.bound.NAME, AVERAGED_OVER),
        )


def _scores(measure: IrMeasure, qrels: list[Any], run: list[Any]) -> dict[str, float]:
    """Return the values of the queries for which the measure is defined."""
    if not run:
        return {}
    try:
        metrics = measure.computed_by.iter_calc([measure.bound], qrels, run)
        return {metric.query_id: metric.value for metric in metrics}
    except ZeroDivisionError:
        # The measure is undefined for some query, so score the queries one by one.
        graded, retrieved = _by_query(qrels), _by_query(run)
        if len(retrieved) == 1:
            return {}
        alone = (_scores(measure, graded[query], found) for query, found in retrieved.items())
        return {query: value for scores in alone for query, value in scores.items()}
    except Exception as error:
        raise UsageError(
            f"{type(error).__name__}: {error}",
            where=f"{measure.name}, computed by ir_measures ({measure.computed_by.NAME})",
            remedy="choose another measure",
        ) from error


def _by_query(rows: list[Any]) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = {}
    for row in rows:
        grouped.setdefault(row.query_id, []).append(row)
    return grouped


def _check_parameters(bound: Any, label: str) -> None:
    supported = bound.SUPPORTED_PARAMS
    refuse_unknown_parameters(label, bound.params, supported)
    for name, info in supported.items():
        given = {name: bound.params[name]} if name in bound.params else {}
        positive = name != "cutoff" or not given or _is_positive(given[name])
        if info.required and not given:
            raise UsageError(f"{label} needs a value for {name}", remedy=f"{name}: {info.desc}")
        if given and not (info.validate(given[name]) and positive):
            raise UsageError(
                f"{label} cannot take {name}={given[name]!r}", remedy=f"{name}: {info.desc}"
            )


def _is_positive(cutoff: Any) -> bool:
    return isinstance(cutoff, int) and not isinstance(cutoff, bool) and cutoff >= 1


def _provider_of(bound: Any) -> Any:
    ir_measures = _ir_measures()
    providers = [one for one in ir_measures.DefaultPipeline.providers if one.NAME != _BY_PERL]
    able = [one for one in providers if one.supports(bound)]
    for provider in able:
        if provider.is_available():
            _refuse_old_cwl_eval(bound, provider)
            return provider
    if not able:
        raise _not_computed(bound, [s for one in providers for s in one.SUPPORTED_MEASURES])
    if any(one.NAME in _EXTRA for one in able):
        raise MissingExtraError(repr(bound), "measures")
    instructions = (one.install_instructions() for one in able)
    raise UsageError(
        f"{bound!r} is computed by {' or '.join(one.NAME for one in able)}, which is not installed",
        remedy=" or ".join(text for text in instructions if text),
    )


def _refuse_old_cwl_eval(bound: Any, provider: Any) -> None:
    if provider.NAME != "cwl_eval":
        return
    from importlib.metadata import version

    installed = version("cwl-eval")
    if [int(part) for part in re.findall(r"\d+", installed)] < [1, 0, 10]:
        raise UsageError(
            f"{bound!r} needs cwl-eval 1.0.10 or later, but {installed} is installed",
            remedy="pip install 'cwl-eval>=1.0.10', a source package without compiled code",
        )


def _not_computed(bound: Any, specs: list[Any]) -> UsageError:
    """Return an error that lists the smallest change with which a provider could compute it."""
    by_spec = [_errors(bound, spec) for spec in specs if spec.NAME == bound.NAME]
    if not by_spec:
        return UsageError(
            f"ir_measures computes {bound!r} only with Perl or another program",
            remedy="choose another measure",
        )
    errors = min(by_spec, key=len)
    return UsageError(
        f"{bound.NAME} {' and '.join(errors.values())}",
        where=repr(bound),
        # The description says that the parameter is optional; for this measure it is required.
        remedy="; ".join(
            f"{name}: {bound.SUPPORTED_PARAMS[name].desc.partition(', or NOT_PROVIDED')[0]}"
            for name in errors
        ),
    )


def _errors(bound: Any, spec: Any) -> dict[str, str]:
    """Return the error of each parameter that a provider does not support."""
    return {
        name: f"cannot take {name}={bound.params[name]!r}"
        if name in bound.params
        else f"needs a value for {name}"
        for name, allowed in spec.params.items()
        if not allowed.validate(bound[name])
    }


PROVIDER = IrMeasure.provider
