"""Sources of search results: what they are asked, and what they answer.

A :class:`Backend` opens one :class:`Source` for each mode. A source is asked a few queries at a
time and answers each with hits or with the reason why not. The embedded modes, Milvus, JSON
services and users' functions are all sources. Retries over a wire are the source's own business;
going deeper until there are enough documents, collapsing chunks, journals and statuses are the
same for all (see ``retrieval.fetch``).

Rankings are in canonical order: 32-bit score descending, then document id descending by bytes.
Library top-k functions break ties at the boundary as their partition happens to fall.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.documents import Documents
from trectools_plus.formats.tables import RUN_SCHEMA, Run
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.index.models import ModelRecord
from trectools_plus.retrieval.settings import RetrievalSettings

Scores = npt.NDArray[np.float32]

# Blanks end a column, control characters break rows, and '#' opens a comment line.
_UNWRITABLE = r"[\s\p{Cc}]|^$"
_UNWRITABLE_FIRST = r"^#"

_MODE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The documents found for one query, best first.

    The order is the canonical one of :mod:`trectools_plus.ranking`: 32-bit score descending, then
    document id descending by its UTF-8 bytes. A cutoff inside a tie follows it too.

    Attributes:
        doc_ids: Document ids, no id twice.
        scores: ``float32``, one per document, never rising.
    """

    doc_ids: list[str]
    scores: Scores

    def __len__(self) -> int:
        return len(self.doc_ids)

    def head(self, depth: int) -> Self:
        """The first ``depth`` documents."""
        return type(self)(self.doc_ids[:depth], self.scores[:depth])

    def without(self, doc_id: str) -> Self:
        """The same ranking with one document taken out, if it is there."""
        if doc_id not in self.doc_ids:
            return self
        place = self.doc_ids.index(doc_id)
        kept = [*self.doc_ids[:place], *self.doc_ids[place + 1 :]]
        return type(self)(kept, np.delete(self.scores, place))


class Retriever(Protocol):
    """Anything that ranks documents for a text: a local index, a service, a function."""

    @property
    def name(self) -> str:
        """The mode's name: the tag of its run and its column in reports."""

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank documents for each query.

        Args:
            queries: Query texts; an empty one is allowed and finds nothing.
            depth: How many documents to return at most for each query, at least 1.

        Returns:
            One ranking per query, in the order of ``queries``.
        """


class CompositeRetriever(ABC):
    """A retriever over other retrievers, which are searched once where several modes share them.

    Attributes:
        components: The retrievers that it asks.
    """

    components: tuple[Retriever, ...]

    @property
    @abstractmethod
    def name(self) -> str:
        """The mode's name."""

    @abstractmethod
    def component_depth(self, depth: int) -> int:
        """Return how deep the components are asked for a result of ``depth`` documents."""

    @abstractmethod
    def combine(
        self, queries: Sequence[str], found: Sequence[Sequence[Ranking]], depth: int
    ) -> list[Ranking]:
        """Make one ranking per query of what the components found.

        Args:
            queries: Query texts.
            found: For each component, one ranking per query.
            depth: How many documents to keep at most.
        """

    @abstractmethod
    def leave_one_out(self) -> Mapping[str, Retriever]:
        """Return the same retriever without each of the rankings that it merges, by their names."""

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank documents by what the components find."""
        asked = self.component_depth(depth)
        found = [component.search(queries, asked) for component in self.components]
        return self.combine(queries, found, depth)


def leaves_of(retriever: Retriever) -> Iterator[Retriever]:
    """Yield the retrievers that search themselves, instead of asking others."""
    if isinstance(retriever, CompositeRetriever):
        for component in retriever.components:
            yield from leaves_of(component)
    else:
        yield retriever


def empty_ranking() -> Ranking:
    """Return a ranking without documents."""
    return Ranking([], np.empty(0, dtype=np.float32))


FailureKind = Literal["failed", "unavailable"]


@dataclass(frozen=True, slots=True)
class Query:
    """One query on its way to a source."""

    query_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Hits:
    """The results of a source for one query: documents or chunks, in the source's own order.

    Attributes:
        ids: Ids as the source gives them.
        scores: One per id, higher is better; ``None`` where the order is all there is.
        latency_ms: Milliseconds that the answering took, without retries and waiting.
        attempts: How often the query was sent for this answer.
        diagnostics: What else the source says of its answer, as JSON.
        is_ranking: Whether ids and scores are those of a :class:`Ranking`, which needs no check.
    """

    ids: Sequence[str]
    scores: Sequence[float] | Scores | None
    latency_ms: float
    attempts: int = 1
    diagnostics: Any = None
    is_ranking: bool = False

    @classmethod
    def of(cls, ranking: Ranking, latency_ms: float) -> Self:
        """Return a ranking as hits."""
        return cls(ranking.doc_ids, ranking.scores, latency_ms, is_ranking=True)


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a source has no answer to a query, after all its retries.

    Attributes:
        reason: In words, on one line, free of secrets.
        kind: ``unavailable`` when the source could not be reached or did not answer in time.
        lasting: Whether it was given up after retries; several of these in a row end the asking.
        stops: Whether every further query would fail alike, so that none is worth sending.
        attempts: How often the query was sent.
    """

    reason: str
    kind: FailureKind = "failed"
    lasting: bool = False
    stops: bool = False
    attempts: int = 1


class CircuitBreaker:
    """Stops the asking when it is pointless: after lasting failures in a row, or one that stops.

    Attributes:
        stopped: The failure after which nothing more is asked; ``None`` while asking goes on.
    """

    LIMIT: ClassVar[int] = 5
    """Queries in a row that were given up after all retries."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self.stopped: Failure | None = None

    def note(self, failure: Failure | None) -> None:
        """Take into account the failure of a query, or ``None`` for an answer."""
        self._in_a_row = self._in_a_row + 1 if failure is not None and failure.lasting else 0
        if failure is not None and (failure.stops or self._in_a_row >= self.LIMIT):
            self.stopped = self.stopped or failure


class Source(ABC):
    """Searches in one mode; asked from several threads at once if ``concurrency`` is above 1.

    Attributes:
        batch_size: How many queries it takes at once, at least 1.
        concurrency: How many batches it may be asked at the same time; 1 is asked in the main
            thread.
    """

    batch_size: int = 1
    concurrency: int = 1

    @abstractmethod
    def ask(self, queries: Sequence[Query], depth: int) -> Sequence[Hits | Failure]:
        """Search for each query; never raises for what goes wrong with one.

        Args:
            queries: At most ``batch_size``.
            depth: How many results to return at most for each.

        Returns:
            One entry per query, in their order.
        """

    def index_keys(self) -> dict[str, str]:
        """Return the key of each index that is searched, by its mode."""
        return {}

    def leave_one_out(self) -> Mapping[str, Source]:
        """Return, for a mode that merges rankings, the mode without each one, by their names."""
        return {}

    def close(self) -> None:  # noqa: B027 (most sources hold nothing)
        """Let go of connections, and stop waiting for anything."""


@dataclass(frozen=True, slots=True, eq=False)
class BackendRequest:
    """The request that a backend is opened for.

    Attributes:
        corpus: The documents, where they were given: as a stream for a backend that
            ``streams_documents``, else in memory.
        modes: What to open, none twice.
        settings: Of modes that index documents themselves.
        progress: Notified of the making of indexes.
        depth: Results that will be asked for, of each query.
        exclude_self: Whether ``depth`` includes one for a document with the query's id, which is
            dropped; a source that merges rankings drops it before.
    """

    corpus: Documents | None
    modes: Sequence[str]
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)
    progress: Progress = no_progress
    depth: int = 1
    exclude_self: bool = False


def check_mode_name(name: str) -> None:
    """Check that a mode can name a run file, and be its tag.

    Raises:
        ValueError: If not.
    """
    if not _MODE_NAME.fullmatch(name):
        raise ValueError(
            f"'{name}' cannot name a run file — use letters, digits, _ . - (at most 64)"
        )


class Backend(ABC):
    """Something that can search in one mode or several.

    Attributes:
        name: What ``--backend`` calls it; the manifest's ``backend``.
        needs_corpus: Whether the documents must be given to it.
        streams_documents: Whether it takes documents one by one, not in memory.
        keeps_journal: Whether answers are worth a journal; otherwise there is one only to resume.
    """

    name: str
    needs_corpus: bool = False
    streams_documents: bool = False
    keeps_journal: bool = True

    @classmethod
    def check_modes(cls, modes: Sequence[str], setting: Any = None) -> None:  # noqa: ARG003
        """Check that the modes can be asked for.

        Args:
            modes: Their names.
            setting: The value of the backend's own setting, where it has one.

        Raises:
            UsageError: If one is unknown, repeated or cannot name a file; or there is none.
        """
        if not modes:
            raise UsageError("no mode given", remedy="name one")
        if len(set(modes)) < len(modes):
            raise UsageError(f"a mode is given twice: {', '.join(modes)}", remedy="name each once")
        for mode in modes:
            try:
                check_mode_name(mode)
            except ValueError as error:
                raise UsageError(str(error)) from error

    @property
    def facts(self) -> dict[str, Any] | None:
        """Everything that shapes the answers, as JSON without secrets: part of the journal's key.

        What only shapes how fast they come (concurrency, timeouts, retries) does not belong here.
        """
        return None

    @property
    def record(self) -> dict[str, Any] | None:
        """All of its settings for the manifest, as JSON without secrets."""
        return self.facts

    def request_facts(self, request: BackendRequest) -> dict[str, Any]:  # noqa: ARG002
        """Return further facts of a journal, which depend on what is requested."""
        return {}

    def models(self, mode: str, request: BackendRequest) -> dict[str, ModelRecord]:  # noqa: ARG002
        """Return the local models that a mode rests on, by what they do."""
        return {}

    @abstractmethod
    def open(self, request: BackendRequest) -> Mapping[str, Source]:
        """Make a source for each mode, in their order.

        Raises:
            UsageError: If a mode does not exist, or a setting is missing.
            InputError: If something cannot be read or built.
        """


Positions = npt.NDArray[np.intp]


def top_positions(scores: Scores, depth: int) -> Positions:
    """Positions of the ``depth`` highest scores, best first, ties by lower position.

    Indexes hold their documents by falling id, so "lower position" is "higher id".

    Args:
        scores: ``float32`` of shape ``(n,)``, free of NaN.
        depth: At least 1.

    Returns:
        At most ``depth`` positions.
    """
    if depth < len(scores):
        threshold = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        above = np.flatnonzero(scores > threshold)
        tied = np.flatnonzero(scores == threshold)[: depth - len(above)]
        kept = np.sort(np.concatenate([above, tied]))
    else:
        kept = np.arange(len(scores))
    return kept[np.argsort(-scores[kept], kind="stable")]


def rank_scores(doc_ids: Sequence[str], scores: npt.NDArray[np.floating], depth: int) -> Ranking:
    """Rank unordered documents by score, rounded to 32 bits first.

    Args:
        doc_ids: Ids in any order, none twice.
        scores: One number per id, free of NaN.
        depth: How many to keep at most.
    """
    # Python compares strings by code point, which is the order of their UTF-8 bytes.
    by_id = np.array(
        sorted(range(len(doc_ids)), key=doc_ids.__getitem__, reverse=True), dtype=np.intp
    )
    narrowed = scores.astype(np.float32)[by_id]
    top = top_positions(narrowed, depth)
    return Ranking([doc_ids[place] for place in by_id[top]], narrowed[top])


def run_of(query_ids: Sequence[str], rankings: Sequence[Ranking], name: str) -> Run:
    """One run out of the rankings of its queries; a query without results has no row."""
    sizes = [len(ranking) for ranking in rankings]
    ranks = [np.arange(1, size + 1) for size in sizes]
    columns = {
        "query_id": pl.Series(query_ids, dtype=pl.String).gather(
            np.repeat(np.arange(len(sizes)), sizes)
        ),
        "doc_id": [doc_id for ranking in rankings for doc_id in ranking.doc_ids],
        "rank": np.concatenate([np.empty(0, dtype=np.int64), *ranks]),
        "score": np.concatenate([np.empty(0), *(ranking.scores for ranking in rankings)]),
    }
    return Run(pl.DataFrame(columns, schema_overrides=RUN_SCHEMA), name)


def check_ids(ids: pl.Series, kind: str, path: str | None) -> None:
    """Check that ids survive being written to a run.

    Raises:
        InputError: If one is empty, holds white space or a control character, or is a query's
            and starts with '#'.
    """
    pattern = f"{_UNWRITABLE}|{_UNWRITABLE_FIRST}" if kind == "query" else _UNWRITABLE
    bad = ids.filter(ids.str.contains(pattern))
    if len(bad):
        raise InputError(
            f"{kind} id {bad[0]!r} cannot be written to a run file"
            f" ({len(bad)} of {len(ids)} {kind} ids)",
            where=path,
            remedy="ids must not be empty, hold white space, or start a line with '#';"
            " rename them, for example with underscores",
        )
