"""Answers as the rows of a run, in the order of the queries."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
import polars as pl

from trectools_plus.formats.tables import Run
from trectools_plus.retrieval.backends.base import Failure
from trectools_plus.retrieval.fetch.asking import Answers
from trectools_plus.retrieval.fetch.fetch import FetchedRun
from trectools_plus.retrieval.fetch.outcome import FetchOutcome
from trectools_plus.retrieval.fetch.topics import AnyTopics, iter_queries
from trectools_plus.retrieval.source import empty_ranking, run_of

_QUERIES_PER_STEP = 1_000
_UNKNOWN = Failure("not asked")


class AnsweredRun:
    """The answers to all queries of one mode, a thousand queries at a time.

    Args:
        mode: The run's name.
        topics: The queries.
        answers: Those that there are.
        failures: Why the other queries have none.
        index_keys: The key of each index that was searched, by its mode.
    """

    def __init__(
        self,
        mode: str,
        topics: AnyTopics,
        answers: Answers,
        failures: Mapping[str, Failure],
        index_keys: dict[str, str],
    ) -> None:
        self.mode = mode
        self._topics = topics
        self._answers = answers
        self._failures = failures
        self._index_keys = index_keys
        self._outcome: FetchOutcome | None = None

    @property
    def outcome(self) -> FetchOutcome:
        """What became of the queries; known once all rows have been read."""
        assert self._outcome is not None
        return self._outcome

    def frames(self) -> Iterator[pl.DataFrame]:
        """The run's rows, ranked; frames without rows are left out."""
        results, latencies = 0, array("d")
        failures: dict[str, Failure] = {}
        missing: list[str] = []
        cut_short: list[str] = []
        queries = iter_queries(self._topics)
        while query_ids := [one.query_id for one in islice(queries, _QUERIES_PER_STEP)]:
            rankings = []
            for query_id in query_ids:
                answer = self._answers.get(query_id)
                latencies.append(np.nan if answer is None else answer.latency_ms)
                rankings.append(empty_ranking() if answer is None else answer.ranking)
                if answer is None:
                    # A query that nobody has asked: reading on tells that the topics changed.
                    failures[query_id] = self._failures.get(query_id, _UNKNOWN)
                    continue
                if not answer.ranking:
                    missing.append(query_id)
                if answer.cut_short:
                    cut_short.append(query_id)
            frame = run_of(query_ids, rankings, self.mode).frame
            results += frame.height
            if frame.height:
                yield frame
        self._outcome = FetchOutcome(
            results=results,
            latency_ms=np.array(latencies),
            missing_queries=missing,
            index_keys=self._index_keys,
            failures=failures,
            cut_short=cut_short,
        )

    def collect(self) -> FetchedRun:
        """The whole run in memory."""
        frames = list(self.frames())
        frame = pl.concat(frames) if frames else run_of([], [], self.mode).frame
        outcome = self.outcome
        return FetchedRun(
            run=Run(frame, self.mode),
            results=outcome.results,
            latency_ms=outcome.latency_ms,
            missing_queries=outcome.missing_queries,
            index_keys=outcome.index_keys,
            failures=outcome.failures,
            cut_short=outcome.cut_short,
        )
