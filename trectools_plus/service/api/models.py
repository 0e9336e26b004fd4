"""The responses of the service, and its OpenAPI document.

The second half has what FastAPI does not generate: bodies, problems, examples.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict

from trectools_plus.benchmark.report import FindingRecord, Latency
from trectools_plus.service.problems import MEDIA_TYPE, ProblemDocument
from trectools_plus.statistics.comparison import ConfidenceInterval
from trectools_plus.testsets.model import TestSet


class Health(BaseModel):
    """The service is running."""

    status: Literal["ok"]
    version: str


class Readiness(BaseModel):
    """The documents can be searched."""

    status: Literal["ready", "off"]
    modes: list[str]


Means = dict[str, float | None]
Intervals = dict[str, ConfidenceInterval | None]


class Figures(BaseModel):
    """Intervals of the means, by the same keys; null for a mean of fewer than two queries."""

    metrics: Intervals
    per_query_type: dict[str, Intervals]


class QueryCounts(BaseModel):
    """The number of queries in each mean."""

    all: int
    per_query_type: dict[str, int]


class EvaluationAnswer(BaseModel):
    """The figures of one test set."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    metrics: Means
    """Means over the queries with a relevant document; null where undefined."""
    per_query_type: dict[str, Means]
    """Means over the queries of each type; see ``grouped_by``."""
    grouped_by: str | None
    """The field with the type of a query: ``query_type``, or ``category`` if no query has a
    ``query_type``; null if there is neither."""
    intervals: Figures
    """Bootstrap intervals of all means."""
    queries: QueryCounts
    """The number of queries in each mean."""
    definitions: dict[str, dict[str, Any]]
    """Definition of each measure: canonical name, formula, denominator, provider and more."""
    latency_ms: Latency | None
    """Time per query."""
    mode: str
    """The evaluated mode: ``lexical``, ``vector``, ``splade`` or ``hybrid``."""
    components: list[str]
    """The rankings that the mode merges, or the mode alone."""
    dataset: str
    """The dataset whose documents were searched."""
    test_set: str
    """The name of the test set."""
    depth: int
    """Results fetched per query."""
    seed: int
    """Seed of the resamples."""
    created_at: str
    """The time of the evaluation: UTC, ISO 8601."""
    notes: list[str]
    """Remarks on the figures."""


class FindingModel(FindingRecord):
    """One problem of a file."""

    lines: list[int]
    """The first few lines with the problem."""


class FileModel(BaseModel):
    """The findings of one file."""

    path: str
    kind: str
    rows: int
    queries: int
    findings: list[FindingModel]


class ValidationAnswer(BaseModel):
    """The output of ``… validate --format json``, and whether the file is valid."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    passed: bool
    """True if there is no error and, with ``strict``, no warning."""
    files: list[FileModel]
    """The uploaded file and its findings."""
    summary: dict[str, int]
    """Numbers of errors, warnings and infos."""


class ScoredRun(BaseModel):
    """The figures of one run."""

    name: str
    path: str | None
    sha256: str | None
    counts: dict[str, int]
    measures: dict[str, dict[str, Any]]


class ScoreAnswer(BaseModel):
    """The output of ``eval --format json``."""

    qrels: dict[str, Any]
    missing: Literal["zero", "drop"]
    no_relevant: Literal["zero", "drop"]
    notes: list[str]
    runs: list[ScoredRun]
    definitions: dict[str, dict[str, Any]]


_REF = "#/components/schemas/{model}"
_BINARY = {"type": "string", "contentMediaType": "application/octet-stream"}
_YAML = """\
metadata: {dataset_id: mine, version: "1.0"}
queries:
  - query_id: q1
    text: curved spine
    query_type: paraphrase
    relevant: [{doc_id: "HP:0002650", grade: 3}]
"""
_TEST_SET = {
    "metadata": {"dataset_id": "mine", "version": "1.0"},
    "queries": [
        {
            "query_id": "q1",
            "text": "curved spine",
            "query_type": "paraphrase",
            "relevant": [{"doc_id": "HP:0002650", "grade": 3}],
        }
    ],
}
_RUN = "q1 Q0 HP:0002650 1 12.5 mine\nq1 Q0 HP:0002808 2 11.0 mine\n"
_QRELS = "q1 0 HP:0002650 3\n"

OPEN: dict[str, Any] = {"security": []}
"""The security of paths that need no key."""

EVALUATION_EXAMPLE: dict[str, Any] = {
    "metrics": {"recall_at_10": 1.0, "ndcg_at_10": 0.6309, "mrr": 0.5, "hit_rate_at_10": 1.0},
    "per_query_type": {"paraphrase": {"recall_at_10": 1.0, "ndcg_at_10": 0.6309, "mrr": 0.5}},
    "grouped_by": "query_type",
    "intervals": {
        "metrics": {
            "mrr": {"low": 0.5, "high": 0.5, "level": 0.95, "method": "…", "resamples": 10000}
        },
        "per_query_type": {},
    },
    "queries": {"all": 1, "per_query_type": {"paraphrase": 1}},
    "definitions": {"mrr": {"name": "RR"}},
    "latency_ms": {"mean": 2.1, "p50": 2.1, "p95": 2.1, "p99": 2.1},
    "mode": "lexical",
    "components": ["lexical"],
    "dataset": "hpo",
    "test_set": "mine",
    "depth": 100,
    "seed": 42,
    "created_at": "2025-01-31T12:00:00Z",
    "notes": [],
}
VALIDATION_EXAMPLE: dict[str, Any] = {
    "passed": True,
    "files": [{"path": "file", "kind": "run", "rows": 2, "queries": 1, "findings": []}],
    "summary": {"errors": 0, "warnings": 0, "infos": 0},
}
SCORE_EXAMPLE: dict[str, Any] = {
    "qrels": {"path": "qrels", "sha256": "5e88…", "queries": 1, "queries_without_relevant": []},
    "missing": "zero",
    "no_relevant": "zero",
    "notes": [],
    "runs": [
        {
            "name": "mine",
            "path": "run",
            "sha256": "5e88…",
            "counts": {"n_qrels": 1, "n_run": 1, "n_scored": 1, "n_missing": 0, "n_extra": 0},
            "measures": {"nDCG@10": {"mean": 1.0, "n": 1, "undefined": 0}},
        }
    ],
    "definitions": {},
}

_DESCRIPTIONS = {
    400: "Malformed form",
    401: "No valid key",
    403: "Request to another host name, without a key",
    404: "Not found",
    405: "Method not allowed",
    408: "The body arrived too slowly",
    413: "Too large, or too many queries",
    415: "Unsupported media type",
    422: "Invalid content or parameter",
    503: "Not ready, busy, or the time limit is exceeded",
    507: "The disk of the service is full",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return descriptions of responses that are problem documents."""
    content = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}}
    return {
        status: {"description": _DESCRIPTIONS[status], "content": content}
        for status in sorted({401, 403, *statuses})
    }


def answers(example: dict[str, Any], *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return descriptions of all responses to a request for work, with an example of success."""
    return {
        200: {"content": {"application/json": {"example": example}}},
        **problems(400, 408, 413, 415, 422, 503, 507, *statuses),
    }


METRICS_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}


def _form(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {"multipart/form-data": {"schema": schema}}


def _body(content: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"requestBody": {"required": required, "content": content}}


_TEST_SET_REF = {
    "description": "A test set. The other formats that the package reads are accepted too.",
    "anyOf": [
        {"$ref": _REF.format(model="TestSet")},
        {"type": "object", "required": ["queries"]},
        {"type": "object", "required": ["test_cases"]},
        {"type": "array"},
    ],
}
EVALUATE_BODY = _body(
    {
        "application/json": {"schema": _TEST_SET_REF, "example": _TEST_SET},
        "application/yaml": {"schema": _TEST_SET_REF, "example": _YAML},
        **_form({"test_set": _BINARY}, ["test_set"]),
    },
    required=False,
)
VALIDATE_BODY = _body(
    {
        "text/plain": {"schema": {"type": "string", "minLength": 1}, "example": _RUN},
        **_form({"file": _BINARY, "qrels": _BINARY}, ["file"]),
    }
)
_RUNS = {"type": "array", "items": _BINARY, "minItems": 1}
SCORE_BODY = _body(_form({"run": _RUNS, "qrels": _BINARY}, ["run", "qrels"]))
SCORE_BODY["requestBody"]["content"]["multipart/form-data"]["example"] = {
    "run": [_RUN],
    "qrels": _QRELS,
}


def make_document(app: FastAPI, *, with_key: bool) -> dict[str, Any]:
    """Return the OpenAPI document.

    Args:
        app: The application.
        with_key: True if requests need a key.
    """
    if app.openapi_schema is not None:
        return app.openapi_schema
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for model in (TestSet, ProblemDocument):
        schema = model.model_json_schema(ref_template=_REF)
        schemas.update(schema.pop("$defs", {}))
        schemas[model.__name__] = schema
    for path in document["paths"].values():
        for operation in path.values():
            _correct_responses(operation["responses"])
    # In the document, the schema of problems has its short name.
    document = dict(json.loads(json.dumps(document).replace("ProblemDocument", "Problem")))
    components = document["components"]
    if with_key:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
    app.openapi_schema = document
    return document


def _correct_responses(answers: dict[str, Any]) -> None:
    """Replace FastAPI's description of invalid parameters, and add the responses of the guard."""
    guard = {str(status): answer for status, answer in problems(422).items()}
    if "422" in answers:
        answers["422"] = guard["422"]
    for status in ("401", "403"):
        answers.setdefault(status, guard[status])
