"""What stands before every request: key, host, size and time of the body, log and statistics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import monotonic
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trectools_plus.service.access import KEY_REMEDY, Key, is_this_machine
from trectools_plus.service.problems import ProblemError, as_problem, problem_response

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Answered without a key: whoever watches over processes need not have one."""

CLIENT_LEFT = 499
"""The status in log and metrics of a request whose client left before the answer, as in nginx: it
is no failure of the service."""

_LOG = logging.getLogger("trectools_plus.service.access")
_METHODS = frozenset({"GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"})
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)

Observer = Callable[[str, str, int, float], None]
"""Told of method, route, status and seconds of each answer."""


class Guard:
    """ASGI middleware.

    Args:
        app: What answers.
        key: The key that requests must bear; ``None`` where only this machine can reach the
            service. Then requests that name another host are refused, so that no web page can
            reach it by a name of its own.
        body_bytes: Largest body.
        body_seconds: For the body to arrive.
        observe: Told of each answer.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        key: str | None,
        body_bytes: int,
        body_seconds: float,
        observe: Observer,
    ) -> None:
        self._app = app
        self._key = None if key is None else Key(key)
        self._body_bytes = body_bytes
        self._body_seconds = body_seconds
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = monotonic()
        status = 500
        started = left = False
        # Whatever can be asked for can be asked for without its content (RFC 9110, 9.3.2).
        is_head = scope["method"] == "HEAD"
        asked: Scope = {**scope, "method": "GET"} if is_head else scope

        async def send_watched(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = int(message["status"]), True
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        def leave() -> None:
            nonlocal left
            if not started:
                left = True
                working.cancel()  # nobody waits for the answer

        body = _Body(receive, self._body_bytes, self._body_seconds, leave)
        working = asyncio.create_task(self._work(asked, scope, body.receive, send_watched))
        try:
            await working
        except asyncio.CancelledError:
            if not left:
                raise
        except Exception as error:
            if started or left:  # the answer is on its way, or nobody is there to read one
                return
            await problem_response(as_problem(error))(scope, receive, send_watched)
        finally:
            body.close()
            counted = CLIENT_LEFT if left else status
            self._note(scope["method"], asked, counted, monotonic() - began)

    async def _work(self, asked: Scope, given: Scope, receive: Receive, send: Send) -> None:
        self._check(given)
        await self._app(asked, receive, send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if scope["path"] not in OPEN_PATHS:
            self._check_key(headers)
        if self._key is None:
            _check_local(headers)
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > self._body_bytes):
            raise _too_large(self._body_bytes)
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise ProblemError(
                415,
                "compressed-body",
                "the body is compressed",
                remedy="send it as it is",
                headers={"Accept-Encoding": "identity"},
            )

    def _check_key(self, headers: Headers) -> None:
        if self._key is None or self._key.is_in(headers.get("authorization", "")):
            return
        raise ProblemError(
            401,
            "unauthorised",
            "the request bears no valid key",
            remedy=KEY_REMEDY,
            headers={"WWW-Authenticate": 'Bearer realm="trectools-plus"'},
        )

    def _note(self, given: str, scope: Scope, status: int, seconds: float) -> None:
        """One line without query and headers: neither a key nor a text ever gets there."""
        route: Any = scope.get("route")
        path = str(getattr(route, "path", "other"))
        method = given if given in _METHODS else "other"
        self._observe(method, path, status, seconds)
        _LOG.info("%s %s %d %.0f ms", method, path, status, 1000 * seconds)


class _Body:
    """The body of a request, and after it the news that the client has left.

    Args:
        receive: Where it comes from.
        most: Bytes that it may have.
        seconds: For it to arrive.
        leave: Called when the client has left.
    """

    def __init__(
        self, receive: Receive, most: int, seconds: float, leave: Callable[[], None]
    ) -> None:
        self._receive = receive
        self._most = most
        self._seconds = seconds
        self._leave = leave
        self._ends = monotonic() + seconds
        self._taken = 0
        self._watching: asyncio.Task[None] | None = None

    async def receive(self) -> Message:
        """The next part of the body.

        Raises:
            ProblemError: 408 if it is too slow, 413 if it is too large.
        """
        if self._watching is not None:  # waiting for the client to leave may take any time
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), max(self._ends - monotonic(), 0.001))
        except TimeoutError:
            raise ProblemError(
                408,
                "slow-body",
                f"the body did not arrive within {self._seconds:g} s",
                headers={"Connection": "close"},
            ) from None
        self._taken += len(message.get("body", b""))
        if self._taken > self._most:
            raise _too_large(self._most)
        if message["type"] == "http.disconnect":
            self._leave()
        elif not message.get("more_body", False):
            self._watching = asyncio.create_task(self._watch())
        return message

    def close(self) -> None:
        """Stop looking whether the client leaves."""
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._leave()


def _too_large(most: int) -> ProblemError:
    return ProblemError(
        413,
        "body-too-large",
        f"the body is larger than {most:,} bytes",
        remedy="send less, or have the service started with --max-body-mib",
        headers={"Connection": "close"},
    )


def _check_local(headers: Headers) -> None:
    """Refuse what a web page of somebody else's has a browser send."""
    origin = headers.get("origin")
    foreign = origin is not None and not is_this_machine(origin.partition("://")[2])
    if foreign or not is_this_machine(headers.get("host", "localhost")):
        raise ProblemError(
            403,
            "foreign-host",
            "without a key the service answers to requests from this machine only",
            remedy="ask for http://127.0.0.1, or start the service with --key-from-env",
        )
