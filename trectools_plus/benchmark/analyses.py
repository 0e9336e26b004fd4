"""Analyses of a whole report: difficulty of queries, near misses, judgments, curves.

A near miss is a wrong first result that is a neighbour of an expected term in the ontology.

Interpolated precision at recall r is the highest precision at any rank where recall is r or more
(trec_eval's ``iprec_at_recall``). The curve of a mode is the mean over its queries at each level,
by default at eleven levels, as in Manning, Raghavan and Schütze, Introduction to Information
Retrieval (2008), section 8.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.compare.compare import refuse_different_queries
from trectools_plus.benchmark.report import NearMiss, Relation, TermLabel
from trectools_plus.benchmark.report.model import (
    Difficulty,
    Pool,
    PoolMode,
    QueryDifficulty,
)
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.display import Displayed
from trectools_plus.errors import IncomparableError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.definitions.max_ont_sim import MaxOntSim
from trectools_plus.measures.evaluation import Averaging, Evaluation, score_runs
from trectools_plus.measures.judged import IntArray, JudgedQueries, first_documents
from trectools_plus.measures.parser import parse_measures
from trectools_plus.measures.scoring.bounds import bound_by_unjudged
from trectools_plus.measures.scoring.scores import depend_on_grades_only
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology, relation_of
from trectools_plus.statistics import mean_intervals
from trectools_plus.statistics.arrays import FloatArray, IntervalOptions, none_if_nan
from trectools_plus.statistics.systems import kendall_tau

_LISTED = 10
_FEWEST_MODES = 2


def find_difficulty(evaluation: Evaluation, measure: str) -> Difficulty | None:
    """Compute the mean of a measure over the modes for each query.

    It is what Mizzaro and Robertson (SIGIR 2007) call average average precision, for any measure.

    Args:
        evaluation: The modes, over the same queries.
        measure: The measure.

    Returns:
        ``None`` for fewer than two modes, or if no query has a value for every mode.
    """
    if len(evaluation.run_names) < _FEWEST_MODES:
        return None
    table = np.column_stack([evaluation.values(name, measure) for name in evaluation.run_names])
    defined = ~np.isnan(table).any(axis=1)
    if not defined.any():
        return None
    every_id = evaluation.query_ids[evaluation.run_names[0]]
    ids = [every_id[place] for place in np.flatnonzero(defined).tolist()]
    table = table[defined]
    means = table.mean(axis=1)
    easier = means if evaluation.definition(measure).higher_is_better else -means
    # Rounded, so that queries whose means differ only in the last bits are ordered by id.
    order = np.lexsort((ids, np.round(easier, 12)))
    from_easiest = np.lexsort((ids, -np.round(easier, 12)))
    without_relevant = {*evaluation.queries_without_relevant}
    has_relevant = np.array([query_id not in without_relevant for query_id in ids], bool)
    return Difficulty(
        measure=measure,
        n=len(means),
        mean=float(means.mean()),
        std=float(means.std(ddof=1)) if len(means) > 1 else None,
        quartiles=[float(value) for value in np.quantile(means, [0.25, 0.5, 0.75])],
        hardest=_list_queries(ids, means, order[has_relevant[order]]),
        easiest=_list_queries(ids, means, from_easiest),
        agreement={
            name: none_if_nan(
                kendall_tau(
                    np.round(table[:, column], 12),
                    np.round(np.delete(table, column, axis=1).mean(axis=1), 12),
                )
            )
            for column, name in enumerate(evaluation.run_names)
        },
    )


def _list_queries(ids: Sequence[str], means: FloatArray, order: IntArray) -> list[QueryDifficulty]:
    return [
        QueryDifficulty(query_id=ids[place], mean=float(means[place]))
        for place in order[:_LISTED].tolist()
    ]


_NEAREST: tuple[Relation, ...] = ("parent", "child", "sibling")
"""The relations in order of priority."""


def find_ontology(config: BenchmarkConfig, measures: Sequence[Measure]) -> Ontology | None:
    """Find the ontology of the documents; ``None`` if they are not known to be terms.

    It is the ontology in the configuration, the installed one for the dataset ``hpo``, or the
    ontology of the first MaxOntSim measure.

    Raises:
        MissingExtraError: If the installed one is needed and the extra ``hpo`` is not installed.
        InputError: If it cannot be read.
    """
    if config.over_terms:
        return load_ontology(config.ontology)
    measure = next((one for one in measures if isinstance(one, MaxOntSim)), None)
    return None if measure is None else measure.load_ontology()


def find_near_misses(
    dataset: Dataset,
    runs: Mapping[str, Run],
    evaluation: Evaluation,
    ontology: Ontology,
    primary: str,
) -> list[NearMiss]:
    """Find queries whose first result is a parent, child or sibling of an expected term.

    Expected terms are those that the primary measure counts as relevant. Alternative ids are
    resolved. A first result that is not a term, or is an expected term, is not a near miss.

    Args:
        dataset: Judgments, and texts of the queries where they are known.
        runs: The run of every mode.
        evaluation: The scores, whose queries are examined.
        ontology: The terms.
        primary: The primary measure.

    Returns:
        One entry per query and mode, in the order of the queries, then of the modes.
    """
    level = evaluation.definition(primary).relevance_level
    relevant = dataset.qrels.frame.filter(pl.col("relevance") >= level)
    expected = dict(relevant.group_by("query_id", maintain_order=True).agg("doc_id").iter_rows())
    firsts = {
        mode: dict(first_documents(run, 1).select("query_id", "doc_id").iter_rows())
        for mode, run in runs.items()
    }
    texts = {} if dataset.topics is None else dataset.topics.to_dict()
    query_ids = dict.fromkeys(q for mode in runs for q in evaluation.query_ids[mode])
    return [
        NearMiss(
            query_id=query_id,
            text=texts.get(query_id),
            mode=mode,
            first=_label(ontology, first[query_id]),
            relation=relation,
            expected=[_label(ontology, term_id) for term_id in related],
        )
        for query_id in query_ids
        for mode, first in firsts.items()
        if query_id in first
        for relation, related in _near(ontology, first[query_id], expected.get(query_id, []))
    ]


def _near(
    ontology: Ontology, first: str, expected: Sequence[str]
) -> Iterator[tuple[Relation, list[str]]]:
    """Yield the nearest relation of a first result to expected terms, and these terms."""
    resolved = ontology.resolve(first).term_id
    terms = {term_id: ontology.resolve(term_id).term_id for term_id in expected}
    if first in terms or resolved is None or resolved in terms.values():
        return
    relations = {
        term_id: relation_of(ontology, resolved, term)
        for term_id, term in terms.items()
        if term is not None
    }
    for relation in _NEAREST:
        related = [term_id for term_id, found in relations.items() if found == relation]
        if related:
            yield relation, related
            return


def _label(ontology: Ontology, doc_id: str) -> TermLabel:
    return TermLabel(doc_id=doc_id, label=ontology.term(doc_id).name)


_MOST_DOCUMENTS = 1_000_000
"""Without a cutoff, runs with more results have no bounds, which would take long."""
_FEWEST_MODES_TO_CORRELATE = 5


def find_pool(
    qrels: Qrels,
    runs: Mapping[str, Run],
    evaluation: Evaluation,
    measure: str,
    judged: Mapping[str, float | None],
    queries: JudgedQueries | None = None,
) -> Pool | None:
    """Examine how much the means of a measure depend on the documents that were judged.

    Args:
        qrels: The judgments.
        runs: The run of each mode.
        evaluation: The scores of the modes.
        measure: The measure, as requested.
        judged: The share of judged documents among the first ten, by mode.
        queries: The judgments for scoring; by default made from ``qrels``.

    Returns:
        ``None`` if no document is judged not relevant, because then the qrels list only relevant
        documents. Without bounds if the measure depends on more than grades and ranks.
    """
    one = next(each for each in evaluation.measures if each.requested_name == measure)
    if not (qrels.frame["relevance"] <= 0).any():
        return None
    scores = {name: none_if_nan(evaluation.mean(name, measure)) for name in runs}
    bounds: dict[str, tuple[float | None, float | None]] = {}
    if depend_on_grades_only([one]):
        queries = queries or JudgedQueries.of(qrels)
        highest = int(qrels.frame["relevance"].max() or 1)  # type: ignore[arg-type]
        scored = {*evaluation.query_ids[next(iter(runs))]}
        counted = np.array([query_id in scored for query_id in queries.query_ids], bool)
        bounds = {
            name: _find_bounds(queries, run, one, highest, counted) for name, run in runs.items()
        }
    known = [(judged[name], scores[name]) for name in runs]
    pairs = [pair for pair in known if None not in pair]
    tau = None
    if len(pairs) >= _FEWEST_MODES_TO_CORRELATE:
        shares, means = np.round(np.array(pairs, np.float64).T, 12)
        tau = none_if_nan(kendall_tau(shares, means))
    modes = {
        name: PoolMode(judged=judged[name], score=scores[name], low=low, high=high)
        for name in runs
        for low, high in [bounds.get(name, (None, None))]
    }
    return Pool(measure=measure, modes=modes, tau=tau)


def _find_bounds(
    queries: JudgedQueries,
    run: Run,
    measure: Measure,
    highest_grade: int,
    counted: npt.NDArray[np.bool_],
) -> tuple[float | None, float | None]:
    """Return the bounds of a run's mean over the counted queries; ``None`` if they take long."""
    ranked = queries.judge(run).cut(measure.cutoff)
    if ranked.retrieved.sum() > _MOST_DOCUMENTS:
        return None, None
    low, high = bound_by_unjudged([measure], ranked, highest_grade)
    empty = measure.value_without_results
    ends = [np.where(ranked.retrieved == 0, empty, end[:, 0])[counted] for end in (low, high)]
    defined = [end[~np.isnan(end)] for end in ends]
    lowest, largest = (math.fsum(end) / len(end) if len(end) else None for end in defined)
    return lowest, largest


RECALL_LEVELS = tuple(step / 10 for step in range(11))
"""The eleven standard levels."""
RANKS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""The ranks of hit rates, up to the depth of the runs."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Curves(Displayed):
    """One measure at several points, by mode.

    Attributes:
        measure: ``IPrec`` or ``HitRate``.
        at: Recall levels in [0, 1], or ranks from 1; shape (points,).
        mean: Mean over the queries by mode; shape (points,).
        low: Lower ends of its intervals; ``nan`` where all values are equal and the measure has no
            other valid interval.
        high: Upper ends.
        n: Number of queries in the means.
        level: Confidence level, between 0 and 1.
    """

    measure: str
    at: FloatArray
    mean: dict[str, FloatArray]
    low: dict[str, FloatArray]
    high: dict[str, FloatArray]
    n: int
    level: float


def measure_curves(
    qrels: Qrels | JudgedQueries,
    runs: Mapping[str, Run],
    averaging: Averaging,
    resampling: IntervalOptions,
) -> list[Curves]:
    """Compute interpolated precision at :data:`RECALL_LEVELS`, and hit rates at :data:`RANKS`.

    The hit rate at k is the share of queries with a relevant document in the first k results.

    Args:
        qrels: The judgments.
        runs: The runs by mode, at least one; they are not checked.
        averaging: The treatment of queries without results and without a relevant document.
        resampling: The settings of the intervals; the seed of a report gives the resamples of its
            means.

    Returns:
        The curves of ``IPrec`` and ``HitRate``, with means and ends of intervals in [0, 1].

    Raises:
        IncomparableError: If ``missing`` is ``drop`` and the runs answer different queries, or
            none.
    """
    deepest = max(int(run.rows.blocks.sizes.max(initial=1)) for run in runs.values())
    ranks = [rank for rank in RANKS if rank <= deepest]
    curves = []
    for measure, points in (("IPrec", RECALL_LEVELS), ("HitRate", ranks)):
        measures = parse_measures([f"{measure}@{point:g}" for point in points])
        # evaluate() would refuse a mode that found nothing.
        scores = score_runs(qrels, runs, measures, averaging)
        refuse_different_queries(scores)
        values = np.concatenate(list(scores.tables.values()), axis=1)
        if not len(values):
            raise IncomparableError("no query to average over", where=measure)
        intervals = mean_intervals(values, **resampling)
        mean, low, high = (
            dict(zip(scores.tables, np.split(row, len(runs)), strict=True))
            for row in (intervals.estimate, intervals.low, intervals.high)
        )
        at, level = np.array(points, np.float64), resampling["confidence"]
        curves.append(Curves(measure, at, mean, low, high, len(values), level))
    return curves
