"""Fetched runs as files: written, described by a manifest, and validated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from trectools_plus.blas import limited_blas_threads
from trectools_plus.errors import CheckFailedError, InputError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.run import write_run_frames
from trectools_plus.formats.tables import Topics
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import (
    describe_machine,
    format_time,
    package_versions,
    utc_now,
)
from trectools_plus.ranking import separate_ties
from trectools_plus.retrieval.fetch.answering import Collapse
from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch_journalled
from trectools_plus.retrieval.fetch.outcome import (
    AnsweredRun,
    FetchOutcome,
    FetchStatus,
    refuse_unscorable,
)
from trectools_plus.retrieval.fetch.topics import AnyTopics, hash_topics
from trectools_plus.retrieval.index.models import ModelRecord
from trectools_plus.retrieval.latency import Latency, summarise_latency
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.validation import Finding, Severity, validate_run

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
    latency_ms: Latency | None
    """Time per query: a batch's time is shared evenly, a hybrid's is that of all its parts; null
    where no query was answered."""
    findings: list[FindingRecord]
    """What validating the written run said."""


# A topic without results is listed in the manifest instead.
_LISTED_ELSEWHERE = {"P108"}


@dataclass(frozen=True, slots=True, eq=False)
class FetchedFile:
    """One mode's run on disk.

    Attributes:
        path: The run file.
        manifest_path: ``<run file>.manifest.json``.
        manifest: Its content.
        outcome: What became of each query.
        findings: What validating the file said, errors excluded but for topics without results.
    """

    path: Path
    manifest_path: Path
    manifest: FetchManifest
    outcome: FetchOutcome
    findings: list[Finding]


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """Everything that the manifests of one fetch have in common."""

    request: FetchRequest
    corpus: SourceRecord | None
    topics: SourceRecord
    dataset: str | None
    command: str | None


def fetch_to_dir(
    request: FetchRequest,
    output_dir: str | Path,
    *,
    resume: bool = False,
    progress: Progress = no_progress,
    dataset: str | None = None,
    command: str | None = None,
) -> dict[str, FetchedFile]:
    """Fetch every mode, and write ``<mode>.run`` with a manifest for each.

    Args:
        request: What is fetched.
        output_dir: Folder for the files; made if missing. Files of the same names are replaced.
        resume: Resume the journals of a fetch that was ended, and ask its failed queries again;
            the run files are those of an uninterrupted one.
        progress: Notified of index building and of the queries asked.
        dataset: The dataset's name, for the manifest.
        command: The command line, for the manifest.

    Raises:
        UsageError, InputError: As ``retrieval.fetch.fetch.fetch_journalled``; or if the folder
            cannot be written; or if a mode answered no query at all.
        CheckFailedError: If a mode found nothing for any query, and so has no run file; the
            others are written. If a run is incomplete; it is written, and its manifest lists the
            queries without an answer. Or if a written run does not validate.
    """
    corpus, topics = request.corpus, request.topics
    with _output_folder(Path(output_dir)) as folder:
        with fetch_journalled(request, folder, resume=resume, progress=progress) as runs:
            shared = _Shared(
                request,
                None
                if corpus is None
                else SourceRecord(path=corpus.path, count=len(corpus), sha256=corpus.sha256()),
                SourceRecord(path=topics.path, count=len(topics), sha256=hash_topics(topics)),
                dataset,
                command,
            )
            outcomes = {mode: _write_run(folder, mode, run) for mode, run in runs.items()}
        files = {
            mode: _describe_file(folder, mode, outcome, shared)
            for mode, outcome in outcomes.items()
            if outcome.results
        }
    refuse_unscorable(outcomes, folder)
    _refuse_errors(files)
    return files


@contextmanager
def _output_folder(folder: Path) -> Iterator[Path]:
    """Make the folder; a new one goes again if nothing is left in it."""
    is_new = not folder.exists()
    _make_folder(folder)
    try:
        yield folder
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the output folder: {error.strerror or error}", where=str(folder)
        ) from error


def _write_run(folder: Path, mode: str, run: AnsweredRun) -> FetchOutcome:
    """Write the run file, if there is a row, without ties."""
    write_run_frames(map(separate_ties, run.frames()), folder / f"{mode}.run", mode)
    return run.outcome


def _describe_file(folder: Path, mode: str, outcome: FetchOutcome, shared: _Shared) -> FetchedFile:
    """Validate a run file and write its manifest."""
    path = folder / f"{mode}.run"
    request = shared.request
    found = validate_run(path, topics=_ids_of(request.topics), max_depth=request.options.depth)
    findings = list(found.findings)
    manifest = _describe(path, mode, outcome, findings, shared)
    manifest_path = path.with_name(f"{path.name}.manifest.json")
    with atomic_write(manifest_path, "w") as stream:
        stream.write(manifest.model_dump_json(indent=2) + "\n")
    return FetchedFile(path, manifest_path, manifest, outcome, findings)


def _ids_of(topics: AnyTopics) -> Topics:
    """The topics as far as a validator of runs looks at them: their ids."""
    if isinstance(topics, Topics):
        return topics
    ids = pl.Series("query_id", (query.query_id for query in topics), dtype=pl.String)
    return Topics(ids.to_frame().with_columns(text=pl.lit("")), topics.path)


def _describe(
    path: Path, mode: str, outcome: FetchOutcome, findings: list[Finding], shared: _Shared
) -> FetchManifest:
    request, backend = shared.request, shared.request.backend
    return FetchManifest(
        created_at=format_time(utc_now()),
        command=shared.command,
        mode=mode,
        backend=backend.name,
        backend_settings=backend.record,
        status=outcome.status,
        failed_queries=[
            FailedQueryRecord(query_id=query_id, reason=failure.reason)
            for query_id, failure in outcome.failures.items()
        ],
        cut_short=outcome.cut_short,
        dataset=shared.dataset,
        corpus=shared.corpus,
        topics=shared.topics,
        depth=request.options.depth,
        exclude_self=request.options.exclude_self,
        collapse=request.options.collapse,
        settings=request.settings if backend.needs_corpus else None,
        models=backend.models(mode, request.opening()),
        seed=None,
        index_snapshots=outcome.index_keys,
        packages=package_versions(),
        **describe_machine(),
        blas_threads=limited_blas_threads(),
        run=RunRecord(
            path=path.name,
            sha256=sha256_file(path),
            queries=outcome.queries_with_results,
            results=outcome.results,
            missing_queries=outcome.missing_queries,
        ),
        latency_ms=summarise_latency(outcome.latency_ms),
        findings=[
            FindingRecord(
                code=finding.code,
                severity=str(finding.severity),
                count=finding.count,
                message=finding.message,
            )
            for finding in findings
        ],
    )


def _refuse_errors(files: dict[str, FetchedFile]) -> None:
    for file in files.values():
        errors = [
            finding
            for finding in file.findings
            if finding.severity is Severity.ERROR and finding.code not in _LISTED_ELSEWHERE
        ]
        if errors:
            raise CheckFailedError(
                f"the fetched run does not validate: {errors[0].code} {errors[0].message}",
                where=str(file.path),
                remedy=errors[0].remedy,
            )
