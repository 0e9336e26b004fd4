"""Settings of the service, models of requests and responses, and additions to the OpenAPI."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from trectools_plus.benchmark.report import MeasureDefinition
from trectools_plus.choices import MODES
from trectools_plus.errors import UsageError
from trectools_plus.models import Model
from trectools_plus.retrieval.backends.modes import (
    canonical_mode,
    check_modes,
    name_default_modes,
)
from trectools_plus.retrieval.outcome import Latency
from trectools_plus.retrieval.setting_types import Names
from trectools_plus.retrieval.settings import RetrievalSettings
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

DEFAULT_PREFIX = "trectools_plus"
NO_DATASET = "none"
VALUES_PER_QUERY = 250

_PREFIX = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,63}")


class _Settings(Model):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Limits(_Settings):
    """Limits on requests."""

    body_bytes: int = Field(default=32 << 20, ge=1)
    """Maximum size of the body of a request, in bytes."""
    queries: int = Field(default=2_000, ge=1)
    """Maximum number of queries in a test set, qrels or a run."""
    seconds: float = Field(default=60.0, gt=0)
    """Time limit for the response to a request, and for the arrival of its body, in seconds."""
    workers: int = Field(default=2, ge=1, le=64)
    """Number of requests that are processed at the same time."""
    waiting: int = Field(default=16, ge=0)
    """Maximum number of requests that wait for a worker."""
    memory_bytes: int | None = Field(default=None, ge=256 << 20)
    """Maximum private memory of a worker process, in bytes, where the system can limit it (Linux).
    The default is three quarters of the memory that this process may use."""

    @property
    def values(self) -> int:
        """Maximum number of values and keys in a JSON or YAML document."""
        return self.queries * VALUES_PER_QUERY


class ServiceSettings(_Settings):
    """All settings of the service except host, port and key."""

    dataset: str | None = None
    """The dataset whose documents are searched: ``hpo``, ``sample``, ``irds:…`` or a folder;
    ``none`` for no search. The default is the built-in ``hpo``, except if ``corpus`` is given."""
    corpus: str | None = None
    """A file of documents to search instead of a dataset."""
    test_file: str | None = None
    """The service's own test set, which a request without a body evaluates: a file, or the name of
    a shipped set. The default is the queries and judgments of ``dataset``."""
    modes: Names = MODES
    """Modes of the service; with weights for SPLADE, ``splade`` is one of the default modes."""
    depth: int = Field(default=100, ge=1)
    """Results fetched per query."""
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    """Settings of the modes."""
    prefix: str = DEFAULT_PREFIX
    """Prefix of the names of metrics."""
    reports: tuple[str, ...] = ()
    """Reports whose figures are included in the metrics; changed reports are read again."""
    limits: Limits = Field(default_factory=Limits)
    """Limits on requests."""

    @model_validator(mode="before")
    @classmethod
    def _name_modes(cls, values: dict[str, Any]) -> dict[str, Any]:
        if "modes" in values:
            return values
        settings = RetrievalSettings.model_validate(values.get("retrieval", {}))
        return {**values, "modes": name_default_modes(settings)}

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_prefix(self.prefix)
        check_modes(self.modes)
        self.retrieval.model_folder()  # refuses several models
        if "splade" in self.modes and self.searches and self.retrieval.splade_model is None:
            raise UsageError(
                "the mode splade needs a model", remedy="name its local folder: --splade-model DIR"
            )
        if self.corpus is not None and self.dataset is not None:
            raise UsageError("--corpus and --dataset cannot be combined", remedy="give one of them")
        if self.test_file is not None and not self.searches:
            raise UsageError(
                "--test-file needs documents to search", remedy="leave out --dataset none"
            )
        return self

    @property
    def canonical_modes(self) -> tuple[str, ...]:
        """The canonical names of the modes, without repetitions."""
        return tuple(dict.fromkeys(map(canonical_mode, self.modes)))

    @property
    def has_terms(self) -> bool:
        """True if the documents are the terms of the HPO."""
        return self.corpus is None and self.dataset in (None, "hpo")

    @property
    def searches(self) -> bool:
        """True if there are documents to search."""
        return self.dataset != NO_DATASET


def check_prefix(prefix: str) -> None:
    """Check the prefix of the names of metrics.

    Raises:
        UsageError: If Prometheus does not allow it.
    """
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(
            f"'{prefix}' is not a valid prefix for the names of metrics",
            where="--prefix",
            remedy="use up to 64 letters, digits and underscores, starting with a letter",
        )
