"""The ASGI application of the service: routes, guard, errors, startup and shutdown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from trectools_plus.errors import MissingExtraError
from trectools_plus.service.api.settings import Limits, ServiceSettings

try:
    import python_multipart  # noqa: F401  which Starlette imports only at the first upload
    from fastapi import FastAPI
except ImportError as error:
    raise MissingExtraError("the service", "service") from error

from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Scope

from trectools_plus.service.api.openapi import make_document
from trectools_plus.service.api.routes import make_context, router
from trectools_plus.service.guard import (
    KEY_REMEDY,
    MAY_PUBLISH,
    Guard,
    Key,
    Observer,
    Rules,
    is_loopback,
)
from trectools_plus.service.problems import ProblemError, answer_invalid, answer_problem

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths that need no key, so that process monitors can use them."""

_DESCRIPTION = """\
Evaluate test sets, validate and score TREC runs.

Errors are problem documents (RFC 9457). The service never opens a path or URL from a request.
"""


def create_app(
    settings: ServiceSettings, *, key: str | None = None, publish_key: str | None = None
) -> FastAPI:
    """Create the ASGI application.

    Args:
        settings: Data, limits and names.
        key: The key that requests need; ``None`` if only this machine can reach the service.
        publish_key: A key with which requests may also publish the figures of uploaded test sets.

    Raises:
        MissingExtraError: If the extra ``service`` is not installed.
    """
    context = make_context(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(context.jobs.open)
        yield
        await run_in_threadpool(context.jobs.close)

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
    keys = Keys(key, publish_key)
    app.add_middleware(Guard, rules=make_rules(keys, settings.limits, context.metrics.observe))
    app.openapi = lambda: make_document(app, with_key=keys.are_needed)  # type: ignore[method-assign]
    return app


class Keys:
    """The keys that requests can contain.

    Args:
        key: The key that may not publish figures.
        publish_key: The key that may. Without keys, only this machine can reach the service; then
            requests to other host names are refused, so that no web page can send requests through
            such a name (DNS rebinding).
    """

    def __init__(self, key: str | None = None, publish_key: str | None = None) -> None:
        given = {False: key, True: publish_key}
        self._keys = {may: Key(one) for may, one in given.items() if one is not None}

    @property
    def are_needed(self) -> bool:
        """True if requests need a key."""
        return bool(self._keys)

    def find(self, headers: Headers) -> bool | None:
        """Return true if the request may publish figures, ``None`` if it contains no valid key."""
        found = {may for may, key in self._keys.items() if key.is_in(headers)}
        return max(found) if found else None


def make_rules(keys: Keys, limits: Limits, observe: Observer) -> Rules:
    """Return the checks and limits of the service.

    Args:
        keys: The keys.
        limits: The limits of a body.
        observe: Called after each response.
    """

    def check(scope: Scope, headers: Headers) -> None:
        if not keys.are_needed:
            _check_local(headers)
        elif (may_publish := keys.find(headers)) is not None:
            scope[MAY_PUBLISH] = may_publish
        elif scope["path"] not in OPEN_PATHS:
            raise ProblemError(
                401,
                "unauthorised",
                "the request contains no valid key",
                remedy=KEY_REMEDY,
                headers={"WWW-Authenticate": 'Bearer realm="trectools-plus"'},
            )
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise ProblemError(
                415,
                "compressed-body",
                "the body is compressed",
                remedy="send it without compression",
                headers={"Accept-Encoding": "identity"},
            )

    return Rules(
        check,
        limits.body_bytes,
        limits.seconds,
        size_remedy="send less, or restart the service with a larger --max-body-mib",
        observe=observe,
    )


def _check_local(headers: Headers) -> None:
    """Refuse requests that a browser sends on behalf of another site."""
    origin = headers.get("origin")
    foreign = origin is not None and not is_loopback(origin.partition("://")[2])
    if foreign or not is_loopback(headers.get("host", "localhost")):
        raise ProblemError(
            403,
            "foreign-host",
            "without a key the service only answers requests from this machine",
            remedy="use http://127.0.0.1, or start the service with --key-from-env",
        )
