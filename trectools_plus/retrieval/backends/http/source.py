"""The backend ``http``: requests to a service, sent again after faults, with growing waits."""

from __future__ import annotations

import os
import random
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Event, Lock
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.http.answers import AnswerError, Entry, read_answer
from trectools_plus.retrieval.backends.http.settings import HttpSettings, Template
from trectools_plus.retrieval.backends.secrets import Key, read_key
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

LARGEST_ANSWER = 64 * 2**20
"""Bytes of an answer, decompressed, that are read at most."""

_HOPELESS = frozenset({401, 403, 404, 405, 407})
"""Refusals that have nothing to do with the query."""
_SHOWN = 160
_SEARCHED = 10_000  # characters of an answer, at most, for the first that are shown
_ENVIRONMENT = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


class HttpBackend(Backend):
    """A service behind a URL, in any mode that it knows.

    Args:
        settings: How it is asked.
    """

    name = "http"

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that shapes the answers: where and how is asked."""
        return self._settings.facts

    @property
    def record(self) -> dict[str, Any]:
        """All settings; of the key only the name of its variable."""
        return self._settings.model_dump(mode="json")

    def open(self, request: BackendRequest) -> Mapping[str, Source]:
        """A source per mode; nothing is sent yet.

        Raises:
            UsageError: If the key's variable is not set, or a proxy or certificate that the
                environment names cannot be used.
        """
        variable = self._settings.key_env
        key = None if variable is None else read_key(variable)
        return {mode: HttpSource(self._settings, mode, key) for mode in request.modes}


class HttpSource(Source):
    """Asks the service in one mode; safe to use from several threads.

    Args:
        settings: How it is asked.
        mode: What ``{mode}`` stands for.
        key: For the header that the settings name.
        transport: Something else than the network, for tests.

    Raises:
        UsageError: If a proxy or certificate that the environment names cannot be used.
    """

    def __init__(
        self,
        settings: HttpSettings,
        mode: str,
        key: Key | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.batch_size = settings.batch_size
        self.concurrency = settings.concurrency
        self._settings = settings
        self._mode = mode
        self._key = key
        self._template = Template(settings)
        self._pace = Pace()
        headers = {"accept": "application/json", "user-agent": "trectools-plus"} | {
            name.lower(): text for name, text in settings.headers.items()
        }
        if key is not None:
            headers[settings.key_header.lower()] = settings.key_prefix + key.value
        self._client = _make_client(settings, headers, transport)

    def close(self) -> None:
        """Close the connections, and stop waiting for the next attempt."""
        self._pace.end()
        self._client.close()

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        """Send the queries in one request; those of a batch that fails, one by one."""
        replies = self._ask_together(queries, depth)
        if len(queries) == 1:
            return replies
        breaker = CircuitBreaker()
        for place, query in enumerate(queries):
            if not _is_worth_asking_alone(replies[place]):
                continue
            reply = replies[place] = self._ask_together([query], depth)[0]
            breaker.note(reply if isinstance(reply, Failure) else None)
            if breaker.stopped:
                break
        return replies

    def _ask_together(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        attempt = 0
        while True:
            attempt += 1
            self._pace.wait()
            sent = perf_counter()
            outcome: list[Hits | Failure] | _Document | _Again | Failure
            outcome = self._send(queries, depth)
            if isinstance(outcome, _Document):
                ms = 1000 * (perf_counter() - sent) / len(queries)
                outcome = self._read(outcome, queries, ms, attempt)
            if not isinstance(outcome, _Again):
                break
            if attempt > self._settings.retries or self._pace.ended:
                outcome = outcome.give_up(attempt)
                break
            asked_for = outcome.retry_after or 0.0
            if asked_for > self._settings.max_wait:
                outcome = outcome.too_long(attempt)
                break
            self._pace.hold(asked_for)
            self._pace.wait(self._delay(queries[0], attempt))
        if isinstance(outcome, Failure):
            return [replace(outcome, attempts=attempt)] * len(queries)
        return outcome

    def _delay(self, query: Query, attempt: int) -> float:
        one = self._settings
        seed = f"{one.seed} {self._mode} {query.query_id} {attempt}"
        return backoff_delay(one.backoff, attempt, one.max_wait, seed)

    def _send(self, queries: Sequence[Query], depth: int) -> _Document | _Again | Failure:
        """One attempt."""
        import httpx

        until = monotonic() + self._settings.timeout
        try:
            request = self._template.fill(self._mode, queries, depth)
            with self._client.stream(self._settings.method, **request) as response:
                content = self._receive(response, until)
        except httpx.TimeoutException:
            seconds = f"{self._settings.timeout:g} s"
            return _Again(f"no answer from {self._site} within {seconds}", "unavailable")
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            return Failure(self._say("the request cannot be sent", error), stops=True)
        except (httpx.InvalidURL, UnicodeError) as error:
            return Failure(self._say("the request cannot be sent", error))
        except httpx.TransportError as error:
            reason = self._say(f"no connection to {self._site}", error)
            if _is_bad_certificate(error):
                trust = "SSL_CERT_FILE names the authorities to trust"
                return Failure(f"{reason}; {trust}", "unavailable", stops=True)
            return _Again(reason, "unavailable")
        except httpx.RequestError as error:
            return _Again(self._say("the answer cannot be read", error), "failed")
        return content

    @property
    def _site(self) -> str:
        parts = urlsplit(self._settings.url)
        return f"{parts.scheme}://{parts.netloc}"

    def _receive(self, response: httpx.Response, until: float) -> _Document | _Again | Failure:
        """Read an answer, within the time and size that are allowed."""
        chunks, size = [], 0
        for chunk in response.iter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if size > LARGEST_ANSWER:
                return Failure(f"the answer is larger than {LARGEST_ANSWER // 2**20} MiB")
            if monotonic() > until:
                return _Again(f"no whole answer within {self._settings.timeout:g} s", "unavailable")
        return self._judge(response, b"".join(chunks))

    def _judge(self, response: httpx.Response, content: bytes) -> _Document | _Again | Failure:
        """Classify a whole answer by its status and content."""
        import json

        after = _retry_after(response)
        if response.status_code in RETRIED_STATUS:
            return _Again(self._refusal(response.status_code, content), "failed", after)
        if response.has_redirect_location:
            target = self._excerpt(response.headers["location"].encode())
            reason = (
                f"HTTP {response.status_code}: it is at {target}, and redirects are not followed"
            )
            return Failure(reason, stops=True)
        if not response.is_success:
            hopeless = response.status_code in _HOPELESS or response.is_redirect
            return Failure(self._refusal(response.status_code, content), stops=hopeless)
        if not content.strip():
            return _Again("the answer is empty, where JSON is expected", "failed", after)
        try:
            return _Document(json.loads(content, parse_constant=_refuse_constant), after)
        except (ValueError, RecursionError):
            # The page of a proxy, or an answer whose end is missing.
            return _Again(f"the answer is no JSON: {self._excerpt(content)}", "failed", after)

    def _read(
        self, answer: _Document, queries: Sequence[Query], ms: float, attempts: int
    ) -> list[Hits | Failure] | _Again | Failure:
        """The hits in an answer; one without any that can be used may be another when asked again.

        In a batch, an entry that cannot be used is a failure of its query alone.
        """
        try:
            entries = read_answer(answer.document, queries, self._settings)
            if len(queries) == 1 and isinstance(entries[0], AnswerError):
                raise entries[0]
            return [self._hits(entry, ms, attempts) for entry in entries]
        except AnswerError as error:
            reason = self._describe(error)
            return Failure(reason) if error.is_final else _Again(reason, "failed", answer.after)
        except RecursionError:
            return Failure("the answer is nested too deeply")

    def _describe(self, error: AnswerError) -> str:
        import json

        reason = self._scrub(str(error))
        if error.shown is None:
            return reason
        shown = json.dumps(error.shown, ensure_ascii=False).encode("utf-8", "replace")
        return f"{reason}: {self._excerpt(shown)}"

    def _hits(self, entry: Entry | AnswerError, ms: float, attempts: int) -> Hits | Failure:
        if isinstance(entry, AnswerError):
            return Failure(self._describe(entry), attempts=attempts)
        if self._key is not None and any(map(self._key.is_in, entry.ids)):
            return Failure("an id holds the service's key", attempts=attempts)
        diagnostics = self._scrub_value(entry.diagnostics)
        return Hits(entry.ids, entry.scores, ms, attempts, diagnostics)

    def _say(self, what: str, error: Exception) -> str:
        message = " ".join(str(error).split())[:_SHOWN]
        return self._scrub(f"{what}: {message}" if message else f"{what}: {type(error).__name__}")

    def _refusal(self, status: int, content: bytes) -> str:
        from http import HTTPStatus

        known = status in {one.value for one in HTTPStatus}
        phrase = f"HTTP {status} {HTTPStatus(status).phrase}" if known else f"HTTP {status}"
        excerpt = self._excerpt(content)
        return f"{phrase}: {excerpt}" if excerpt else phrase

    def _excerpt(self, content: bytes) -> str:
        # Scrubbed before it is cut: half a key is still half a key.
        text = self._scrub(content.decode("utf-8", "replace"))[:_SEARCHED]
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"

    def _scrub(self, text: str) -> str:
        return text if self._key is None else self._key.scrub(text)

    def _scrub_value(self, value: Any) -> Any:
        """The same JSON value without the key in any of its texts."""
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
            follow_redirects=False,  # the key is for this host only
            transport=transport,
        )
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        # Only the variables' names: a proxy's address may hold a password.
        names = [
            one for name in _ENVIRONMENT for one in (name, name.lower()) if os.environ.get(one)
        ]
        needs_socks = isinstance(error, ImportError)
        raise UsageError(
            "a proxy or certificate that the environment names cannot be used",
            where=", ".join(names) or None,
            remedy="for a SOCKS proxy: pip install 'httpx[socks]'"
            if needs_socks
            else "mend that variable, or unset it",
        ) from error


def _is_bad_certificate(error: BaseException | None) -> bool:
    """Return whether the service's certificate is not trusted, which no attempt will change."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds to wait; a date is compared with the service's own clock."""
    headers = response.headers
    return read_retry_after(headers.get("retry-after"), read_http_date(headers.get("date")))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _is_worth_asking_alone(reply: Hits | Failure) -> bool:
    """Return whether a batch may have failed because of another of its queries."""
    return isinstance(reply, Failure) and reply.kind == "failed" and not reply.stops


class _Document:
    """An answer that is JSON, and the seconds that it asks to wait."""

    def __init__(self, document: Any, after: float | None) -> None:
        self.document = document
        self.after = after


class _Again:
    """An attempt that failed in a way that another may not."""

    def __init__(self, reason: str, kind: Any, retry_after: float | None = None) -> None:
        self.reason = reason
        self.kind = kind
        self.retry_after = retry_after

    def give_up(self, attempts: int) -> Failure:
        """The failure when no attempt is left."""
        tried = f"{self.reason} ({attempts} attempts)" if attempts > 1 else self.reason
        return Failure(tried, self.kind, lasting=True, attempts=attempts)

    def too_long(self, attempts: int) -> Failure:
        """The failure when the service wants to be left alone for longer than is waited."""
        asks = f"{self.reason}; it asks to wait {self.retry_after:g} s, more than max_wait"
        return Failure(asks, self.kind, lasting=True, stops=True, attempts=attempts)


RETRIED_STATUS = frozenset({429, *range(500, 600)})
"""Too many requests, and the service's own faults; any other 4xx is ours, and final."""


def backoff_delay(first: float, attempt: int, longest: float, seed: str) -> float:
    """Seconds to wait after an attempt: doubled each time, a random half of it taken off at most.

    Args:
        first: After the first attempt.
        attempt: Which one failed, from 1.
        longest: No wait is longer.
        seed: The same text gives the same delay.
    """
    full = min(first * 2.0 ** (attempt - 1), longest)
    return full * (0.5 + 0.5 * random.Random(seed).random())


def read_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a ``Retry-After`` header asks to wait; ``None`` where it says nothing usable.

    Args:
        value: Whole seconds, or an HTTP date (RFC 9110, 10.2.3).
        now: The time, for dates: that of the response, whose clock may differ from this one's;
            ``None`` takes the local time.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    moment = read_http_date(text)
    if moment is None:
        return None
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def read_http_date(text: str | None) -> datetime | None:
    """The time in a header, with its zone; ``None`` where there is none."""
    try:
        moment = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


class Pace:
    """One service's wish to be left alone for a while, heeded by all threads that ask it.

    Args:
        clock: Seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._not_before = clock()
        self._lock = Lock()
        self._ended = Event()

    @property
    def ended(self) -> bool:
        """True when nothing more should be asked."""
        return self._ended.is_set()

    def hold(self, seconds: float) -> None:
        """Nobody asks for so long."""
        with self._lock:
            self._not_before = max(self._not_before, self._clock() + seconds)

    def wait(self, seconds: float = 0.0) -> None:
        """Wait so long, and then until anybody may ask again; returns at once when it ended."""
        until = self._clock() + seconds
        while True:
            with self._lock:
                left = max(until, self._not_before) - self._clock()
            if left <= 0 or self._ended.wait(left):
                return

    def end(self) -> None:
        """Wake the threads that wait."""
        self._ended.set()
