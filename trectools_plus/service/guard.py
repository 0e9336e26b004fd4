"""Check every request before the application handles it: key, host, size and time of the body.

Errors are answered as problem documents (RFC 9457): ``application/problem+json``, never a
traceback. ``type`` is ``about:blank``, so ``title`` is the status in words. ``code`` identifies the
problem for programs, and ``remedy`` says what to do. The guard also logs responses.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import sqlite3
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from ipaddress import ip_address
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.validation.findings import FindingsError

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
    scheme, _, token = headers.get("authorization", "").partition(" ")
    # Digests have equal lengths, so the time of the comparison does not depend on the key.
    digests = (sha256(text.encode("utf-8", "replace")).digest() for text in (token.strip(), key))
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
            raise ProblemError(
                415, "compressed-body", "the body is compressed", "send it without compression"
            )
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

        It raises a :class:`~trectools_plus.service.guard.ProblemError`: 408 if the body is too
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


MEDIA_TYPE = "application/problem+json"
_LOG = logging.getLogger("trectools_plus.service")
_TITLES = {
    413: "Content Too Large",
    422: "Unprocessable Content",
    499: "Client Closed Request",
}
"""Phrases of RFC 9110 that differ from those of older Python versions, and that of nginx."""


class ProblemItem(BaseModel):
    """One of several errors."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    where: str | None = None
    """The place: a parameter, or a file and line."""
    what: str
    """The error."""


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: str = "about:blank"
    """Always ``about:blank``: the status identifies the type of problem."""
    title: str
    """The status in words."""
    status: int
    """The HTTP status of the response."""
    code: str
    """Stable identifier of the problem, for programs."""
    detail: str
    """Description of the error, in one line."""
    remedy: str | None = None
    """How to fix it."""
    errors: list[ProblemItem] = []
    """The individual errors, if there are several."""


class ProblemError(HTTPException):
    """An error whose response is a problem document.

    The first three arguments are positional, so that the error can be sent between processes.

    Args:
        status: HTTP status.
        code: Identifier of the problem.
        detail: Description of the error.
        remedy: How the client can fix it.
        errors: The individual errors.
        headers: Further headers of the response.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        remedy: str | None = None,
        errors: Sequence[ProblemItem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.problem = ProblemDocument(
            title=_TITLES.get(status) or HTTPStatus(status).phrase,
            status=status,
            code=code,
            detail=detail,
            remedy=remedy,
            errors=list(errors[:20]),
        )


def to_json(content: Any) -> bytes:
    """Return JSON in ASCII, because ids can contain lone surrogates, which UTF-8 cannot encode."""
    return json.dumps(content, ensure_ascii=True, allow_nan=False).encode("ascii")


def problem_response(error: ProblemError) -> Response:
    """Return the response for an error."""
    content = to_json(error.problem.model_dump(mode="json"))
    return Response(content, error.status_code, error.headers, MEDIA_TYPE)


async def answer_problem(_: Request, error: Exception) -> Response:
    """Return the response for any exception, as an exception handler of FastAPI."""
    return problem_response(as_problem(error))


def as_problem(error: BaseException) -> ProblemError:
    """Convert any error to a problem; the details of an unexpected error are only logged."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, TrectoolsPlusError):
        return _from_package_error(error)
    if isinstance(error, RequestValidationError):
        return _from_invalid_request(error)
    if isinstance(error, HTTPException):
        phrase = HTTPStatus(error.status_code).phrase
        code = phrase.lower().replace(" ", "-")
        detail = str(error.detail)[:500] or phrase
        return ProblemError(error.status_code, code, detail, headers=error.headers)
    for kind, row in _UNEXPECTED.items():
        if isinstance(error, kind):
            return ProblemError(*row)
    _LOG.error("unexpected error", exc_info=error)
    return ProblemError(
        500,
        "internal-error",
        "the service failed unexpectedly",
        "try again; the log of the service contains the cause",
    )


_UNEXPECTED: dict[type[BaseException], tuple[int, str, str, str]] = {
    ClientDisconnect: (499, "client-closed", "the client has closed the connection", ""),
    CancelledError: (503, "stopping", "the service is stopping", "try again later"),
    sqlite3.Error: (
        503,
        "not-kept",
        "the review database cannot be used",
        "try again; another program may have locked it",
    ),
}
"""Errors of libraries with status, code, description and remedy of their problem."""


def _from_package_error(error: TrectoolsPlusError) -> ProblemError:
    items = [
        ProblemItem(where=finding.place, what=f"{finding.code} {finding.message}")
        for finding in getattr(error, "findings", ())
    ]
    items += [
        ProblemItem(where=item.where, what=item.what) for item in getattr(error, "errors", ())
    ]
    code = "findings" if isinstance(error, FindingsError) else "unusable-content"
    where = f" — {error.where}" if error.where else ""
    return ProblemError(422, code, f"{error.what}{where}", error.remedy, items)


def _from_invalid_request(error: RequestValidationError) -> ProblemError:
    items = [
        ProblemItem(where=".".join(map(str, item["loc"])), what=str(item["msg"]))
        for item in error.errors()
    ]
    detail = f"the request is invalid: {items[0].where}: {items[0].what}"[:500]
    return ProblemError(422, "invalid-parameter", detail, errors=items)
