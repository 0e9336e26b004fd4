"""The backend ``http``: modes of a service, and its answers to queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from trectools_plus.display import Progress
from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.models import SEPARATOR
from trectools_plus.retrieval.backends.http_client import (
    AnswerError,
    JsonClient,
    Secret,
    read_answer,
    read_key,
)
from trectools_plus.retrieval.backends.http_mapping import HttpSettings
from trectools_plus.retrieval.index.encoder import Encoder, TextEncoder, make_encoder
from trectools_plus.retrieval.index.models import SourceFile, record_models
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import (
    Backend,
    Failure,
    Hits,
    Query,
    SearchRequest,
    Source,
)

if TYPE_CHECKING:
    import httpx


class HttpBackend(Backend):
    """A service at a URL, with any modes.

    Args:
        settings: The service and its mapping.
        timeout: Seconds for one request, instead of the setting.
    """

    name = "http"

    def __init__(self, settings: HttpSettings, timeout: float | None = None) -> None:
        if timeout is not None:
            settings = settings.model_copy(update={"timeout": timeout})
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

    def request_facts(self, request: SearchRequest) -> dict[str, Any]:
        """Return the mappings of the modes and the encoders of their query vectors."""
        settings = {mode: _settings_of(self._settings, mode) for mode in request.modes}
        facts = dict[str, Any]()
        if self._settings.engine is not None or self._settings.modes:
            facts["requests"] = {mode: own.facts for mode, own in settings.items()}
        vectors = {
            mode: {role: model.sha256 for role, model in self._models(own).items()}
            or TextEncoder.facts()
            for mode, own in settings.items()
            if own.template().uses_vector
        }
        return {**facts, "query_vectors": vectors} if vectors else facts

    def models(
        self,
        mode: str,
        modes: Sequence[str],  # noqa: ARG002
        settings: RetrievalSettings,  # noqa: ARG002
    ) -> dict[str, SourceFile]:
        """Return the local model of a mode's query vectors, if it uses one."""
        return self._models(_settings_of(self._settings, mode))

    @staticmethod
    def _models(settings: HttpSettings) -> dict[str, SourceFile]:
        model = settings.embedding_model if settings.template().uses_vector else None
        return record_models({"embedding": RetrievalSettings(embedding_model=model).model_folder()})

    def open(self, request: SearchRequest, progress: Progress) -> Mapping[str, Source]:  # noqa: ARG002
        """Open a source for each mode, without sending a request.

        Raises:
            UsageError: If the key's variable is not set, a mode's settings are not complete, or a
                proxy or certificate named in the environment cannot be used.
            InputError: If the model of the query vectors cannot be opened.
        """
        sources = dict[str, Source]()
        self._opened = self.request_facts(request)
        shared = cache(_open_encoder)
        for mode in request.modes:
            settings = _settings_of(self._settings, mode)
            key = None if settings.key_env is None else read_key(settings.key_env)
            sources[mode] = HttpSource(settings, mode, key, open_encoder=shared)
        return sources


def _settings_of(settings: HttpSettings, mode: str) -> HttpSettings:
    try:
        return settings.for_mode(mode)
    except ValueError as error:
        what, _, remedy = str(error).partition(SEPARATOR)
        raise UsageError(what, where=f"mode {mode}", remedy=remedy or None) from error


def _open_encoder(model: str | None) -> Encoder:
    return make_encoder(RetrievalSettings(embedding_model=model))


LATENCY_SAMPLE = 20
"""Queries that are sent alone to a service that is then asked several at a time."""
_ENCODING = Lock()
"""Models are not safe to use from several threads."""


class HttpSource(Source):
    """The service in one mode; safe to use from several threads.

    Args:
        settings: The service and its mapping.
        mode: The mode.
        key: The key for the header that the settings name.
        transport: A replacement for the network, for tests.
        open_encoder: Opens the model of ``{query_vector}``.

    Raises:
        UsageError: If a proxy or certificate named in the environment cannot be used.
    """

    def __init__(
        self,
        settings: HttpSettings,
        mode: str,
        key: Secret | None = None,
        transport: httpx.BaseTransport | None = None,
        open_encoder: Callable[[str | None], Encoder] = _open_encoder,
    ) -> None:
        self._settings = settings = _settings_of(settings, mode)
        self.concurrency = settings.concurrency
        # Simultaneous requests slow each other down.
        self.latency_sample = LATENCY_SAMPLE if settings.concurrency > 1 else None
        self._mode, self._key, self._template = settings.mode or mode, key, settings.template()
        uses_vector = self._template.uses_vector
        self._encoder = open_encoder(settings.embedding_model) if uses_vector else None
        headers = {"accept": "application/json", "user-agent": "trectools-plus"} | {
            name.lower(): text for name, text in settings.headers.items()
        }
        if key is not None:
            headers[settings.key_header.lower()] = settings.key_prefix + key.value
        self._client = JsonClient(settings, headers, key, transport)

    def close(self) -> None:
        """Close the connections, and wake threads that wait for a retry."""
        self._client.close()

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        """Send a request for each query.

        A vector of zeros, for example of an empty text, has no direction: it finds nothing.
        """
        return [self._search_one(query, depth) for query in queries]

    def _search_one(self, query: Query, depth: int) -> Hits | Failure:
        vector = list[float]()
        if self._encoder is not None:
            try:
                with _ENCODING:
                    (numbers,) = self._encoder.embed_queries([query.text])
            except TrectoolsPlusError as error:
                return Failure(str(error), stops=True)
            # The shortest decimals of 32-bit numbers.
            vector = [float(str(number)) for number in numbers]
        if not (self._template.uses_text or any(vector)):
            return Hits([], None, 0.0)

        def read(document: Any, ms: float, attempts: int) -> Hits:
            hits = read_answer(document, query.query_id, self._settings)
            if self._key is not None and any(map(self._key.is_in, hits.ids)):
                raise AnswerError("an id holds the service's key", is_final=True)
            return replace(hits, latency_ms=ms, attempts=attempts)

        return self._client.request(
            lambda: self._template.fill(self._mode, query, depth, vector), read
        )
