"""Requests for JSON documents; failures that can pass are retried with increasing delays."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.http.answers import AnswerError
from trectools_plus.retrieval.backends.secrets import Secret
from trectools_plus.retrieval.backends.timed_calls import CallThread, TimedOutError
from trectools_plus.retrieval.source import Failure
from trectools_plus.text import hide_secrets

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")

MAX_ANSWER_BYTES = 64 * 2**20
"""Maximum size of a decompressed answer in bytes."""
MAX_WAIT = 120.0
"""Maximum seconds between two attempts."""
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
    """

    url: str
    concurrency: int = 4
    timeout: float = 120.0
    retries: int = 4
    backoff: float = 0.5


class JsonClient:
    """Sends requests to one service; safe to use from several threads.

    Args:
        limits: The service and the limits of requests.
        headers: The headers of every request.
        key: The service's key, which is removed from all messages.
        transport: A replacement for the network, for tests.

    Raises:
        UsageError: If a proxy or certificate named in the environment cannot be used.
    """

    def __init__(
        self,
        limits: RequestLimits,
        headers: Mapping[str, str],
        key: Secret | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        import httpx

        self._limits, self._key, self._closed = limits, key, Event()
        try:
            self._client = httpx.Client(
                headers={**headers, "accept-encoding": "gzip, deflate"},
                timeout=limits.timeout,
                limits=httpx.Limits(max_connections=limits.concurrency),
                follow_redirects=False,  # the key must not be sent to another host
                transport=transport,
            )
        except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
            # Show only the variables' names, because a proxy's address may contain a password.
            raise UsageError(
                "a proxy or certificate named in the environment cannot be used",
                where=", ".join(name for name in os.environ if name.upper() in _ENVIRONMENT),
                remedy="correct the variable, or unset it; for a SOCKS proxy, run "
                "pip install 'httpx[socks]'",
            ) from error

    def close(self) -> None:
        """Close the connections, and wake threads that wait for a retry."""
        self._closed.set()
        self._client.close()

    def request(
        self,
        make: Callable[[], Mapping[str, Any]],
        read: Callable[[Any, float, int], Result],
    ) -> Result | Failure:
        """Send a request until its answer can be read, or no retry is left.

        Args:
            make: Returns the arguments of ``httpx.Client.stream``; called for each attempt.
            read: Reads the answer's JSON, with the milliseconds of the request and the number of
                attempts. It raises :class:`AnswerError` if the answer is unusable.
        """
        attempt = 0
        while True:
            attempt, sent = attempt + 1, perf_counter()
            try:
                document = self._send(make)
                return read(document, 1000 * (perf_counter() - sent), attempt)
            except AnswerError as error:
                problem = error
            except RecursionError:
                problem = AnswerError("the answer is nested too deeply", is_final=True)
            reason = self.describe_error(problem)
            if problem.is_final:
                return Failure(reason, problem.kind, problem.lasting, problem.stops, attempt)
            if problem.wait > MAX_WAIT:
                reason += f"; it asks to wait {problem.wait:g} s, more than {MAX_WAIT:g}"
            elif attempt <= self._limits.retries and not self._closed.is_set():
                delay = min(self._limits.backoff * 2.0 ** (attempt - 1), MAX_WAIT)
                self._closed.wait(max(problem.wait, delay * random.uniform(0.5, 1)))
                continue
            reason += f" ({attempt} attempts)" if attempt > 1 else ""
            return Failure(reason, problem.kind, True, problem.wait > MAX_WAIT, attempt)

    def _send(self, make: Callable[[], Mapping[str, Any]]) -> Any:
        """Return the JSON of one answer, read in a thread that is abandoned when its time is over.

        The timeouts of httpx limit each read. A service that sends a byte from time to time, or
        interim responses without end, would never exceed them.
        """
        import httpx

        parts, thread = urlsplit(self._limits.url), CallThread()
        origin = f"{parts.scheme}://{parts.netloc}"
        try:
            return thread.call(self._exchange, make, seconds=self._limits.timeout)
        except (httpx.TimeoutException, TimedOutError):
            reason = f"no answer from {origin} within {self._limits.timeout:g} s"
            raise AnswerError(reason, kind="unavailable") from None
        except (
            *(httpx.UnsupportedProtocol, httpx.LocalProtocolError),
            *(httpx.InvalidURL, UnicodeError),
        ) as error:
            raise AnswerError("the request cannot be sent", error, is_final=True) from None
        except httpx.TransportError as error:
            raise AnswerError(f"no connection to {origin}", error, kind="unavailable") from None
        except httpx.RequestError as error:
            raise AnswerError("the answer cannot be read", error) from None
        finally:
            thread.close()

    def _exchange(self, make: Callable[[], Mapping[str, Any]]) -> Any:
        """Read an answer within the limit of its size."""
        content = bytearray()
        with self._client.stream(**make()) as response:
            coding = response.headers.get("content-encoding", "identity").strip().lower()
            if coding not in ("identity", "gzip", "deflate"):  # several would multiply the size
                raise AnswerError(f"the answer cannot be read: it is packed as {coding[:99]}")
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    reason = f"the answer is larger than {MAX_ANSWER_BYTES // 2**20} MiB"
                    raise AnswerError(reason, is_final=True)
        return _read(response, bytes(content))

    def describe_error(self, error: AnswerError) -> str:
        """Return the problem of an answer, with the part that is shown, without the key."""
        shown = error.shown
        if isinstance(shown, Exception):
            shown = (str(shown) or type(shown).__name__).encode()
        elif not isinstance(shown, bytes):
            shown = b"" if shown is None else json.dumps(shown, ensure_ascii=False).encode()
        # Remove the key before the text is cut, so that no part of the key remains.
        text = hide_secrets(self.scrub(shown.decode("utf-8", "replace")))[:_CLEANED_LENGTH]
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        if len(text) > _EXCERPT_LENGTH:
            text = f"{text[: _EXCERPT_LENGTH - 1]}…"
        return self.scrub(error.reason) + (f": {text}" if text else "")

    def scrub(self, text: str) -> str:
        """Remove the key from a text."""
        return text if self._key is None else self._key.scrub(text)


def _read(response: httpx.Response, content: bytes) -> Any:
    """Return the JSON of a complete answer."""
    status, after = response.status_code, response.headers.get("retry-after", "").strip()
    wait = float(after[:9]) if after.isascii() and after.isdigit() else 0.0
    if response.is_success and status != HTTPStatus.PARTIAL_CONTENT:
        try:
            return json.loads(content, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            # Probably an error page of a proxy, or a truncated answer.
            what = "no JSON" if content.strip() else "empty, where JSON is expected"
            raise AnswerError(f"the answer is {what}", content, wait=wait) from None
    if response.has_redirect_location:
        content = b"redirects are not followed, to " + response.headers["location"].encode()
    phrase = next((f" {known.phrase}" for known in HTTPStatus if known == status), "")
    error = AnswerError(f"HTTP {status}{phrase}", content, wait=wait)
    if status not in RETRIED_STATUS and not response.is_success:
        # Errors of the service, unlike those of a request, probably concern the next one too.
        error.is_final, error.lasting = True, response.is_server_error
        error.stops = status in _STOPPING_STATUS or response.is_redirect
    raise error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
