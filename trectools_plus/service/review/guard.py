"""What a request must be before anything looks at it: who may ask, from where, how much."""

from __future__ import annotations

import hmac
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 65_536
"""Bytes of a request's body."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_FOREIGN = ("foreign-site", "the request comes from a page of another site")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def problem(status: int, code: str, detail: str) -> JSONResponse:
    """An error as RFC 9457 describes it.

    Args:
        status: Of HTTP.
        code: Which problem it is, for programs; stable.
        detail: For people, in one line.
    """
    title = HTTPStatus(status).phrase
    content = {"type": "about:blank", "title": title, "status": status}
    content |= {"code": code, "detail": detail}
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(content, status, headers, media_type="application/problem+json")


class Guard:
    """Refuses what no page of ours would send.

    Without a key, only requests to a loopback name are served: a foreign name that resolves to
    this machine (DNS rebinding) is refused. With one, all but the page itself needs it. Requests
    that change something are JSON of at most 64 KiB and come from this page, if from a page at all.

    Args:
        app: What is guarded.
        key: The key; ``None`` for no key.
    """

    def __init__(self, app: ASGIApp, key: str | None = None) -> None:
        self._app = app
        self._digest = None if key is None else _digest(key.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        refusal = self._refuse(scope)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        body = await _read_body(receive) if scope["method"] == "POST" else b""
        if body is None:
            too_large = problem(413, "body-too-large", "the request is too large")
            await too_large(scope, receive, send_with_headers)
            return
        await self._app(scope, _replay(body, receive), send_with_headers)

    def _refuse(self, scope: Scope) -> JSONResponse | None:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if self._digest is None and host_name(headers.get(b"host", "")) not in LOOPBACK:
            return problem(403, "foreign-host", "without a key, ask for http://localhost")
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        is_page = path in ("", "/") and scope["method"] in ("GET", "HEAD")
        if self._digest is not None and not is_page and not self._has_key(headers):
            return problem(401, "unauthorised", "the key is missing or not the right one")
        return _refuse_foreign(headers) if scope["method"] == "POST" else None

    def _has_key(self, headers: dict[bytes, str]) -> bool:
        scheme, _, given = headers.get(b"authorization", "").partition(" ")
        # Digests have one length: the time taken tells nothing of the key.
        right = hmac.compare_digest(_digest(given.strip().encode("latin-1")), self._digest or b"")
        return scheme.lower() == "bearer" and right


def _digest(key: bytes) -> bytes:
    return sha256(key).digest()


def host_name(host: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _refuse_foreign(headers: dict[bytes, str]) -> JSONResponse | None:
    """What a page of someone else's could make a browser send."""
    if headers.get(b"content-type", "").partition(";")[0].strip().lower() != "application/json":
        return problem(415, "unsupported-media-type", "send Content-Type: application/json")
    if headers.get(b"sec-fetch-site", "same-origin") != "same-origin":
        return problem(403, *_FOREIGN)
    origin = headers.get(b"origin")
    if origin is not None:
        try:
            same = urlsplit(origin).netloc.lower() == headers.get(b"host", "").lower()
        except ValueError:
            same = False
        if not same:
            return problem(403, *_FOREIGN)
    return None


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body; ``None`` where it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":  # the client has gone
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, and then what else there is to receive."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
