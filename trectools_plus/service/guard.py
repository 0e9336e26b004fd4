"""Check every request before the application handles it: key, host, size and time of the body.

The guard also turns errors into problem documents, and logs responses.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from time import monotonic
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trectools_plus.service.problems import (
    ProblemError,
    answer_problem,
    as_problem,
    problem_response,
)

_METHODS = frozenset({"GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"})
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_CLOSE = {"Connection": "close"}

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
        key: The key that requests need. Without a key, the host must be a loopback name, and no
            page of another site can send requests.
        open_paths: The paths that need no key.
        body_bytes: Maximum size of a body, in bytes.
        body_seconds: Maximum time for a body to arrive, in seconds.
        only_json: True if the bodies of POST requests must be JSON.
        observe: Called after each response.
    """

    key: str | None
    open_paths: frozenset[str]
    body_bytes: int
    body_seconds: float
    only_json: bool = False
    observe: Observer = lambda *_: None

    def check(self, scope: Scope, headers: Headers) -> None:
        """Check a request before its body is read.

        Raises:
            ProblemError: If the request is refused.
        """
        _check_length(scope, headers)
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if self.key is None:
            _check_site(scope, headers)
        elif path not in self.open_paths and not has_key(headers, self.key):
            raise ProblemError(
                401,
                "unauthorised",
                "the request contains no valid key",
                "send the header 'Authorization: Bearer KEY'; KEY is the value of the environment "
                "variable that the server's option --key-from-env names",
                headers={"WWW-Authenticate": "Bearer"},
            )
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length[:19]) > self.body_bytes:
            raise self.too_large()
        if headers.get("content-encoding", "identity").lower() != "identity":
            what, remedy = "the body is compressed", "send it without compression"
            raise ProblemError(415, "compressed-body", what, remedy)
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        if self.only_json and scope["method"] == "POST" and media != "application/json":
            what, remedy = "the body is not JSON", "send Content-Type: application/json"
            raise ProblemError(415, "unsupported-media-type", what, remedy)

    def too_large(self) -> ProblemError:
        """Return the error for a body that is too large."""
        what = f"the body is larger than {self.body_bytes:,} bytes"
        return ProblemError(413, "body-too-large", what, "send less", headers=_CLOSE)

    def limit(self, receive: Receive) -> Receive:
        """Return an ASGI function that receives a body within the limits.

        It raises a :class:`~trectools_plus.service.problems.ProblemError`: 408 if the body is too
        slow, 413 if it is too large.
        """
        deadline = asyncio.get_running_loop().time() + self.body_seconds
        size, is_complete = 0, False

        async def limited() -> Message:
            nonlocal size, is_complete
            try:
                async with asyncio.timeout_at(None if is_complete else deadline):
                    message = await receive()
            except TimeoutError:
                what = f"the body did not arrive within {self.body_seconds:g} s"
                raise ProblemError(408, "slow-body", what, headers=_CLOSE) from None
            size += len(message.get("body", b""))
            if size > self.body_bytes:
                raise self.too_large()
            is_complete = not message.get("more_body", False)
            return message

        return limited


def protect(app: FastAPI, rules: Rules) -> None:
    """Add the guard to an application, and answer its errors with problem documents."""
    app.add_middleware(Guard, rules=rules)
    for kind in (HTTPException, RequestValidationError):
        app.add_exception_handler(kind, answer_problem)


class Guard:
    """ASGI middleware that refuses requests, and answers errors with problem documents.

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
        began, status = monotonic(), 0
        # HEAD is answered like GET (RFC 9110, 9.3.2); servers send no body.
        get = "GET" if scope["method"] == "HEAD" else scope["method"]
        inner: Scope = {**scope, "method": get}

        async def send_observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        try:
            self._rules.check(inner, Headers(scope=scope))
            await self._app(inner, self._rules.limit(receive), send_observed)
        except (Exception, asyncio.CancelledError) as error:
            problem = as_problem(error)
            if not status:  # otherwise no other response can be sent
                await problem_response(problem)(scope, receive, send_observed)
        finally:
            # Neither query nor headers, which can contain a key or a text.
            route = getattr(inner.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._rules.observe(method, route, status, monotonic() - began)


def _check_site(scope: Scope, headers: Headers) -> None:
    """Refuse requests to other names, and those that a browser sends on behalf of another site."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_loopback(host):
        raise ProblemError(
            403,
            "foreign-host",
            "without a key only requests to this machine are answered",
            "use http://localhost, or start the server with --key-from-env",
        )
    site = "none" if scope["method"] == "GET" else headers.get("sec-fetch-site", "none")
    is_same = origin is None or origin.partition("://")[2].lower() == host.lower()
    if not is_same or site not in ("none", "same-origin"):
        raise ProblemError(403, "foreign-site", "the request comes from a page of another site")


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
            "send either Content-Length or Transfer-Encoding",
            headers=_CLOSE,
        )
