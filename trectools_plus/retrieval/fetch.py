"""Fetch runs: send every query to every mode, and report every query without an answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from trectools_plus.blas import one_blas_thread
from trectools_plus.display import Progress, no_progress
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.answering import (
    Answer,
    Journal,
    MemoryAnswers,
    answer_batch,
    open_journal,
)
from trectools_plus.retrieval.backends.embedded import EmbeddedBackend
from trectools_plus.retrieval.backends.modes import expand_modes
from trectools_plus.retrieval.calls import call_concurrently
from trectools_plus.retrieval.outcome import FetchedRun, collect_run
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import (
    Backend,
    CircuitBreaker,
    Failure,
    FetchOptions,
    Query,
    SearchRequest,
    Source,
    check_topics,
    hash_topics,
    iter_queries,
    sample_queries,
)
from trectools_plus.validation.inputs import Input, as_corpus, as_topics


@dataclass(frozen=True, slots=True, eq=False)
class FetchRequest(SearchRequest):
    """The request for one run in each mode.

    Attributes:
        backend: The backend that searches.
    """

    backend: Backend = field(default_factory=EmbeddedBackend)

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that determines the answers, as JSON; identifies a journal."""
        collapse = self.options.collapse
        return {
            "backend": self.backend.name,
            "backend_settings": self.backend.facts,
            "settings": self.settings.model_dump(mode="json")
            if self.backend.needs_corpus
            else None,
            "packages": None,
            "depth": self.options.depth,
            "exclude_self": self.options.exclude_self,
            "collapse": None if collapse is None else collapse.model_dump(mode="json"),
            "topics": hash_topics(self.topics),
            "corpus": None if self.corpus is None else self.corpus.sha256(),
            **self.backend.request_facts(self),
        }


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
        modes: Names of ``choices.ALL_MODES``.
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
    settings = settings or RetrievalSettings()
    names = expand_modes([modes] if isinstance(modes, str) else modes, settings)
    options = FetchOptions(depth, exclude_self)
    return fetch_runs(FetchRequest(as_corpus(corpus), as_topics(topics), names, options, settings))


def fetch_runs(request: FetchRequest, *, progress: Progress = no_progress) -> dict[str, FetchedRun]:
    """Fetch every mode into memory, without journals.

    Args:
        request: The request.
        progress: Receives the progress of building indexes and of the queries.

    Raises:
        UsageError: If a mode or setting is not valid for the request.
        InputError: If something cannot be read or built.
    """
    check_request(request)
    return fetch_modes(request, {mode: MemoryAnswers() for mode in request.modes}, progress)


def check_request(request: FetchRequest) -> None:
    """Check that a request has queries, documents if the backend needs them, and a depth.

    Raises:
        UsageError: If a setting is not valid for the request.
        InputError: If there are no queries, or an id cannot be written to a run.
    """
    depth, backend = request.options.depth, request.backend
    if depth < 1:
        raise UsageError(f"expected a depth of at least 1 but got {depth}")
    check_topics(request.topics)
    if backend.needs_corpus and request.corpus is None:
        raise UsageError(
            f"the backend {backend.name} needs documents to search",
            remedy="give --dataset or --corpus",
        )


@contextmanager
def open_stores(
    request: FetchRequest, folder: Path, *, resume: bool
) -> Iterator[Mapping[str, MemoryAnswers]]:
    """Open a store of answers for each mode: its journal in a folder.

    A backend without ``keeps_journal`` writes one only with ``resume``. New journals without
    an answer are removed after an error.

    Args:
        request: The request.
        folder: The folder of the journals.
        resume: Whether to continue the journals in the folder.

    Raises:
        UsageError: If a journal is not valid for the request.
        InputError: If one cannot be read or written.
    """
    if not request.backend.keeps_journal and not resume:
        yield {mode: MemoryAnswers() for mode in request.modes}
        return
    journals = dict[str, Journal]()
    facts, count = request.facts, len(request.topics)
    try:
        for mode in request.modes:
            path = folder / f"{mode}.run.journal"
            journals[mode] = open_journal(path, {"mode": mode, **facts}, count, resume=resume)
        yield journals
    except BaseException:
        for journal in journals.values():
            if journal.header is None and not journal:
                journal.path.unlink(missing_ok=True)
        raise
    finally:
        for journal in journals.values():
            journal.close()


def fetch_modes(
    request: FetchRequest,
    stores: Mapping[str, MemoryAnswers],
    progress: Progress,
) -> dict[str, FetchedRun]:
    """Send each mode every query whose answer is not in its store.

    Matrix products use one thread, because waking several threads takes longer than a query.

    Args:
        request: The request.
        stores: The answers of each mode so far; further ones are added.
        progress: Receives the progress of building indexes and of the queries.
    """
    sources = request.backend.open(request, progress)
    try:
        with one_blas_thread():
            return {
                mode: _fetch_mode(mode, source, request, stores[mode], progress)
                for mode, source in sources.items()
            }
    finally:
        for source in sources.values():
            source.close()


def _fetch_mode(
    mode: str,
    source: Source,
    request: FetchRequest,
    store: MemoryAnswers,
    progress: Progress,
) -> FetchedRun:
    failures = dict[str, Failure]()
    breaker, total = CircuitBreaker(), len(request.topics)
    progress(f"searching {mode}", len(store), total)
    sample = sample_queries(request.topics, source.latency_sample)
    pending = [query for query in iter_queries(request.topics) if query.query_id not in store]
    alone = [query for query in pending if sample and query.query_id in sample]
    others = (query for query in pending if not (sample and query.query_id in sample))

    def answer(batch: Sequence[Query]) -> dict[str, Answer | Failure]:
        outcomes = answer_batch(source, batch, request.options)
        for query_id, outcome in outcomes.items():
            if isinstance(outcome, Answer) and sample is not None and query_id not in sample:
                outcomes[query_id] = replace(outcome, latency_ms=math.nan)
        return outcomes

    timed = call_concurrently(answer, ([query] for query in alone), breaker, 1, source.close)
    batches = iter(lambda: list(islice(others, source.batch_size)), [])
    calls = call_concurrently(answer, batches, breaker, source.concurrency, source.close)
    for results in chain(timed, calls):
        for outcomes in results:
            store.add(outcomes)
            for query_id, outcome in outcomes.items():
                breaker.record(outcome if isinstance(outcome, Failure) else None)
                if isinstance(outcome, Failure):
                    failures[query_id] = outcome
        progress(f"searching {mode}", len(store) + len(failures), total)
    if cause := breaker.stopped:
        not_asked = Failure(f"not asked: {cause.reason}", cause.kind, attempts=0)
        rest = (query.query_id for query in pending if query.query_id not in store)
        failures = {query_id: failures.get(query_id, not_asked) for query_id in rest}
    return collect_run(mode, request.topics, store, failures, source.index_keys())
