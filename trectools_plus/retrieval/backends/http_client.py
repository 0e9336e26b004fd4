"""Requests for JSON documents, their keys, and ids and scores from the answers.

Failures that can pass are retried with increasing delays. Keys of services are read from the
environment, and never written to a file or message. Ids and scores are read by paths, and unusable
answers are refused.

A service that finds nothing returns an empty list at the path of the ids. Three settings declare
what else an answer shows: ``errors``; ``incomplete``, that documents are missing; and ``total``,
the number of results found. If that is 0, the list may be missing.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import responses
from math import isfinite, nan
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.http_mapping import ERRORS, HttpSettings, Step, parse_path
from trectools_plus.retrieval.calls import CallThread, TimedOutError
from trectools_plus.retrieval.source import Failure, FailureKind, Hits
from trectools_plus.text import HIDDEN, hide_secrets

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


@dataclass(frozen=True)
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
        limits: RequestLimits | HttpSettings,
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
            httpx.UnsupportedProtocol,
            httpx.LocalProtocolError,
            httpx.InvalidURL,
            UnicodeError,
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
            shown = str(shown) or type(shown).__name__
        elif isinstance(shown, bytes):
            shown = shown.decode("utf-8", "replace")
        elif shown is not None:
            shown = json.dumps(shown, ensure_ascii=False)
        # Remove the key before the text is cut, so that no part of the key remains.
        text = hide_secrets(self.scrub(shown or ""))[:_CLEANED_LENGTH]
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        excerpt = text[:_EXCERPT_LENGTH] + "…" * (len(text) > _EXCERPT_LENGTH)
        return self.scrub(error.reason) + (f": {excerpt}" if excerpt else "")

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
    error = AnswerError(f"HTTP {status} {responses.get(status, '')}".strip(), content, wait=wait)
    if status not in RETRIED_STATUS and not response.is_success:
        # Errors of the service, unlike those of a request, probably concern the next one too.
        error.is_final, error.lasting = True, response.is_server_error
        error.stops = status in _STOPPING_STATUS or response.is_redirect
    raise error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_NO_ERROR = ("", "none", "null", "nil", "false", "0", "ok", "no error", "success")
"""Texts that mean that there is no error."""


@dataclass
class AnswerError(ValueError):
    """A failed request, or an answer that does not match the settings.

    Attributes:
        reason: The problem.
        shown: The part of the answer, or the error, that the message quotes, if any.
        is_final: Whether a retry would give the same answer.
        kind: ``unavailable`` if there is no answer.
        lasting: Whether the next query would probably fail too.
        stops: Whether every further query would fail too.
        wait: The seconds for which the service asks to wait.
    """

    reason: str
    shown: Any = None
    is_final: bool = False
    kind: FailureKind = "failed"
    lasting: bool = False
    stops: bool = False
    wait: float = 0.0

    def __str__(self) -> str:
        return self.reason


def read_answer(document: Any, query_id: str, settings: HttpSettings) -> Hits:
    """Return the results of a query, without the time and attempts of its request.

    Raises:
        AnswerError: If the answer reports an error, does not have one entry for the query, or lacks
            ids or scores.
    """
    refuse_incomplete(document, (*settings.errors, *settings.incomplete), settings.ids)
    parts = entries = [document]
    if settings.results is not None:
        parts = entries = list(_find(document, settings.results).values())
        if settings.query_id is not None:
            named = ((part, values_at(part, settings.query_id)) for part in parts)
            entries = [part for part, ids in named if query_id in map(str, ids)]
    if len(entries) != 1:
        number = f"{len(entries)} entries" if entries else "no entry"
        reason = f"the answer has {number} for query {query_id}"
        raise AnswerError(reason, entries or parts, is_final=bool(entries))
    try:
        return _read_entry(entries[0], settings)
    except AnswerError as error:
        error.shown = entries[0] if error.shown is None else error.shown
        raise


def _read_entry(part: Any, settings: HttpSettings) -> Hits:
    refuse_incomplete(part, (*settings.errors, *settings.incomplete), settings.ids)
    total = next(
        (number for number in values_at(part, settings.total) if type(number) is int), None
    )
    ids = _find(part, settings.ids, is_required=total != 0)
    if total and not ids:
        raise AnswerError(f"no results, but {settings.total} (http.total) is {total}")
    for value in ids.values():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise AnswerError(f"expected an id at {settings.ids}", [value], is_final=True)
    scores = None if settings.scores is None else _read_scores(part, settings, list(ids))
    return Hits([*map(str, ids.values())], scores, 0.0, total=total)


def _read_scores(part: Any, settings: HttpSettings, places: list[tuple[int, ...]]) -> list[float]:
    """Return the scores of ids, whose places in lists show which score belongs to which id."""
    path, sign = str(settings.scores), 1 if settings.higher_is_better else -1
    numbers = _find(part, path) if places else {}
    if list(numbers) != places:
        raise AnswerError(
            f"{len(places)} ids ({settings.ids}) and {len(numbers)} scores ({path}) do not stand "
            "side by side",
            is_final=True,
        )
    scores = []
    for value in numbers.values():
        is_text = isinstance(value, str) and _DECIMAL.fullmatch(value)
        score = float(str(value)) if is_text or type(value) in (int, float) else nan
        if not isfinite(score):
            raise AnswerError(f"expected a score at {path}", [value], is_final=True)
        scores.append(sign * score)
    return scores


def refuse_incomplete(part: Any, paths: Iterable[str] = ERRORS, of_results: str = "") -> None:
    """Check the paths of errors, and of signs that documents are missing.

    Args:
        part: An answer, or the part for one query.
        paths: Paths that must lead nowhere or to nothing: null, false, 0, or an empty text, list or
            object. With ``!`` before it, a path must not lead to false.
        of_results: The path of the results, which is not checked.

    Raises:
        AnswerError: If one does, or an answer of Elasticsearch lacks the results of some shards.
    """
    for path in paths:
        steps = parse_path(path.removeprefix("!"))
        for value in () if steps == parse_path(of_results)[:1] else values_at(part, steps):
            if value is False if path.startswith("!") else not _is_empty(value):
                shown = {str(steps[-1]): value, **(part if isinstance(part, Mapping) else {})}
                raise AnswerError(f"the answer reports an error or is incomplete ({path})", shown)
    # Shards that are not available are neither successful nor failed.
    if values_at(part, "_shards.total") != values_at(part, "_shards.successful"):
        raise AnswerError("the answer is incomplete (_shards.successful)", part)


def _is_empty(value: Any) -> bool:
    if isinstance(value, dict | list):
        return all(map(_is_empty, value.values() if isinstance(value, dict) else value))
    return not value or (isinstance(value, str) and value.strip().lower() in _NO_ERROR)


def values_at(part: Any, path: str | tuple[Step, ...] | None) -> list[Any]:
    """Return the values at a path that may be missing."""
    return [] if path is None else list(_find(part, path, is_required=False).values())


def _find(
    value: Any, path: str | tuple[Step, ...], *, is_required: bool = True
) -> dict[tuple[int, ...], Any]:
    """Return the values at a path by their places in the lists of the path.

    Raises:
        AnswerError: If a step of a required path leads nowhere.
    """
    values: dict[tuple[int, ...], Any] = {(): value}
    for step in parse_path(path) if isinstance(path, str) else path:
        above, values = values, {}
        for places, part in above.items():
            if step is None and isinstance(part, list):
                values |= {(*places, place): item for place, item in enumerate(part)}
            elif _has(part, step):
                values[places] = part[step]
            elif is_required and not (isinstance(step, int) and part == []):
                reason = f"the answer has no list, not even an empty one, at {path}"
                if places:
                    reason = f"an item of the answer's list has nothing at {path}"
                raise AnswerError(reason, part)
    return values


def _has(value: Any, step: Step) -> bool:
    """Return whether a step leads from a value to another one."""
    if isinstance(step, str):
        return isinstance(value, Mapping) and step in value
    return isinstance(value, list) and step is not None and step < len(value)


_MIN_LENGTH = 8
"""A shorter secret could be in an id by chance."""


@dataclass(frozen=True)
class Secret:
    """A secret, which ``repr`` does not show.

    Attributes:
        value: The secret.
    """

    value: str = field(repr=False)

    def is_in(self, text: str) -> bool:
        """Return whether a text contains the secret; False for one of fewer than 8 characters."""
        return len(self.value) >= _MIN_LENGTH and self.scrub(text) != text

    def scrub(self, text: str) -> str:
        """Replace the secret in a text by ``***``.

        It may be escaped for JSON or for a URL.
        """
        spellings = {self.value, json.dumps(self.value)[1:-1], quote(self.value, safe="")}
        # The longest first, because it may contain another.
        for spelling in sorted(spellings, key=len, reverse=True):
            text = text.replace(spelling, HIDDEN)
        return text


def read_key(variable: str, option: str = "key_env") -> Secret:
    """Read the key from an environment variable.

    Args:
        variable: The variable.
        option: The setting or option that names it, for messages.

    Raises:
        UsageError: If the variable is not set or empty, or its value is not valid in a header.
    """
    value = os.environ.get(variable, "").strip()
    if not value or not value.isascii() or not value.isprintable():
        raise UsageError(
            "the key contains characters that are not valid in a header"
            if value
            else "the environment variable for the key is not set or empty",
            where=f"{option} {variable}",
            remedy=f"run export {variable}=… first, with printable ASCII only",
        )
    return Secret(value)
