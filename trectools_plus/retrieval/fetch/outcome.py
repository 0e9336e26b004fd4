"""Outcomes of a fetch: status and latency of each mode, and errors for unusable runs."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict

from trectools_plus.errors import CheckFailedError, InputError, TrectoolsPlusError, raise_all
from trectools_plus.formats.tables import Run
from trectools_plus.retrieval.fetch.answering import Answers
from trectools_plus.retrieval.fetch.topics import AnyTopics, iter_queries
from trectools_plus.retrieval.source import Failure, empty_ranking, run_of
from trectools_plus.text import plural

_QUERIES_PER_STEP = 1_000
_UNKNOWN = Failure("not asked")

FetchStatus = Literal["ok", "empty", "incomplete", "failed", "unavailable"]
"""``ok``: every query was answered; ``empty``: so it was, and nothing was found for any;
``incomplete``: some queries have no answer; ``failed``: none has; ``unavailable``: none has, for
the source was not reached or did not answer in time."""

SCORED: tuple[FetchStatus, ...] = ("ok", "empty")
"""Only these say something of the source's quality."""


class Latency(BaseModel):
    """Time per query in milliseconds, as the retriever took it."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    mean: float
    """Arithmetic mean."""
    p50: float
    """Median."""
    p95: float
    """95th percentile, linearly interpolated."""
    p99: float
    """99th percentile, linearly interpolated."""


def summarise_latency(latency_ms: Sequence[float] | npt.NDArray[np.float64]) -> Latency | None:
    """Return mean and percentiles of milliseconds per query.

    Args:
        latency_ms: One number per query; NaN for a query that was not timed.

    Returns:
        ``None`` where no query was timed.
    """
    timed = np.asarray(latency_ms, dtype=np.float64)
    timed = timed[~np.isnan(timed)]
    if not len(timed):
        return None
    p50, p95, p99 = (float(value) for value in np.percentile(timed, [50, 95, 99]))
    return Latency(mean=float(timed.mean()), p50=p50, p95=p95, p99=p99)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FetchOutcome:
    """Outcome of the queries of one mode, wherever the answers are.

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
        """Number of queries that were to be asked."""
        return len(self.latency_ms)

    @property
    def queries_with_results(self) -> int:
        """Number of queries in the run."""
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


_NAMED = 3


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FetchedRun(FetchOutcome):
    """The answers of one mode in memory.

    Attributes:
        run: Ranks from 1, scores exact in 32 bits, in canonical order; named as the mode.
        without: For a mode that merges rankings, by component: the run without it. Only where
            that was asked for.
    """

    run: Run
    without: dict[str, Run] = field(default_factory=dict)


class AnsweredRun:
    """The answers to all queries of one mode, a thousand queries at a time.

    Args:
        mode: The run's name.
        topics: The queries.
        answers: Those that there are.
        failures: Why the other queries have none.
        index_keys: The key of each index that was searched, by its mode.

    Attributes:
        without: For a mode that merges rankings, by component: the answers without it.
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
        self.without: dict[str, AnsweredRun] = {}
        self._outcome: FetchOutcome | None = None

    @property
    def outcome(self) -> FetchOutcome:
        """Outcome of the queries; known once all rows have been read."""
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
                    # A query that was not asked: the topics changed, which reading on reports.
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
            without={name: other.collect().run for name, other in self.without.items()},
        )


def refuse_unscorable(fetched: Mapping[str, FetchOutcome], folder: Path | None = None) -> None:
    """Check that every mode answered every query, and found something for one at least.

    Args:
        fetched: Runs by mode.
        folder: Where they were written, and can be resumed; ``None`` if nowhere.

    Raises:
        CheckFailedError: If a mode left some queries without an answer, or found nothing.
        InputError: If a mode answered none.
    """
    nothing = [] if folder is None else _nothing_found(fetched, folder)
    raise_all([*_unfinished(fetched, folder), *nothing])


def _unfinished(
    fetched: Mapping[str, FetchOutcome], folder: Path | None
) -> list[TrectoolsPlusError]:
    """An error for each mode with queries that have no answer."""
    errors: list[TrectoolsPlusError] = []
    for mode, run in fetched.items():
        if run.status not in SCORED:
            what = f"{mode} is {run.status}: {describe_failures(run)}"
            kind = CheckFailedError if run.status == "incomplete" else InputError
            where, remedy = (None, None) if folder is None else (str(folder), _ask_again(mode, run))
            errors.append(kind(what, where=where, remedy=remedy))
    return errors


def _ask_again(mode: str, run: FetchOutcome) -> str:
    again = "add --resume to ask only these again"
    if run.status != "incomplete":
        return f"mend that, and {again}"
    listing = "manifest.json" if run.results else "journal"
    return f"{again}; {mode}.run.{listing} lists them with the reasons"


def describe_failures(run: FetchOutcome) -> str:
    """Say how many queries have no answer, and why: ``3 of 225 queries have no answer: …``."""
    count = len(run.failures)
    verb = "has" if count == 1 else "have"
    reasons: dict[str, list[str]] = {}
    for query_id, failure in run.failures.items():
        reasons.setdefault(failure.reason.removeprefix("not asked: "), []).append(query_id)
    named = [
        f"{', '.join(ids[:_NAMED])}{', …' if len(ids) > _NAMED else ''}: {reason}"
        for reason, ids in list(reasons.items())[:_NAMED]
    ]
    if len(reasons) > _NAMED:
        named.append("…")
    of_all = plural(run.queries, "query", "queries")
    return f"{count} of {of_all} {verb} no answer ({'; '.join(named)})"


def _nothing_found(fetched: Mapping[str, FetchOutcome], folder: Path) -> list[TrectoolsPlusError]:
    """A run without rows is no run file; the other modes' files are written all the same."""
    empty = [mode for mode, run in fetched.items() if run.status == "empty"]
    if not empty:
        return []
    written = [f"{mode}.run" for mode, run in fetched.items() if run.results]
    earlier = [f"{mode}.run" for mode in empty if (folder / f"{mode}.run").exists()]
    asked = plural(len(fetched[empty[0]].missing_queries), "query", "queries")
    what = f"{' and '.join(empty)} found nothing ({asked} asked), so there is no run file"
    if earlier:
        what += f" (but {' and '.join(earlier)} of an earlier fetch)"
    remedy = (
        "see whether the topics belong to this corpus, and whether they are in its language; of a "
        "service, whether its ids are where http.ids says"
    )
    return [
        CheckFailedError(
            f"{what}; written: {', '.join(written) or 'nothing'}", where=str(folder), remedy=remedy
        )
    ]
