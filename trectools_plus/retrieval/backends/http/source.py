"""The backend ``http``: it sends requests to a service and retries them with increasing delays."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from threading import Event, Lock
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.models import SEPARATOR
from trectools_plus.redaction import hide_secrets
from trectools_plus.retrieval.backends.http.answers import (
    AnswerEntry,
    AnswerError,
    find_reason,
    read_answer,
)
from trectools_plus.retrieval.backends.http.engines import ENGINES
from trectools_plus.retrieval.backends.http.mapping import HttpSettings
from trectools_plus.retrieval.backends.http.template import EncodedQuery
from trectools_plus.retrieval.backends.secrets import Secret, read_key
from trectools_plus.retrieval.index.encoder import Encoder, TextEncoder, make_encoder
from trectools_plus.retrieval.index.models import ModelRecord, record_models
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import (
    Backend,
    BackendRequest,
    CircuitBreaker,
    Failure,
    FailureKind,
    Hits,
    Query,
    Source,
)

if TYPE_CHECKING:
    import httpx

MAX_ANSWER_BYTES = 64 * 2**20
"""Maximum size of a decompressed answer in bytes."""
RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Errors that can pass: timeouts, too many requests, a service that fails or is overloaded. For
all others, for example 501 (not implemented), a retry would get the same answer."""

_STOPPING_STATUS = frozenset({401, 403, 404, 405, 407, 501, 505})
"""Errors that every further query would cause too."""
_EXCERPT_LENGTH = 160
_CLEANED_LENGTH = 10_000  # characters of an answer whose white space is collapsed for an excerpt
_ENVIRONMENT = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


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
        """Return the presets of the engines, and the encoders of the modes with query vectors."""
        own = [settings.get("engine") for settings in self._settings.modes.values()]
        engines = sorted({str(name) for name in (self._settings.engine, *own) if name in ENGINES})
        presets = {
            name: hashlib.sha256(repr(ENGINES[name]).encode()).hexdigest() for name in engines
        }
        encoders = self._encoders(request.modes)
        return ({"presets": presets} if presets else {}) | (
            {"query_vectors": encoders} if encoders else {}
        )

    def models(self, mode: str, request: BackendRequest) -> dict[str, ModelRecord]:  # noqa: ARG002
        """Return the local model of a mode's query vectors, if it uses one."""
        settings = _settings_of(self._settings, mode)
        if not settings.template().uses_vector:
            return {}
        return record_models(_encoder_settings(settings), {"embedding"})

    def open(self, request: BackendRequest) -> Mapping[str, Source]:
        """Open a source for each mode, without sending a request.

        Raises:
            UsageError: If the key's variable is not set, a mode's settings are not complete, or a
                proxy or certificate named in the environment cannot be used.
            InputError: If the model of the query vectors cannot be opened.
        """
        by_mode = {mode: _settings_of(self._settings, mode) for mode in request.modes}
        encoders: dict[str, QueryEncoder] = {}
        sources: dict[str, Source] = {}
        for mode, settings in by_mode.items():
            encoder = None
            if settings.template().uses_vector:
                encoder = encoders.setdefault(
                    repr(settings.embedding_model), QueryEncoder(settings)
                )
            key = None if settings.key_env is None else read_key(settings.key_env)
            sources[mode] = HttpSource(settings, mode, key, encoder=encoder)
        if self._settings.engine is not None or self._settings.modes:
            self._opened = {
                "requests": {
                    mode: settings.model_dump(mode="json") for mode, settings in by_mode.items()
                }
            }
        if found := self._encoders(request.modes):
            self._opened["query_vectors"] = found
        return sources

    def _encoders(self, modes: Sequence[str]) -> dict[str, Any]:
        """Return the facts of the encoder of each mode with query vectors."""
        found: dict[str, Any] = {}
        for mode in modes:
            settings = _settings_of(self._settings, mode)
            if settings.template().uses_vector:
                models = record_models(_encoder_settings(settings), {"embedding"})
                model = models.get("embedding")
                found[mode] = (
                    TextEncoder.facts() if model is None else {"model_sha256": model.sha256}
                )
        return found


def _settings_of(settings: HttpSettings, mode: str) -> HttpSettings:
    try:
        return settings.for_mode(mode)
    except ValueError as error:
        what, _, remedy = str(error).partition(SEPARATOR)
        where = None if re.search(rf"mode '?{re.escape(mode)}\b", what) else f"mode {mode}"
        raise UsageError(what, where=where, remedy=remedy or None) from error


def _encoder_settings(settings: HttpSettings) -> RetrievalSettings:
    model = settings.embedding_model
    if model is None:
        return RetrievalSettings()
    given = model.model_dump(exclude={"path"}, exclude_none=True)
    return RetrievalSettings(embedding_model=model.folder, **given)


class QueryEncoder:
    """Encodes queries as lists of numbers; safe to use from several threads.

    Args:
        settings: ``embedding_model`` is used.

    Raises:
        MissingExtraError: If the extra of the model is not installed.
        InputError: If the model cannot be opened.
    """

    def __init__(self, settings: HttpSettings) -> None:
        self._encoder: Encoder = make_encoder(_encoder_settings(settings))
        self._lock = Lock()

    def encode(self, queries: Sequence[Query]) -> list[EncodedQuery]:
        """Return the queries with their vectors, as the shortest decimals of 32-bit numbers."""
        with self._lock:
            vectors = self._encoder.embed_queries([query.text for query in queries])
        return [
            EncodedQuery(query.query_id, query.text, [float(str(number)) for number in vector])
            for query, vector in zip(queries, vectors, strict=True)
        ]


class HttpSource(Source):
    """The service in one mode; safe to use from several threads.

    Args:
        settings: The service and its mapping.
        mode: The value of ``{mode}``.
        key: The key for the header that the settings name.
        transport: A replacement for the network, for tests.
        encoder: The encoder of ``{query_vector}``; ``None`` creates it if the request needs it.

    Raises:
        UsageError: If a proxy or certificate named in the environment cannot be used.
    """

    def __init__(
        self,
        settings: HttpSettings,
        mode: str,
        key: Secret | None = None,
        transport: httpx.BaseTransport | None = None,
        encoder: QueryEncoder | None = None,
    ) -> None:
        settings = _settings_of(settings, mode)
        self.batch_size = settings.batch_size
        self.concurrency = settings.concurrency
        self._settings = settings
        self._mode = mode
        self._key = key
        self._template = settings.template()
        if encoder is None and self._template.uses_vector:
            encoder = QueryEncoder(settings)
        self._encoder = encoder
        self._throttle = Throttle()
        headers = {"accept": "application/json", "user-agent": "trectools-plus"} | {
            name.lower(): text for name, text in settings.headers.items()
        }
        if key is not None:
            headers[settings.key_header.lower()] = settings.key_prefix + key.value
        self._client = _make_client(settings, headers, transport)

    def close(self) -> None:
        """Close the connections, and wake threads that wait for a retry."""
        self._throttle.close()
        self._client.close()

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        """Send all queries in one request; if it fails, send its queries one by one.

        A vector of zeros, for example of an empty text, has no direction: it finds nothing.
        """
        if self._encoder is None:
            return self._ask(queries, depth)
        try:
            encoded = self._encoder.encode(queries)
        except TrectoolsPlusError as error:
            return [Failure(str(error), stops=True)] * len(queries)
        searched = [one for one in encoded if self._template.uses_text or any(one.vector)]
        found = iter(self._ask(searched, depth) if searched else [])
        nothing = Hits([], None, 0.0)
        sent = {one.query_id for one in searched}
        return [next(found) if one.query_id in sent else nothing for one in queries]

    def _ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        replies = self._send_with_retries(queries, depth)
        if len(queries) == 1:
            return replies
        breaker = CircuitBreaker()
        for row, query in enumerate(queries):
            reply = replies[row]
            # Another query may have caused the failure of the batch.
            if isinstance(reply, Hits) or reply.kind != "failed" or reply.stops:
                continue
            reply = replies[row] = self._send_with_retries([query], depth)[0]
            breaker.record(reply if isinstance(reply, Failure) else None)
            if breaker.stopped:
                break
        return replies

    def _send_with_retries(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        settings = self._settings
        attempt = 0
        while True:
            attempt += 1
            self._throttle.wait()
            sent = perf_counter()
            outcome: list[Hits | Failure] | _Document | _Retry | Failure
            outcome = self._send(queries, depth)
            if isinstance(outcome, _Document):
                ms = 1000 * (perf_counter() - sent) / len(queries)
                outcome = self._read(outcome, queries, ms, attempt)
            if not isinstance(outcome, _Retry):
                break
            reason, wait = outcome.reason, outcome.retry_after or 0.0
            if attempt > settings.retries or self._throttle.closed:
                reason = f"{reason} ({attempt} attempts)" if attempt > 1 else reason
                outcome = Failure(reason, outcome.kind, lasting=True)
                break
            if wait > settings.max_wait:
                reason = f"{reason}; it asks to wait {wait:g} s, more than max_wait"
                outcome = Failure(reason, outcome.kind, lasting=True, stops=True)
                break
            self._throttle.pause(wait)
            seed = f"{settings.seed} {self._mode} {queries[0].query_id} {attempt}"
            self._throttle.wait(backoff_delay(settings.backoff, attempt, settings.max_wait, seed))
        if isinstance(outcome, Failure):
            return [replace(outcome, attempts=attempt)] * len(queries)
        return outcome

    def _send(self, queries: Sequence[Query], depth: int) -> _Document | _Retry | Failure:
        """Send one request."""
        import httpx

        deadline = monotonic() + self._settings.timeout
        try:
            request = self._template.fill(self._mode, queries, depth)
            with self._client.stream(self._settings.method, **request) as response:
                return self._receive(response, deadline)
        except httpx.TimeoutException:
            seconds = f"{self._settings.timeout:g} s"
            return _Retry(f"no answer from {self._origin} within {seconds}", "unavailable")
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            return Failure(self._describe("the request cannot be sent", error), stops=True)
        except (httpx.InvalidURL, UnicodeError) as error:
            return Failure(self._describe("the request cannot be sent", error))
        except httpx.TransportError as error:
            reason = self._describe(f"no connection to {self._origin}", error)
            if _is_bad_certificate(error):
                trust = "SSL_CERT_FILE names the authorities to trust"
                return Failure(f"{reason}; {trust}", "unavailable", stops=True)
            return _Retry(reason, "unavailable")
        except httpx.RequestError as error:
            return _Retry(self._describe("the answer cannot be read", error))

    @property
    def _origin(self) -> str:
        parts = urlsplit(self._settings.url)
        return f"{parts.scheme}://{parts.netloc}"

    def _receive(self, response: httpx.Response, deadline: float) -> _Document | _Retry | Failure:
        """Read an answer within the limits of time and size."""
        chunks, size = [], 0
        for chunk in response.iter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                return Failure(f"the answer is larger than {MAX_ANSWER_BYTES // 2**20} MiB")
            if monotonic() > deadline:
                return _Retry(f"no whole answer within {self._settings.timeout:g} s", "unavailable")
        return self._classify(response, b"".join(chunks))

    def _classify(self, response: httpx.Response, content: bytes) -> _Document | _Retry | Failure:
        """Classify a complete answer by its status and content."""
        headers = response.headers
        # The service's own clock determines how far away a date in Retry-After is.
        after = read_retry_after(headers.get("retry-after"), read_http_date(headers.get("date")))
        if response.status_code in RETRIED_STATUS:
            return _Retry(self._describe_status(response.status_code, content), retry_after=after)
        if response.has_redirect_location:
            target = self._excerpt(response.headers["location"].encode())
            reason = (
                f"HTTP {response.status_code}: it is at {target}, and redirects are not followed"
            )
            return Failure(reason, stops=True)
        if response.status_code == HTTPStatus.PARTIAL_CONTENT:
            return _Retry(self._describe_status(response.status_code, content), retry_after=after)
        if not response.is_success:
            stops = response.status_code in _STOPPING_STATUS or response.is_redirect
            reason = self._describe_status(response.status_code, content)
            # Errors of the service, unlike those of a request, probably concern the next one too.
            return Failure(reason, lasting=response.is_server_error, stops=stops)
        if not content.strip():
            return _Retry("the answer is empty, where JSON is expected", retry_after=after)
        try:
            return _Document(json.loads(content, parse_constant=_refuse_constant), after)
        except (ValueError, RecursionError):
            # Probably an error page of a proxy, or a truncated answer.
            return _Retry(f"the answer is no JSON: {self._excerpt(content)}", retry_after=after)

    def _read(
        self, answer: _Document, queries: Sequence[Query], ms: float, attempts: int
    ) -> list[Hits | Failure] | _Retry | Failure:
        """Read the hits in an answer; an unusable answer is retried unless its error is final.

        In a batch, an unusable entry is a failure of its query only.
        """
        try:
            entries = read_answer(answer.document, queries, self._settings)
            if len(queries) == 1 and isinstance(entries[0], AnswerError):
                raise entries[0]
            return [self._hits(entry, ms, attempts) for entry in entries]
        except AnswerError as error:
            reason = self._describe_answer_error(error)
            return (
                Failure(reason)
                if error.is_final
                else _Retry(reason, retry_after=answer.retry_after)
            )
        except RecursionError:
            return Failure("the answer is nested too deeply")

    def _describe_answer_error(self, error: AnswerError) -> str:
        reason = self._scrub(str(error))
        if error.shown is None:
            return reason
        shown = json.dumps(error.shown, ensure_ascii=False).encode("utf-8", "replace")
        return f"{reason}: {self._quote(shown, error.shown)}"

    def _quote(self, content: bytes, document: Any) -> str:
        """Return the begin of an answer, or the engine's reason if it is further down."""
        excerpt, reason = self._excerpt(content), find_reason(document)
        quoted = "" if reason is None else self._excerpt(reason.encode("utf-8", "replace"))
        # Quotes and backslashes are written in another way in JSON.
        begin = json.dumps(quoted.removesuffix("…"), ensure_ascii=False)[1:-1]
        return excerpt if begin in excerpt else quoted

    def _hits(self, entry: AnswerEntry | AnswerError, ms: float, attempts: int) -> Hits | Failure:
        if isinstance(entry, AnswerError):
            return Failure(self._describe_answer_error(entry), attempts=attempts)
        if self._key is not None and any(map(self._key.is_in, entry.ids)):
            return Failure("an id holds the service's key", attempts=attempts)
        diagnostics = self._scrub_value(entry.diagnostics)
        return Hits(entry.ids, entry.scores, ms, attempts, diagnostics, total=entry.total)

    def _describe(self, what: str, error: Exception) -> str:
        message = " ".join(str(error).split())[:_EXCERPT_LENGTH]
        return self._scrub(f"{what}: {message or type(error).__name__}")

    def _describe_status(self, status: int, content: bytes) -> str:
        phrase = next((f" {one.phrase}" for one in HTTPStatus if one == status), "")
        document = None
        with suppress(ValueError, RecursionError):
            document = json.loads(content)
        excerpt = self._quote(content, document)
        return f"HTTP {status}{phrase}: {excerpt}" if excerpt else f"HTTP {status}{phrase}"

    def _excerpt(self, content: bytes) -> str:
        # Remove the key before the text is cut, so that no part of the key remains.
        text = hide_secrets(self._scrub(content.decode("utf-8", "replace")))[:_CLEANED_LENGTH]
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= _EXCERPT_LENGTH else f"{text[: _EXCERPT_LENGTH - 1]}…"

    def _scrub(self, text: str) -> str:
        return text if self._key is None else self._key.scrub(text)

    def _scrub_value(self, value: Any) -> Any:
        """Remove the key from all texts of a JSON value."""
        if isinstance(value, str):
            return self._scrub(value)
        if isinstance(value, list):
            return [self._scrub_value(item) for item in value]
        if isinstance(value, dict):
            return {self._scrub(name): self._scrub_value(item) for name, item in value.items()}
        return value


def _make_client(
    settings: HttpSettings, headers: Mapping[str, str], transport: httpx.BaseTransport | None
) -> httpx.Client:
    import httpx

    try:
        return httpx.Client(
            headers=headers,
            timeout=settings.timeout,
            limits=httpx.Limits(max_connections=settings.concurrency),
            follow_redirects=False,  # the key must not be sent to another host
            transport=transport,
        )
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        # Show only the variables' names, because a proxy's address may contain a password.
        names = [
            one for name in _ENVIRONMENT for one in (name, name.lower()) if os.environ.get(one)
        ]
        needs_socks = isinstance(error, ImportError)
        raise UsageError(
            "a proxy or certificate named in the environment cannot be used",
            where=", ".join(names) or None,
            remedy="for a SOCKS proxy, run pip install 'httpx[socks]'"
            if needs_socks
            else "correct the variable, or unset it",
        ) from error


def _is_bad_certificate(error: BaseException | None) -> bool:
    """Return whether the service's certificate is not trusted, so that retries are useless."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


@dataclass(frozen=True, slots=True)
class _Document:
    """A JSON answer, and the seconds in its ``Retry-After`` header."""

    document: Any
    retry_after: float | None


@dataclass(frozen=True, slots=True)
class _Retry:
    """A failed attempt that can be retried, and the seconds in its ``Retry-After`` header."""

    reason: str
    kind: FailureKind = "failed"
    retry_after: float | None = None


def backoff_delay(first: float, attempt: int, longest: float, seed: str) -> float:
    """Return the seconds to wait after a failed attempt.

    The delay doubles with each attempt and is shortened at random by up to a half.

    Args:
        first: Full delay in seconds after the first attempt.
        attempt: Number of the failed attempt, from 1.
        longest: Maximum delay in seconds.
        seed: The same text gives the same delay.
    """
    full = min(first * 2.0 ** (attempt - 1), longest)
    return full * (0.5 + 0.5 * random.Random(seed).random())


def read_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds in a ``Retry-After`` header; ``None`` if it is missing or not valid.

    Args:
        value: Whole seconds, or an HTTP date (RFC 9110, 10.2.3).
        now: The time of the response, whose clock may differ from the local clock; ``None`` uses
            the local time.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    moment = read_http_date(text)
    if moment is None:
        return None
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def read_http_date(text: str | None) -> datetime | None:
    """Return the time in a header, with a time zone; ``None`` if there is no valid time."""
    try:
        moment = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


class Throttle:
    """Delays requests of all threads for as long as a service requests it.

    Args:
        clock: A monotonic clock in seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._not_before = clock()
        self._lock = Lock()
        self._closed = Event()

    @property
    def closed(self) -> bool:
        """True if no more requests should be sent."""
        return self._closed.is_set()

    def pause(self, seconds: float) -> None:
        """Delay the next request of every thread by at least this time."""
        with self._lock:
            self._not_before = max(self._not_before, self._clock() + seconds)

    def wait(self, seconds: float = 0.0) -> None:
        """Wait for this time and until all pauses end; return at once when closed."""
        until = self._clock() + seconds
        while True:
            with self._lock:
                left = max(until, self._not_before) - self._clock()
            if left <= 0 or self._closed.wait(left):
                return

    def close(self) -> None:
        """Wake the threads that wait."""
        self._closed.set()
