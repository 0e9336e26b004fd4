"""The manifest of a report: data, configuration and versions; hashes and experiment ids."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from trectools_plus.benchmark.report.parts import (
    FindingRecord,
    ReportModel,
    SourceFile,
    WithoutUnset,
)
from trectools_plus.choices import Averaging
from trectools_plus.retrieval.index.models import ModelRecord


def hash_config(config: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of a configuration as JSON with sorted keys and no blanks."""
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def make_experiment_id(moment: datetime, config_hash: str) -> str:
    """Return the time in UTC and the start of the hash, as in ``20250131-120000-0f3a9c21``."""
    return f"{moment.astimezone(UTC):%Y%m%d-%H%M%S}-{config_hash[:8]}"


class MergedRun(ReportModel):
    """A run that was added to a report later."""

    name: str
    path: str
    """As the user wrote it."""
    sha256: str
    """SHA-256 of its bytes."""


class DatasetInfo(ReportModel):
    """The documents, topics and qrels."""

    id: str
    """``hpo``, ``sample``, ``irds:…``, or the name of the folder or file."""
    version: str | None
    """The version that the data state, if any."""
    queries: int
    """Number of queries in the means."""
    documents: int | None
    """Number of documents in the corpus; null if none was given."""
    sha256: str
    """SHA-256 over ``contents``: equal for datasets with the same data."""
    contents: dict[str, str]
    """SHA-256 of each part, independent of the file format: corpus, topics (ids and texts),
    query_fields (the topics' further fields), qrels; and of the files with ontology and
    annotations."""
    files: dict[str, SourceFile] = Field(default_factory=dict)
    """The files that the data were read from."""
    findings: list[FindingRecord] = Field(default_factory=list)
    """Findings about qrels and topics."""


class Manifest(WithoutUnset):
    """Everything that is needed to reproduce the figures."""

    _optional = ("other_reports",)

    experiment_id: str
    created_at: str
    """UTC, ISO 8601."""
    dataset: DatasetInfo
    config: dict[str, Any]
    """The configuration with every default spelled out, without the output folder. In reports
    without ``no_relevant``, queries without a relevant document are left out (``drop``)."""
    config_hash: str
    """SHA-256 of the configuration as JSON with sorted keys and no blanks."""
    index_snapshots: dict[str, str]
    """Key of the index of each fetched mode."""
    models: dict[str, ModelRecord] = Field(default_factory=dict)
    """Local models of the modes by role: embedding (embedding-NAME for one of several), splade,
    reranker."""
    packages: dict[str, str]
    """Versions of the installed packages that affect the figures."""
    python: str
    platform: str
    blas_threads: int | None = None
    """Threads of a matrix product during the search; null if nothing was searched, if the number
    could not be limited, and in reports of earlier versions, which did not limit it."""
    seed: int
    command: str | None
    """The command line without secrets; null if called from Python."""
    merged: list[MergedRun] = Field(default_factory=list)
    """Runs that ``benchmark merge`` added; the configuration does not name them."""
    cache_key: str | None = None
    """SHA-256 over configuration, data and code; null if it is not known in advance."""
    cached_from: str | None = None
    """The experiment whose results, latencies included, are reused; null if all were computed."""
    other_reports: int | None = None
    """Other reports on the same data beside the report's folder, when it was made. Omitted if there
    was none, and in reports of earlier versions."""

    @property
    def averaging(self) -> Averaging:
        """The treatment of queries without results and without a relevant document.

        Versions that did not record the latter left such queries out.
        """
        return Averaging(self.config.get("missing", "zero"), self.config.get("no_relevant", "drop"))
