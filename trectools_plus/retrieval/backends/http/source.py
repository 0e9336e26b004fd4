"""The backend ``http``: modes of a service, and its answers to queries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.models import SEPARATOR
from trectools_plus.retrieval.backends.http.answers import AnswerEntry, AnswerError, read_answer
from trectools_plus.retrieval.backends.http.client import JsonClient, RequestLimits
from trectools_plus.retrieval.backends.http.mapping import HttpSettings
from trectools_plus.retrieval.backends.secrets import Secret, read_key
from trectools_plus.retrieval.index.encoder import Encoder, TextEncoder, make_encoder
from trectools_plus.retrieval.index.models import ModelRecord, record_models
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import (
    Backend,
    BackendRequest,
    CircuitBreaker,
    Failure,
    Hits,
    Query,
    Source,
)

if TYPE_CHECKING:
    import httpx

Vectors = Mapping[str, list[float]]
"""The vectors of queries, by their ids."""


class HttpBackend(Backend):
    """A service at a URL, with any modes.

    Args:
        settings: The service and its mapping.
        timeout: Seconds for one request, instead of the setting.
    """

    name = "http"

    def __init__(self, settings: HttpSettings, timeout: float | None = None) -> None:
        if timeout is not None:
            modes = {name: {**own, "timeout": timeout} for name, own in settings.modes.items()}
            settings = settings.model_copy(update={"timeout": timeout, "modes": modes})
        self._settings = settings
        self._opened: dict[str, Any] = {}

    @classmethod
    def check_modes(cls, modes: Sequence[str], setting: Any = None) -> None:
        """Check the names of the requested modes, and that their settings are complete."""
        super().check_modes(modes, setting)
        for mode in modes:
            _settings_of(setting, mode)

    @property
    def facts(self) -> dict[str, Any]:
        """All settings that determine the answers."""
        return self._settings.facts

    @property
    def record(self) -> dict[str, Any]:
        """All settings, with the name of the key's variable instead of the key.

        They include the complete mapping of each opened mode, and the built-in encoder.
        """
        return self._settings.model_dump(mode="json") | self._opened

    def request_facts(self, request: BackendRequest) -> dict[str, Any]:
        """Return the mappings of the modes and the encoders of their query vectors."""
        settings = {mode: _settings_of(self._settings, mode) for mode in request.modes}
        facts: dict[str, Any] = {}
        if self._settings.engine is not None or self._settings.modes:
            facts["requests"] = {mode: one.facts for mode, one in settings.items()}
        vectors = {
            mode: {role: model.sha256 for role, model in self.models(mode, request).items()}
            or TextEncoder.facts()
            for mode, one in settings.items()
            if one.template().uses_vector
        }
        return {**facts, "query_vectors": vectors} if vectors else facts

    def models(self, mode: str, request: BackendRequest) -> dict[str, ModelRecord]:  # noqa: ARG002
        """Return the local model of a mode's query vectors, if it uses one."""
        settings = _settings_of(self._settings, mode)
        model = settings.embedding_model if settings.template().uses_vector else None
        return record_models(RetrievalSettings(embedding_model=model), {"embedding"})

    def open(self, request: BackendRequest) -> Mapping[str, Source]:
        """Open a source for each mode, without sending a request.

        Raises:
            UsageError: If the key's variable is not set, a mode's settings are not complete, or a
                proxy or certificate named in the environment cannot be used.
            InputError: If the model of the query vectors cannot be opened.
        """
        encoders: dict[str | None, Encoder] = {}
        sources: dict[str, Source] = {}
        self._opened = self.request_facts(request)
        for mode in request.modes:
            settings = _settings_of(self._settings, mode)
            key = None if settings.key_env is None else read_key(settings.key_env)
            source = HttpSource(settings, mode, key, encoder=encoders.get(settings.embedding_model))
            if source.encoder is not None:
                encoders[settings.embedding_model] = source.encoder
            sources[mode] = source
        return sources


def _settings_of(settings: HttpSettings, mode: str) -> HttpSettings:
    try:
        return settings.for_mode(mode)
    except ValueError as error:
        what, _, remedy = str(error).partition(SEPARATOR)
        where = None if re.search(rf"mode '?{re.escape(mode)}\b", what) else f"mode {mode}"
        raise UsageError(what, where=where, remedy=remedy or None) from error


_ENCODING = Lock()
"""Models are not safe to use from several threads."""


class HttpSource(Source):
    """The service in one mode; safe to use from several threads.

    Args:
        settings: The service and its mapping.
        mode: The mode.
        key: The key for the header that the settings name.
        transport: A replacement for the network, for tests.
        encoder: The encoder of ``{query_vector}``; ``None`` creates it if the request needs it.

    Attributes:
        encoder: The encoder, if the request needs it.

    Raises:
        UsageError: If a proxy or certificate named in the environment cannot be used.
    """

    def __init__(
        self,
        settings: HttpSettings,
        mode: str,
        key: Secret | None = None,
        transport: httpx.BaseTransport | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        self._settings = settings = _settings_of(settings, mode)
        self.batch_size, self.concurrency = settings.batch_size, settings.concurrency
        self._mode, self._key, self._template = settings.mode or mode, key, settings.template()
        if encoder is None and self._template.uses_vector:
            encoder = make_encoder(RetrievalSettings(embedding_model=settings.embedding_model))
        self.encoder = encoder if self._template.uses_vector else None
        headers = {"accept": "application/json", "user-agent": "trectools-plus"} | {
            name.lower(): text for name, text in settings.headers.items()
        }
        if key is not None:
            headers[settings.key_header.lower()] = settings.key_prefix + key.value
        limits = RequestLimits(
            settings.url, self.concurrency, settings.timeout, settings.retries, settings.backoff
        )
        self._client = JsonClient(limits, headers, key, transport)

    def close(self) -> None:
        """Close the connections, and wake threads that wait for a retry."""
        self._client.close()

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        """Send all queries in one request; if it fails, send its queries one by one.

        A vector of zeros, for example of an empty text, has no direction: it finds nothing.
        """
        try:
            vectors = self._encode(queries)
        except TrectoolsPlusError as error:
            return [Failure(str(error), stops=True)] * len(queries)
        is_by_text, nothing = self._template.uses_text, Hits([], None, 0.0)
        sent = [query for query in queries if is_by_text or any(vectors[query.query_id])]
        replies = self._send(sent, depth, vectors) if sent else []
        breaker = CircuitBreaker()
        for row, query in enumerate(sent if len(sent) > 1 else ()):
            reply = replies[row]
            # Another query may have caused the failure of the batch.
            is_own = isinstance(reply, Failure) and reply.kind == "failed" and not reply.stops
            if is_own and not breaker.stopped:
                reply = replies[row] = self._send([query], depth, vectors)[0]
                breaker.record(reply if isinstance(reply, Failure) else None)
        found = {query.query_id: reply for query, reply in zip(sent, replies, strict=True)}
        return [found.get(query.query_id, nothing) for query in queries]

    def _encode(self, queries: Sequence[Query]) -> Vectors:
        """Return the vectors of queries, as the shortest decimals of 32-bit numbers."""
        if self.encoder is None:
            return {}
        with _ENCODING:
            vectors = self.encoder.embed_queries([query.text for query in queries])
        return {
            query.query_id: [float(str(number)) for number in vector]
            for query, vector in zip(queries, vectors, strict=True)
        }

    def _send(self, queries: Sequence[Query], depth: int, vectors: Vectors) -> list[Hits | Failure]:
        def read(document: Any, ms: float, attempts: int) -> list[Hits | Failure]:
            entries = read_answer(document, queries, self._settings)
            if len(queries) == 1 and isinstance(entries[0], AnswerError):
                raise entries[0]
            # In a batch, an unusable entry is a failure of its query only.
            return [self._hits(entry, ms / len(queries), attempts) for entry in entries]

        outcome = self._client.request(
            lambda: self._template.fill(self._mode, queries, depth, vectors), read
        )
        return [outcome] * len(queries) if isinstance(outcome, Failure) else outcome

    def _hits(self, entry: AnswerEntry | AnswerError, ms: float, attempts: int) -> Hits | Failure:
        if isinstance(entry, AnswerError):
            return Failure(self._client.describe_error(entry), attempts=attempts)
        if self._key is not None and any(map(self._key.is_in, entry.ids)):
            return Failure("an id holds the service's key", attempts=attempts)
        return Hits(entry.ids, entry.scores, ms, attempts, total=entry.total)
