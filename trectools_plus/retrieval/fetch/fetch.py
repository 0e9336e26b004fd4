"""Fetching: every query of the topics is asked of every mode, and no answer is silently missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from trectools_plus.blas import one_blas_thread
from trectools_plus.errors import UsageError
from trectools_plus.formats.documents import Documents
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.embedded.backend import EmbeddedBackend
from trectools_plus.retrieval.fetch.answering import (
    Answer,
    AnswerStore,
    FailedQuery,
    FetchOptions,
    MemoryAnswers,
    answer_batch,
)
from trectools_plus.retrieval.fetch.journal import Journal, open_journal
from trectools_plus.retrieval.fetch.outcome import AnsweredRun, FetchedRun
from trectools_plus.retrieval.fetch.topics import (
    AnyTopics,
    TopicsChangedError,
    check_depth,
    check_request,
    hash_topics,
    iter_queries,
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

Outcomes = list[Answer | FailedQuery]


@dataclass(frozen=True, slots=True, eq=False)
class FetchRequest:
    """Everything that is fetched.

    Attributes:
        corpus: The documents; ``None`` where the backend has its own. A stream goes with a
            backend that ``streams_documents``.
        topics: The queries; a stream goes with a backend that is not embedded.
        modes: In which modes, none twice.
        options: Of each query.
        settings: Of modes that index documents.
        backend: What searches.
    """

    corpus: Documents | None
    topics: AnyTopics
    modes: Sequence[str]
    options: FetchOptions = field(default_factory=FetchOptions)
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)
    backend: Backend = field(default_factory=EmbeddedBackend)

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that shapes the answers, as JSON; a journal is known by it."""
        collapse = self.options.collapse
        return {
            "backend": self.backend.name,
            "backend_settings": self.backend.facts,
            "settings": self.settings.model_dump(mode="json", exclude={"batch_size"}),
            "packages": None,
            "depth": self.options.depth,
            "exclude_self": self.options.exclude_self,
            "collapse": None if collapse is None else collapse.model_dump(mode="json"),
            "topics": hash_topics(self.topics),
            "corpus": None if self.corpus is None else self.corpus.sha256(),
            **self.backend.request_facts(self.opening()),
        }

    def opening(self, progress: Progress = no_progress) -> BackendRequest:
        """Return what the backend is opened for."""
        return BackendRequest(
            self.corpus,
            self.modes,
            self.settings,
            progress,
            self.options.depth + self.options.exclude_self,
            self.options.exclude_self,
        )


def fetch(
    corpus: Corpus,
    topics: Topics,
    modes: Sequence[str],
    *,
    depth: int = 100,
    settings: RetrievalSettings | None = None,
    exclude_self: bool = False,
    leave_out: bool = False,
    progress: Progress = no_progress,
) -> dict[str, FetchedRun]:
    """Search the corpus for every topic in every embedded mode.

    Args:
        corpus: The documents.
        topics: The queries; all modes get the same ones.
        modes: Names of ``retrieval.backends.embedded.modes.ALL_MODES``.
        depth: Results for each query, at most.
        settings: The defaults if ``None``.
        exclude_self: Drop a document whose id is the query's, before the cutoff at ``depth``.
        leave_out: Also merge without each component, for what it contributes to the fusion.
        progress: Notified of index building and of the queries asked.

    Returns:
        A run for each mode, in the order of ``modes``.

    Raises:
        UsageError: If a mode is unknown or ``depth`` below 1.
        InputError: If ids are repeated or cannot be written to a run; or an index cannot be
            written.
    """
    options = FetchOptions(depth, exclude_self)
    request = FetchRequest(corpus, topics, modes, options, settings or RetrievalSettings())
    return fetch_runs(request, leave_one_out=leave_out, progress=progress)


def fetch_runs(
    request: FetchRequest, *, leave_one_out: bool = False, progress: Progress = no_progress
) -> dict[str, FetchedRun]:
    """Fetch every mode into memory, without journals.

    Args:
        request: What is fetched.
        leave_one_out: Also merge without each component, for what it contributes to the fusion.
        progress: Notified of the making of indexes and of the queries asked.

    Raises:
        UsageError: If a mode or setting does not go with the request.
        InputError: If something cannot be read or built.
    """
    _check_request(request)
    stores = {mode: MemoryAnswers() for mode in request.modes}
    runs = _ask_all(request, stores, progress, leave_one_out=leave_one_out)
    return {mode: run.collect() for mode, run in runs.items()}


@contextmanager
def fetch_journalled(
    request: FetchRequest,
    folder: Path,
    *,
    resume: bool = False,
    progress: Progress = no_progress,
) -> Iterator[Mapping[str, AnsweredRun]]:
    """Fetch every mode with journals in a folder, and hand out runs while these are open.

    Answers stay in the journals, and the runs are read from there. Backends whose answers are not
    worth a journal keep one only with ``resume``.

    Args:
        request: What is fetched.
        folder: For the journals.
        resume: Resume the journals that are there.
        progress: Notified of the making of indexes and of the queries asked.

    Raises:
        UsageError: If a mode, setting or journal does not go with the request.
        InputError: If something cannot be read, built or written.
    """
    _check_request(request)
    if not request.backend.keeps_journal and not resume:
        yield _ask_all(request, {mode: MemoryAnswers() for mode in request.modes}, progress)
        return
    with _journals(request, folder, resume) as journals:
        yield _ask_all(request, journals, progress)


def _check_request(request: FetchRequest) -> None:
    if isinstance(request.topics, Topics):
        check_request(request.topics, request.options.depth)
    else:
        check_depth(request.options.depth)
    backend = request.backend
    if backend.needs_corpus and request.corpus is None:
        raise UsageError(
            f"the backend {backend.name} searches documents that it is given",
            remedy="give --dataset or --corpus",
        )


@contextmanager
def _journals(request: FetchRequest, folder: Path, resume: bool) -> Iterator[dict[str, Journal]]:
    """Open the journals of all modes; none is left of a fetch that never began."""
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
    except TopicsChangedError:
        # The answers are to other queries than the journals say.
        for journal in journals.values():
            journal.discard()
        raise
    except BaseException:
        for journal in journals.values():
            journal.discard_if_new()
        raise
    finally:
        for journal in journals.values():
            journal.close()


def _ask_all(
    request: FetchRequest,
    stores: Mapping[str, AnswerStore],
    progress: Progress,
    *,
    leave_one_out: bool = False,
) -> dict[str, AnsweredRun]:
    """Ask each mode every query that its store lacks; queries and answers pass by.

    Matrix products use one thread: with more, a query's latency is mostly that of waking them.
    """
    sources = request.backend.open(request.opening(progress))
    try:
        rest = {
            mode: source.leave_one_out() if leave_one_out else {}
            for mode, source in sources.items()
        }
        with one_blas_thread():
            runs = {
                mode: _ask_one(mode, source, request, stores[mode], progress)
                for mode, source in sources.items()
            }
            for mode, run in runs.items():
                run.without = {
                    name: _ask_one(
                        f"{mode} without {name}", source, request, MemoryAnswers(), progress
                    )
                    for name, source in rest[mode].items()
                }
    finally:
        for source in sources.values():
            source.close()
    return runs


def _ask_one(
    mode: str, source: Source, request: FetchRequest, store: AnswerStore, progress: Progress
) -> AnsweredRun:
    failures: dict[str, Failure] = {}
    known, breaker = store.answers, CircuitBreaker()
    done, total = len(known), len(request.topics)
    progress(f"asking {mode}", done, total)
    queries = iter_queries(request.topics)
    pending = (query for query in queries if query.query_id not in known)
    for outcomes in _outcomes(source, pending, request.options, breaker):
        store.add(outcomes)
        failures |= {one.query_id: one.failure for one in outcomes if isinstance(one, FailedQuery)}
        done += len(outcomes)
        progress(f"asking {mode}", done, total)
    answers = store.answers
    if done < total:
        for query in iter_queries(request.topics):
            if query.query_id not in failures and query.query_id not in answers:
                cause = breaker.stopped
                assert cause is not None
                reason = f"not asked: {cause.reason}"
                failures[query.query_id] = Failure(reason, cause.kind, attempts=0)
    return AnsweredRun(mode, request.topics, answers, failures, source.index_keys())


def _outcomes(
    source: Source, queries: Iterator[Query], options: FetchOptions, breaker: CircuitBreaker
) -> Iterator[Outcomes]:
    """Yield outcomes as they come, until all queries are asked or the circuit breaks."""
    batches = _batches(queries, source.batch_size)
    if source.concurrency == 1:
        for batch in batches:
            outcomes = answer_batch(source, batch, options)
            _note(breaker, outcomes)
            yield outcomes
            if breaker.stopped:
                return
        return
    pool = ThreadPoolExecutor(source.concurrency)
    waiting: set[Future[Outcomes]] = set()
    try:
        while True:
            room = 0 if breaker.stopped else source.concurrency - len(waiting)
            for batch in islice(batches, room):
                waiting.add(pool.submit(answer_batch, source, batch, options))
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            outcomes = [outcome for future in done for outcome in future.result()]
            _note(breaker, outcomes)
            yield outcomes
    except BaseException:
        source.close()  # whatever waits for its next attempt stops waiting
        raise
    finally:
        # After an error nobody waits for the requests under way: they may hang.
        pool.shutdown(wait=False, cancel_futures=True)


def _note(breaker: CircuitBreaker, outcomes: Outcomes) -> None:
    for outcome in outcomes:
        breaker.note(outcome.failure if isinstance(outcome, FailedQuery) else None)


def _batches(queries: Iterator[Query], size: int) -> Iterator[list[Query]]:
    while batch := list(islice(queries, size)):
        yield batch
