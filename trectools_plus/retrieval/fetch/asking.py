"""Asking sources every query of the topics: in parallel, journalled, never silently short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Protocol

from trectools_plus.blas import one_blas_thread
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.base import Failure, Query, Source
from trectools_plus.retrieval.fetch.answering import Answer, FailedQuery, Wanted, answer_batch
from trectools_plus.retrieval.fetch.topics import AnyTopics, iter_queries

Outcomes = list[Answer | FailedQuery]

PATIENCE = 5
"""So many queries in a row given up after all retries, and the rest is not asked."""


class Answers(Protocol):
    """Answers that are found by their query."""

    def __len__(self) -> int: ...

    def __contains__(self, query_id: str) -> bool: ...

    def get(self, query_id: str) -> Answer | None:
        """The answer to a query; ``None`` if there is none."""


class AnswerStore(Protocol):
    """Where answers are kept as they come."""

    @property
    def answers(self) -> Answers:
        """Those that are there now."""

    def add(self, outcomes: Iterable[Answer | FailedQuery]) -> None:
        """Keep what became of some queries."""


class HeldAnswers(dict[str, Answer]):
    """Answers in memory, by query id."""

    @property
    def answers(self) -> HeldAnswers:
        """Those that are there now."""
        return self

    def add(self, outcomes: Iterable[Answer | FailedQuery]) -> None:
        """Keep the answers; failures are told to the caller anyhow."""
        self.update({one.query_id: one for one in outcomes if isinstance(one, Answer)})


def ask_sources(
    sources: Mapping[str, Source],
    topics: AnyTopics,
    wanted: Wanted,
    stores: Mapping[str, AnswerStore],
    progress: Progress = no_progress,
) -> dict[str, dict[str, Failure]]:
    """Ask each source every topic that its store does not hold already.

    Neither the queries nor their answers are held here.

    Args:
        sources: By mode; closed at the end.
        topics: The queries.
        wanted: Of each query.
        stores: By mode; answers are added to them.
        progress: Told of the queries answered.

    Returns:
        By mode, why queries have no answer.

    Raises:
        InputError: If a journal cannot be written, or the topics not be read.
    """
    try:
        # As the embedded modes: a source may compute in this process.
        with one_blas_thread():
            return {
                mode: _ask_one(mode, source, topics, wanted, stores[mode], progress)
                for mode, source in sources.items()
            }
    finally:
        for source in sources.values():
            source.close()


def _ask_one(
    mode: str,
    source: Source,
    topics: AnyTopics,
    wanted: Wanted,
    store: AnswerStore,
    progress: Progress,
) -> dict[str, Failure]:
    failures: dict[str, Failure] = {}
    known, brake = store.answers, _Brake()
    done, total = len(known), len(topics)
    progress(f"asking {mode}", done, total)
    pending = (query for query in iter_queries(topics) if query.query_id not in known)
    for outcomes in _outcomes(source, pending, wanted, brake):
        store.add(outcomes)
        failures |= {one.query_id: one.failure for one in outcomes if isinstance(one, FailedQuery)}
        done += len(outcomes)
        progress(f"asking {mode}", done, total)
    if done < total:
        answers = store.answers
        for query in iter_queries(topics):
            if query.query_id not in failures and query.query_id not in answers:
                failures[query.query_id] = brake.not_asked()
    return failures


def index_keys(mode: str, source: Source) -> dict[str, str]:
    """The key of the index that a source searches, by its mode; empty where it has none."""
    key: str | None = getattr(source, "index_key", None)
    return {} if key is None else {mode: key}


class _Brake:
    """Notices when asking further is pointless."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self.stopped: Failure | None = None

    def feel(self, outcomes: Outcomes) -> None:
        """Look at what became of some queries."""
        for outcome in outcomes:
            if isinstance(outcome, Answer) or not outcome.failure.lasting:
                self._in_a_row = 0
            else:
                self._in_a_row += 1
            if isinstance(outcome, FailedQuery) and (
                outcome.failure.stops or self._in_a_row >= PATIENCE
            ):
                self.stopped = self.stopped or outcome.failure

    def not_asked(self) -> Failure:
        """What to say of the queries that were left out."""
        assert self.stopped is not None
        return Failure(f"not asked: {self.stopped.reason}", self.stopped.kind, attempts=0)


def _outcomes(
    source: Source, queries: Iterator[Query], wanted: Wanted, brake: _Brake
) -> Iterator[Outcomes]:
    """Outcomes as they come, until all queries are asked or the brake is pulled."""
    batches = _batches(queries, source.batch_size)
    if source.concurrency == 1:
        for batch in batches:
            outcomes = answer_batch(source, batch, wanted)
            brake.feel(outcomes)
            yield outcomes
            if brake.stopped:
                return
        return
    pool = ThreadPoolExecutor(source.concurrency)
    waiting: set[Future[Outcomes]] = set()
    try:
        while True:
            room = 0 if brake.stopped else source.concurrency - len(waiting)
            for batch in islice(batches, room):
                waiting.add(pool.submit(answer_batch, source, batch, wanted))
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            outcomes = [outcome for future in done for outcome in future.result()]
            brake.feel(outcomes)
            yield outcomes
    except BaseException:
        source.close()  # whatever waits for its next attempt stops waiting
        raise
    finally:
        # After an error nobody waits for the requests under way: they may hang.
        pool.shutdown(wait=False, cancel_futures=True)


def _batches(queries: Iterator[Query], size: int) -> Iterator[list[Query]]:
    while batch := list(islice(queries, size)):
        yield batch
