"""Parameters and responses of requests, and additions to the OpenAPI document of FastAPI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from trectools_plus.benchmark.report.model import MeasureDefinition
from trectools_plus.retrieval.outcome import Latency
from trectools_plus.service.guard import MEDIA_TYPE
from trectools_plus.statistics.comparison import ConfidenceInterval

MAX_MEASURES_LENGTH = 300
"""Maximum number of characters in a list of measures."""

FileKind = Literal["run", "qrels", "topics", "testset"]

MeasureNames = Field(
    default=None,
    max_length=MAX_MEASURES_LENGTH,
    min_length=1,
    description="Measures, separated by commas, for example `R@10,nDCG@10,RR`.",
    examples=["R@10,nDCG@10,RR"],
)
_COMPONENT = "(bm25|lexical|dense|vector|splade|ngram|hybrid)"
_COMPONENTS = rf"^{_COMPONENT}(,{_COMPONENT})*$"


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EvaluateParameters(_Parameters):
    """Parameters of an evaluation."""

    components: str | None = Field(
        default=None,
        max_length=100,
        description="The components of the search: `bm25`, `dense`, `splade`, `ngram`, or several "
        "separated by commas, which is `hybrid`. The default is hybrid search, or lexical search "
        "if the service has no hybrid search. `mode` and `components` in the response name what "
        "was used.",
        examples=["bm25", "bm25,dense"],
        pattern=_COMPONENTS,
    )
    measures: str | None = MeasureNames
    publish: Literal["false"] = Field(
        default="false",
        description="Removed: start the service with --test-file to see figures in `/metrics`.",
    )


class ValidateParameters(_Parameters):
    """Parameters of a validation."""

    kind: FileKind = Field(description="The kind of the file.")
    strict: bool = Field(default=False, description="Warnings also fail the validation.")
    profile: Literal["default", "trec", "submission"] = Field(
        default="default", description="The profile, which defines severities and limits."
    )


class ScoreParameters(_Parameters):
    """Parameters of a score request."""

    measures: str | None = MeasureNames
    missing: Literal["zero", "drop"] = Field(
        default="zero",
        description="Judged queries without results: `zero` scores them 0 (trec_eval -c), `drop` "
        "excludes them.",
    )
    no_relevant: Literal["zero", "drop"] = Field(
        default="zero",
        description="Judged queries without a relevant document: `zero` scores them 0 (as "
        "trec_eval), `drop` excludes them.",
    )
    per_query: bool = Field(default=False, description="Include the value of every query.")
    strict_input: bool = Field(
        default=False,
        description="Refuse every error of the files, also those that change no figure.",
    )


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
    definitions: dict[str, MeasureDefinition]
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


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {MEDIA_TYPE: {"schema": {"type": "object"}}}}
    for status, text in {
        "4XX": "The request is refused: a problem document (RFC 9457).",
        "5XX": "Not ready, busy, too slow, or a failure: a problem document.",
    }.items()
}
"""The errors of all requests."""

_TEST_SET = """\
metadata: {dataset_id: mine, version: "1.0"}
queries:
  - query_id: q1
    text: curved spine
    query_type: paraphrase
    relevant: [{doc_id: "HP:0002650", grade: 3}]
"""
_RUN = "q1 Q0 HP:0002650 1 12.5 mine\nq1 Q0 HP:0002808 2 11.0 mine\n"
_FILE = {"type": "string", "contentMediaType": "application/octet-stream"}


def body(
    *parts: str, optional: Sequence[str] = (), raw: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the description of the body of a request.

    Args:
        parts: The parts of a form that are required.
        optional: Its further parts.
        raw: Examples of bodies that are not a form, by media type.
    """
    schema = {
        "type": "object",
        "properties": dict.fromkeys((*parts, *optional), _FILE),
        "required": list(parts),
        "additionalProperties": False,
    }
    return {"requestBody": {"content": {"multipart/form-data": {"schema": schema}, **(raw or {})}}}


EVALUATE_BODY = body(
    "test_set", raw={"application/yaml": {"example": _TEST_SET}, "application/json": {}}
)
VALIDATE_BODY = body("file", optional=("qrels",), raw={"text/plain": {"example": _RUN}})
SCORE_BODY = body("run", "qrels")
