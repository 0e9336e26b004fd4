"""Write fetched runs to files, and describe them in manifests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from trectools_plus.blas import limited_blas_threads
from trectools_plus.display import Progress, no_progress
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.files.guards import read_manifest, refuse_foreign
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.ranking import separate_ties
from trectools_plus.formats.writing import write_run_frames
from trectools_plus.models import (
    ReportModel,
    describe_machine,
    format_time,
    package_versions,
    utc_now,
)
from trectools_plus.retrieval.fetch import (
    FetchRequest,
    check_request,
    fetch_modes,
    open_stores,
)
from trectools_plus.retrieval.index.models import SourceFile
from trectools_plus.retrieval.outcome import (
    FetchedRun,
    FetchStatus,
    Latency,
    refuse_unscorable,
    summarise_latency,
)
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Collapse, hash_topics


class SourceRecord(ReportModel):
    """The documents or the queries of a fetch."""

    path: str | None
    """Their source, as the user named it."""
    count: int
    """Their number."""
    sha256: str
    """Hash of their content; the order of documents does not matter."""


class RunRecord(ReportModel):
    """A run file and its contents."""

    path: str | None
    """File name, in the folder of the manifest; null if nothing was found, so that there is no
    file."""
    sha256: str | None
    """Hash of the file's bytes; null without a file."""
    queries: int
    """Number of queries with at least one result."""
    results: int
    """Number of rows."""
    missing_queries: list[str]
    """Queries without results, which have no row."""


class FailedQueryRecord(ReportModel):
    """A query without an answer."""

    query_id: str
    """The query's id."""
    reason: str
    """The reason after all retries, or the reason why the query was not sent."""


class FetchManifest(ReportModel):
    """A description of one run and of everything that is needed to fetch it again."""

    schema_version: str = "1.0"
    """Version of this document's schema."""
    created_at: str
    """UTC, ISO 8601."""
    command: str | None
    """The command line, if there was one."""
    mode: str
    """The retrieval mode; also the run's tag."""
    backend: str
    """Name of the backend."""
    backend_settings: dict[str, Any] | None
    """Settings of a backend that is not embedded; instead of a key, the name of its variable."""
    status: FetchStatus
    """``incomplete`` if a query has no answer; such a run must not be scored."""
    failed_queries: list[FailedQueryRecord]
    """Queries without an answer, which have no row."""
    cut_short: list[str]
    """Queries with fewer documents than ``depth`` although the backend found more results: it
    returned fewer than requested, or ``max_chunks`` was reached. Their lists are incomplete."""
    dataset: str | None
    """The dataset as the user named it."""
    corpus: SourceRecord | None
    """The documents; null if the backend has documents and the user gave none."""
    topics: SourceRecord
    """The queries."""
    depth: int
    """Maximum number of results for each query."""
    exclude_self: bool
    """Whether the document with the query's id was dropped, before the cutoff."""
    collapse: Collapse | None
    """How chunks became documents; null if the backend returns documents."""
    settings: RetrievalSettings | None
    """Settings of indexing, search and fusion; null for a backend with different settings."""
    models: dict[str, SourceFile]
    """Local models by role: embedding, splade, reranker."""
    index_snapshots: dict[str, str]
    """The key of each searched index: a hash of corpus, settings and versions."""
    packages: dict[str, str]
    """Versions of the packages that affect the ranking."""
    python: str
    """Version of the interpreter."""
    platform: str
    """Operating system and architecture."""
    blas_threads: int | None
    """Threads of matrix products during the queries; null if they could not be limited."""
    run: RunRecord
    """The run file."""
    latency_ms: Latency | None
    """Latency per query; null if no query was answered. The embedded modes measure a sample of
    queries, one at a time; other backends divide the time of a batch evenly. The latency of a
    hybrid includes its components."""


@dataclass(frozen=True, slots=True, eq=False)
class FetchedFile:
    """The run of one mode on disk.

    Attributes:
        path: The run file; there is none if nothing was found.
        manifest: The content of the manifest, ``<run file>.manifest.json``.
        outcome: The outcome of the queries.
    """

    path: Path
    manifest: FetchManifest
    outcome: FetchedRun


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

    A mode that found nothing has only a manifest, because readers refuse a run without rows.

    Args:
        request: The request.
        output_dir: Folder for the files; created if missing. Existing files are replaced.
        resume: Whether to resume the journals of an earlier fetch and send its failed queries
            again; the run files are the same as without the interruption.
        progress: Receives the progress of building indexes and of the queries.
        dataset: The dataset's name, for the manifest.
        command: The command line, for the manifest.

    Raises:
        UsageError: If a mode, setting or journal is not valid for the request.
        InputError: If something cannot be read, built or written, or a mode answered no query.
        CheckFailedError: If a mode found nothing and therefore has no run file (the others are
            written), or if a run is incomplete (it is written, and its manifest lists the queries
            without an answer).
    """
    corpus, topics = request.corpus, request.topics
    folder = Path(output_dir)
    _refuse_other_files(folder, request.modes)
    check_request(request)
    make_folder(folder)
    with open_stores(request, folder, resume=resume) as stores:
        runs = fetch_modes(request, stores, progress)
    common = {
        "dataset": dataset,
        "command": command,
        "corpus": None
        if corpus is None
        else SourceRecord(path=corpus.path, count=len(corpus), sha256=corpus.sha256()),
        "topics": SourceRecord(path=topics.path, count=len(topics), sha256=hash_topics(topics)),
    }
    files = {}
    for mode, run in runs.items():
        # A run file has no ties, and at least one row.
        frames = [separate_ties(run.run.frame)] if run.results else []
        path = folder / f"{mode}.run"
        write_run_frames(frames, path, mode)
        if run.results or run.status == "empty":
            files[mode] = _describe_file(path, mode, run, request, common)
    refuse_unscorable(runs, folder)
    return files


def _refuse_other_files(folder: Path, modes: Iterable[str]) -> None:
    """Refuse to replace a run that has neither the manifest nor the journal of a fetch."""
    files = {mode: (f"{mode}.run", f"{mode}.run.manifest.json") for mode in modes}
    own = {
        name
        for mode, (run, manifest) in files.items()
        if read_manifest(folder / manifest).get("mode") == mode
        or (folder / f"{run}.journal").is_file()
        for name in (run, manifest)
    }
    refuse_foreign(folder, [*chain.from_iterable(files.values())], own)


def _describe_file(
    path: Path, mode: str, outcome: FetchedRun, request: FetchRequest, common: dict[str, Any]
) -> FetchedFile:
    """Write the manifest of a run file, which exists if something was found."""
    backend = request.backend
    manifest = FetchManifest(
        **common,
        created_at=format_time(utc_now()),
        mode=mode,
        backend=backend.name,
        backend_settings=backend.record,
        status=outcome.status,
        failed_queries=[
            FailedQueryRecord(query_id=query_id, reason=failure.reason)
            for query_id, failure in outcome.failures.items()
        ],
        cut_short=outcome.cut_short,
        depth=request.options.depth,
        exclude_self=request.options.exclude_self,
        collapse=request.options.collapse,
        settings=request.settings if backend.needs_corpus else None,
        models=backend.models(mode, request.modes, request.settings),
        index_snapshots=outcome.index_keys,
        packages=package_versions(),
        **describe_machine(),
        blas_threads=limited_blas_threads(),
        run=RunRecord(
            path=path.name if outcome.results else None,
            sha256=sha256_file(path) if outcome.results else None,
            queries=outcome.run.frame["query_id"].n_unique(),
            results=outcome.results,
            missing_queries=outcome.missing_queries,
        ),
        latency_ms=summarise_latency(outcome.latency_ms),
    )
    with atomic_write(path.with_name(f"{path.name}.manifest.json"), "w") as stream:
        stream.write(manifest.model_dump_json(indent=2) + "\n")
    return FetchedFile(path, manifest, outcome)
