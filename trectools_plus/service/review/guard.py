"""What a request must be before anything looks at it: who may ask, from where, how much."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from trectools_plus.service.access import KEY_REMEDY, Key, is_this_machine
from trectools_plus.service.problems import ProblemError, problem_response

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 65_536
"""Bytes of a request's body."""
BODY_SECONDS = 30
"""For a body to arrive."""

_FOREIGN = ("foreign-site", "the request comes from a page of another site")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def problem(status: int, code: str, detail: str, remedy: str | None = None) -> Response:
    """An error as RFC 9457 describes it.

    Args:
        status: Of HTTP.
        code: Which problem it is, for programs; stable.
        detail: For people, in one line.
        remedy: What they can do.
    """
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return problem_response(ProblemError(status, code, detail, remedy=remedy, headers=headers))


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
        self._key = None if key is None else Key(key)

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
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _read_body(receive) if scope["method"] == "POST" else b""
        except TimeoutError:
            slow = problem(408, "slow-body", f"the body did not arrive within {BODY_SECONDS} s")
            await slow(scope, receive, send_with_headers)
            return
        if body is None:
            too_large = problem(413, "body-too-large", "the request is too large")
            await too_large(scope, receive, send_with_headers)
            return
        await self._app(scope, _replay(body, receive), send_with_headers)

    def _refuse(self, scope: Scope) -> Response | None:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if self._key is None and not is_this_machine(headers.get(b"host", "")):
            return problem(403, "foreign-host", "without a key, ask for http://localhost")
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        is_page = path in ("", "/") and scope["method"] in ("GET", "HEAD")
        has_key = self._key is None or self._key.is_in(headers.get(b"authorization", ""))
        if not has_key and not is_page:
            what = "the key is missing or not the right one"
            return problem(401, "unauthorised", what, KEY_REMEDY)
        return _refuse_foreign(headers) if scope["method"] == "POST" else None


def _refuse_foreign(headers: dict[bytes, str]) -> Response | None:
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
