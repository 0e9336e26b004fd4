"""The difficulty of queries, and near misses.

A near miss is a wrong first result that is a neighbour of an expected term in the ontology.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from trectools_plus.benchmark.report import NearMiss, Relation, TermLabel
from trectools_plus.benchmark.report.figures import (
    Difficulty,
    DiscriminativePower,
    QueryDifficulty,
)
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.formats.tables import Run
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.definitions.max_ont_sim import MaxOntSim
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.measures.judged import IntArray, first_documents
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology, relation_of
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.comparison import Comparison
from trectools_plus.statistics.systems import kendall_tau

_LISTED = 10
_FEWEST_MODES = 2
_FEWEST_TO_DISCRIMINATE = 4
"""With fewer modes there are at most three pairs, so a share of them would have no meaning."""


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
            name: _agreement(table, column) for column, name in enumerate(evaluation.run_names)
        },
    )


def _list_queries(ids: Sequence[str], means: FloatArray, order: IntArray) -> list[QueryDifficulty]:
    return [
        QueryDifficulty(query_id=ids[place], mean=float(means[place]))
        for place in order[:_LISTED].tolist()
    ]


def _agreement(table: FloatArray, column: int) -> float | None:
    others = np.round(np.delete(table, column, axis=1).mean(axis=1), 12)
    return none_if_nan(kendall_tau(np.round(table[:, column], 12), others))


def find_discriminative_power(
    every_pair: Iterable[Comparison], measures: Sequence[str], modes: int
) -> dict[str, DiscriminativePower]:
    """Count by measure the pairs of modes that differ significantly.

    Sakai, Evaluating Evaluation Metrics based on the Bootstrap, SIGIR 2006; here with the test and
    the correction of the report, so that there is no second family of tests.

    Args:
        every_pair: The comparisons of every pair of modes.
        measures: The compared measures.
        modes: Number of modes.

    Returns:
        Empty for fewer than four modes.
    """
    if modes < _FEWEST_TO_DISCRIMINATE:
        return {}
    found: dict[str, DiscriminativePower] = {}
    entries = [one for one in every_pair if one.difference is not None]
    for name in measures:
        sizes: dict[bool, list[float]] = {True: [], False: []}
        for one in entries:
            if one.measure == name and one.difference is not None:
                sizes[one.significant].append(abs(one.difference))
        if sizes[True] or sizes[False]:
            found[name] = DiscriminativePower(
                pairs=len(sizes[True]) + len(sizes[False]),
                significant=len(sizes[True]),
                smallest_significant=min(sizes[True], default=None),
                largest_not_significant=max(sizes[False], default=None),
            )
    return found


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
    firsts = {mode: _first_results(run) for mode, run in runs.items()}
    texts = {} if dataset.topics is None else dataset.topics.to_dict()
    query_ids = dict.fromkeys(q for mode in runs for q in evaluation.query_ids[mode])
    return [
        NearMiss(
            query_id=query_id,
            text=texts.get(query_id),
            mode=mode,
            first=_label(ontology, first),
            relation=relation,
            expected=[_label(ontology, term_id) for term_id in related],
        )
        for query_id in query_ids
        for mode, first, relation, related in _near(
            ontology,
            {mode: found[query_id] for mode, found in firsts.items() if query_id in found},
            expected.get(query_id, []),
        )
    ]


def _first_results(run: Run) -> dict[str, str]:
    """Return the first document of every query, in the canonical order."""
    return dict(first_documents(run, 1).select("query_id", "doc_id").iter_rows())


def _near(
    ontology: Ontology, firsts: Mapping[str, str], expected: Sequence[str]
) -> Iterator[tuple[str, str, Relation, list[str]]]:
    """Yield mode, first result, relation and expected terms for each near miss of a query."""
    for mode, first in firsts.items():
        if first in expected:
            continue
        relations = {term_id: _relation(ontology, first, term_id) for term_id in expected}
        if "same" in relations.values():
            continue
        for relation in _NEAREST:
            related = [term_id for term_id, found in relations.items() if found == relation]
            if related:
                yield mode, first, relation, related
                break


def _relation(ontology: Ontology, first: str, expected: str) -> str | None:
    """Return the relation of the first term to the expected one."""
    a, b = (ontology.resolve(term_id).term_id for term_id in (first, expected))
    if a is None or b is None:
        return None
    return "same" if a == b else relation_of(ontology, a, b)


def _label(ontology: Ontology, doc_id: str) -> TermLabel:
    return TermLabel(doc_id=doc_id, label=ontology.term(doc_id).name)
