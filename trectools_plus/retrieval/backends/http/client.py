"""Requests for JSON documents; failures that can pass are retried with increasing delays."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from trectools_plus.errors import UsageError
from trectools_plus.redaction import hide_secrets
from trectools_plus.retrieval.backends.http.answers import AnswerError
from trectools_plus.retrieval.backends.secrets import Secret
from trectools_plus.retrieval.backends.timed_calls import CallThread, TimedOutError
from trectools_plus.retrieval.source import Failure

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


@dataclass
class _AttemptError(Exception):
    """A failed attempt.

    Attributes:
        failure: The failure.
        is_final: Whether a retry would fail too.
        wait: The seconds for which the service asks to wait.
    """

    failure: Failure
    is_final: bool = False
    wait: float = 0.0


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
        self._closed = Event()
        self._client = _make_client(settings, headers, transport)

    def close(self) -> None:
        """Close the connections, and wake threads that wait for a retry."""
        self._closed.set()
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
        settings, attempt = self._settings, 0
        while True:
            attempt += 1
            sent = perf_counter()
            try:
                document = self._send(make)
                return read(document, 1000 * (perf_counter() - sent), attempt)
            except AnswerError as error:
                problem = _AttemptError(Failure(self.describe_error(error)), error.is_final)
            except RecursionError:
                problem = _AttemptError(Failure("the answer is nested too deeply"), is_final=True)
            except _AttemptError as error:
                problem = error
            failure, wait = replace(problem.failure, attempts=attempt), problem.wait
            if problem.is_final:
                return failure
            if attempt > settings.retries or self._closed.is_set():
                end = f" ({attempt} attempts)" if attempt > 1 else ""
                return replace(failure, reason=failure.reason + end, lasting=True)
            if wait > settings.max_wait:
                end = f"; it asks to wait {wait:g} s, more than max_wait"
                return replace(failure, reason=failure.reason + end, lasting=True, stops=True)
            delay = backoff_delay(settings.backoff, attempt, settings.max_wait, f"{seed} {attempt}")
            self._closed.wait(max(wait, delay))

    def _send(self, make: Callable[[], Mapping[str, Any]]) -> Any:
        """Return the JSON of one answer, read in a thread that is abandoned when its time is over.

        The timeouts of httpx limit each read. A service that sends a byte from time to time, or
        interim responses without end, would never exceed them.
        """
        import httpx

        parts, thread = urlsplit(self._settings.url), CallThread()
        origin = f"{parts.scheme}://{parts.netloc}"
        try:
            return thread.call(self._exchange, make, seconds=self._settings.timeout)
        except (httpx.TimeoutException, TimedOutError):
            reason = f"no answer from {origin} within {self._settings.timeout:g} s"
            raise _AttemptError(Failure(reason, "unavailable")) from None
        except (
            *(httpx.UnsupportedProtocol, httpx.LocalProtocolError),
            *(httpx.InvalidURL, UnicodeError),
        ) as error:
            reason = self._describe("the request cannot be sent", error)
            raise _AttemptError(Failure(reason), is_final=True) from None
        except httpx.TransportError as error:
            reason = self._describe(f"no connection to {origin}", error)
            raise _AttemptError(Failure(reason, "unavailable")) from None
        except httpx.RequestError as error:
            reason = self._describe("the answer cannot be read", error)
            raise _AttemptError(Failure(reason)) from None
        finally:
            thread.close()

    def _exchange(self, make: Callable[[], Mapping[str, Any]]) -> Any:
        """Read an answer within the limit of its size."""
        content = bytearray()
        with self._client.stream(**make()) as response:
            coding = response.headers.get("content-encoding", "identity").strip().lower()
            if coding not in ("identity", "gzip", "deflate"):  # several would multiply the size
                raise _AttemptError(
                    Failure(f"the answer cannot be read: it is packed as {coding[:99]}")
                )
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    reason = f"the answer is larger than {MAX_ANSWER_BYTES // 2**20} MiB"
                    raise _AttemptError(Failure(reason), is_final=True)
        return self._read(response, bytes(content))

    def _read(self, response: httpx.Response, content: bytes) -> Any:
        """Return the JSON of a complete answer."""
        status, excerpt = response.status_code, self._excerpt(content)
        after = response.headers.get("retry-after", "").strip()
        wait = float(after[:9]) if after.isascii() and after.isdigit() else 0.0
        if response.is_success and status != HTTPStatus.PARTIAL_CONTENT:
            try:
                return json.loads(content, parse_constant=_refuse_constant)
            except (ValueError, RecursionError):
                # Probably an error page of a proxy, or a truncated answer.
                what = f"no JSON: {excerpt}" if content.strip() else "empty, where JSON is expected"
                raise _AttemptError(Failure(f"the answer is {what}"), wait=wait) from None
        if response.has_redirect_location:
            target = self._excerpt(response.headers["location"].encode())
            excerpt = f"it is at {target}, and redirects are not followed"
        phrase = next((f" {known.phrase}" for known in HTTPStatus if known == status), "")
        reason = f"HTTP {status}{phrase}: {excerpt}" if excerpt else f"HTTP {status}{phrase}"
        if status in RETRIED_STATUS or response.is_success:
            raise _AttemptError(Failure(reason), wait=wait)
        # Errors of the service, unlike those of a request, probably concern the next one too.
        stops = status in _STOPPING_STATUS or response.is_redirect
        failure = Failure(reason, lasting=response.is_server_error, stops=stops)
        raise _AttemptError(failure, is_final=True)

    def describe_error(self, error: AnswerError) -> str:
        """Return the problem of an answer, with the part that is shown, without the key."""
        reason = self.scrub(str(error))
        if error.shown is None:
            return reason
        shown = json.dumps(error.shown, ensure_ascii=False).encode("utf-8", "replace")
        return f"{reason}: {self._excerpt(shown)}"

    def _describe(self, what: str, error: Exception) -> str:
        return f"{what}: {self._excerpt(str(error).encode()) or type(error).__name__}"

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
        names = [name for name in os.environ if name.upper() in _ENVIRONMENT]
        raise UsageError(
            "a proxy or certificate named in the environment cannot be used",
            where=", ".join(names),
            remedy="correct the variable, or unset it; for a SOCKS proxy, run "
            "pip install 'httpx[socks]'",
        ) from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


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
