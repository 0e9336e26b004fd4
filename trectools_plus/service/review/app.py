"""The review page on HTTP: one page, and the JSON that it asks for."""

from __future__ import annotations

import re
import sqlite3
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib import resources
from pathlib import Path as FilePath
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, FastAPI, Header, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Scope

from trectools_plus.errors import UsageError
from trectools_plus.service.guard import KEY_REMEDY, Guard, Key, Rules, is_this_machine
from trectools_plus.service.problems import ProblemError, answer_problem, problem_response
from trectools_plus.service.review import models
from trectools_plus.service.review.desk import ReviewDesk
from trectools_plus.service.review.judgments import Annotator
from trectools_plus.service.review.material import DEFAULT_DEPTH, load_material
from trectools_plus.service.review.store import DATABASE_NAME, open_store
from trectools_plus.service.server import listen, serve_app, shown_host

LARGEST_BODY = 65_536
"""Bytes of a request's body."""
BODY_SECONDS = 30
"""For a body to arrive."""
_HEADERS = (
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def review_app(
    report: str | FilePath,
    database: str | FilePath,
    *,
    modes: Sequence[str] | None = None,
    depth: int = DEFAULT_DEPTH,
    seed: int | None = None,
    key: str | None = None,
) -> FastAPI:
    """The review page of a report, to be served or mounted: all its addresses are relative.

    It guards itself: see :func:`make_rules`. ``app.state.desk``
    holds the open file; call ``app.state.desk.store.close()`` when done.

    Args:
        report: ``BenchmarkReport.json``, or its folder.
        database: Where judgments are kept; made if missing.
        modes: Two to eight of the report's modes; all of them if ``None``.
        depth: Results of each mode, 1 to 100.
        seed: Of the order of queries and columns; drawn at random for a new file if ``None``.
        key: Needed for all but the page itself; without one only loopback names are served.

    Raises:
        UsageError: If modes or depth are out of range, or the seed is another than the file's.
        InputError: If the report or the file cannot be read.
        IncomparableError: If the file holds judgments of other results.
    """
    material = load_material(report, modes, depth)
    app = FastAPI(title="Review", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.desk = ReviewDesk(material, open_store(database, material, seed))
    app.state.needs_key = key is not None
    app.include_router(_router)
    app.add_middleware(Guard, rules=make_rules(key))
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(RequestValidationError, _on_malformed)
    app.add_exception_handler(UsageError, _on_refused)
    app.add_exception_handler(NoSessionError, _on_no_session)
    app.add_exception_handler(sqlite3.Error, _on_not_kept)
    app.add_exception_handler(Exception, answer_problem)
    return app


def make_rules(key: str | None) -> Rules:
    """Say what the page lets in: nothing that no page of ours would send.

    Without a key, only requests to a loopback name are served: a foreign name that resolves to
    this machine (DNS rebinding) is refused. With one, all but the page itself needs it. Requests
    that change something are JSON of at most 64 KiB and come from this page, if from a page at all.

    Args:
        key: The key; ``None`` for no key.
    """
    expected = None if key is None else Key(key)

    def check(scope: Scope, headers: Headers) -> None:
        if expected is None and not is_this_machine(headers.get("host", "")):
            raise ProblemError(403, "foreign-host", "without a key, ask for http://localhost")
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        is_page = path in ("", "/") and scope["method"] in ("GET", "HEAD")
        if expected is not None and not is_page and not expected.is_in(headers):
            raise ProblemError(
                401,
                "unauthorised",
                "the key is missing or not the right one",
                remedy=KEY_REMEDY,
                headers={"WWW-Authenticate": "Bearer"},
            )
        if scope["method"] == "POST":
            _check_origin(headers)

    return Rules(check, LARGEST_BODY, BODY_SECONDS, headers=_HEADERS, reads_ahead=True)


def _check_origin(headers: Headers) -> None:
    """Refuse what a page of another site could make a browser send."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ProblemError(415, "unsupported-media-type", "send Content-Type: application/json")
    origin = headers.get("origin")
    same = headers.get("sec-fetch-site", "same-origin") == "same-origin"
    if same and origin is not None:
        try:
            same = urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
        except ValueError:
            same = False
    if not same:
        raise ProblemError(403, "foreign-site", "the request comes from a page of another site")


_router = APIRouter()


def _desk(request: Request) -> ReviewDesk:
    desk: ReviewDesk = request.app.state.desk
    return desk


Desk = Annotated[ReviewDesk, Depends(_desk)]


class NoSessionError(Exception):
    """The request does not say who it is; not about the key, so not 401."""


def _annotator(desk: Desk, x_review_session: Annotated[str, Header()] = "") -> Annotator:
    found = desk.who(x_review_session)
    if found is None:
        raise NoSessionError
    return found


Who = Annotated[Annotator, Depends(_annotator)]
Number = Annotated[int, Path(ge=1)]


@_router.api_route("/", methods=["GET", "HEAD"], response_class=HTMLResponse)
def _show_page(request: Request) -> HTMLResponse:
    page, policy = read_page(request.app.state.needs_key)
    return HTMLResponse(page, headers={"content-security-policy": policy})


@_router.get("/api/about")
def _show_about(desk: Desk) -> models.About:
    return desk.about()


@_router.post("/api/session")
def _begin(desk: Desk, begin: models.Begin) -> models.Session:
    return desk.begin(begin.name, begin.resume)


@_router.get("/api/progress")
def _show_progress(desk: Desk, who: Who) -> models.Progress:
    return desk.progress(who)


@_router.get("/api/queries/{number}")
def _show_query(desk: Desk, who: Who, number: Number) -> models.QueryView:
    return desk.show(who, number)


@_router.post("/api/grades")
def _grade(desk: Desk, who: Who, judged: models.GradeResult) -> models.State:
    return desk.grade(who, judged.query, judged.doc_id, judged.grade, judged.flagged)


@_router.post("/api/choices")
def _choose(desk: Desk, who: Who, chosen: models.Choose) -> models.State:
    return desk.choose(who, chosen.query, chosen.choice)


@_router.post("/api/undo")
def _undo(desk: Desk, who: Who, _: models.Undo) -> models.Undone:
    return desk.undo(who)


@cache
def read_page(needs_key: bool = False) -> tuple[str, str]:
    """The page, and a content security policy that allows its own style and script and no other.

    Args:
        needs_key: Whether the page asks for the key.
    """
    page = (resources.files(__package__) / "page.html").read_text(encoding="utf-8")
    hashes = {}
    for element in ("style", "script"):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        hashes[element] = b64encode(sha256(text.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{hashes['style']}'; "
        f"script-src 'sha256-{hashes['script']}'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    if needs_key:
        page = page.replace('data-needs-key="no"', 'data-needs-key="yes"')
    return page, policy


def _answer(status: int, code: str, detail: str) -> Response:
    return problem_response(ProblemError(status, code, detail))


async def _on_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _answer(error.status_code, "http-error", error.detail)


async def _on_malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return _answer(422, "malformed", f"{place}: {first['msg']}"[:500])


async def _on_refused(_: Request, error: Exception) -> Response:
    return _answer(422, "refused", str(error))


async def _on_no_session(_: Request, __: Exception) -> Response:
    return _answer(403, "no-session", "say your name again")


async def _on_not_kept(_: Request, __: Exception) -> Response:
    return _answer(503, "not-kept", "the file of judgments cannot be used just now")


def run_review(
    report: str | FilePath,
    database: str | FilePath | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    modes: Sequence[str] | None = None,
    depth: int = DEFAULT_DEPTH,
    seed: int | None = None,
    key: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the review page until the process is asked to end.

    Args:
        report: ``BenchmarkReport.json``, or its folder.
        database: Where judgments are kept; ``review.db`` in the report's folder if ``None``.
        host: The address to listen on; other than loopback only with a key.
        port: 0 for any that is free.
        modes: As :func:`~trectools_plus.service.review.app.review_app`, as are the next.
        depth: Results of each mode.
        seed: Of the order.
        key: Needed by whoever judges.
        tell: Called with each line about what is served and where.

    Raises:
        UsageError: If it would listen beyond this machine without a key, or an option is out of
            range.
        InputError: If it cannot listen there, or report or file cannot be read.
        IncomparableError: If the file holds judgments of other results.
    """
    given = FilePath(report)
    file = database or (given if given.is_dir() else given.parent) / DATABASE_NAME
    with listen(host, port, has_key=key is not None) as listener:
        app = review_app(report, file, modes=modes, depth=depth, seed=seed, key=key)
        desk = app.state.desk
        try:
            for note in desk.material.notes:
                tell(f"note: {note}")
            tell(f"judgments  {file}")
            address = f"http://{shown_host(host)}:{listener.getsockname()[1]}/"
            started = partial(tell, f"review     {address}")
            serve_app(app, listener, started=started, lifespan="off")
        except KeyboardInterrupt:
            tell("stopped; every judgment is kept")
        finally:
            desk.store.close()
