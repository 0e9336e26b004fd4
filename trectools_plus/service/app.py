"""The application: routes, guard, errors, and what happens when it starts and stops."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from trectools_plus.errors import MissingExtraError
from trectools_plus.service.settings import ServiceSettings

try:
    from fastapi import FastAPI
except ImportError as error:
    raise MissingExtraError("the service", "service") from error

from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from trectools_plus.service.context import Context, make_context
from trectools_plus.service.guard import Guard
from trectools_plus.service.openapi import make_document
from trectools_plus.service.problems import ProblemError, answer_invalid, answer_problem
from trectools_plus.service.routes import router

_LOG = logging.getLogger("trectools_plus.service")
_DESCRIPTION = """\
Evaluate test sets, validate and score TREC runs.

Errors are problem documents (RFC 9457). No path or URL of a request is ever opened.
"""


def create_app(settings: ServiceSettings, *, key: str | None = None) -> FastAPI:
    """Make the ASGI application.

    Args:
        settings: Data, limits and names.
        key: What requests must bear; ``None`` only where nobody else can reach the service.

    Raises:
        MissingExtraError: If the extra ``service`` is not installed.
    """
    context = make_context(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        import asyncio

        context.jobs.open()
        loading = asyncio.create_task(run_in_threadpool(_load, context))
        yield
        context.jobs.close()
        await asyncio.gather(loading, return_exceptions=True)

    app = FastAPI(
        title="trectools-plus",
        version=version("trectools-plus"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.context = context
    app.include_router(router)
    for kind in (HTTPException, ProblemError, Exception):
        app.add_exception_handler(kind, answer_problem)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_middleware(
        Guard,
        key=key,
        body_bytes=settings.limits.body_bytes,
        body_seconds=settings.limits.seconds,
        observe=context.metrics.observe,
    )
    app.openapi = lambda: make_document(app, with_key=key is not None)  # type: ignore[method-assign]
    return app


def _load(context: Context) -> None:
    context.search.open()
    if context.search.failed:
        _LOG.error("nothing can be searched: %s", context.search.state)
    elif context.settings.searches:
        _LOG.info("the documents are ready")
