"""The endpoints of the service."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from trectools_plus.measures.evaluation import DEFAULT_MEASURES as SCORE_MEASURES
from trectools_plus.service.api import openapi
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
    JobList,
    Readiness,
    ScoreAnswer,
    ScoreParameters,
    ValidateParameters,
    ValidationAnswer,
)
from trectools_plus.service.api.settings import ServiceSettings
from trectools_plus.service.api.snapshots import Snapshot, SnapshotStore
from trectools_plus.service.api.uploads import (
    JSON_TYPES,
    TEXT_TYPES,
    YAML_TYPES,
    Part,
    has_body,
    parts_named,
    read_parts,
)
from trectools_plus.service.guard import MAY_PUBLISH
from trectools_plus.service.jobs.jobs import Jobs, JobStatus
from trectools_plus.service.jobs.task import Kind, Task
from trectools_plus.service.problems import ProblemError, json_response

router = APIRouter()


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """The objects that all requests to a service share.

    Attributes:
        settings: The settings.
        jobs: The workers and the background jobs.
        store: The figures for ``/metrics``.
        metrics: All metrics of ``/metrics``.
    """

    settings: ServiceSettings
    jobs: Jobs
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

    jobs = Jobs(settings, publish)
    documents = jobs.workers.documents
    metrics = ServiceMetrics(
        settings.prefix, store, jobs.count, lambda: documents.text in ("ready", "off")
    )
    return Context(settings, jobs, store, metrics)


def context_of(request: Request) -> Context:
    """Return the context of the service of a request."""
    found: Context = request.app.state.context
    return found


@router.get("/healthz", tags=["operation"], response_model=Health, openapi_extra=openapi.OPEN)
async def healthz() -> Response:
    """Report that the process is running."""
    return json_response({"status": "ok", "version": version("trectools-plus")})


@router.get(
    "/readyz",
    tags=["operation"],
    response_model=Readiness,
    responses=openapi.problems(503),
    openapi_extra=openapi.OPEN,
)
async def readyz(request: Request) -> Response:
    """Report that the documents are open and can be searched."""
    documents = context_of(request).jobs.workers.documents
    if documents.text not in ("ready", "off"):
        raise ProblemError(503, "not-ready", documents.text, headers={"Retry-After": "5"})
    return json_response({"status": documents.text, "modes": documents.modes})


@router.get(
    "/metrics", tags=["operation"], response_class=Response, responses=openapi.METRICS_ANSWER
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
    responses=openapi.answers(openapi.EVALUATION_EXAMPLE, 404),
    openapi_extra=openapi.EVALUATE_BODY,
)
async def evaluate(
    request: Request, parameters: Annotated[EvaluateParameters, Query()]
) -> Response:
    """Search for every query of a test set, and return its figures.

    A request without a body evaluates the service's own test set and sets its gauges in `/metrics`.
    """
    context = context_of(request)
    context.jobs.workers.documents.check()
    choose_mode(parameters.components, context.settings)
    choose_measures(parameters.measures, DEFAULT_MEASURES)
    types = (*JSON_TYPES, *YAML_TYPES)
    parts = []
    with context.jobs.arriving():
        if await has_body(request):
            if parameters.publish and not request.scope.get(MAY_PUBLISH, True):
                raise ProblemError(
                    403,
                    "may-not-publish",
                    "this key may not publish the figures of uploaded test sets",
                    remedy="leave out publish=true, or use the key that the server's option "
                    "--publish-key-from-env names",
                )
            parts = await read_parts(request, {"test_set": 1}, raw="test_set", types=types)
            parts_named(parts, "test_set")
    return await _answer(context, "evaluate", parameters, parts)


@router.post(
    "/v1/validate",
    tags=["work"],
    response_model=ValidationAnswer,
    responses=openapi.answers(openapi.VALIDATION_EXAMPLE),
    openapi_extra=openapi.VALIDATE_BODY,
)
async def validate(
    request: Request, parameters: Annotated[ValidateParameters, Query()]
) -> Response:
    """Validate a run, qrels, topics or a test set; findings are an answer with status 200."""
    context = context_of(request)
    allowed = {"file": 1, **({"qrels": 1} if parameters.kind == "run" else {})}
    types = (*TEXT_TYPES, *JSON_TYPES, *YAML_TYPES)
    with context.jobs.arriving():
        parts = await read_parts(request, allowed, raw="file", types=types)
    parts_named(parts, "file")

    return await _answer(context, "validate", parameters, parts)


@router.post(
    "/v1/score",
    tags=["work"],
    response_model=ScoreAnswer,
    responses=openapi.answers(openapi.SCORE_EXAMPLE),
    openapi_extra=openapi.SCORE_BODY,
)
async def score(request: Request, parameters: Annotated[ScoreParameters, Query()]) -> Response:
    """Score runs against qrels."""
    context = context_of(request)
    limits = context.settings.limits
    choose_measures(parameters.measures, SCORE_MEASURES)
    allowed = {"run": limits.runs, "qrels": 1}
    with context.jobs.arriving():
        parts = await read_parts(request, allowed, raw=None, types=())
    for name in allowed:
        parts_named(parts, name)

    return await _answer(context, "score", parameters, parts)


@router.get("/v1/jobs", tags=["jobs"], response_model=JobList)
async def jobs(request: Request) -> Response:
    """List the jobs, oldest first, without their results."""
    found = [job.status() for job in context_of(request).jobs.list()]
    return json_response({"jobs": [one.model_dump(mode="json") for one in found]})


@router.get(
    "/v1/jobs/{job_id}", tags=["jobs"], response_model=JobStatus, responses=openapi.problems(404)
)
async def job_status(request: Request, job_id: str) -> Response:
    """Return the progress and the result of a job."""
    jobs = context_of(request).jobs
    job = jobs.find(job_id)
    return json_response(await run_in_threadpool(jobs.fetch, job))


@router.delete(
    "/v1/jobs/{job_id}", tags=["jobs"], response_model=JobStatus, responses=openapi.problems(404)
)
async def job_cancel(request: Request, job_id: str) -> Response:
    """Stop a job; a finished job does not change."""
    jobs = context_of(request).jobs
    job = jobs.find(job_id)
    await run_in_threadpool(jobs.cancel, job)
    return json_response(await run_in_threadpool(jobs.fetch, job))


async def _answer(
    context: Context,
    kind: Kind,
    parameters: EvaluateParameters | ValidateParameters | ScoreParameters,
    parts: list[Part],
) -> Response:
    """Return the result of the work, or the job that does it."""
    task = Task(kind, parameters.model_dump(mode="json"), tuple(parts))
    if not parameters.background:
        return json_response(await context.jobs.answer(task))
    job = await run_in_threadpool(context.jobs.begin, task)
    headers = {"Location": f"/v1/jobs/{job.id}"}
    return json_response(job.status().model_dump(mode="json"), 202, headers=headers)
