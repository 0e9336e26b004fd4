"""The ASGI application of the service: its endpoints, guard, startup and shutdown."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from trectools_plus.errors import MissingExtraError
from trectools_plus.service.models import ServiceSettings

try:
    import python_multipart  # noqa: F401  which Starlette imports only at the first upload
    from fastapi import APIRouter, Depends, FastAPI, Query
    from prometheus_client import CONTENT_TYPE_LATEST
except ImportError as error:
    raise MissingExtraError("the service", "service") from error

import anyio
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from trectools_plus.service import models
from trectools_plus.service.guard import Rules, protect
from trectools_plus.service.metrics import ServiceMetrics, SnapshotStore
from trectools_plus.service.models import (
    EvaluateParameters,
    ScoreParameters,
    ValidateParameters,
)
from trectools_plus.service.uploads import Expected, read_uploads
from trectools_plus.service.work import Documents, Parameters, RequestWork

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths that need no key, so that process monitors can use them."""
MOST_RUNS = 20
"""Maximum number of run files in one request."""
_DESCRIPTION = """\
Evaluate test sets, validate and score TREC runs.

Errors are problem documents (RFC 9457). The service never opens a path or URL from a request.
"""

open_router = APIRouter(tags=["operation"])
router = APIRouter()


class Context:
    """The objects that all requests to a service share.

    Args:
        settings: The settings.

    Attributes:
        work: The processes and the requests that wait for them.
        store: The figures for ``/metrics``.
        metrics: All metrics of ``/metrics``.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.work = RequestWork(settings)
        self.store = SnapshotStore(settings.reports)
        self.metrics = ServiceMetrics(settings.prefix, self.store)

    async def answer(
        self, request: Request, parameters: Parameters, expected: Expected | None
    ) -> Response:
        """Read the uploads of a request, and return the result of the work.

        Args:
            request: The request.
            parameters: Its parameters.
            expected: The parts that it can have; ``None`` for no body.

        Raises:
            ClientDisconnect: If the client disconnects; then the work is ended.
        """
        self.work.check_free()
        with (
            TemporaryDirectory(prefix="trectools-plus-work-") as name,
            anyio.CancelScope() as scope,
        ):
            uploads = await read_uploads(request, Path(name), expected) if expected else ()
            watch = asyncio.create_task(_cancel_without_client(request, scope))
            try:
                outcome = await self.work.answer(parameters, Path(name), uploads)
            finally:
                watch.cancel()
            if outcome.snapshot is not None and not uploads:
                self.store.set_own(outcome.snapshot)
            return Response(outcome.answer, media_type="application/json")
        raise ClientDisconnect


async def _cancel_without_client(request: Request, scope: anyio.CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def context_of(request: Request) -> Context:
    """Return the context of the service of a request."""
    context: Context = request.app.state.context
    return context


@open_router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Report that the process is running."""
    return {"status": "ok", "version": version("trectools-plus")}


@open_router.get("/readyz")
async def readyz(request: Request) -> Documents:
    """Report that the documents can be searched."""
    documents = context_of(request).work.documents
    documents.check(are_needed=False)
    return documents


@router.get("/metrics", tags=["operation"], response_class=Response)
async def metrics(request: Request) -> Response:
    """Return the metrics in the text format of Prometheus."""
    content = await run_in_threadpool(context_of(request).metrics.render)
    return Response(content, headers={"content-type": CONTENT_TYPE_LATEST})


@router.post(
    "/v1/evaluate", response_model=models.EvaluationAnswer, openapi_extra=models.EVALUATE_BODY
)
async def evaluate(
    request: Request, parameters: Annotated[EvaluateParameters, Query()]
) -> Response:
    """Search for every query of a test set, and return its figures.

    A request without a body evaluates the service's own test set and sets its gauges in `/metrics`.
    """
    context = context_of(request)
    context.work.documents.check(are_needed=True)
    context.work.check_free()
    has_body = "content-type" in request.headers or await request.body()
    expected = Expected({"test_set": (1, 1)}, raw="test_set") if has_body else None
    return await context.answer(request, parameters, expected)


@router.post("/v1/validate", response_model=None, openapi_extra=models.VALIDATE_BODY)
async def validate(
    request: Request, parameters: Annotated[ValidateParameters, Query()]
) -> Response:
    """Validate a run, qrels, topics or a test set; findings are an answer with status 200.

    The answer is that of `runs validate --format json`, with `passed`.
    """
    parts = {"file": (1, 1), "qrels": (0, int(parameters.kind == "run"))}
    return await context_of(request).answer(request, parameters, Expected(parts, raw="file"))


@router.post("/v1/score", response_model=None, openapi_extra=models.SCORE_BODY)
async def score(request: Request, parameters: Annotated[ScoreParameters, Query()]) -> Response:
    """Score runs against qrels; the answer is that of `eval --format json`."""
    expected = Expected({"run": (1, MOST_RUNS), "qrels": (1, 1)})
    return await context_of(request).answer(request, parameters, expected)


def create_app(settings: ServiceSettings, *, key: str | None = None) -> FastAPI:
    """Create the ASGI application.

    Args:
        settings: Data, limits and names.
        key: The key that requests need; ``None`` if only this machine can reach the service.

    Raises:
        MissingExtraError: If the extra ``service`` is not installed.
    """
    context = Context(settings)
    app = FastAPI(
        title="trectools-plus",
        version=version("trectools-plus"),
        description=_DESCRIPTION,
        lifespan=lambda _: context.work.open(),
        responses=models.PROBLEMS,
        docs_url=None,
        redoc_url=None,
    )
    app.state.context = context
    app.include_router(open_router)
    app.include_router(router, dependencies=[Depends(HTTPBearer(auto_error=False))] if key else [])
    limits = settings.limits
    rules = Rules(
        key, OPEN_PATHS, limits.body_bytes, limits.seconds, observe=context.metrics.observe
    )
    protect(app, rules)
    return app
