"""Asking retrievers every query of the topics, with the time each answer took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Protocol

import numpy as np

from trectools_plus.blas import one_blas_thread
from trectools_plus.formats.tables import Corpus, Run, Topics
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.embedded.modes import build_retrievers, check_modes, left_out
from trectools_plus.retrieval.fetch.outcome import FetchOutcome
from trectools_plus.retrieval.fetch.topics import check_ids, check_request
from trectools_plus.retrieval.fusion import HybridRetriever
from trectools_plus.retrieval.rerank import RerankingRetriever
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Ranking, Retriever, run_of


class Record(Protocol):
    """Answers that are kept somewhere, so that a fetch can go on where it ended."""

    def known(self, mode: str, query_ids: list[str]) -> tuple[list[Ranking], list[float]] | None:
        """Rankings and milliseconds of these queries; ``None`` unless all of them are known."""

    def add(
        self, mode: str, query_ids: list[str], rankings: list[Ranking], latency_ms: list[float]
    ) -> None:
        """Keep the answers of a batch."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FetchedRun(FetchOutcome):
    """What one mode answered.

    Attributes:
        run: Ranks from 1, scores exact in 32 bits, in canonical order; named as the mode.
        without: For a mode that merges rankings, by component: the run without it. Only where
            that was asked for.
    """

    run: Run
    without: dict[str, Run] = field(default_factory=dict)


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
    record: Record | None = None,
) -> dict[str, FetchedRun]:
    """Search the corpus for every topic in every mode.

    Args:
        corpus: The documents.
        topics: The queries; all modes get the same ones.
        modes: Names of ``embedded.modes.ALL_MODES``.
        depth: Results for each query, at most.
        settings: The defaults if ``None``.
        exclude_self: Drop a document whose id is the query's, before the cutoff at ``depth``.
        leave_out: Also merge without each component, for what it contributes to the fusion.
        progress: Told of index building and of the queries asked.
        record: Told of every answer, and asked first for those that are known.

    Returns:
        A run for each mode, in the order of ``modes``.

    Raises:
        UsageError: If a mode is unknown or ``depth`` below 1.
        InputError: If ids are repeated or cannot be written to a run; or an index cannot be
            written.
    """
    settings = settings or RetrievalSettings()
    check_modes(modes)
    check_request(topics, depth)
    check_ids(corpus.frame["doc_id"], "document", corpus.path)
    retrievers = build_retrievers(corpus, modes, settings, progress)
    # The first touch of mapped files belongs to opening an index, not to answering a query.
    for retriever in retrievers.values():
        retriever.search(["warm up"], 1)
    further = left_out(retrievers) if leave_out else {}
    names = {f"{mode} without {component}": (mode, component) for mode, component in further}
    answers = ask(
        {**retrievers, **dict(zip(names, further.values(), strict=True))},
        topics,
        depth=depth,
        exclude_self=exclude_self,
        batch_size=settings.batch_size,
        progress=progress,
        record=record,
    )
    without: dict[str, dict[str, Run]] = {}
    for name, (mode, component) in names.items():
        without.setdefault(mode, {})[component] = answers[name].run
    return {mode: replace(answers[mode], without=without.get(mode, {})) for mode in retrievers}


def ask(
    retrievers: Mapping[str, Retriever],
    topics: Topics,
    *,
    depth: int = 100,
    exclude_self: bool = False,
    batch_size: int = 1,
    progress: Progress = no_progress,
    record: Record | None = None,
) -> dict[str, FetchedRun]:
    """Ask ready retrievers every topic; ``fetch`` without the making of indexes.

    A component that several modes need is asked once for each query. Matrix products use one
    thread: with more, a query's latency is mostly that of waking them.
    """
    check_request(topics, depth)
    query_ids, texts = topics.query_ids, topics.frame["text"].to_list()
    rankings: dict[str, list[Ranking]] = {mode: [] for mode in retrievers}
    latencies: dict[str, list[float]] = {mode: [] for mode in retrievers}
    with one_blas_thread():
        for start in range(0, len(texts), batch_size):
            part = slice(start, start + batch_size)
            batch = _Batch(query_ids[part], texts[part], depth, exclude_self, retrievers.values())
            for mode, retriever in retrievers.items():
                known = None if record is None else record.known(mode, query_ids[part])
                if known is None:
                    found, seconds = batch.answer(retriever)
                    known = found, [1000 * seconds / len(found)] * len(found)
                    if record is not None:
                        record.add(mode, query_ids[part], *known)
                rankings[mode] += known[0]
                latencies[mode] += known[1]
            progress("asking queries", len(rankings[mode]), len(texts))
    return {
        mode: FetchedRun(
            run=run_of(query_ids, rankings[mode], mode),
            results=sum(map(len, rankings[mode])),
            latency_ms=np.array(latencies[mode]),
            missing_queries=[
                query for query, found in zip(query_ids, rankings[mode], strict=True) if not found
            ],
            index_keys=_index_keys(retriever),
        )
        for mode, retriever in retrievers.items()
    }


class _Batch:
    """Some queries on their way through all retrievers."""

    def __init__(
        self,
        query_ids: list[str],
        texts: list[str],
        depth: int,
        exclude_self: bool,
        retrievers: Iterable[Retriever],
    ) -> None:
        self._query_ids = query_ids
        self._texts = texts
        self._depth = depth
        self._exclude_self = exclude_self
        # One depth for all, so that a component's answer also serves as its own mode's.
        self._asked = max(_depth_needed(retriever, depth) for retriever in retrievers)
        self._answers: dict[int, tuple[list[Ranking], float]] = {}

    def answer(self, retriever: Retriever) -> tuple[list[Ranking], float]:
        """Each query's ranking down to the depth, and the seconds for all of them together."""
        return self._answer(retriever, self._depth)

    def _answer(self, retriever: Retriever, depth: int) -> tuple[list[Ranking], float]:
        if isinstance(retriever, RerankingRetriever):
            found, seconds = self._answer(retriever.inner, max(depth, retriever.depth))
            started = perf_counter()
            pairs = zip(self._texts, found, strict=True)
            found = [retriever.rerank(text, ranking, depth) for text, ranking in pairs]
            return found, seconds + perf_counter() - started
        if not isinstance(retriever, HybridRetriever):
            found, seconds = self._search(retriever)
            return [ranking.head(depth) for ranking in found], seconds
        parts = [self._search(component) for component in retriever.components]
        started = perf_counter()
        asked = retriever.component_depth(depth)
        merged = [
            retriever.merge([ranking.head(asked) for ranking in rankings], depth)
            for rankings in zip(*(found for found, _ in parts), strict=True)
        ]
        return merged, sum(seconds for _, seconds in parts) + perf_counter() - started

    def _search(self, retriever: Retriever) -> tuple[list[Ranking], float]:
        if id(retriever) not in self._answers:
            started = perf_counter()
            found = retriever.search(self._texts, self._asked + self._exclude_self)
            if self._exclude_self:
                pairs = zip(found, self._query_ids, strict=True)
                found = [ranking.without(query_id) for ranking, query_id in pairs]
            found = [ranking.head(self._asked) for ranking in found]
            self._answers[id(retriever)] = found, perf_counter() - started
        return self._answers[id(retriever)]


def _depth_needed(retriever: Retriever, depth: int) -> int:
    """How deep the indexes are asked for a result of ``depth`` documents."""
    if isinstance(retriever, RerankingRetriever):
        return _depth_needed(retriever.inner, max(depth, retriever.depth))
    if isinstance(retriever, HybridRetriever):
        return retriever.component_depth(depth)
    return depth


def _index_keys(retriever: Retriever) -> dict[str, str]:
    if isinstance(retriever, RerankingRetriever):
        return _index_keys(retriever.inner)
    if isinstance(retriever, HybridRetriever):
        return {
            mode: key for part in retriever.components for mode, key in _index_keys(part).items()
        }
    key: str | None = getattr(retriever, "index_key", None)
    return {} if key is None else {retriever.name: key}
