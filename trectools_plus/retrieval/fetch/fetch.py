"""Fetch runs: send every query to every mode, and report every query without an answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any

import polars as pl

from trectools_plus.blas import one_blas_thread
from trectools_plus.errors import UsageError
from trectools_plus.formats.corpus import DocumentCollection
from trectools_plus.formats.hashing import sha256_columns
from trectools_plus.formats.tables import Topics
from trectools_plus.progress import Progress, no_progress, notebook_progress
from trectools_plus.retrieval.backends.embedded.backend import EmbeddedBackend
from trectools_plus.retrieval.backends.embedded.modes import expand_modes
from trectools_plus.retrieval.fetch.answering import (
    Answer,
    AnswerStore,
    FailedQuery,
    FetchOptions,
    MemoryAnswers,
    answer_batch,
)
from trectools_plus.retrieval.fetch.concurrency import call_concurrently
from trectools_plus.retrieval.fetch.journal import Journal, open_journal
from trectools_plus.retrieval.fetch.outcome import AnsweredRun, FetchedRun
from trectools_plus.retrieval.fetch.topics import (
    check_topic_fields,
    check_topics,
    hash_topics,
    iter_queries,
    sample_queries,
)
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import (
    Backend,
    BackendRequest,
    CircuitBreaker,
    Failure,
    Query,
    Source,
)
from trectools_plus.validation.inputs import Input, as_corpus, as_topics

Outcomes = list[Answer | FailedQuery]


_TIMED_ALONE = 20
"""Number of queries that are sent alone to a service that is then asked several at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class FetchRequest:
    """The request for one run in each mode.

    Attributes:
        corpus: The documents; ``None`` if the backend has its own. A stream requires a backend
            that ``streams_documents``.
        topics: The queries.
        modes: The modes, without repetition.
        options: Options of the results of each query.
        settings: Settings of modes that index documents.
        backend: The backend that searches.
    """

    corpus: DocumentCollection | None
    topics: Topics
    modes: Sequence[str]
    options: FetchOptions = field(default_factory=FetchOptions)
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)
    backend: Backend = field(default_factory=EmbeddedBackend)

    def __post_init__(self) -> None:
        is_embedded = isinstance(self.backend, EmbeddedBackend)
        has_parts = getattr(self.corpus, "parts", None) is not None if is_embedded else None
        object.__setattr__(self, "settings", self.settings.for_documents(has_parts=has_parts))

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that determines the answers, as JSON; identifies a journal."""
        collapse = self.options.collapse
        return {
            "backend": self.backend.name,
            "backend_settings": self.backend.facts,
            "settings": self.settings.model_dump(mode="json", exclude={"batch_size"})
            if self.backend.needs_corpus
            else None,
            "packages": None,
            "depth": self.options.depth,
            "exclude_self": self.options.exclude_self,
            "collapse": None if collapse is None else collapse.model_dump(mode="json"),
            "topics": hash_topics(self.topics),
            **self._facts_of_fields,
            "corpus": None if self.corpus is None else self.corpus.sha256(),
            **self.backend.request_facts(self.backend_request()),
        }

    @property
    def topic_fields(self) -> list[str]:
        """The fields of the topics that the backend sends, besides id and text."""
        return self.backend.topic_fields(self.modes)

    @property
    def _facts_of_fields(self) -> dict[str, str]:
        fields = self.topic_fields
        if not fields:
            return {}
        texts = self.topics.frame.select(
            pl.col(fields).map_elements(repr, pl.String, skip_nulls=False)
        )
        return {"topic_fields": sha256_columns(texts, fields)}

    def backend_request(self, progress: Progress = no_progress) -> BackendRequest:
        """Return the request to open the backend."""
        return BackendRequest(
            self.corpus,
            self.modes,
            self.settings,
            progress,
            self.options.depth + self.options.exclude_self,
            self.options.exclude_self,
        )


def fetch(
    corpus: Input,
    topics: Input,
    modes: str | Sequence[str],
    *,
    depth: int = 100,
    settings: RetrievalSettings | None = None,
    exclude_self: bool = False,
) -> dict[str, FetchedRun]:
    """Search the corpus for every topic in every embedded mode.

    :func:`fetch_runs` offers more options and other backends. A notebook shows a progress bar.

    Args:
        corpus: The documents: a :class:`Corpus`, the path of a JSON Lines file,
            ``{doc_id: text}``, or a pandas or Polars frame.
        topics: The queries: :class:`Topics`, a path, ``{query_id: text}``, or a frame.
        modes: Names of ``retrieval.backends.embedded.modes.ALL_MODES``.
        depth: Maximum number of results for each query.
        settings: ``None`` uses the defaults.
        exclude_self: Whether to drop the document with the query's id, before the cutoff.

    Returns:
        A run for each mode, in the order of ``modes``; with several embedding models, for each
        ``<mode>-<model>``.

    Raises:
        UsageError: If a mode is unknown or ``depth`` below 1.
        InputError: If ids are repeated or cannot be written to a run; or an index cannot be
            written.
    """
    options = FetchOptions(depth, exclude_self)
    settings = settings or RetrievalSettings()
    names = expand_modes([modes] if isinstance(modes, str) else modes, settings)
    request = FetchRequest(as_corpus(corpus), as_topics(topics), names, options, settings)
    with notebook_progress() as progress:
        return fetch_runs(request, progress=progress)


def fetch_runs(
    request: FetchRequest, *, leave_one_out: bool = False, progress: Progress = no_progress
) -> dict[str, FetchedRun]:
    """Fetch every mode into memory, without journals.

    Args:
        request: The request.
        leave_one_out: Whether to fetch every fusion also with each one of its components left out.
        progress: Receives the progress of building indexes and of the queries.

    Raises:
        UsageError: If a mode or setting is not valid for the request.
        InputError: If something cannot be read or built.
    """
    _check_request(request)
    stores = {mode: MemoryAnswers() for mode in request.modes}
    runs = _fetch_modes(request, stores, progress, leave_one_out=leave_one_out)
    return {mode: run.collect() for mode, run in runs.items()}


@contextmanager
def fetch_with_journals(
    request: FetchRequest,
    folder: Path,
    *,
    resume: bool = False,
    progress: Progress = no_progress,
) -> Iterator[Mapping[str, AnsweredRun]]:
    """Fetch every mode with journals in a folder, and yield the runs while the journals are open.

    The runs read their answers from the journals. A backend without ``keeps_journal`` writes one
    only with ``resume``.

    Args:
        request: The request.
        folder: The folder of the journals.
        resume: Whether to continue the journals in the folder.
        progress: Receives the progress of building indexes and of the queries.

    Raises:
        UsageError: If a mode, setting or journal is not valid for the request.
        InputError: If something cannot be read, built or written.
    """
    _check_request(request)
    if not request.backend.keeps_journal and not resume:
        yield _fetch_modes(request, {mode: MemoryAnswers() for mode in request.modes}, progress)
        return
    with _journals(request, folder, resume) as journals:
        yield _fetch_modes(request, journals, progress)


def _check_request(request: FetchRequest) -> None:
    depth, backend = request.options.depth, request.backend
    check_topic_fields(request.topics, request.topic_fields)
    if depth < 1:
        raise UsageError(f"expected a depth of at least 1 but got {depth}")
    check_topics(request.topics)
    if backend.needs_corpus and request.corpus is None:
        raise UsageError(
            f"the backend {backend.name} needs documents to search",
            remedy="give --dataset or --corpus",
        )


@contextmanager
def _journals(request: FetchRequest, folder: Path, resume: bool) -> Iterator[dict[str, Journal]]:
    """Open the journals of all modes; remove new journals if the fetch fails to start."""
    journals: dict[str, Journal] = {}
    facts = request.facts
    try:
        for mode in request.modes:
            journals[mode] = open_journal(
                folder / f"{mode}.run.journal",
                {"mode": mode, **facts},
                len(request.topics),
                resume=resume,
            )
        yield journals
    except BaseException:
        for journal in journals.values():
            journal.discard_if_new()
        raise
    finally:
        for journal in journals.values():
            journal.close()


def _fetch_modes(
    request: FetchRequest,
    stores: Mapping[str, AnswerStore],
    progress: Progress,
    *,
    leave_one_out: bool = False,
) -> dict[str, AnsweredRun]:
    """Send each mode every query whose answer is not in its store.

    Matrix products use one thread, because waking several threads takes longer than a query.
    """
    sources = request.backend.open(request.backend_request(progress))
    try:
        # All retrievers must be registered before the first one searches.
        without = {
            mode: source.leave_one_out() if leave_one_out else {}
            for mode, source in sources.items()
        }
        with one_blas_thread():
            runs = {
                mode: _fetch_mode(mode, source, request, stores[mode], progress)
                for mode, source in sources.items()
            }
            for mode, run in runs.items():
                run.without = {
                    name: _fetch_mode(
                        f"{mode} without {name}", source, request, MemoryAnswers(), progress
                    )
                    for name, source in without[mode].items()
                }
    finally:
        for source in sources.values():
            source.close()
    return runs


def _fetch_mode(
    mode: str, source: Source, request: FetchRequest, store: AnswerStore, progress: Progress
) -> AnsweredRun:
    failures: dict[str, Failure] = {}
    known, breaker = store.answers, CircuitBreaker()
    done, total = len(known), len(request.topics)
    progress(f"searching {mode}", done, total)
    # Simultaneous requests slow each other down.
    is_parallel = source.latency_sample is None and source.concurrency > 1
    size = _TIMED_ALONE if is_parallel else source.latency_sample
    sample = sample_queries(request.topics, size)

    def pending() -> Iterator[Query]:
        queries = iter_queries(request.topics, request.topic_fields)
        return (query for query in queries if query.query_id not in known)

    timed = _timed_batches(pending, sample)
    others = _other_batches(pending, source.batch_size, sample)

    def answer(queries: list[Query]) -> Outcomes:
        return answer_batch(source, queries, request.options)

    one_by_one = ([answer(batch)] for batch in takewhile(lambda _: not breaker.stopped, timed))
    for found in chain(one_by_one, call_concurrently(answer, others, source, breaker)):
        outcomes = [outcome for batch in found for outcome in batch]
        outcomes = outcomes if sample is None else _keep_latencies(outcomes, sample)
        store.add(outcomes)
        for outcome in outcomes:
            failure = outcome.failure if isinstance(outcome, FailedQuery) else None
            breaker.record(failure)
            if failure is not None:
                failures[outcome.query_id] = failure
        done += len(outcomes)
        progress(f"searching {mode}", done, total)
    answers = store.answers
    if done < total:
        for query in iter_queries(request.topics):
            if query.query_id not in failures and query.query_id not in answers:
                cause = breaker.stopped
                assert cause is not None
                reason = f"not asked: {cause.reason}"
                failures[query.query_id] = Failure(reason, cause.kind, attempts=0)
    return AnsweredRun(mode, request.topics, answers, failures, source.index_keys())


def _timed_batches(
    queries: Callable[[], Iterator[Query]], sample: frozenset[str] | None
) -> Iterator[list[Query]]:
    """Yield each query of the sample alone."""
    return ([query] for query in queries() if query.query_id in sample) if sample else iter(())


def _other_batches(
    queries: Callable[[], Iterator[Query]], size: int, sample: frozenset[str] | None
) -> Iterator[list[Query]]:
    """Yield the other queries in batches; they are read again, as too many may not be kept."""
    others = (one for one in queries() if sample is None or one.query_id not in sample)
    yield from iter(lambda: list(islice(others, size)), [])


def _keep_latencies(outcomes: Outcomes, sample: frozenset[str]) -> Outcomes:
    """Return the outcomes without the latencies of queries that are not in the sample."""
    return [
        replace(one, latency_ms=math.nan)
        if isinstance(one, Answer) and one.query_id not in sample
        else one
        for one in outcomes
    ]
