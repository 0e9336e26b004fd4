"""The server of the review page: the page, and its JSON API."""

from __future__ import annotations

import sqlite3
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from hashlib import sha256
from importlib import resources
from pathlib import Path as FilePath
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Scope

from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.judging.plan import find_plan
from trectools_plus.judging.review.shown import load_plan_material
from trectools_plus.judging.review.store import DATABASE_NAME, open_store
from trectools_plus.service.guard import KEY_REMEDY, Guard, Rules, has_key, is_loopback
from trectools_plus.service.problems import (
    ProblemError,
    answer_invalid,
    answer_problem,
    problem_response,
)
from trectools_plus.service.review.controller import ReviewController
from trectools_plus.service.review.endpoints import router
from trectools_plus.service.review.material import (
    DEFAULT_DEPTH,
    load_material,
    read_guideline,
)
from trectools_plus.service.server import format_host, listen, serve_app

MAX_BODY_BYTES = 65_536
"""Maximum size of the body of a request."""
BODY_SECONDS = 30
"""Maximum time for a body to arrive, in seconds."""
_HEADERS = (
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """Options of :func:`review_app`.

    Attributes:
        modes: Two to eight of the report's modes; all of them if ``None``.
        depth: Number of results of each mode, 1 to 100.
        seed: The seed of the order of queries and columns. ``None`` means that of the database, or
            a random one if the database is new.
        key: The key that requests need, except for the page itself. Without a key, only requests to
            loopback names are accepted.
        guideline: A text file that annotators can read.
        share: True if the people who judge a plan share its queries, after the first ten.
    """

    modes: Sequence[str] | None = None
    depth: int = DEFAULT_DEPTH
    seed: int | None = None
    key: str | None = None
    guideline: str | FilePath | None = None
    share: bool = False


def review_app(report: str | FilePath, database: str | FilePath, **options: Any) -> FastAPI:
    """Create the ASGI application of the review page of a report or a plan.

    All URLs are relative, so the application can be mounted under another path. It checks all
    requests itself, see :func:`make_rules`. It keeps the database open until you call
    ``app.state.controller.store.close()``.

    Args:
        report: ``BenchmarkReport.json``, or its folder; or a plan of judgments.
        database: The review database; created if missing.
        options: The attributes of :class:`ReviewOptions`.

    Returns:
        The application.

    Raises:
        UsageError: If the modes or the depth are out of range or given for a plan, or the database
            has another seed.
        InputError: If the report, the database or the guideline cannot be read.
        IncomparableError: If the database contains judgments of other results.
    """
    given = ReviewOptions(**options)
    guideline = "" if given.guideline is None else read_guideline(given.guideline)
    plan = find_plan(report)
    if given.share and plan is None:
        raise UsageError("--share is for people who judge a plan", remedy="leave it out")
    if plan is None:
        material, seed = load_material(report, given.modes, given.depth), given.seed
    else:
        _check_plan_options(given)
        material = load_plan_material(plan)
        seed = None if FilePath(database).exists() else plan.plan.seed
    store = open_store(database, material, seed)
    app = FastAPI(title="Review", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.controller = ReviewController(material, store, guideline, share=given.share)
    page, policy = read_page(given.key is not None)

    @app.api_route("/", methods=["GET", "HEAD"])
    def show_page() -> Response:
        return HTMLResponse(page, headers={"content-security-policy": policy})

    app.include_router(router)
    app.add_middleware(Guard, rules=make_rules(given.key))
    for kind in (HTTPException, TrectoolsPlusError, ProblemError, Exception):
        app.add_exception_handler(kind, answer_problem)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_exception_handler(sqlite3.Error, _on_database_error)
    return app


def _check_plan_options(options: ReviewOptions) -> None:
    """Refuse options that only reports have.

    Raises:
        UsageError: If one is given.
    """
    for name in ("modes", "depth", "seed"):
        if getattr(options, name) != getattr(ReviewOptions(), name):
            raise UsageError(
                f"--{name} is for reports: a plan decides what is shown in which order",
                remedy=f"leave out --{name}",
            )


def make_rules(key: str | None) -> Rules:
    """Return the checks and limits of the review page.

    Without a key, the host of a request must be a loopback name; other names that resolve to this
    machine (DNS rebinding) are refused. With a key, all requests need it, except for the page
    itself. Requests that change data must be JSON of at most 64 KiB, and must not come from another
    web page.

    Args:
        key: The key; ``None`` for no key.
    """

    def check(scope: Scope, headers: Headers) -> None:
        if key is None and not is_loopback(headers.get("host", "")):
            raise ProblemError(
                403,
                "foreign-host",
                "without a key the page only answers requests to this machine",
                remedy="use http://localhost, or start the page with --key-from-env",
            )
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        is_page = path in ("", "/") and scope["method"] in ("GET", "HEAD")
        if key is not None and not is_page and not has_key(headers, key):
            raise ProblemError(
                401,
                "unauthorised",
                "the key is missing or wrong",
                remedy=KEY_REMEDY,
                headers={"WWW-Authenticate": "Bearer"},
            )
        if scope["method"] == "POST":
            _check_origin(headers)

    return Rules(check, MAX_BODY_BYTES, BODY_SECONDS, headers=_HEADERS)


def _check_origin(headers: Headers) -> None:
    """Refuse requests that a browser sends on behalf of another site."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ProblemError(
            415,
            "unsupported-media-type",
            "the media type of the body is not supported",
            remedy="send Content-Type: application/json",
        )
    origin = headers.get("origin")
    same_origin = headers.get("sec-fetch-site", "same-origin") == "same-origin"
    if same_origin and origin is not None:
        try:
            same_origin = urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
        except ValueError:
            same_origin = False
    if not same_origin:
        raise ProblemError(403, "foreign-site", "the request comes from a page of another site")


@cache
def read_page(needs_key: bool = False) -> tuple[str, str]:
    """Return the page, and a content security policy that allows only its own style and script.

    Args:
        needs_key: True if the page must show a field for the key.
    """
    folder = resources.files(__package__)
    page = (folder / "page.html").read_text(encoding="utf-8")
    hashes = {}
    for element, name in (("style", "page.css"), ("script", "page.js")):
        text = (folder / name).read_text(encoding="utf-8")
        page = page.replace(f"<{element}></{element}>", f"<{element}>{text}</{element}>")
        hashes[element] = b64encode(sha256(text.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{hashes['style']}'; "
        f"script-src 'sha256-{hashes['script']}'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    if needs_key:
        page = page.replace('data-needs-key="no"', 'data-needs-key="yes"')
    return page, policy


async def _on_database_error(_: Request, __: Exception) -> Response:
    return problem_response(
        ProblemError(
            503,
            "not-kept",
            "the review database cannot be used",
            remedy="try again; another program may have locked it",
        )
    )


def run_review(
    report: str | FilePath,
    database: str | FilePath | None = None,
    options: ReviewOptions | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    notify: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the review page until a signal ends the process.

    Args:
        report: ``BenchmarkReport.json``, or its folder; or a plan of judgments.
        database: The review database; ``review.db`` in the report's folder if ``None``.
        options: Modes, depth, seed, key and guideline.
        host: The address to listen on; without a key it must be a loopback address.
        port: The port; 0 selects a free one.
        notify: Called with each line about the state of the server.

    Raises:
        UsageError: If other machines can reach the page and there is no key, or an option is out of
            range.
        InputError: If the server cannot listen, or the report or the database cannot be read.
        IncomparableError: If the database contains judgments of other results.
    """
    options = options or ReviewOptions()
    given = FilePath(report)
    if database is not None and find_plan(report) is not None:
        raise UsageError(
            "a plan has its own database, in which the other commands find the judgments",
            where="--database",
            remedy="leave it out",
        )
    file = database or (given if given.is_dir() else given.parent) / DATABASE_NAME
    with listen(host, port, has_key=options.key is not None) as listener:
        app = review_app(
            report, file, **{one.name: getattr(options, one.name) for one in fields(options)}
        )
        controller = app.state.controller
        try:
            for note in controller.material.notes:
                notify(f"note: {note}")
            notify(f"judgments  {file}")
            address = f"http://{format_host(host)}:{listener.getsockname()[1]}/"
            started = partial(notify, f"review     {address}")
            serve_app(app, listener, started=started, lifespan="off")
        except KeyboardInterrupt:
            notify("stopped; all judgments are saved")
        finally:
            controller.store.close()
