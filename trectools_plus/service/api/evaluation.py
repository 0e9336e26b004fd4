"""``POST /v1/evaluate``: search, score and summarise a test set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trectools_plus.benchmark.compare.compare import Rows, summarise_rows
from trectools_plus.benchmark.report import (
    MeasureDefinition,
    StratumResult,
)
from trectools_plus.benchmark.run.dataset import check_id_overlap
from trectools_plus.formats.tables import Topics
from trectools_plus.measures.evaluation import Averaging, Evaluation, score_runs
from trectools_plus.measures.parser import parse_measures
from trectools_plus.provenance import format_time, utc_now
from trectools_plus.retrieval.backends.embedded.modes import merged_modes
from trectools_plus.retrieval.fetch.outcome import summarise_latency
from trectools_plus.service.api.parameters import EvaluateParameters
from trectools_plus.service.api.search import EvaluationQueries, Search, canonical_modes
from trectools_plus.service.api.settings import Limits, ServiceSettings
from trectools_plus.service.api.snapshots import MeasuredMean, Snapshot, answer_key, group_field
from trectools_plus.service.api.uploads import Upload, check_size
from trectools_plus.service.api.validate_and_score import check_query_count, choose_measures
from trectools_plus.service.problems import ProblemError
from trectools_plus.statistics.arrays import IntervalOptions
from trectools_plus.statistics.comparison import ends_of
from trectools_plus.testsets.loading import read_test_set
from trectools_plus.text import split_list

DEFAULT_MEASURES = ("R@10", "nDCG@10", "RR", "HitRate@10")


def choose_mode(components: str | None, settings: ServiceSettings) -> str:
    """Return the mode that uses exactly the given components, or these and n-grams.

    Args:
        components: ``bm25`` (or ``lexical``), ``dense`` (or ``vector``), ``splade``, ``ngram``,
            several separated by commas, or ``hybrid``, which is all that the service merges.
            ``None`` selects hybrid if the service has it, otherwise lexical, otherwise its first
            mode.
        settings: The settings of the service.

    Raises:
        ProblemError: 422 if there is no such mode.
    """
    modes = canonical_modes(settings.modes)
    if components is None:
        return next((mode for mode in ("hybrid", "lexical") if mode in modes), modes[0])
    names = set(canonical_modes(split_list(components)))
    for mode in modes:
        used = set(components_of(mode, settings))
        if names in ({mode}, used, used - {"ngram"}):
            return mode
    if "splade" in names and "splade" not in modes:
        raise ProblemError(
            422,
            "missing-model",
            "the service has no SPLADE model, which the component splade needs",
            remedy="start it with --splade-model DIR and --modes lexical,vector,splade,hybrid",
        )
    merged = ",".join(components_of("hybrid", settings))
    usable = ", ".join(f"hybrid ({merged})" if mode == "hybrid" else mode for mode in modes)
    raise ProblemError(
        422,
        "unknown-components",
        "no mode searches with these components",
        remedy=f"the modes of this service are {usable}",
    )


def components_of(mode: str, settings: ServiceSettings) -> list[str]:
    """Return the rankings that a mode of the service uses, by their canonical names."""
    if mode != "hybrid":
        return [mode]
    retrieval = settings.retrieval.for_documents(has_parts=settings.has_terms)
    return list(merged_modes(settings.modes, retrieval))


def evaluate_test_set(
    uploads: Sequence[Upload],
    parameters: EvaluateParameters,
    search: Search,
    settings: ServiceSettings,
) -> tuple[dict[str, Any], Snapshot]:
    """Search for every query of a test set, and score and summarise the results.

    Args:
        uploads: The test set, JSON or YAML; none for the service's own.
        parameters: The components of the search, and the measures.
        search: The documents.
        settings: Depth, resamples and limits.

    Returns:
        The body of the response, and the figures for ``/metrics``.

    Raises:
        ProblemError: If the test set has too many queries, or no relevant document.
        TrectoolsPlusError: If the test set is invalid.
    """
    mode = choose_mode(parameters.components, settings)
    measures = choose_measures(parameters.measures, DEFAULT_MEASURES)
    documents = search.documents
    queries = _read_upload(uploads[0], search, settings.limits) if uploads else search.own_test_set
    topics = queries.topics
    if not (queries.qrels.frame["relevance"] > 0).any():
        raise ProblemError(
            422,
            "findings",
            "no query has a relevant document",
            remedy="give a document of each query a grade above 0",
        )
    where = topics.path if uploads and topics.path else queries.name
    check_id_overlap(documents.corpus, topics, queries.qrels, where)
    run, latency_ms = search.run(mode, topics)
    # /metrics has the measures that the shipped alerts and dashboard name, whatever is asked.
    monitored = [one for one in parse_measures(DEFAULT_MEASURES) if one not in measures]
    evaluation = score_runs(queries.qrels, {mode: run}, [*measures, *monitored], Averaging())
    options = IntervalOptions(
        confidence=settings.confidence, resamples=settings.resamples, seed=settings.seed
    )
    groups = _summarise(evaluation, mode, topics, options)
    snapshot = _snapshot(groups, queries.name, mode, latency_ms)
    asked = {measure.name for measure in measures}
    answer = _answer(_only(groups, asked), evaluation, snapshot)
    return {
        **answer,
        "mode": mode,
        "components": components_of(mode, settings),
        "dataset": documents.name,
        "test_set": queries.name,
        "grouped_by": group_field(topics.frame.columns),
        "depth": settings.depth,
        "seed": settings.seed,
    }, snapshot


def _read_upload(part: Upload, search: Search, limits: Limits) -> EvaluationQueries:
    """Read a test set, and check that its expected ids can be found."""
    path = part.as_document()
    check_size(path, limits)
    test_set = read_test_set(path)
    check_query_count(len(test_set.queries), limits.queries)
    name = test_set.metadata.dataset_id
    has_name = name != path.stem
    return search.documents.judge(test_set, str(path), name if has_name else search.documents.name)


Groups = dict[str | None, dict[str, StratumResult]]
"""Means by query type (``None``, for all queries, first) and measure."""


def _summarise(
    evaluation: Evaluation, mode: str, topics: Topics, options: IntervalOptions
) -> Groups:
    """Return means and intervals over all queries, and over the queries of each type."""
    query_ids = evaluation.query_ids[mode]
    rows: dict[str | None, Rows] = {None: np.arange(len(query_ids))}
    field = group_field(topics.frame.columns)
    if field is not None:
        types = dict(zip(topics.query_ids, topics.frame[field].to_list(), strict=True))
        of_query = np.array([types.get(query_id, "") for query_id in query_ids])
        values = sorted({*of_query.tolist()} - {""})
        rows |= {value: np.flatnonzero(of_query == value) for value in values}
    alone = replace(evaluation, tables={mode: evaluation.tables[mode]})
    canonical = {measure.requested_name: measure.name for measure in evaluation.measures}
    return {
        value: {
            canonical[name]: one
            for name, one in summarise_rows(alone, places, options)[mode].items()
        }
        for value, places in rows.items()
    }


def _snapshot(groups: Groups, dataset: str, mode: str, latency_ms: Any) -> Snapshot:
    figures = tuple(
        MeasuredMean(query_type, name, one.mean, *ends_of(one.ci), one.n)
        for query_type, results in groups.items()
        for name, one in results.items()
    )
    return Snapshot(dataset, mode, utc_now().timestamp(), figures, tuple(latency_ms.tolist()))


def _only(groups: Groups, names: set[str]) -> Groups:
    return {
        query_type: {name: one for name, one in results.items() if name in names}
        for query_type, results in groups.items()
    }


def _answer(groups: Groups, evaluation: Evaluation, snapshot: Snapshot) -> dict[str, Any]:
    means = {
        value: {answer_key(name): one.mean for name, one in results.items()}
        for value, results in groups.items()
    }
    intervals = {
        value: {answer_key(name): one.ci and one.ci.model_dump() for name, one in results.items()}
        for value, results in groups.items()
    }
    counts = {value: max(one.n for one in results.values()) for value, results in groups.items()}
    latency = summarise_latency(np.array(snapshot.latency_ms))
    return {
        "metrics": means.pop(None),
        "per_query_type": means,
        "intervals": {"metrics": intervals.pop(None), "per_query_type": intervals},
        "queries": {"all": counts.pop(None), "per_query_type": counts},
        "definitions": {
            answer_key(measure.name): MeasureDefinition.model_validate(
                evaluation.definition(measure).as_dict()
            ).model_dump()
            for measure in evaluation.measures
            if measure.name in groups[None]
        },
        "latency_ms": None if latency is None else latency.model_dump(),
        "created_at": format_time(utc_now()),
        "notes": list(evaluation.notes),
    }
