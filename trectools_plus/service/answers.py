"""The work of requests: evaluate a test set, validate and score uploaded files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trectools_plus.benchmark.compare import group_queries, summarise_rows
from trectools_plus.benchmark.report import StratumResult
from trectools_plus.benchmark.run.dataset import check_id_overlap, load_collection, open_corpus
from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.formats.collection import Collection, is_named_collection, load_corpus
from trectools_plus.formats.run_names import name_runs
from trectools_plus.formats.tables import Corpus, Run, Topics
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import DEFAULT_MEASURES, Averaging, Evaluation, score_runs
from trectools_plus.measures.parser import parse_measures, split_names
from trectools_plus.measures.scoring import open_files
from trectools_plus.models import format_time, utc_now
from trectools_plus.ontology.ontology import Ontology, load_ontology
from trectools_plus.reporting.export import evaluation_document
from trectools_plus.retrieval.backends.embedded import EmbeddedBackend, build_retrievers
from trectools_plus.retrieval.backends.modes import canonical_mode, merged_modes
from trectools_plus.retrieval.fetch import FetchRequest, fetch_runs
from trectools_plus.retrieval.outcome import summarise_latency
from trectools_plus.retrieval.source import FetchOptions
from trectools_plus.service.guard import ProblemError
from trectools_plus.service.metrics import Snapshot, answer_key, dataset_name, group_field
from trectools_plus.service.models import (
    EvaluateParameters,
    EvaluationAnswer,
    Figures,
    Limits,
    QueryCounts,
    ScoreParameters,
    ServiceSettings,
    ValidateParameters,
)
from trectools_plus.service.uploads import Upload, check_size
from trectools_plus.statistics.arrays import DEFAULT_SEED, IntervalOptions
from trectools_plus.testsets.loading import DEFAULT_TEST_SET, find_test_set, read_test_set
from trectools_plus.testsets.model import TestSet, qrels_of, topics_of
from trectools_plus.testsets.validation import resolve_terms, validate_test_sets
from trectools_plus.text import split_list
from trectools_plus.validation import refuse_errors
from trectools_plus.validation.engine import Choices, validate_qrels, validate_run
from trectools_plus.validation.findings import FileReport, as_document
from trectools_plus.validation.topics import validate_topics

EVALUATED_MEASURES = ("R@10", "nDCG@10", "RR", "HitRate@10")
"""The default measures, which the shipped alerts and dashboard name."""


class Search:
    """The documents of a worker process, and the search in them; missing indexes are built.

    Args:
        settings: The documents and the settings of the search.

    Attributes:
        settings: The settings.
        name: The name of the documents, for example ``hpo`` or ``irds:…``.
        corpus: The documents.
        retrievers: The retrievers by mode, for example ``lexical``.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.name, corpus, self._ontology = _open_documents(settings)
        self.retrievers = build_retrievers(corpus, settings.canonical_modes, settings.retrieval)
        for retriever in self.retrievers.values():
            retriever.search(["warm up"], 1)
        # Error messages contain the path of the corpus; clients must not see the real one.
        self.corpus = Corpus(corpus.frame, self.name)

    @cached_property
    def own_test_set(self) -> Collection:
        """The service's own test set, which is read once.

        Raises:
            ProblemError: 422 if the service has none, or it cannot be used. Messages do not
                contain its path.
        """
        dataset, name = self.settings.dataset, self.settings.test_file
        if name is None and self._ontology is not None:
            name = DEFAULT_TEST_SET
        try:
            if name is not None:
                test_set = read_test_set(find_test_set(name))
                title = test_set.metadata.dataset_id
                return self.judge(test_set, title, title)
            if dataset is not None:
                collection = load_collection(dataset, with_corpus=False)
                refuse_errors(validate_qrels(collection.qrels).findings)
                return replace(collection, name=self.name)
        except TrectoolsPlusError as error:
            what = f"the test set of the service cannot be used: {error.what}"
            remedy = f"correct the queries and judgments of {self.name}, or --test-file"
            raise ProblemError(422, "unusable-test-set", what, remedy) from error
        what = "the request has no test set, and the service has none of its own"
        remedy = "send a test set, or start the service with --test-file"
        raise ProblemError(422, "no-test-set", what, remedy)

    def judge(self, test_set: TestSet, name: str, where: str) -> Collection:
        """Return the queries and grades of a test set, with the main ids of terms.

        Args:
            test_set: The test set.
            name: Its name in answers.
            where: Its file in errors.

        Raises:
            FormatError: If the documents are terms, and an expected id is not a term.
            FindingsError: If the judgments have errors.
        """
        if self._ontology is not None:
            test_set = resolve_terms(test_set, self._ontology, where=where).test_set
        qrels = qrels_of(test_set, where)
        refuse_errors(validate_qrels(qrels).findings)
        return Collection(name, None, topics_of(test_set, where), qrels)

    def run(self, mode: str, topics: Topics) -> tuple[Run, npt.NDArray[np.float64]]:
        """Search for every topic.

        Args:
            mode: One of the modes of the service.
            topics: The queries.

        Returns:
            The run, and the time of each query in milliseconds.
        """
        backend, options = EmbeddedBackend(self.retrievers), FetchOptions(self.settings.depth)
        fetched = fetch_runs(FetchRequest(None, topics, [mode], options, backend=backend))[mode]
        return Run(fetched.run.frame, mode), fetched.latency_ms


def _open_documents(settings: ServiceSettings) -> tuple[str, Corpus, Ontology | None]:
    if settings.corpus is not None:
        return Path(settings.corpus).name, load_corpus(settings.corpus), None
    if settings.has_terms:
        return "hpo", open_corpus("hpo"), load_ontology()
    dataset = str(settings.dataset)
    path = dataset if is_named_collection(dataset) else str(Path(dataset).resolve())
    return dataset_name(path), open_corpus(dataset), None


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
    modes = settings.canonical_modes
    if components is None:
        return next((mode for mode in ("hybrid", "lexical") if mode in modes), modes[0])
    names = {canonical_mode(name) for name in split_list(components)}
    for mode in modes:
        used = {*components_of(mode, settings)}
        if names in ({mode}, used, used - {"ngram"}):
            return mode
    usable = (f"{mode} ({','.join(components_of(mode, settings))})" for mode in modes)
    raise ProblemError(
        422,
        "unknown-components",
        "no mode of the service searches with these components",
        f"use one of {', '.join(usable)}, or start the service with other --modes; splade needs "
        "--splade-model",
    )


def components_of(mode: str, settings: ServiceSettings) -> list[str]:
    """Return the rankings that a mode of the service uses, by their canonical names."""
    if mode != "hybrid":
        return [mode]
    retrieval = settings.retrieval.for_documents(has_parts=settings.has_terms)
    return merged_modes(settings.canonical_modes, retrieval)


def evaluate_test_set(
    uploads: Sequence[Upload], parameters: EvaluateParameters, search: Search
) -> tuple[EvaluationAnswer, Snapshot]:
    """Search for every query of a test set, and score and summarise the results.

    Args:
        uploads: The test set, JSON or YAML; none for the service's own, which is always scored with
            the default measures too.
        parameters: The components of the search, and the measures.
        search: The documents.

    Returns:
        The body of the response, and the figures for ``/metrics``.

    Raises:
        ProblemError: If the test set has too many queries, or no relevant document.
        TrectoolsPlusError: If the test set is invalid.
    """
    settings = search.settings
    mode = choose_mode(parameters.components, settings)
    measures = choose_measures(parameters.measures, EVALUATED_MEASURES, always=not uploads)
    queries = _read_upload(uploads[0], search) if uploads else search.own_test_set
    topics = queries.topics
    if not (queries.qrels.frame["relevance"] > 0).any():
        what = "no query has a relevant document"
        raise ProblemError(422, "findings", what, "give a document of each query a grade")
    check_id_overlap(search.corpus, topics, queries.qrels, queries.name)
    run, latency_ms = search.run(mode, topics)
    evaluation = score_runs(queries.qrels, {mode: run}, measures, Averaging())
    groups = _summarise(evaluation, mode, topics)
    snapshot = Snapshot(queries.name, mode, utc_now().timestamp(), groups, (*latency_ms.tolist(),))
    means = {
        value: {answer_key(name): figures.mean for name, figures in group.items()}
        for value, group in groups.items()
    }
    intervals = {
        value: {answer_key(name): figures.ci for name, figures in group.items()}
        for value, group in groups.items()
    }
    counts = {
        value: max(figures.n for figures in group.values()) for value, group in groups.items()
    }
    return EvaluationAnswer(
        metrics=means.pop(None),
        per_query_type=means,
        grouped_by=group_field(topics.frame.columns),
        intervals=Figures(metrics=intervals.pop(None), per_query_type=intervals),
        queries=QueryCounts(all=counts.pop(None), per_query_type=counts),
        definitions={
            answer_key(measure.name): evaluation.definition(measure).as_dict()
            for measure in evaluation.measures
        },
        latency_ms=summarise_latency(latency_ms),
        mode=mode,
        components=components_of(mode, settings),
        dataset=search.name,
        test_set=queries.name,
        depth=settings.depth,
        seed=DEFAULT_SEED,
        created_at=format_time(utc_now()),
        notes=list(evaluation.notes),
    ), snapshot


def _read_upload(part: Upload, search: Search) -> Collection:
    """Read a test set, and check that its expected ids can be found."""
    path, limits = part.as_document(), search.settings.limits
    check_size(path, limits)
    test_set = read_test_set(path)
    check_query_count(len(test_set.queries), limits.queries)
    name = test_set.metadata.dataset_id
    return search.judge(test_set, name if name != path.stem else search.name, str(path))


Group = dict[str, StratumResult]
"""The figures of some queries by canonical name of the measure."""


def _summarise(evaluation: Evaluation, mode: str, topics: Topics) -> dict[str | None, Group]:
    """Return means and intervals over all queries, and over the queries of each type."""
    query_ids = evaluation.query_ids[mode]
    field = group_field(topics.frame.columns)
    types = {} if field is None else group_queries(topics, query_ids, field)
    canonical = {measure.requested_name: measure.name for measure in evaluation.measures}
    groups: dict[str | None, Group] = {}
    for value, rows in ((None, np.arange(len(query_ids))), *sorted(types.items())):
        results = summarise_rows(evaluation, rows, IntervalOptions())[mode]
        groups[value] = {canonical[name]: figures for name, figures in results.items()}
    return groups


_NEEDS_FILES = re.compile(r":|ontology|annotations", re.IGNORECASE)


def choose_measures(
    text: str | None, default: tuple[str, ...], *, always: bool = False
) -> list[Measure]:
    """Parse the names of measures.

    Args:
        text: Names, separated by commas; ``None`` selects the default.
        default: The names of the default measures.
        always: True to add the default measures to those of the text.

    Raises:
        ProblemError: 422 if a measure loads a module or reads a file.
        UsageError: If a measure is unknown.
    """
    if text is not None and _NEEDS_FILES.search(text):
        raise ProblemError(
            422,
            "unknown-measure",
            "the service does not compute measures from modules, ontologies or annotations",
            "use measures by name, for example nDCG@10,RR",
        )
    names = split_names(text) if text is not None else []
    try:
        return parse_measures([*names, *(default if always or not names else ())])
    except (RecursionError, MemoryError, SyntaxError, ValueError) as error:
        raise UsageError("the name of a measure is malformed") from error


def check_query_count(queries: int, limit: int) -> None:
    """Check the number of queries.

    Raises:
        ProblemError: 413 if it exceeds the limit.
    """
    if queries > limit:
        raise ProblemError(
            413,
            "too-many-queries",
            f"{queries:,} queries exceed the limit of {limit:,}",
            "send fewer queries, or restart the service with a larger --max-queries",
        )


def validate_uploads(
    uploads: Sequence[Upload], parameters: ValidateParameters, limits: Limits
) -> dict[str, Any]:
    """Validate an uploaded file; findings are part of the answer.

    Args:
        uploads: ``file``, and for a run optionally ``qrels`` to check it against.
        parameters: Kind, strictness and profile.
        limits: The maximum number of queries, and the maximum size of a document.

    Raises:
        ProblemError: If a limit is exceeded.
    """
    choices = Choices.of(parameters.profile, strict=parameters.strict)
    parts = {part.name: part for part in uploads}
    report = choices.apply(_validate(parts, parameters, choices, limits))
    check_query_count(report.queries, limits.queries)
    return {"passed": not choices.fails(report), **as_document([report])}


def _validate(
    parts: dict[str, Upload], parameters: ValidateParameters, choices: Choices, limits: Limits
) -> FileReport:
    part, kind = parts["file"], parameters.kind
    path = part.path
    if kind in ("topics", "testset"):
        if kind == "testset" or part.suffix:
            path = part.as_document()
        check_size(path, limits)
        return next(validate_test_sets(path)) if kind == "testset" else validate_topics(path)
    if kind == "qrels":
        return validate_qrels(path)
    return validate_run(
        path,
        qrels=parts["qrels"].path if "qrels" in parts else None,
        max_depth=choices.max_depth,
        max_tag_length=choices.max_tag_length,
    )


def score_uploads(
    uploads: Sequence[Upload], parameters: ScoreParameters, limits: Limits
) -> dict[str, Any]:
    """Score uploaded runs against uploaded qrels.

    Args:
        uploads: ``qrels``, and one ``run`` or more.
        parameters: The measures, the treatment of queries in means, and whether to include
            per-query values.
        limits: The maximum number of queries.

    Raises:
        ProblemError: If a limit is exceeded.
        TrectoolsPlusError: If an upload cannot be scored.
    """
    measures = choose_measures(parameters.measures, DEFAULT_MEASURES)
    runs = [part for part in uploads if part.name == "run"]
    paths = [str(part.path) for part in runs]
    qrels_path = next(str(part.path) for part in uploads if part.name == "qrels")
    opened = open_files(qrels_path, paths, measures, strict_input=parameters.strict_input)
    by_name = name_runs(opened.runs, files=[part.file for part in runs])
    check_query_count(len(opened.qrels.query_ids), limits.queries)
    averaging = Averaging(parameters.missing, parameters.no_relevant)
    evaluation = score_runs(opened.qrels, by_name, measures, averaging, notes=opened.notes)
    return evaluation_document(qrels_path, by_name, evaluation, per_query=parameters.per_query)
