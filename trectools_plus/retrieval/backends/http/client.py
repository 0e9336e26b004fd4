"""Requests for JSON documents; failures that can pass are retried with increasing delays."""

from __future__ import annotations

import json
import os
import random
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from threading import Event, Lock
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from trectools_plus.errors import UsageError
from trectools_plus.redaction import hide_secrets
from trectools_plus.retrieval.backends.http.answers import AnswerError
from trectools_plus.retrieval.backends.secrets import Secret
from trectools_plus.retrieval.backends.timed_calls import CallThread, TimedOutError
from trectools_plus.retrieval.source import Failure, FailureKind

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")

MAX_ANSWER_BYTES = 64 * 2**20
"""Maximum size of a decompressed answer in bytes."""
RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Errors that can pass: timeouts, too many requests, a service that fails or is overloaded. For
all others, for example 501 (not implemented), a retry would get the same answer."""

_STOPPING_STATUS = frozenset({401, 403, 404, 405, 407, 501, 505})
"""Errors that every further query would cause too."""
_EXCERPT_LENGTH = 240
_CLEANED_LENGTH = 10_000  # characters of an answer whose white space is collapsed for an excerpt
_ENVIRONMENT = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """A service, and the limits of requests.

    Attributes:
        url: The address of the service.
        concurrency: Maximum number of simultaneous requests.
        timeout: Seconds for one request.
        retries: Maximum number of retries.
        backoff: Seconds before the first retry.
        max_wait: Maximum seconds between two attempts.
        seed: Seed of the delays between attempts.
    """

    url: str
    concurrency: int = 4
    timeout: float = 120.0
    retries: int = 4
    backoff: float = 0.5
    max_wait: float = 120.0
    seed: int = 42

    @classmethod
    def of(cls, settings: Any) -> Self:
        """Return the limits in other settings, which have the same names."""
        return cls(*(getattr(settings, name) for name in cls.__slots__))


class JsonClient:
    """Sends requests to one service; safe to use from several threads.

    Args:
        settings: The service and the limits of requests.
        headers: The headers of every request.
        key: The service's key, which is removed from all messages.
        transport: A replacement for the network, for tests.

    Raises:
        UsageError: If a proxy or certificate named in the environment cannot be used.
    """

    def __init__(
        self,
        settings: RequestLimits,
        headers: Mapping[str, str],
        key: Secret | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._key = key
        self._throttle = Throttle()
        self._client = _make_client(settings, headers, transport)

    def close(self) -> None:
        """Close the connections, and wake threads that wait for a retry."""
        self._throttle.close()
        self._client.close()

    def request(
        self,
        make: Callable[[], Mapping[str, Any]],
        read: Callable[[Any, float, int], Result],
        seed: str,
    ) -> Result | Failure:
        """Send a request until its answer can be read, or no retry is left.

        Args:
            make: Returns the arguments of ``httpx.Client.stream``; called for each attempt.
            read: Reads the answer's JSON, with the milliseconds of the request and the number of
                attempts. It raises :class:`AnswerError` if the answer is unusable.
            seed: A text that identifies the request, for the delays.
        """
        settings = self._settings
        attempt = 0
        while True:
            attempt += 1
            self._throttle.wait()
            sent = perf_counter()
            outcome = self._send(make)
            if isinstance(outcome, _Document):
                ms = 1000 * (perf_counter() - sent)
                try:
                    return read(outcome.document, ms, attempt)
                except AnswerError as error:
                    reason = self.describe_error(error)
                    outcome = (
                        Failure(reason)
                        if error.is_final
                        else _Retry(reason, retry_after=outcome.retry_after)
                    )
                except RecursionError:
                    outcome = Failure("the answer is nested too deeply")
            if isinstance(outcome, Failure):
                return replace(outcome, attempts=attempt)
            reason, wait = outcome.reason, outcome.retry_after or 0.0
            if attempt > settings.retries or self._throttle.closed:
                reason = f"{reason} ({attempt} attempts)" if attempt > 1 else reason
                return Failure(reason, outcome.kind, lasting=True, attempts=attempt)
            if wait > settings.max_wait:
                reason = f"{reason}; it asks to wait {wait:g} s, more than max_wait"
                return Failure(reason, outcome.kind, lasting=True, stops=True, attempts=attempt)
            self._throttle.pause(wait)
            self._throttle.wait(
                backoff_delay(settings.backoff, attempt, settings.max_wait, f"{seed} {attempt}")
            )

    def _send(self, make: Callable[[], Mapping[str, Any]]) -> _Document | _Retry | Failure:
        """Send one request, in a thread that is abandoned when its time is over.

        The timeouts of httpx limit each read. A service that sends a byte from time to time, or
        interim responses without end, would never exceed them.
        """
        import httpx

        thread = CallThread()
        try:
            return thread.call(self._exchange, make, seconds=self._settings.timeout)
        except (httpx.TimeoutException, TimedOutError):
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
        finally:
            thread.close()

    @property
    def _origin(self) -> str:
        parts = urlsplit(self._settings.url)
        return f"{parts.scheme}://{parts.netloc}"

    def _exchange(self, make: Callable[[], Mapping[str, Any]]) -> _Document | _Retry | Failure:
        """Read an answer within the limit of its size."""
        content = bytearray()
        with self._client.stream(**make()) as response:
            coding = response.headers.get("content-encoding", "identity").strip().lower()
            if coding not in ("identity", "gzip", "deflate"):  # several would multiply the size
                return _Retry(f"the answer cannot be read: it is packed as {coding[:100]}")
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    return Failure(f"the answer is larger than {MAX_ANSWER_BYTES // 2**20} MiB")
        return self._classify(response, bytes(content))

    def _classify(self, response: httpx.Response, content: bytes) -> _Document | _Retry | Failure:
        """Classify a complete answer by its status and content."""
        headers = response.headers
        # The service's own clock determines how far away a date in Retry-After is.
        after = read_retry_after(headers.get("retry-after"), read_http_date(headers.get("date")))
        status = response.status_code
        if response.is_success and status != HTTPStatus.PARTIAL_CONTENT:
            if not content.strip():
                return _Retry("the answer is empty, where JSON is expected", retry_after=after)
            try:
                return _Document(json.loads(content, parse_constant=_refuse_constant), after)
            except (ValueError, RecursionError):
                # Probably an error page of a proxy, or a truncated answer.
                reason = f"the answer is no JSON: {self._excerpt(content)}"
                return _Retry(reason, retry_after=after)
        reason = self._describe_status(status, content)
        if status in RETRIED_STATUS or response.is_success:
            return _Retry(reason, retry_after=after)
        if response.has_redirect_location:
            target = self._excerpt(headers["location"].encode())
            reason = f"HTTP {status}: it is at {target}, and redirects are not followed"
            return Failure(reason, stops=True)
        stops = status in _STOPPING_STATUS or response.is_redirect
        # Errors of the service, unlike those of a request, probably concern the next one too.
        return Failure(reason, lasting=response.is_server_error, stops=stops)

    def describe_error(self, error: AnswerError) -> str:
        """Return the problem of an answer, with the part that is shown, without the key."""
        reason = self.scrub(str(error))
        if error.shown is None:
            return reason
        shown = json.dumps(error.shown, ensure_ascii=False).encode("utf-8", "replace")
        return f"{reason}: {self._excerpt(shown)}"

    def _describe(self, what: str, error: Exception) -> str:
        message = " ".join(str(error).split())[:_EXCERPT_LENGTH]
        return self.scrub(f"{what}: {message or type(error).__name__}")

    def _describe_status(self, status: int, content: bytes) -> str:
        phrase = next((f" {one.phrase}" for one in HTTPStatus if one == status), "")
        excerpt = self._excerpt(content)
        return f"HTTP {status}{phrase}: {excerpt}" if excerpt else f"HTTP {status}{phrase}"

    def _excerpt(self, content: bytes) -> str:
        # Remove the key before the text is cut, so that no part of the key remains.
        text = hide_secrets(self.scrub(content.decode("utf-8", "replace")))[:_CLEANED_LENGTH]
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= _EXCERPT_LENGTH else f"{text[: _EXCERPT_LENGTH - 1]}…"

    def scrub(self, text: str) -> str:
        """Remove the key from a text."""
        return text if self._key is None else self._key.scrub(text)


def _make_client(
    settings: RequestLimits, headers: Mapping[str, str], transport: httpx.BaseTransport | None
) -> httpx.Client:
    import httpx

    try:
        return httpx.Client(
            headers={**headers, "accept-encoding": "gzip, deflate"},
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
