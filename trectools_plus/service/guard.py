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
        started = False
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

        try:
            self._check(scope)
            await self._app(asked, self._bounded(receive), send_watched)
        except Exception as error:
            if started:  # the answer is on its way, and says what there is to say
                return
            await problem_response(as_problem(error))(scope, receive, send_watched)
        finally:
            self._note(scope["method"], asked, status, monotonic() - began)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if scope["path"] not in OPEN_PATHS:
            self._check_key(headers)
        if self._key is None:
            _check_local(headers)
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > self._body_bytes):
            raise self._too_large()
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

    def _bounded(self, receive: Receive) -> Receive:
        """``receive`` that ends with an error when the body is too large or too slow."""
        taken = 0
        ends = monotonic() + self._body_seconds
        complete = False

        async def bounded() -> Message:
            nonlocal taken, complete
            if complete:  # waiting for the client to leave may take as long as it likes
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(ends - monotonic(), 0.001))
            except TimeoutError:
                raise ProblemError(
                    408,
                    "slow-body",
                    f"the body did not arrive within {self._body_seconds:g} s",
                    headers={"Connection": "close"},
                ) from None
            taken += len(message.get("body", b""))
            if taken > self._body_bytes:
                raise self._too_large()
            complete = message["type"] != "http.request" or not message.get("more_body", False)
            return message

        return bounded

    def _too_large(self) -> ProblemError:
        return ProblemError(
            413,
            "body-too-large",
            f"the body is larger than {self._body_bytes:,} bytes",
            remedy="send less, or have the service started with --max-body-mib",
            headers={"Connection": "close"},
        )

    def _note(self, given: str, scope: Scope, status: int, seconds: float) -> None:
        """One line without query and headers: neither a key nor a text ever gets there."""
        route: Any = scope.get("route")
        path = str(getattr(route, "path", "other"))
        method = given if given in _METHODS else "other"
        self._observe(method, path, status, seconds)
        _LOG.info("%s %s %d %.0f ms", method, path, status, 1000 * seconds)


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
