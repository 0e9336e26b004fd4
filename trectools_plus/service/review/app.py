"""The server of the review page: the page, and its JSON API."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib import resources
from pathlib import Path as FilePath
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from trectools_plus.errors import UsageError
from trectools_plus.judging.plan import find_plan
from trectools_plus.judging.store import DATABASE_NAME, open_store
from trectools_plus.service.guard import Rules, protect
from trectools_plus.service.review.controller import ReviewController, router
from trectools_plus.service.review.material import DEFAULT_DEPTH, load_material, open_plan
from trectools_plus.service.server import listen, make_server, url_of

MAX_BODY_BYTES = 65_536
"""Maximum size of the body of a request."""
BODY_SECONDS = 30
"""Maximum time for a body to arrive, in seconds."""


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """Options of :func:`review_app`.

    Attributes:
        modes: Two to eight of the report's modes; all of them if ``None``.
        depth: Number of results of each mode, at least 1.
        seed: The seed of the order of queries and columns. ``None`` means that of the database, or
            a random one if the database is new.
        key: The key that requests need, except for the page itself. Without a key, only requests to
            loopback names are accepted.
        share: True if the people who judge a plan share its queries, after the first ten.
    """

    modes: Sequence[str] | None = None
    depth: int = DEFAULT_DEPTH
    seed: int | None = None
    key: str | None = None
    share: bool = False


def review_app(report: str | FilePath, database: str | FilePath, **options: Any) -> FastAPI:
    """Create the ASGI application of the review page of a report or a plan.

    All URLs are relative, so the application can be mounted under another path. It checks all
    requests itself: without a key, only requests to loopback names are accepted; with a key, all
    requests need it, except for the page itself. It keeps the database open until you call
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
        InputError: If the report or the database cannot be read.
        IncomparableError: If the database contains judgments of other results.
    """
    review_options = ReviewOptions(**options)
    controller = _open_controller(report, database, review_options)
    app = FastAPI(title="Review", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.controller = controller
    page, policy = read_page(review_options.key is not None)

    @app.get("/")
    def show_page() -> Response:
        return HTMLResponse(page, headers={"content-security-policy": policy})

    app.include_router(router)
    open_paths = frozenset({"", "/"})
    rules = Rules(review_options.key, open_paths, MAX_BODY_BYTES, BODY_SECONDS, only_json=True)
    protect(app, rules)
    return app


def _open_controller(
    report: str | FilePath, database: str | FilePath, options: ReviewOptions
) -> ReviewController:
    plan = find_plan(report)
    if plan is None:
        if options.share:
            raise UsageError("--share is for people who judge a plan", remedy="leave it out")
        material = load_material(report, options.modes, options.depth)
        return ReviewController(material, open_store(database, material, options.seed))
    if (options.modes, options.depth, options.seed) != (None, DEFAULT_DEPTH, None):
        raise UsageError(
            "modes, depth and seed are for reports: a plan decides what is shown",
            remedy="leave them out",
        )
    return ReviewController(*open_plan(plan, database), share=options.share)


def read_page(needs_key: bool = False) -> tuple[str, str]:
    """Return the page, and a content security policy that allows only its own style and script.

    Args:
        needs_key: True if the page must show a field for the key.
    """
    folder = resources.files(__package__)
    page = (folder / "page.html").read_text(encoding="utf-8")
    policy = (
        "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
    for element, name in (("style", "page.css"), ("script", "page.js")):
        text = (folder / name).read_text(encoding="utf-8")
        page = page.replace(f"<{element}></{element}>", f"<{element}>{text}</{element}>")
        policy += f"; {element}-src 'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
    if needs_key:
        page = page.replace('data-needs-key="no"', 'data-needs-key="yes"')
    return page, policy


def run_review(
    report: str | FilePath,
    options: ReviewOptions,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    notify: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the review page until a signal ends the process; the database is ``review.db`` there.

    Args:
        report: ``BenchmarkReport.json``, or its folder; or a plan of judgments.
        options: Modes, depth, seed and key.
        host: The address to listen on; without a key it must be a loopback address.
        port: The port; 0 selects a free one.
        notify: Called with each line about the state of the server.

    Raises:
        UsageError: If other machines can reach the page and there is no key, or an option is out of
            range.
        InputError: If the server cannot listen, or the report or the database cannot be read.
        IncomparableError: If the database contains judgments of other results.
    """
    path = FilePath(report)
    file = (path if path.is_dir() else path.parent) / DATABASE_NAME
    with listen(host, port, has_key=options.key is not None) as listener:
        app = review_app(report, file, **asdict(options))
        controller = app.state.controller
        try:
            for note in controller.material.notes:
                notify(f"note: {note}")
            notify(f"judgments  {file}")
            notify(f"review     {url_of(host, listener)}/")
            make_server(app).run(sockets=[listener])
        except KeyboardInterrupt:
            notify("stopped; all judgments are saved")
        finally:
            controller.store.close()
