"""Near misses: wrong first results that are neighbours of an expected term in the ontology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from trectools_plus.benchmark.report import NearMiss, Relation, TermLabel
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.formats.tables import Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.definitions.max_ont_sim import MaxOntSim
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.measures.judged import first_documents
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology

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
    dataset: Dataset, runs: Mapping[str, Run], evaluation: Evaluation, ontology: Ontology
) -> list[NearMiss]:
    """Find queries whose first result is a parent, child or sibling of an expected term.

    Expected terms are those that the first measure counts as relevant. Alternative ids are
    resolved. A first result that is not a term, or is an expected term, is not a near miss.

    Args:
        dataset: Judgments, and texts of the queries where they are known.
        runs: The run of every mode.
        evaluation: The scores, whose queries are examined.
        ontology: The terms.

    Returns:
        One entry per query and mode, in the order of the queries, then of the modes.
    """
    level = evaluation.measures[0].relevance_level
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
    if a == b:
        return "same"
    if a in ontology.parents[b]:
        return "parent"
    if b in ontology.parents[a]:
        return "child"
    return "sibling" if set(ontology.parents[a]) & set(ontology.parents[b]) else None


def _label(ontology: Ontology, doc_id: str) -> TermLabel:
    return TermLabel(doc_id=doc_id, label=ontology.term(doc_id).name)
