"""Sources of search results, and the requests and answers that they exchange.

A :class:`Backend` opens one :class:`Source` for each mode. A source receives a few queries at a
time and answers each with hits or a failure. The embedded modes, JSON services and users'
functions are all sources. A source retries its own requests. ``retrieval.fetch`` does everything
else for all sources: it requests more results until there are enough documents, collapses chunks,
writes journals and determines statuses.

Rankings are in canonical order: 32-bit score descending, then document id descending by bytes.
The top-k functions of libraries break ties at the cutoff arbitrarily.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.choices import Panel
from trectools_plus.display import Displayed, Progress
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.hashing import digest_id, sha256_columns
from trectools_plus.formats.tables import RUN_SCHEMA, Corpus, Run, Topics
from trectools_plus.formats.writing import UNWRITABLE
from trectools_plus.retrieval.index.models import SourceFile
from trectools_plus.retrieval.index.parts import Positions
from trectools_plus.retrieval.setting_types import Option, SettingsModel, WholeNumber, setting
from trectools_plus.retrieval.settings import RetrievalSettings

Scores = npt.NDArray[np.float32]
Values = npt.NDArray[np.float64]

_MODE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranking(Displayed):
    """The documents found for one query, best first.

    The order is the canonical one of :mod:`trectools_plus.formats.ranking`: 32-bit score
    descending, then document id descending by its UTF-8 bytes. A cutoff inside a tie follows this
    order too.

    Attributes:
        doc_ids: Document ids without repetition.
        scores: ``float32``, one per document, descending.
    """

    doc_ids: list[str]
    scores: Scores

    def __len__(self) -> int:
        return len(self.doc_ids)

    def head(self, depth: int) -> Self:
        """Return the first ``depth`` documents."""
        return type(self)(self.doc_ids[:depth], self.scores[:depth])

    def without(self, doc_id: str) -> Self:
        """Return the ranking without one document."""
        rows = [row for row, other in enumerate(self.doc_ids) if other != doc_id]
        return type(self)([self.doc_ids[row] for row in rows], self.scores[rows])


class Retriever(Protocol):
    """An object that ranks documents for a text: a local index, a service, a function."""

    @property
    def name(self) -> str:
        """The mode's name: the tag of its run and its column in reports."""

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank documents for each query.

        Args:
            queries: Query texts; an empty text is allowed and finds nothing.
            depth: Maximum number of documents for each query, at least 1.

        Returns:
            One ranking per query, in the order of ``queries``.
        """


class CompositeRetriever(ABC):
    """A retriever that combines the rankings of other retrievers.

    Modes that share a component search it once.

    Attributes:
        components: The retrievers whose rankings it combines.
    """

    def __init__(self, *components: Retriever) -> None:
        self.components = components

    @property
    def name(self) -> str:
        """The mode's name."""
        return self.components[0].name

    @abstractmethod
    def component_depth(self, depth: int) -> int:
        """Return the depth of the component searches for a result of ``depth`` documents."""

    @abstractmethod
    def combine(self, query: str, rankings: Sequence[Ranking], depth: int) -> Ranking:
        """Combine the components' rankings of a query into one ranking.

        Args:
            query: The query's text.
            rankings: One ranking for each component.
            depth: Maximum number of documents in the result.
        """

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Search the components and combine their rankings."""
        component_depth = self.component_depth(depth)
        by_component = [component.search(queries, component_depth) for component in self.components]
        pairs = zip(queries, zip(*by_component, strict=True), strict=True)
        return [self.combine(query, rankings, depth) for query, rankings in pairs]


def leaves_of(retriever: Retriever) -> Iterator[Retriever]:
    """Yield the retrievers that search an index: the leaves of the tree of components."""
    if isinstance(retriever, CompositeRetriever):
        for component in retriever.components:
            yield from leaves_of(component)
    else:
        yield retriever


def empty_ranking() -> Ranking:
    """Return a ranking without documents."""
    return Ranking([], np.empty(0, dtype=np.float32))


FailureKind = Literal["failed", "unavailable"]


@dataclass(frozen=True, slots=True, repr=False)
class Query(Displayed):
    """A query for a source.

    Attributes:
        query_id: Its id.
        text: Its text.
        language: Its declared language; empty if it declares none.
    """

    query_id: str
    text: str
    language: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Hits(Displayed):
    """The results of a source for one query: documents or chunks, in the source's order.

    Attributes:
        ids: Ids as the source returns them.
        scores: One per id, higher is better; ``None`` if the source returns only an order.
        latency_ms: Milliseconds of the successful request, without failed attempts and waiting.
        attempts: Number of times the query was sent for this answer.
        total: Number of results that the source found; ``None`` if it is unknown. If fewer than
            requested were returned and more were found, the list is incomplete.
    """

    ids: Sequence[str]
    scores: Sequence[float] | Scores | None
    latency_ms: float
    attempts: int = 1
    total: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Failure(Displayed):
    """The reason why a source did not answer a query, after all retries.

    Attributes:
        reason: One line of text without secrets.
        kind: ``unavailable`` if the source could not be reached or did not answer in time.
        lasting: Whether all retries failed too; several such failures in a row stop the fetch.
        stops: Whether every further query would fail too, so that no more are sent.
        attempts: Number of times the query was sent.
    """

    reason: str
    kind: FailureKind = "failed"
    lasting: bool = False
    stops: bool = False
    attempts: int = 1


class CircuitBreaker:
    """Stops a fetch after several lasting failures in a row, or after one failure that ``stops``.

    Attributes:
        stopped: The failure that stopped the fetch; ``None`` as long as queries are sent.
    """

    LIMIT: ClassVar[int] = 5
    """Lasting failures in a row that stop the fetch."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self.stopped: Failure | None = None

    def record(self, failure: Failure | None) -> None:
        """Record the failure of a query, or ``None`` for an answer."""
        self._in_a_row = self._in_a_row + 1 if failure is not None and failure.lasting else 0
        if failure is not None and (failure.stops or self._in_a_row >= self.LIMIT):
            self.stopped = self.stopped or failure


class Source(ABC):
    """A search engine in one mode; called from several threads if ``concurrency`` is above 1.

    Attributes:
        batch_size: Maximum number of queries in one call, at least 1.
        concurrency: Maximum number of simultaneous calls; with 1, all calls come from the main
            thread.
        latency_sample: Number of queries that are sent alone to measure the latency. The others
            are sent in batches, and their latency is not recorded. ``None`` records the latency of
            every query as the source reports it, with ``concurrency`` above 1 that of 100.
    """

    batch_size: int = 1
    concurrency: int = 1
    latency_sample: int | None = None

    @abstractmethod
    def ask(self, queries: Sequence[Query], depth: int) -> Sequence[Hits | Failure]:
        """Search for each query; return a :class:`Failure` instead of raising an error.

        Args:
            queries: At most ``batch_size``.
            depth: Maximum number of results for each query.

        Returns:
            One entry per query, in their order.
        """

    def index_keys(self) -> dict[str, str]:
        """Return the key of each searched index, by mode."""
        return {}

    def close(self) -> None:  # noqa: B027 (most sources have nothing to close)
        """Close connections, and wake threads that wait for a retry."""


class Collapse(SettingsModel):
    """Rules for collapsing chunks to documents."""

    method: Literal["max", "first", "sum"] = setting(
        "max",
        "Collapse the chunks that the backend returns into documents, scored by MaxP (max), FirstP "
        "(first) or SumP (sum).",
        Option("max|first|sum", Panel.BACKENDS, "--collapse", default=None),
    )
    separator: str | None = setting(
        None,
        "Text between the document id and the rest of a chunk id, for example '#' in 'd12#3'; the "
        "last one in an id counts. Without it, ids are document ids, and repeated ids are "
        "collapsed.",
        Option(
            "TEXT",
            Panel.BACKENDS,
            "--chunk-separator",
            help="Text between the document id and the rest of a chunk id, for example '#'.",
        ),
        min_length=1,
    )
    max_chunks: WholeNumber | None = setting(
        None,
        "The maximum number of chunks requested for one query; 16 times the depth by default.",
        ge=1,
    )


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """Options that apply to the results of every query.

    Attributes:
        depth: Maximum number of documents.
        exclude_self: Whether to drop the document with the query's id, before the cutoff.
        collapse: How chunks become documents; ``None`` if the source returns documents.
    """

    depth: int = 100
    exclude_self: bool = False
    collapse: Collapse | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SearchRequest:
    """The request to search in some modes.

    Attributes:
        corpus: The documents; ``None`` if the backend has its own.
        topics: The queries.
        modes: The modes, without repetition.
        options: Options of the results of each query.
        settings: Settings of modes that index documents.
    """

    corpus: Corpus | None
    topics: Topics
    modes: Sequence[str]
    options: FetchOptions = field(default_factory=FetchOptions)
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)

    def __post_init__(self) -> None:
        has_parts = self.corpus is not None and self.corpus.parts is not None
        object.__setattr__(self, "settings", self.settings.for_documents(has_parts=has_parts))


class Backend(ABC):
    """A search engine with one or more modes.

    Attributes:
        name: Its name for ``--backend`` and in manifests.
        needs_corpus: Whether it searches documents that the user must give.
        keeps_journal: Whether every fetch writes a journal; otherwise only ``--resume`` does.
    """

    name: str
    needs_corpus: bool = False
    keeps_journal: bool = True

    @classmethod
    def check_modes(cls, modes: Sequence[str], setting: Any = None) -> None:  # noqa: ARG003
        """Check the names of the requested modes.

        Args:
            modes: Their names.
            setting: The value of the backend's setting, if it has one.

        Raises:
            UsageError: If there is no mode, or a mode is unknown, repeated or not valid as a file
                name.
        """
        if not modes:
            raise UsageError("no mode given", remedy="name at least one mode")
        if len(set(modes)) < len(modes):
            raise UsageError(
                f"a mode is given twice: {', '.join(modes)}", remedy="name each mode once"
            )
        for mode in modes:
            if not _MODE_NAME.fullmatch(mode):
                raise UsageError(
                    f"'{mode}' is not a valid name of a run file",
                    remedy="use letters, digits, _ . - (at most 64)",
                )

    @property
    def facts(self) -> dict[str, Any] | None:
        """All settings that determine the answers, as JSON without secrets; part of journal keys.

        They do not include settings that affect only speed, for example timeouts and retries.
        """
        return None

    @property
    def record(self) -> dict[str, Any] | None:
        """All settings for the manifest, as JSON without secrets."""
        return self.facts

    def request_facts(self, request: SearchRequest) -> dict[str, Any]:  # noqa: ARG002
        """Return additional facts for the journal's key that depend on the request."""
        return {}

    def models(
        self,
        mode: str,  # noqa: ARG002
        modes: Sequence[str],  # noqa: ARG002
        settings: RetrievalSettings,  # noqa: ARG002
    ) -> dict[str, SourceFile]:
        """Return the local models that one of the requested modes uses, by role."""
        return {}

    @abstractmethod
    def open(self, request: SearchRequest, progress: Progress) -> Mapping[str, Source]:
        """Open a source for each mode, in the order of the request.

        Args:
            request: The request.
            progress: Receives the progress of building indexes.

        Raises:
            UsageError: If a mode does not exist, or a setting is missing.
            InputError: If something cannot be read or built.
        """


def top_positions(scores: Scores, depth: int) -> Positions:
    """Return the positions of the ``depth`` highest scores, best first, ties by lower position.

    Indexes store documents by descending id, so a lower position means a higher id.

    Args:
        scores: ``float32`` of shape ``(n,)`` without NaN.
        depth: At least 1.

    Returns:
        At most ``depth`` positions.
    """
    best = np.arange(len(scores))
    if depth < len(scores):
        cutoff = len(scores) - depth
        best = np.flatnonzero(scores >= np.partition(scores, cutoff)[cutoff])
    return best[np.argsort(-scores[best], kind="stable")[:depth]]


def rank_scores(doc_ids: Sequence[str], scores: npt.NDArray[np.floating], depth: int) -> Ranking:
    """Rank documents by their scores, rounded to 32 bits.

    Args:
        doc_ids: Ids in any order, without repetition.
        scores: One number per id, without NaN.
        depth: Maximum number of documents.
    """
    # The order of strings in Python, by code point, is also the order of their UTF-8 bytes.
    by_id = sorted(range(len(doc_ids)), key=doc_ids.__getitem__, reverse=True)
    rounded = scores.astype(np.float32)[by_id]
    top = top_positions(rounded, depth)
    return Ranking([doc_ids[by_id[row]] for row in top.tolist()], rounded[top])


def run_of(query_ids: Sequence[str], rankings: Sequence[Ranking], name: str) -> Run:
    """Build a run from one ranking per query; a query without results has no row."""
    sizes = [len(ranking) for ranking in rankings]
    columns = {
        "query_id": pl.Series(query_ids, dtype=pl.String).gather(
            np.repeat(np.arange(len(sizes)), sizes)
        ),
        "doc_id": [doc_id for ranking in rankings for doc_id in ranking.doc_ids],
        "rank": np.concatenate([[], *(np.arange(1, size + 1) for size in sizes)]),
        "score": np.concatenate([np.empty(0), *(ranking.scores for ranking in rankings)]),
    }
    return Run(pl.DataFrame(columns, schema_overrides=RUN_SCHEMA), name)


def check_ids(ids: pl.Series, kind: str, path: str | None) -> None:
    """Check that ids can be written to a run.

    Args:
        ids: The ids.
        kind: ``query`` or ``document``.
        path: The source of the ids, for the message.

    Raises:
        InputError: If an id is empty, contains white space or a control character, or is a query
            id that starts with '#'.
    """
    comment = "|^#" if kind == "query" else ""
    bad = ids.filter(ids.str.contains(f"{UNWRITABLE}|^${comment}"))
    if len(bad):
        raise InputError(
            f"{kind} id {bad[0]!r} cannot be written to a run file"
            f" ({len(bad)} of {len(ids)} {kind} ids)",
            where=path,
            remedy="rename the ids: they must not be empty, contain white space, or start a line"
            " with '#'",
        )


def iter_queries(topics: Topics) -> Iterator[Query]:
    """Iterate over the queries."""
    has_language = "language" in topics.frame.columns
    language = pl.col("language").cast(pl.String).fill_null("") if has_language else pl.lit("")
    rows = topics.frame.select("query_id", "text", language=language).iter_rows()
    return (Query(query_id, text, language=declared) for query_id, text, declared in rows)


def sample_queries(topics: Topics, size: int | None) -> frozenset[str] | None:
    """Return the ids of a sample of queries, which depends only on the ids.

    Args:
        topics: The queries.
        size: Maximum number of queries; ``None`` returns ``None``.
    """
    return None if size is None else frozenset(nsmallest(size, topics.query_ids, digest_id))


def hash_topics(topics: Topics) -> str:
    """Return SHA-256 of the query ids and texts in their order."""
    return sha256_columns(topics.frame, ["query_id", "text"])


def check_topics(topics: Topics) -> None:
    """Check that there are queries, and that their ids can be written to a run.

    Raises:
        InputError: If there are no topics, or an id is repeated or cannot be written to a run.
    """
    if not topics.frame.height:
        raise InputError("there are no topics", where=topics.path)
    ids = topics.frame["query_id"]
    if ids.n_unique() < len(ids):
        raise InputError(
            f"query id '{ids.filter(ids.is_duplicated())[0]}' occurs more than once in the topics",
            where=topics.path,
            remedy="give each query its own id",
        )
    check_ids(ids, "query", topics.path)
