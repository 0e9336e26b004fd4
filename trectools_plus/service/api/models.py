"""The parameters and responses of the service."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from trectools_plus.benchmark.report import ConfidenceInterval, FindingRecord, Latency
from trectools_plus.service.problems import ProblemDocument

MAX_MEASURES_LENGTH = 300
"""Maximum number of characters in a list of measures."""

FileKind = Literal["run", "qrels", "topics", "testset"]
JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
FINISHED: frozenset[JobState] = frozenset({"succeeded", "failed", "cancelled"})

MeasureNames = Field(
    default=None,
    max_length=MAX_MEASURES_LENGTH,
    min_length=1,
    description="Measures, separated by commas, for example `R@10,nDCG@10,RR`.",
    examples=["R@10,nDCG@10,RR"],
)
Background = Field(
    default=False,
    description="Return a job immediately, with status 202, instead of waiting for the result.",
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
        json_schema_extra={"pattern": _COMPONENTS},
    )
    measures: str | None = MeasureNames
    publish: bool = Field(
        default=False,
        description="Show the figures of an uploaded test set in `/metrics`; those of the "
        "service's own are always shown.",
    )
    background: bool = Background

    @field_validator("components")
    @classmethod
    def _known_components(cls, names: str | None) -> str | None:
        if names is not None and not re.fullmatch(_COMPONENTS, names):
            raise ValueError("expected bm25, dense, splade, ngram, or several separated by commas")
        return names


class ValidateParameters(_Parameters):
    """Parameters of a validation."""

    kind: FileKind = Field(description="The kind of the file.")
    strict: bool = Field(default=False, description="Warnings also fail the validation.")
    profile: Literal["default", "trec", "submission"] = Field(
        default="default", description="The profile, which defines severities and limits."
    )
    background: bool = Background


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
    background: bool = Background


class Health(BaseModel):
    """The service is running."""

    status: Literal["ok"]
    version: str


class Readiness(BaseModel):
    """The documents can be searched."""

    status: Literal["ready", "off"]
    modes: list[str]


class JobProgress(BaseModel):
    """The progress of a job."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    description: str
    """Description of the current step."""
    done: int
    """Number of finished steps."""
    total: int
    """Total number of steps."""


class JobStatus(BaseModel):
    """The status of a job."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    job_id: str
    """The id of the job."""
    kind: str
    """``evaluate``, ``validate`` or ``score``."""
    state: JobState
    """``queued``, ``running``, ``succeeded``, ``failed`` or ``cancelled``."""
    created_at: str
    """The time of the request: UTC, ISO 8601."""
    finished_at: str | None
    """The time of the end: UTC, ISO 8601; null while the job is not finished."""
    progress: JobProgress | None
    """The current step; null before the first step."""
    result: dict[str, Any] | None
    """The response to the request; null unless the job succeeded."""
    problem: ProblemDocument | None
    """The reason for the failure; null unless the job failed."""


class JobList(BaseModel):
    """The stored jobs."""

    jobs: list[JobStatus]


class Figures(BaseModel):
    """Intervals of the means, by the same keys; null for a mean of fewer than two queries."""

    metrics: dict[str, ConfidenceInterval | None]
    per_query_type: dict[str, dict[str, ConfidenceInterval | None]]


class QueryCounts(BaseModel):
    """The number of queries in each mean."""

    all: int
    per_query_type: dict[str, int]


class EvaluationAnswer(BaseModel):
    """The figures of one test set."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    metrics: dict[str, float | None]
    """Means over the queries with a relevant document; null where undefined."""
    per_query_type: dict[str, dict[str, float | None]]
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
