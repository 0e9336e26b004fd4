"""The ASGI application of the service: its endpoints, guard, startup and shutdown."""

from __future__ import annotations

from collections.abc import Mapping
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

from trectools_plus.formats.files.abandoned import temporary_folder
from trectools_plus.measures.evaluation import DEFAULT_MEASURES as SCORE_MEASURES
from trectools_plus.service.api import models
from trectools_plus.service.api.evaluation import DEFAULT_MEASURES, choose_mode
from trectools_plus.service.api.metrics import ServiceMetrics
from trectools_plus.service.api.models import (
    EvaluationAnswer,
    Health,
    Readiness,
    ScoreAnswer,
    ValidationAnswer,
)
from trectools_plus.service.api.parameters import (
    EvaluateParameters,
    ScoreParameters,
    ValidateParameters,
)
from trectools_plus.service.api.snapshots import SnapshotStore
from trectools_plus.service.api.uploads import (
    JSON_TYPES,
    TEXT_TYPES,
    YAML_TYPES,
    Expected,
    read_uploads,
)
from trectools_plus.service.api.validate_and_score import choose_measures
from trectools_plus.service.guard import (
    KEY_REMEDY,
    MAY_PUBLISH,
    Guard,
    Observer,
    Rules,
    has_key,
    is_loopback,
)
from trectools_plus.service.problems import (
    ProblemError,
    answer_invalid,
    answer_problem,
    json_response,
)
from trectools_plus.service.work import Parameters, RequestWork

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths that need no key, so that process monitors can use them."""

_DESCRIPTION = """\
Evaluate test sets, validate and score TREC runs.

Errors are problem documents (RFC 9457). The service never opens a path or URL from a request.
"""


router = APIRouter()


class Context:
    """The objects that all requests to a service share.

    Args:
        settings: The settings.

    Attributes:
        settings: The settings.
        work: The processes and the requests that wait for them.
        store: The figures for ``/metrics``.
        metrics: All metrics of ``/metrics``.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings, self.work = settings, RequestWork(settings)
        self.store = SnapshotStore(settings.reports)
        self.metrics = ServiceMetrics(
            settings.prefix, self.store, self.work.count, lambda: self.work.documents.are_ready
        )

    async def answer(
        self, request: Request, parameters: Parameters, expected: Expected | None
    ) -> Response:
        """Read the uploads of a request, and return the result of the work.

        Args:
            request: The request.
            parameters: Its parameters.
            expected: The parts that it can have; ``None`` for no body.
        """
        self.work.check_free()
        with temporary_folder() as folder:
            uploads = await read_uploads(request, folder, expected) if expected else ()
            outcome = await self.work.answer(parameters, folder, uploads)
        if outcome.snapshot is not None:
            if not uploads:
                self.store.set_own(outcome.snapshot)
            elif getattr(parameters, "publish", False):
                self.store.add(outcome.snapshot)
        return json_response(outcome.answer)


def context_of(request: Request) -> Context:
    """Return the context of the service of a request."""
    context: Context = request.app.state.context
    return context


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
    documents = context_of(request).work.documents
    if not documents.are_ready:
        raise ProblemError(503, "not-ready", documents.status, headers={"Retry-After": "5"})
    return json_response({"status": documents.status, "modes": documents.modes})


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
    context.work.documents.check()
    choose_mode(parameters.components, context.settings)
    choose_measures(parameters.measures, DEFAULT_MEASURES)
    context.work.check_free()
    if "content-type" not in request.headers and not await request.body():
        return await context.answer(request, parameters, None)
    if parameters.publish and not request.scope.get(MAY_PUBLISH, True):
        raise ProblemError(
            403,
            "may-not-publish",
            "this key may not publish the figures of uploaded test sets",
            remedy="leave out publish=true, or use the key that the server's option "
            "--publish-key-from-env names",
        )
    expected = Expected({"test_set": 1}, raw="test_set", types=(*JSON_TYPES, *YAML_TYPES))
    return await context.answer(request, parameters, expected)


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
    parts = {"file": 1, "qrels": 1} if parameters.kind == "run" else {"file": 1}
    types = (*TEXT_TYPES, *JSON_TYPES, *YAML_TYPES)
    expected = Expected(parts, raw="file", types=types, optional=("qrels",))
    return await context_of(request).answer(request, parameters, expected)


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
    choose_measures(parameters.measures, SCORE_MEASURES)
    parts = {"run": context.settings.limits.runs, "qrels": 1}
    return await context.answer(request, parameters, Expected(parts))


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
    context = Context(settings)
    app = FastAPI(
        title="trectools-plus",
        version=version("trectools-plus"),
        description=_DESCRIPTION,
        lifespan=lambda _: context.work.open(),
        docs_url=None,
        redoc_url=None,
    )
    app.state.context = context
    app.include_router(router)
    for kind in (HTTPException, ProblemError, Exception):
        app.add_exception_handler(kind, answer_problem)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    keys = {may: text for may, text in ((False, key), (True, publish_key)) if text is not None}
    app.add_middleware(Guard, rules=make_rules(keys, settings.limits, context.metrics.observe))
    app.openapi = lambda: models.make_document(app, with_key=bool(keys))  # type: ignore[method-assign]
    return app


def make_rules(keys: Mapping[bool, str], limits: Limits, observe: Observer) -> Rules:
    """Return the checks and limits of the service.

    Args:
        keys: The keys that requests can contain, by whether they may publish figures. Without keys,
            only this machine can reach the service; then requests to other host names are refused,
            so that no web page can send requests through such a name (DNS rebinding).
        limits: The limits of a body.
        observe: Called after each response.
    """

    def check(scope: Scope, headers: Headers) -> None:
        if not keys:
            _check_local(headers)
        elif valid := [may for may, key in keys.items() if has_key(headers, key)]:
            scope[MAY_PUBLISH] = any(valid)
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
