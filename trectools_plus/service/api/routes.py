"""Every path that the service answers to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.requests import Request
from starlette.responses import Response

from trectools_plus.measures.evaluation import DEFAULT_MEASURES as SCORE_MEASURES
from trectools_plus.progress import Progress
from trectools_plus.service.api import openapi
from trectools_plus.service.api.evaluation import (
    DEFAULT_MEASURES,
    LONGEST_MEASURES,
    EvaluationAnswer,
    choose_measures,
    choose_mode,
    evaluate_test_set,
)
from trectools_plus.service.api.jobs import Jobs, JobStatus, Work
from trectools_plus.service.api.metrics import ServiceMetrics
from trectools_plus.service.api.search import Search
from trectools_plus.service.api.settings import ServiceSettings
from trectools_plus.service.api.snapshots import SnapshotStore
from trectools_plus.service.api.uploads import (
    JSON_TYPES,
    TEXT_TYPES,
    YAML_TYPES,
    named,
    read_parts,
)
from trectools_plus.service.api.validate_and_score import (
    Kind,
    ScoreAnswer,
    ValidationAnswer,
    score_parts,
    validate_parts,
)
from trectools_plus.service.problems import ProblemError, json_response

router = APIRouter()


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What the requests of one service share.

    Attributes:
        settings: What it was started with.
        search: The documents.
        jobs: The workers.
        store: The figures that ``/metrics`` shows.
        metrics: The page of ``/metrics``.
    """

    settings: ServiceSettings
    search: Search
    jobs: Jobs
    store: SnapshotStore
    metrics: ServiceMetrics


def make_context(settings: ServiceSettings) -> Context:
    """Everything that a service needs, nothing of it begun.

    Raises:
        MissingExtraError: If the extra ``service`` is not installed.
    """
    search, jobs = Search(settings), Jobs(settings.limits)
    store = SnapshotStore(settings.reports)
    metrics = ServiceMetrics(
        settings.prefix, store, jobs.count, lambda: search.state in ("ready", "off")
    )
    return Context(settings, search, jobs, store, metrics)


def context_of(request: Request) -> Context:
    """The context of the service that got a request."""
    found: Context = request.app.state.context
    return found


MeasureNames = Field(
    default=None,
    max_length=LONGEST_MEASURES,
    min_length=1,
    description="Measures with commas, such as `R@10,nDCG@10,RR`.",
    examples=["R@10,nDCG@10,RR"],
)
Background = Field(
    default=False, description="Answer 202 at once, with the job to look at, instead of waiting."
)

_COMPONENTS = r"^(bm25|lexical|dense|vector|hybrid)(,(bm25|lexical|dense|vector|hybrid))*$"


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EvaluateParameters(_Parameters):
    """What to evaluate with."""

    components: str | None = Field(
        default=None,
        max_length=100,
        description="What searches: `bm25`, `dense`, or both with a comma, which is `hybrid`. "
        "Without it the service's hybrid search is evaluated, or the lexical one where it has no "
        "hybrid search; `mode` of the answer says which.",
        examples=["bm25", "bm25,dense"],
        json_schema_extra={"pattern": _COMPONENTS},
    )
    measures: str | None = MeasureNames
    publish: bool = Field(
        default=True, description="Whether `/metrics` shows the figures from now on."
    )
    background: bool = Background

    @field_validator("components")
    @classmethod
    def _known_components(cls, names: str | None) -> str | None:
        if names is not None and not re.fullmatch(_COMPONENTS, names):
            raise ValueError("expected bm25, dense, or both with a comma between")
        return names


class ValidateParameters(_Parameters):
    """What to check, and how."""

    kind: Kind = Field(description="What the file is.")
    strict: bool = Field(default=False, description="Warnings fail the check too.")
    profile: Literal["default", "trec", "submission"] = Field(
        default="default", description="Severities and limits."
    )
    background: bool = Background


class ScoreParameters(_Parameters):
    """What to compute."""

    measures: str | None = MeasureNames
    missing: Literal["zero", "drop"] = Field(
        default="zero",
        description="A judged query without results counts 0 (trec_eval -c), or is left out.",
    )
    per_query: bool = Field(default=False, description="Answer with every query's value too.")
    background: bool = Background


class Health(BaseModel):
    """That the service runs."""

    status: Literal["ok"]
    version: str


class Readiness(BaseModel):
    """That the documents can be searched."""

    status: Literal["ready", "off"]
    modes: list[str]


class JobList(BaseModel):
    """The jobs that are remembered."""

    jobs: list[JobStatus]


@router.get("/healthz", tags=["operation"], response_model=Health, openapi_extra=openapi.OPEN)
async def healthz() -> Response:
    """Say that the process runs."""
    return json_response({"status": "ok", "version": version("trectools-plus")})


@router.get(
    "/readyz",
    tags=["operation"],
    response_model=Readiness,
    responses=openapi.problems(503),
    openapi_extra=openapi.OPEN,
)
async def readyz(request: Request) -> Response:
    """Say that the documents are open and searching does not wait."""
    context = context_of(request)
    state = context.search.state
    if state not in ("ready", "off"):
        raise ProblemError(503, "not-ready", state, headers={"Retry-After": "5"})
    modes = list(context.search.documents().retrievers) if state == "ready" else []
    return json_response({"status": state, "modes": modes})


@router.get(
    "/metrics", tags=["operation"], response_class=Response, responses=openapi.METRICS_ANSWER
)
async def metrics(request: Request) -> Response:
    """Answer with the figures in Prometheus' text format."""
    from prometheus_client import CONTENT_TYPE_LATEST
    from starlette.concurrency import run_in_threadpool

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
    """Search for every query of a test set, and answer with its figures."""
    context = context_of(request)
    context.search.documents()
    mode = choose_mode(parameters.components, context.settings.modes)
    measures = choose_measures(parameters.measures, DEFAULT_MEASURES)
    types = (*JSON_TYPES, *YAML_TYPES)
    with context.jobs.arriving():
        parts = await read_parts(request, {"test_set": 1}, raw="test_set", types=types)
    part = named(parts, "test_set")[0]

    def work(progress: Progress) -> dict[str, Any]:
        found = evaluate_test_set(part, mode, measures, context.search, context.settings, progress)
        if parameters.publish:
            context.store.add(found.snapshot)
        return found.answer

    return await _answer(context, "evaluate", work, background=parameters.background)


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
    """Check a run, qrels, topics or a test set; findings are the answer, with status 200."""
    context = context_of(request)
    allowed = {"file": 1, **({"qrels": 1} if parameters.kind == "run" else {})}
    types = (*TEXT_TYPES, *JSON_TYPES, *YAML_TYPES)
    with context.jobs.arriving():
        parts = await read_parts(request, allowed, raw="file", types=types)
    named(parts, "file")

    def work(progress: Progress) -> dict[str, Any]:
        return validate_parts(
            parts,
            parameters.kind,
            strict=parameters.strict,
            profile=parameters.profile,
            limits=context.settings.limits,
            progress=progress,
        )

    return await _answer(context, "validate", work, background=parameters.background)


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
    measures = choose_measures(parameters.measures, SCORE_MEASURES)
    allowed = {"run": limits.runs, "qrels": 1}
    with context.jobs.arriving():
        parts = await read_parts(request, allowed, raw=None, types=())
    for name in allowed:
        named(parts, name)

    def work(progress: Progress) -> dict[str, Any]:
        return score_parts(
            parts,
            measures,
            missing=parameters.missing,
            per_query=parameters.per_query,
            limits=limits,
            progress=progress,
        )

    return await _answer(context, "score", work, background=parameters.background)


@router.get("/v1/jobs", tags=["jobs"], response_model=JobList)
async def jobs(request: Request) -> Response:
    """List the jobs, oldest first, without their results."""
    found = [job.status() for job in context_of(request).jobs.list()]
    return json_response({"jobs": [one.model_dump(mode="json") for one in found]})


@router.get(
    "/v1/jobs/{job_id}", tags=["jobs"], response_model=JobStatus, responses=openapi.problems(404)
)
async def job_status(request: Request, job_id: str) -> Response:
    """Say how far a job has come, and what came out."""
    job = context_of(request).jobs.find(job_id)
    return json_response(job.as_json())


@router.delete(
    "/v1/jobs/{job_id}", tags=["jobs"], response_model=JobStatus, responses=openapi.problems(404)
)
async def job_cancel(request: Request, job_id: str) -> Response:
    """Stop a job at its next step; a finished one stays as it is."""
    job = context_of(request).jobs.find(job_id)
    job.cancel()
    return json_response(job.as_json())


async def _answer(context: Context, kind: str, work: Work, *, background: bool) -> Response:
    """The outcome of work, or where to look for it."""
    if not background:
        return json_response(await context.jobs.answer(kind, work))
    job = context.jobs.begin(kind, work)
    headers = {"Location": f"/v1/jobs/{job.id}"}
    return json_response(job.as_json(), 202, headers=headers)
