"""Outcomes of a fetch: status and latency of each mode, and errors for runs without answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from trectools_plus.display import Displayed
from trectools_plus.errors import CheckFailedError, InputError, TrectoolsPlusError, raise_all
from trectools_plus.formats.tables import Run, Topics
from trectools_plus.models import ReportModel
from trectools_plus.retrieval.answering import Answer
from trectools_plus.retrieval.source import Failure, Values, empty_ranking, run_of
from trectools_plus.text import listed, plural

_MAX_EXAMPLES = 3  # maximum number of reasons in a message, and of queries for each reason

FetchStatus = Literal["ok", "empty", "incomplete", "failed", "unavailable"]
"""``ok``: every query was answered; ``empty``: every query was answered without any result;
``incomplete``: some queries have no answer; ``failed``: no query has an answer; ``unavailable``: no
query has an answer because the source was not reached or did not answer in time."""

SCORED: tuple[FetchStatus, ...] = ("ok", "empty")
"""The statuses of runs that can be scored."""


class Latency(ReportModel):
    """Latency of the retriever per query, in milliseconds."""

    mean: float
    """Arithmetic mean."""
    p50: float
    """Median."""
    p95: float
    """95th percentile, linearly interpolated."""
    p99: float
    """99th percentile, linearly interpolated."""
    queries: int | None = None
    """Number of queries whose latency was measured; null in reports of earlier versions."""


def summarise_latency(latency_ms: Values) -> Latency | None:
    """Return the mean and percentiles of latencies.

    Args:
        latency_ms: Milliseconds of each query; NaN for a query that was not timed.

    Returns:
        ``None`` if no query was timed.
    """
    timed = latency_ms[~np.isnan(latency_ms)]
    if not len(timed):
        return None
    p50, p95, p99 = np.percentile(timed, [50, 95, 99]).tolist()
    return Latency(mean=float(timed.mean()), p50=p50, p95=p95, p99=p99, queries=len(timed))


@dataclass(slots=True, eq=False, kw_only=True, repr=False)
class FetchedRun(Displayed):
    """The answers of one mode in memory.

    Attributes:
        run: The run, named after the mode: ranks from 1, scores exact in 32 bits, in canonical
            order.
        latency_ms: Milliseconds of each query, in the order of the topics; NaN without an answer,
            and for the queries of an embedded mode that are not in the timed sample. Another
            backend divides the time of a batch evenly. The latency of a hybrid is the sum of its
            components' latencies and the time of merging.
        missing_queries: Ids of the queries without results.
        index_keys: The key of each searched index, by mode.
        failures: The failures of queries without an answer, by query id.
        cut_short: Ids of queries with fewer documents than requested although the source found more
            results: it returned fewer than requested, or ``max_chunks`` was reached.
    """

    run: Run
    latency_ms: Values
    missing_queries: list[str]
    index_keys: dict[str, str]
    failures: dict[str, Failure]
    cut_short: list[str]

    @property
    def results(self) -> int:
        """Number of rows of the run."""
        return self.run.frame.height

    @property
    def queries(self) -> int:
        """Number of queries of the topics."""
        return len(self.latency_ms)

    @property
    def status(self) -> FetchStatus:
        """The status; only ``ok`` and ``empty`` runs are complete and can be scored."""
        if not self.failures:
            return "ok" if self.results else "empty"
        if len(self.failures) < self.queries:
            return "incomplete"
        kinds = {failure.kind for failure in self.failures.values()}
        return "unavailable" if kinds == {"unavailable"} else "failed"

    def _text(self) -> str:
        """The mode, its status and the number of results."""
        return f"<FetchedRun {self.run.name}: {self.status}, {plural(self.results, 'result')}>"


def collect_run(
    mode: str,
    topics: Topics,
    answers: Mapping[str, Answer],
    failures: Mapping[str, Failure],
    index_keys: dict[str, str],
) -> FetchedRun:
    """Return the run of a mode, in the order of the topics.

    Args:
        mode: The run's name.
        topics: The queries.
        answers: The answers by query id.
        failures: The failures of the other queries, by query id.
        index_keys: The key of each searched index, by mode.
    """
    query_ids = topics.frame["query_id"].to_list()
    replies = [answers.get(query_id) for query_id in query_ids]
    rankings = [empty_ranking() if answer is None else answer.ranking for answer in replies]
    return FetchedRun(
        run=run_of(query_ids, rankings, mode),
        latency_ms=np.array(
            [np.nan if answer is None else answer.latency_ms for answer in replies]
        ),
        missing_queries=[
            answer.query_id for answer in replies if answer is not None and not answer.ranking
        ],
        index_keys=index_keys,
        failures={query_id: failures[query_id] for query_id in query_ids if query_id in failures},
        cut_short=[
            answer.query_id for answer in replies if answer is not None and answer.cut_short
        ],
    )


def refuse_unscorable(fetched: Mapping[str, FetchedRun], folder: Path | None = None) -> None:
    """Check that every mode answered every query, and found a result for at least one query.

    Args:
        fetched: Runs by mode.
        folder: The folder of the run files and journals, if they were written.

    Raises:
        CheckFailedError: If a mode left some queries without an answer, or found nothing.
        InputError: If a mode answered no query.
    """
    errors = list[TrectoolsPlusError]()
    for mode, run in fetched.items():
        status = run.status
        if status == "ok" or (status == "empty" and folder is None):
            continue
        what = f"{mode} is {status}: {describe_failures(run)}"
        remedy = "add --resume to send only these queries again; the manifest has the reasons"
        if status == "empty":
            what = f"{mode} found nothing, so only {mode}.run.manifest.json is written"
            remedy = (
                "check that the topics belong to this corpus and have its language; for a service, "
                "check http.ids"
            )
        kind = CheckFailedError if status in ("empty", "incomplete") else InputError
        place = {} if folder is None else {"where": str(folder), "remedy": remedy}
        errors.append(kind(what, **place))
    raise_all(errors)


def describe_failures(run: FetchedRun) -> str:
    """Return the number of queries without an answer and the first reasons."""
    count = len(run.failures)
    reasons = dict[str, list[str]]()
    for query_id, failure in run.failures.items():
        reasons.setdefault(failure.reason.removeprefix("not asked: "), []).append(query_id)
    named = [
        f"{listed(ids, _MAX_EXAMPLES)}: {reason}"
        for reason, ids in [*reasons.items()][:_MAX_EXAMPLES]
    ]
    total = plural(run.queries, "query", "queries")
    verb = "has" if count == 1 else "have"
    return f"{count} of {total} {verb} no answer ({'; '.join(named)})"
