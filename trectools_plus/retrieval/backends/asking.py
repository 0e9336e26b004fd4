"""Asking sources every query of the topics: in parallel, journalled, never silently short."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

import numpy as np

from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.backends.answering import Answer, FailedQuery, Wanted, answer_batch
from trectools_plus.retrieval.backends.base import Failure, Query, Source
from trectools_plus.retrieval.base import Progress, empty_ranking, no_progress
from trectools_plus.retrieval.fetch import FetchedRun, check_request, run_of
from trectools_plus.retrieval.journal import Journal

Outcomes = list[Answer | FailedQuery]

PATIENCE = 5
"""So many queries in a row given up after all retries, and the rest is not asked."""


def ask_sources(
    sources: Mapping[str, Source],
    topics: Topics,
    wanted: Wanted,
    *,
    journals: Mapping[str, Journal] | None = None,
    progress: Progress = no_progress,
) -> dict[str, FetchedRun]:
    """Ask each source every topic that its journal does not hold already.

    Args:
        sources: By mode; closed at the end.
        topics: The queries.
        wanted: Of each query.
        journals: By mode; finished queries are taken from them and added to them.
        progress: Told of the queries answered.

    Returns:
        What each mode answered, with its status; queries without an answer are listed.

    Raises:
        UsageError, InputError: As :func:`trectools_plus.retrieval.fetch.check_request`; or if a
            journal cannot be written.
    """
    check_request(topics, wanted.depth)
    try:
        return {
            mode: _ask_one(mode, source, topics, wanted, (journals or {}).get(mode), progress)
            for mode, source in sources.items()
        }
    finally:
        for source in sources.values():
            source.close()


def _ask_one(
    mode: str,
    source: Source,
    topics: Topics,
    wanted: Wanted,
    journal: Journal | None,
    progress: Progress,
) -> FetchedRun:
    queries = [
        Query(query_id, text)
        for query_id, text in zip(topics.query_ids, topics.frame["text"].to_list(), strict=True)
    ]
    found: dict[str, Answer | FailedQuery] = {} if journal is None else dict(journal.answers)
    pending = [query for query in queries if query.query_id not in found]
    progress(f"asking {mode}", len(found), len(queries))
    brake = _Brake()
    for outcomes in _outcomes(source, pending, wanted, brake):
        if journal is not None:
            journal.add(outcomes)
        found |= {outcome.query_id: outcome for outcome in outcomes}
        progress(f"asking {mode}", len(found), len(queries))
    for query in queries:
        if query.query_id not in found:
            found[query.query_id] = FailedQuery(query.query_id, brake.not_asked())
    key: str | None = getattr(source, "index_key", None)
    keys = {} if key is None else {mode: key}
    return _collect(mode, [found[query.query_id] for query in queries], keys)


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
    source: Source, queries: Sequence[Query], wanted: Wanted, brake: _Brake
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
    with ThreadPoolExecutor(source.concurrency) as pool:
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


def _batches(queries: Sequence[Query], size: int) -> Iterator[Sequence[Query]]:
    return (queries[start : start + size] for start in range(0, len(queries), size))


def _collect(mode: str, outcomes: Outcomes, index_keys: dict[str, str]) -> FetchedRun:
    answers = [one if isinstance(one, Answer) else None for one in outcomes]
    query_ids = [one.query_id for one in outcomes]
    rankings = [empty_ranking() if one is None else one.ranking for one in answers]
    failures = {one.query_id: one.failure for one in outcomes if isinstance(one, FailedQuery)}
    return FetchedRun(
        run_of(query_ids, rankings, mode),
        np.array([np.nan if one is None else one.latency_ms for one in answers]),
        [one.query_id for one in answers if one is not None and not one.ranking],
        index_keys,
        failures,
        [one.query_id for one in answers if one is not None and one.cut_short],
    )
