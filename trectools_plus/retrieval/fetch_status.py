"""What became of a fetch: the statuses of runs and of a benchmark's arms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from trectools_plus.retrieval.backends.base import Failure

FetchStatus = Literal["ok", "empty", "incomplete", "failed", "unavailable"]
"""``ok``: every query was answered; ``empty``: so it was, and nothing was found for any;
``incomplete``: some queries have no answer; ``failed``: none has; ``unavailable``: none has, for
the source was not reached or did not answer in time."""

SCORED: tuple[FetchStatus, ...] = ("ok", "empty")
"""Only these say something of the source's quality."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FetchOutcome:
    """What became of the queries of one mode, wherever the answers are.

    Attributes:
        results: Rows of the run.
        latency_ms: Milliseconds for each query, in the order of the topics; NaN without an answer.
            Batches larger than 1 share their time evenly. A hybrid's time is that of its
            components, one after the other, and of merging their rankings.
        missing_queries: Ids of the queries for which nothing was found.
        index_keys: The key of each index that was searched, by its mode.
        failures: Why a query has no answer, by its id.
        cut_short: Ids of queries with fewer documents than wanted, because no more chunks may be
            asked for.
    """

    results: int
    latency_ms: npt.NDArray[np.float64]
    missing_queries: list[str]
    index_keys: dict[str, str]
    failures: dict[str, Failure] = field(default_factory=dict)
    cut_short: list[str] = field(default_factory=list)

    @property
    def queries(self) -> int:
        """How many were to be asked."""
        return len(self.latency_ms)

    @property
    def queries_with_results(self) -> int:
        """How many are in the run."""
        return self.queries - len(self.missing_queries) - len(self.failures)

    @property
    def status(self) -> FetchStatus:
        """Only ``ok`` and ``empty`` runs are whole, and can be scored."""
        if not self.failures:
            return "ok" if self.results else "empty"
        if len(self.failures) < self.queries:
            return "incomplete"
        away = all(failure.kind == "unavailable" for failure in self.failures.values())
        return "unavailable" if away else "failed"
