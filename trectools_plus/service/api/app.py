"""The ASGI application of the service: its endpoints, guard, startup and shutdown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated

from trectools_plus.errors import MissingExtraError
from trectools_plus.service.api.settings import Limits, ServiceSettings

try:
    import python_multipart  # noqa: F401  which Starlette imports only at the first upload
    from fastapi import APIRouter, FastAPI, Query
except ImportError as error:
    raise MissingExtraError("the service", "service") from error

from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from trectools_plus.measures.evaluation import DEFAULT_MEASURES as SCORE_MEASURES
from trectools_plus.service.api import models
from trectools_plus.service.api.evaluation import (
    DEFAULT_MEASURES,
    choose_measures,
    choose_mode,
)
from trectools_plus.service.api.metrics import ServiceMetrics
from trectools_plus.service.api.models import (
    EvaluateParameters,
    EvaluationAnswer,
    Health,
    Readiness,
    ScoreAnswer,
    ScoreParameters,
    ValidateParameters,
    ValidationAnswer,
)
from trectools_plus.service.api.snapshots import Snapshot, SnapshotStore
from trectools_plus.service.api.uploads import (
    JSON_TYPES,
    TEXT_TYPES,
    YAML_TYPES,
    Upload,
    has_body,
    read_uploads,
    uploads_named,
)
from trectools_plus.service.guard import (
    KEY_REMEDY,
    MAY_PUBLISH,
    BearerKey,
    Guard,
    Observer,
    Rules,
    is_loopback,
)
from trectools_plus.service.problems import (
    ProblemError,
    answer_invalid,
    answer_problem,
    json_response,
)
from trectools_plus.service.work.processes import Task, TaskKind
from trectools_plus.service.work.requests import RequestWork

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths that need no key, so that process monitors can use them."""

_DESCRIPTION = """\
Evaluate test sets, validate and score TREC runs.

Errors are problem documents (RFC 9457). The service never opens a path or URL from a request.
"""


router = APIRouter()


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """The objects that all requests to a service share.

    Attributes:
        settings: The settings.
        work: The workers and the requests that wait for them.
        store: The figures for ``/metrics``.
        metrics: All metrics of ``/metrics``.
    """

    settings: ServiceSettings
    work: RequestWork
    store: SnapshotStore
    metrics: ServiceMetrics


def make_context(settings: ServiceSettings) -> Context:
    """Create the shared objects of a service, without opening documents.

    Raises:
        MissingExtraError: If the extra ``service`` is not installed.
    """
    store = SnapshotStore(settings.reports)

    def publish(task: Task, snapshot: Snapshot) -> None:
        if task.is_own:
            store.set_own(snapshot)
        elif task.parameters.get("publish"):
            store.add(snapshot)

    work = RequestWork(settings, publish)
    documents = work.workers.documents
    metrics = ServiceMetrics(settings.prefix, store, work.count, lambda: documents.are_ready)
    return Context(settings, work, store, metrics)


def context_of(request: Request) -> Context:
    """Return the context of the service of a request."""
    found: Context = request.app.state.context
    return found


@router.get("/healthz", tags=["operation"], response_model=Health, openapi_extra=models.OPEN)
async def healthz() -> Response:
    """Report that the process is running."""
    return json_response({"status": "ok", "version": version("trectools-plus")})


@router.get(
    "/readyz",
    tags=["operation"],
    response_model=Readiness,
    responses=models.problems(503),
    openapi_extra=models.OPEN,
)
async def readyz(request: Request) -> Response:
    """Report that the documents can be searched."""
    documents = context_of(request).work.workers.documents
    if not documents.are_ready:
        raise ProblemError(503, "not-ready", documents.text, headers={"Retry-After": "5"})
    return json_response({"status": documents.text, "modes": documents.modes})


@router.get(
    "/metrics", tags=["operation"], response_class=Response, responses=models.METRICS_ANSWER
)
async def metrics(request: Request) -> Response:
    """Return the metrics in the text format of Prometheus."""
    from prometheus_client import CONTENT_TYPE_LATEST

    content = await run_in_threadpool(context_of(request).metrics.render)
    return Response(content, headers={"content-type": CONTENT_TYPE_LATEST})


@router.post(
    "/v1/evaluate",
    tags=["work"],
    response_model=EvaluationAnswer,
    responses=models.answers(models.EVALUATION_EXAMPLE, 404),
    openapi_extra=models.EVALUATE_BODY,
)
async def evaluate(
    request: Request, parameters: Annotated[EvaluateParameters, Query()]
) -> Response:
    """Search for every query of a test set, and return its figures.

    A request without a body evaluates the service's own test set and sets its gauges in `/metrics`.
    """
    context = context_of(request)
    context.work.workers.documents.check()
    choose_mode(parameters.components, context.settings)
    choose_measures(parameters.measures, DEFAULT_MEASURES)
    types = (*JSON_TYPES, *YAML_TYPES)
    uploads = []
    context.work.check_free()
    if await has_body(request):
        if parameters.publish and not request.scope.get(MAY_PUBLISH, True):
            raise ProblemError(
                403,
                "may-not-publish",
                "this key may not publish the figures of uploaded test sets",
                remedy="leave out publish=true, or use the key that the server's option "
                "--publish-key-from-env names",
            )
        uploads = await read_uploads(request, {"test_set": 1}, raw="test_set", types=types)
        uploads_named(uploads, "test_set")
    return await _answer(context, "evaluate", parameters, uploads)


@router.post(
    "/v1/validate",
    tags=["work"],
    response_model=ValidationAnswer,
    responses=models.answers(models.VALIDATION_EXAMPLE),
    openapi_extra=models.VALIDATE_BODY,
)
async def validate(
    request: Request, parameters: Annotated[ValidateParameters, Query()]
) -> Response:
    """Validate a run, qrels, topics or a test set; findings are an answer with status 200."""
    context = context_of(request)
    allowed = {"file": 1, **({"qrels": 1} if parameters.kind == "run" else {})}
    types = (*TEXT_TYPES, *JSON_TYPES, *YAML_TYPES)
    context.work.check_free()
    uploads = await read_uploads(request, allowed, raw="file", types=types)
    uploads_named(uploads, "file")
    return await _answer(context, "validate", parameters, uploads)


@router.post(
    "/v1/score",
    tags=["work"],
    response_model=ScoreAnswer,
    responses=models.answers(models.SCORE_EXAMPLE),
    openapi_extra=models.SCORE_BODY,
)
async def score(request: Request, parameters: Annotated[ScoreParameters, Query()]) -> Response:
    """Score runs against qrels."""
    context = context_of(request)
    limits = context.settings.limits
    choose_measures(parameters.measures, SCORE_MEASURES)
    allowed = {"run": limits.runs, "qrels": 1}
    context.work.check_free()
    uploads = await read_uploads(request, allowed, raw=None, types=())
    for name in allowed:
        uploads_named(uploads, name)
    return await _answer(context, "score", parameters, uploads)


async def _answer(
    context: Context,
    kind: TaskKind,
    parameters: EvaluateParameters | ValidateParameters | ScoreParameters,
    uploads: list[Upload],
) -> Response:
    """Return the result of the work."""
    task = Task(kind, parameters.model_dump(mode="json"), tuple(uploads))
    return json_response(await context.work.answer(task))


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
        await run_in_threadpool(context.work.open)
        yield
        await run_in_threadpool(context.work.close)

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
    app.openapi = lambda: models.make_document(app, with_key=keys.are_needed)  # type: ignore[method-assign]
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
        self._keys = {may: BearerKey(one) for may, one in given.items() if one is not None}

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
