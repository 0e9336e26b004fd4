"""What a fetched run rests on: the file beside the run file that says where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from trectools_plus.retrieval.collapse import Collapse
from trectools_plus.retrieval.fetch_status import FetchStatus
from trectools_plus.retrieval.models import ModelRecord
from trectools_plus.retrieval.settings import RetrievalSettings

MANIFEST_VERSION = "1.0"


class ManifestModel(BaseModel):
    """Base of the manifest's parts: values, with every key explained by a docstring."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class SourceRecord(ManifestModel):
    """The documents or the queries that were used."""

    path: str | None
    """Where they were read from, as the user named it."""
    count: int
    """How many there are."""
    sha256: str
    """Hash of their content; the order of documents does not matter."""


class RunRecord(ManifestModel):
    """A run file and what is in it."""

    path: str
    """Its name in the folder of the manifest."""
    sha256: str
    """Of the file's bytes."""
    queries: int
    """Queries with at least one result."""
    results: int
    """Rows."""
    missing_queries: list[str]
    """Queries for which nothing was found; they have no row."""


class LatencyRecord(ManifestModel):
    """Milliseconds per query, over all topics."""

    mean: float
    """Arithmetic mean."""
    p50: float
    """Median."""
    p95: float
    """95th percentile, linearly interpolated."""
    p99: float
    """99th percentile, linearly interpolated."""


class FindingRecord(ManifestModel):
    """What validating the written run said."""

    code: str
    """The rule."""
    severity: str
    """error, warning or info."""
    count: int
    """How often."""
    message: str
    """In words."""


class FailedQueryRecord(ManifestModel):
    """A query without an answer."""

    query_id: str
    """The query."""
    reason: str
    """Why, after all retries; or that it was not asked any more, and why."""


class FetchManifest(ManifestModel):
    """One run, and all that is needed to fetch it again."""

    schema_version: str = MANIFEST_VERSION
    """Of this document."""
    created_at: str
    """UTC, ISO 8601."""
    command: str | None
    """The command line, where there was one."""
    mode: str
    """The retrieval mode; also the run's tag."""
    backend: str
    """What searched."""
    backend_settings: dict[str, Any] | None = None
    """Of a backend that is not embedded; of keys, only the variables that hold them."""
    status: FetchStatus = "ok"
    """``incomplete`` when a query has no answer: such a run must not be scored."""
    failed_queries: list[FailedQueryRecord] = Field(default_factory=list)
    """Queries without an answer; they have no row."""
    cut_short: list[str] = Field(default_factory=list)
    """Queries with fewer documents than wanted, because no more chunks may be asked for."""
    dataset: str | None
    """The dataset as the user named it."""
    corpus: SourceRecord | None
    """The documents; null where the backend has its own and none were given."""
    topics: SourceRecord
    """The queries."""
    depth: int
    """Results for each query, at most."""
    exclude_self: bool
    """Whether a document with the query's id was dropped, before the cutoff."""
    collapse: Collapse | None = None
    """How chunks became documents; null where the backend answers with documents."""
    settings: RetrievalSettings | None
    """Of indexing, search and fusion, batch size included; null for a backend that has its own."""
    models: dict[str, ModelRecord] = Field(default_factory=dict)
    """Local models that were used, by what they do: embedding, splade, reranker."""
    seed: int | None
    """Null: nothing here draws random numbers."""
    index_snapshots: dict[str, str]
    """The key of each index that was searched: hash of corpus, settings and versions."""
    packages: dict[str, str]
    """Versions of the packages that decide the ranking."""
    python: str
    """Version of the interpreter."""
    platform: str
    """Operating system and architecture."""
    blas_threads: int | None = None
    """Threads of a matrix product while the queries were asked; null where these could not be
    limited, and in manifests of earlier versions, which did not limit them."""
    run: RunRecord
    """The run file."""
    latency_ms: LatencyRecord
    """Time per query: a batch's time is shared evenly, a hybrid's is that of all its parts."""
    findings: list[FindingRecord]
    """What validating the written run said."""


def summarise_latency(latency_ms: Sequence[float] | npt.NDArray[np.float64]) -> LatencyRecord:
    """Mean and percentiles of the latencies that are not NaN, at least one."""
    p50, p95, p99 = (float(value) for value in np.nanpercentile(latency_ms, [50, 95, 99]))
    return LatencyRecord(mean=float(np.nanmean(latency_ms)), p50=p50, p95=p95, p99=p99)
