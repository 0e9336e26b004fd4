"""What a backend is, and what its sources answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from trectools_plus.formats.documents import Documents
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.settings import RetrievalSettings

FailureKind = Literal["failed", "unavailable"]


@dataclass(frozen=True, slots=True)
class Query:
    """One query on its way to a source."""

    query_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Hits:
    """What a source found for one query: documents or chunks, in the source's own order.

    Attributes:
        ids: Ids as the source gives them.
        scores: One per id, higher is better; ``None`` where the order is all there is.
        latency_ms: Milliseconds that the answering took, without retries and waiting.
        attempts: How often the query was sent for this answer.
        diagnostics: What else the source says of its answer, as JSON.
    """

    ids: Sequence[str]
    scores: Sequence[float] | None
    latency_ms: float
    attempts: int = 1
    diagnostics: Any = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a source has no answer to a query, after all its retries.

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


class Source(Protocol):
    """Searches in one mode; asked from several threads at once if ``concurrency`` is above 1."""

    @property
    def batch_size(self) -> int:
        """How many queries it takes at once, at least 1."""

    @property
    def concurrency(self) -> int:
        """How many batches it may be asked at the same time; 1 is asked in the main thread."""

    def ask(self, queries: Sequence[Query], depth: int) -> Sequence[Hits | Failure]:
        """Search for each query; never raises for what goes wrong with one.

        Args:
            queries: At most ``batch_size``.
            depth: How many results to return at most for each.

        Returns:
            One entry per query, in their order.
        """

    def close(self) -> None:
        """Let go of connections, and stop waiting for anything."""


@dataclass(frozen=True, slots=True, eq=False)
class BackendRequest:
    """What a backend is opened for.

    Attributes:
        corpus: The documents, where they were given: as a stream for a backend that
            ``streams_documents``, else in memory.
        modes: What to open, none twice.
        settings: Of modes that index documents themselves.
        progress: Told of the making of indexes.
        depth: Results that will be asked for, of each query.
    """

    corpus: Documents | None
    modes: Sequence[str]
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)
    progress: Progress = no_progress
    depth: int = 1


class Backend(Protocol):
    """Something that can search in one mode or several."""

    @property
    def name(self) -> str:
        """What ``--backend`` calls it; the manifest's ``backend``."""

    @property
    def needs_corpus(self) -> bool:
        """Whether the documents must be given to it."""

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that shapes the answers, as JSON without secrets: part of the journal's key.

        What only shapes how fast they come (concurrency, timeouts, retries) does not belong here.
        """

    @property
    def record(self) -> dict[str, Any]:
        """All of its settings for the manifest, as JSON without secrets."""

    def open(self, request: BackendRequest) -> Mapping[str, Source]:
        """Make a source for each mode, in their order.

        Raises:
            UsageError: If a mode does not exist, or a setting is missing.
            InputError: If something cannot be read or built.
        """
