"""Fetched runs as files: written, described by a manifest, and validated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trectools_plus.errors import CheckFailedError, InputError
from trectools_plus.formats.atomic import atomic_write
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.run import write_run
from trectools_plus.formats.tables import Corpus, Run, Topics
from trectools_plus.provenance import (
    describe_machine,
    format_time,
    package_versions,
    utc_now,
)
from trectools_plus.ranking import separate_ties
from trectools_plus.retrieval.base import Progress, no_progress
from trectools_plus.retrieval.document_set import hash_corpus, hash_topics
from trectools_plus.retrieval.fetch import FetchedRun, fetch
from trectools_plus.retrieval.manifest import (
    FetchManifest,
    FindingRecord,
    RunRecord,
    SourceRecord,
    summarise_latency,
)
from trectools_plus.retrieval.modes import models_used
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.validation import Finding, Severity, validate_run
from trectools_plus.validation.wording import plural

# A topic without results is listed in the manifest instead.
_LISTED_ELSEWHERE = {"P108"}


@dataclass(frozen=True, slots=True, eq=False)
class FetchedFile:
    """One mode's run on disk.

    Attributes:
        path: The run file.
        manifest_path: ``<run file>.manifest.json``.
        manifest: Its content.
        fetched: The run in memory, with the latency of each query.
        findings: What validating the file said, errors excluded but for topics without results.
    """

    path: Path
    manifest_path: Path
    manifest: FetchManifest
    fetched: FetchedRun
    findings: list[Finding]


@dataclass(frozen=True, slots=True)
class _Request:
    """What all manifests of one fetch share."""

    corpus: SourceRecord
    topics: SourceRecord
    depth: int
    exclude_self: bool
    settings: RetrievalSettings
    dataset: str | None
    command: str | None


def fetch_to_dir(
    corpus: Corpus,
    topics: Topics,
    modes: Sequence[str],
    output_dir: str | Path,
    *,
    depth: int = 100,
    settings: RetrievalSettings | None = None,
    exclude_self: bool = False,
    progress: Progress = no_progress,
    dataset: str | None = None,
    command: str | None = None,
) -> dict[str, FetchedFile]:
    """Search the corpus for every topic, and write ``<mode>.run`` with a manifest for each mode.

    Args:
        corpus: The documents.
        topics: The queries.
        modes: Names of ``retrieval.modes.ALL_MODES``.
        output_dir: Folder for the files; made if missing. Files of the same names are replaced.
        depth: Results for each query, at most.
        settings: The defaults if ``None``.
        exclude_self: Drop a document whose id is the query's, before the cutoff.
        progress: Told of index building and of the queries asked.
        dataset: The dataset's name, for the manifest.
        command: The command line, for the manifest.

    Raises:
        UsageError, InputError: As :func:`fetch`; or if the folder cannot be written.
        CheckFailedError: If a mode found nothing for any query, and so has no run file; the
            others are written. Or if a written run does not validate.
    """
    settings = settings or RetrievalSettings()
    folder = Path(output_dir)
    _make_folder(folder)
    fetched = fetch(
        corpus,
        topics,
        modes,
        depth=depth,
        settings=settings,
        exclude_self=exclude_self,
        progress=progress,
    )
    request = _Request(
        SourceRecord(path=corpus.path, count=len(corpus), sha256=hash_corpus(corpus)),
        SourceRecord(path=topics.path, count=topics.frame.height, sha256=hash_topics(topics)),
        depth,
        exclude_self,
        settings,
        dataset,
        command,
    )
    files = {
        mode: _write(folder, mode, run, topics, request)
        for mode, run in fetched.items()
        if run.run.frame.height
    }
    _refuse_nothing(fetched, folder)
    _refuse_errors(files)
    return files


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the output folder: {error.strerror or error}", where=str(folder)
        ) from error


def _write(
    folder: Path, mode: str, fetched: FetchedRun, topics: Topics, request: _Request
) -> FetchedFile:
    path = folder / f"{mode}.run"
    write_run(Run(separate_ties(fetched.run.frame)), path, tag=mode)
    findings = list(validate_run(path, topics=topics, max_depth=request.depth).findings)
    manifest = _describe(path, mode, fetched, findings, request)
    manifest_path = path.with_name(f"{path.name}.manifest.json")
    with atomic_write(manifest_path, "w") as stream:
        stream.write(manifest.model_dump_json(indent=2) + "\n")
    return FetchedFile(path, manifest_path, manifest, fetched, findings)


def _describe(
    path: Path, mode: str, fetched: FetchedRun, findings: list[Finding], request: _Request
) -> FetchManifest:
    return FetchManifest(
        created_at=format_time(utc_now()),
        command=request.command,
        mode=mode,
        backend="embedded",
        dataset=request.dataset,
        corpus=request.corpus,
        topics=request.topics,
        depth=request.depth,
        exclude_self=request.exclude_self,
        settings=request.settings,
        models=models_used([mode], request.settings),
        seed=None,
        index_snapshots=fetched.index_keys,
        packages=package_versions(),
        **describe_machine(),
        run=RunRecord(
            path=path.name,
            sha256=sha256_file(path),
            queries=len(fetched.run.query_ids),
            results=fetched.run.frame.height,
            missing_queries=fetched.missing_queries,
        ),
        latency_ms=summarise_latency(fetched.latency_ms),
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


def _refuse_nothing(fetched: dict[str, FetchedRun], folder: Path) -> None:
    """A run without rows is no run file; the other modes' files are written all the same."""
    empty = [mode for mode, run in fetched.items() if run.run.frame.is_empty()]
    if not empty:
        return
    written = [f"{mode}.run" for mode in fetched if mode not in empty]
    earlier = [f"{mode}.run" for mode in empty if (folder / f"{mode}.run").exists()]
    asked = plural(len(fetched[empty[0]].missing_queries), "query", "queries")
    what = f"{' and '.join(empty)} found nothing ({asked} asked), so there is no run file"
    if earlier:
        what += f" (but {' and '.join(earlier)} of an earlier fetch)"
    raise CheckFailedError(
        f"{what}; written: {', '.join(written) or 'nothing'}",
        where=str(folder),
        remedy="see whether the topics belong to this corpus, and whether they are in its language",
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
