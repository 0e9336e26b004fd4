"""The part of a report that says what its figures rest on: data, configuration, versions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from trectools_plus.benchmark.report.parts import FindingRecord, ReportModel, SourceFile
from trectools_plus.retrieval.index.models import ModelRecord


def hash_config(config: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of a configuration as JSON with sorted keys and no blanks."""
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def make_experiment_id(moment: datetime, config_hash: str) -> str:
    """``20250131-120000-0f3a9c21``: the time in UTC, and the start of the configuration's hash."""
    return f"{moment.astimezone(UTC):%Y%m%d-%H%M%S}-{config_hash[:8]}"


class MergedRun(ReportModel):
    """A run that was added to a report later."""

    name: str
    path: str
    """As the user wrote it."""
    sha256: str
    """SHA-256 of its bytes."""


class DatasetInfo(ReportModel):
    """What was searched and judged."""

    id: str
    """``hpo``, ``irds:…``, or the name of the folder or file."""
    version: str | None
    """The data's own version, where it states one."""
    queries: int
    """Queries with at least one relevant document: those that are averaged over."""
    documents: int | None
    """Documents in the corpus; null when none was given."""
    sha256: str
    """SHA-256 over ``contents``: two datasets with the same one hold the same data."""
    contents: dict[str, str]
    """SHA-256 of each part (file format left aside): corpus, topics (ids and texts), query_fields
    (the topics' further fields), qrels; and of the files given as ontology and annotations."""
    files: dict[str, SourceFile] = Field(default_factory=dict)
    """The files they were read from, where they were files."""
    findings: list[FindingRecord] = Field(default_factory=list)
    """Findings about qrels and topics."""


class Manifest(ReportModel):
    """What is needed to get the same figures again."""

    experiment_id: str
    created_at: str
    """UTC, ISO 8601."""
    dataset: DatasetInfo
    config: dict[str, Any]
    """The configuration with every default spelled out, without the output folder."""
    config_hash: str
    """SHA-256 of the configuration as JSON with sorted keys and no blanks."""
    index_snapshots: dict[str, str]
    """Key of the index that each fetched mode searched."""
    models: dict[str, ModelRecord] = Field(default_factory=dict)
    """Local models that the modes rest on, by what they do: embedding, splade, reranker."""
    packages: dict[str, str]
    """Versions of the installed packages that had a hand in the figures."""
    python: str
    platform: str
    blas_threads: int | None = None
    """Threads of a matrix product while the modes were searched; null where nothing was searched
    or these could not be limited, and in reports of earlier versions, which did not limit them."""
    seed: int
    command: str | None
    """The command line, secrets blanked; null when called from Python."""
    merged: list[MergedRun] = Field(default_factory=list)
    """Runs that ``benchmark merge`` added; the configuration does not name them."""
    cache_key: str | None = None
    """SHA-256 over configuration, data and code; null where that is not known in advance."""
    cached_from: str | None = None
    """The experiment whose results, latencies included, came back; null when all was computed."""
