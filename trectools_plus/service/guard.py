"""What stands before every request: key, host, size and time of the body, log and statistics."""

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

CLIENT_LEFT = 499
"""The status in log and metrics of a request whose client left before the answer, as in nginx: it
is no failure of the service."""
KEY_REMEDY = (
    "send the header 'Authorization: Bearer KEY'; KEY is what the server's environment variable "
    "holds that its option --key-from-env names"
)

_LOG = logging.getLogger("trectools_plus.service.access")
_METHODS = frozenset({"GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"})
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)

Observer = Callable[[str, str, int, float], None]
"""Receives method, route, status and seconds of each answer."""


class Key:
    """The key that requests bear.

    Args:
        key: Its text.
    """

    def __init__(self, key: str) -> None:
        self._digest = _digest(key.encode())

    def is_in(self, headers: Headers) -> bool:
        """Whether the ``Authorization`` header holds it."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # Digests have one length, so that the time tells nothing, not even how long the key is.
        found = _digest(given.strip().encode("latin-1", "replace"))
        return hmac.compare_digest(found, self._digest) and scheme.lower() == "bearer"


def is_this_machine(host: str) -> bool:
    """Whether a ``Host`` header names loopback: by ``localhost``, or by any of its addresses.

    Any other name may be somebody else's who has it lead here (DNS rebinding).
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Rules:
    """What an application lets in.

    Attributes:
        check: Raises a :class:`~trectools_plus.service.problems.ProblemError` for a request that is
            refused before its body is read.
        body_bytes: Largest body.
        body_seconds: For the body to arrive.
        size_remedy: What the client can do about a body that is too large.
        headers: Headers of every answer, beside those against sniffing and storing.
        reads_ahead: Whether the whole body is read before the application is called.
        observe: Called after each answer, which is logged then; neither if ``None``.
    """

    check: Callable[[Scope, Headers], None]
    body_bytes: int
    body_seconds: float
    size_remedy: str | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    reads_ahead: bool = False
    observe: Observer | None = None


class Guard:
    """ASGI middleware that refuses requests, and ends work for clients that have left.

    Args:
        app: What answers.
        rules: What it lets in.
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
        started = left = False
        # Whatever can be asked for can be asked for without its content (RFC 9110, 9.3.2).
        is_head = scope["method"] == "HEAD"
        asked: Scope = {**scope, "method": "GET"} if is_head else scope

        async def send_watched(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = int(message["status"]), True
                headers = [*message.get("headers", ()), *_HEADERS, *self._rules.headers]
                message = {**message, "headers": headers}
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        def leave() -> None:
            nonlocal left
            if not started:
                left = True
                working.cancel()  # nobody waits for the answer

        body = _Body(receive, self._rules, leave)
        working = asyncio.create_task(self._work(asked, scope, body, send_watched))
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

    async def _work(self, asked: Scope, given: Scope, body: _Body, send: Send) -> None:
        headers = Headers(scope=given)
        self._rules.check(given, headers)
        length = headers.get("content-length", "")
        most = self._rules.body_bytes
        if length.isdecimal() and (len(length) > 18 or int(length) > most):
            raise _too_large(self._rules)
        receive = await body.read_ahead() if self._rules.reads_ahead else body.receive
        await self._app(asked, receive, send)

    def _note(self, given: str, scope: Scope, status: int, seconds: float) -> None:
        """Log one line without query and headers: neither a key nor a text ever gets there."""
        if self._rules.observe is None:
            return
        route: Any = scope.get("route")
        path = str(getattr(route, "path", "other"))
        method = given if given in _METHODS else "other"
        self._rules.observe(method, path, status, seconds)
        _LOG.info("%s %s %d %.0f ms", method, path, status, 1000 * seconds)


class _Body:
    """The body of a request, and after it the news that the client has left.

    Args:
        receive: Where it comes from.
        rules: How large it may be and how long it may take.
        leave: Called when the client has left.
    """

    def __init__(self, receive: Receive, rules: Rules, leave: Callable[[], None]) -> None:
        self._receive = receive
        self._rules = rules
        self._leave = leave
        self._ends = monotonic() + rules.body_seconds
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
                f"the body did not arrive within {self._rules.body_seconds:g} s",
                headers={"Connection": "close"},
            ) from None
        self._taken += len(message.get("body", b""))
        if self._taken > self._rules.body_bytes:
            raise _too_large(self._rules)
        if message["type"] == "http.disconnect":
            self._leave()
        elif not message.get("more_body", False):
            self._watching = asyncio.create_task(self._watch())
        return message

    async def read_ahead(self) -> Receive:
        """Read the whole body, and return what gives it as one message, then what follows it."""
        parts = [await self.receive()]
        while parts[-1].get("more_body", False):
            parts.append(await self.receive())
        body = b"".join(part.get("body", b"") for part in parts)
        pending: list[Message] = [{**parts[-1], "body": body}]

        async def receive() -> Message:
            return pending.pop() if pending else await self.receive()

        return receive

    def close(self) -> None:
        """Stop looking whether the client leaves."""
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._leave()


def _too_large(rules: Rules) -> ProblemError:
    return ProblemError(
        413,
        "body-too-large",
        f"the body is larger than {rules.body_bytes:,} bytes",
        remedy=rules.size_remedy,
        headers={"Connection": "close"},
    )


def _digest(key: bytes) -> bytes:
    return sha256(key).digest()
