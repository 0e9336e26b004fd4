"""Check every request before the application handles it: key, host, size and time of the body.

The guard also logs responses, and cancels the work of requests whose client has disconnected.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trectools_plus.service.problems import ProblemError, as_problem, problem_response

CLIENT_CLOSED_REQUEST = 499
"""The status in log and metrics if the client disconnects before the response, as in nginx."""
MAY_PUBLISH = "trectools_plus.may_publish"
"""The item of a request's scope that is true if its key may publish figures."""
KEY_REMEDY = (
    "send the header 'Authorization: Bearer KEY'; KEY is the value of the environment variable "
    "that the server's option --key-from-env names"
)

_LOG = logging.getLogger("trectools_plus.service.access")
_METHODS = frozenset({"GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"})
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)

Observer = Callable[[str, str, int, float], None]
"""Receives method, route, status and seconds of each response."""


def has_key(headers: Headers, key: str) -> bool:
    """Return true if the ``Authorization`` header contains a key."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    # Digests have equal lengths, so the time of the comparison does not depend on the key.
    digests = (sha256(text.encode("utf-8", "replace")).digest() for text in (given.strip(), key))
    return hmac.compare_digest(*digests) and scheme.lower() == "bearer"


def is_loopback(host: str) -> bool:
    """Return true if a ``Host`` header is ``localhost`` or a loopback address.

    An attacker can make any other name resolve to this machine (DNS rebinding).
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Rules:
    """The checks and limits of an application.

    Attributes:
        check: Raises a :class:`~trectools_plus.service.problems.ProblemError` to refuse a request
            before its body is read.
        body_bytes: Maximum size of a body, in bytes.
        body_seconds: Maximum time for a body to arrive, in seconds.
        size_remedy: The remedy in the problem document for a body that is too large.
        headers: Further headers of every response.
        observe: Called after each response. ``None`` also turns off the log.
    """

    check: Callable[[Scope, Headers], None]
    body_bytes: int
    body_seconds: float
    size_remedy: str | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    observe: Observer | None = None


class Guard:
    """ASGI middleware that refuses requests, and cancels the work of disconnected clients.

    Args:
        app: The application.
        rules: The checks and limits.
    """

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = monotonic()
        status = 500
        started = disconnected = finished = False
        # HEAD is answered like GET but without a body (RFC 9110, 9.3.2).
        is_head = scope["method"] == "HEAD"
        inner: Scope = {**scope, "method": "GET"} if is_head else scope

        async def send_observed(message: Message) -> None:
            nonlocal status, started, finished
            if message["type"] == "http.response.start":
                status, started = int(message["status"]), True
                headers = [*message.get("headers", ()), *_HEADERS, *self._rules.headers]
                message = {**message, "headers": headers}
            elif is_head:
                message = {**message, "body": b""}
            await send(message)
            finished = message["type"] == "http.response.body" and not message.get("more_body")

        def disconnect() -> None:
            nonlocal disconnected
            if not finished:
                disconnected = True
                task.cancel()  # no client waits for the answer

        body = _Body(receive, self._rules, disconnect)
        task = asyncio.create_task(self._answer(inner, scope, body, send_observed))
        try:
            await task
        except asyncio.CancelledError:
            if not disconnected:
                status = status if started else 503  # the server stops
                raise
        except Exception as error:
            if started or disconnected:  # no other response can be sent
                return
            await problem_response(as_problem(error))(scope, receive, send_observed)
        finally:
            body.close()
            logged_status = CLIENT_CLOSED_REQUEST if disconnected else status
            self._log(scope["method"], inner, logged_status, monotonic() - began)

    async def _answer(self, inner: Scope, scope: Scope, body: _Body, send: Send) -> None:
        headers = Headers(scope=scope)
        _check_length(scope, headers)
        self._rules.check(inner, headers)
        length = headers.get("content-length", "")
        most = self._rules.body_bytes
        if length.isdecimal() and (len(length) > 18 or int(length) > most):
            raise _too_large(self._rules)
        await self._app(inner, body.receive, send)

    def _log(self, given: str, scope: Scope, status: int, seconds: float) -> None:
        """Log one line without query and headers, so it never contains a key or a text."""
        if self._rules.observe is None:
            return
        route: Any = scope.get("route")
        path = str(getattr(route, "path", "other"))
        method = given if given in _METHODS else "other"
        self._rules.observe(method, path, status, seconds)
        _LOG.info("%s %s %d %.0f ms", method, path, status, 1000 * seconds)


class _Body:
    """Receive the body of a request, then watch for a disconnect.

    Args:
        receive: The ASGI function that returns the next message.
        rules: The maximum size and time.
        disconnect: Called when the client disconnects.
    """

    def __init__(self, receive: Receive, rules: Rules, disconnect: Callable[[], None]) -> None:
        self._receive = receive
        self._rules = rules
        self._disconnect = disconnect
        self._began = monotonic()
        self._size = 0
        self._watching: asyncio.Task[None] | None = None

    async def receive(self) -> Message:
        """Return the next part of the body.

        Raises:
            ProblemError: 408 if it is too slow, 413 if it is too large.
        """
        if self._watching is not None:  # the body is complete, so there is no time limit
            return await self._receive()
        left = self._began + self._rules.body_seconds - monotonic()
        try:
            async with asyncio.timeout(max(left, 0.001)):
                message = await self._receive()
        except TimeoutError:
            what = f"the body did not arrive within {self._rules.body_seconds:g} s"
            headers = {"Connection": "close"}
            raise ProblemError(408, "slow-body", what, headers=headers) from None
        self._size += len(message.get("body", b""))
        if self._size > self._rules.body_bytes:
            raise _too_large(self._rules)
        if message["type"] == "http.disconnect":
            self._disconnect()
        elif not message.get("more_body", False):
            self._watching = asyncio.create_task(self._watch())
        return message

    def close(self) -> None:
        """Stop watching for a disconnect."""
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._disconnect()


def _check_length(scope: Scope, headers: Headers) -> None:
    """Refuse a request whose end a proxy and this server can determine differently.

    With two requests in one, the second would pass the proxy unseen (request smuggling).

    Raises:
        ProblemError: 400.
    """
    lengths = set(headers.getlist("content-length"))
    encoded = "transfer-encoding" in headers
    if len(lengths) > 1 or (encoded and (lengths or scope.get("http_version") == "1.0")):
        raise ProblemError(
            400,
            "ambiguous-length",
            "the request states the length of its body in two ways",
            remedy="send either Content-Length or Transfer-Encoding",
            headers={"Connection": "close"},
        )


def _too_large(rules: Rules) -> ProblemError:
    return ProblemError(
        413,
        "body-too-large",
        f"the body is larger than {rules.body_bytes:,} bytes",
        remedy=rules.size_remedy,
        headers={"Connection": "close"},
    )
