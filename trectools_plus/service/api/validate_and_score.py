"""``POST /v1/validate`` and ``POST /v1/score``: validate and score uploaded files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from trectools_plus.benchmark.report import FindingRecord
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import Missing, score_runs
from trectools_plus.measures.scoring.files import name_runs, open_files
from trectools_plus.progress import Progress
from trectools_plus.reporting.results.evaluation import evaluation_document
from trectools_plus.service.api.evaluation import check_query_count
from trectools_plus.service.api.settings import Limits
from trectools_plus.service.api.uploads import (
    Folder,
    Part,
    check_size,
    file_name,
    parts_named,
    private_folder,
)
from trectools_plus.testsets.validation import TestSetChecker
from trectools_plus.validation.engine import validate_qrels, validate_run
from trectools_plus.validation.findings import FileReport, Severity
from trectools_plus.validation.profiles import Profile, find_profile
from trectools_plus.validation.rendering.json import iter_json
from trectools_plus.validation.topics.engine import validate_topics

Kind = Literal["run", "qrels", "topics", "testset"]


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
    """The document of ``… validate --format json``, and the result of the check."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    passed: bool
    """True if there is no error and, with ``strict``, no warning."""
    files: list[FileModel]
    """The uploaded file."""
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
    """The document of ``eval --format json``."""

    qrels: dict[str, Any]
    missing: Literal["zero", "drop"]
    notes: list[str]
    runs: list[ScoredRun]
    definitions: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """Options of a validation.

    Attributes:
        kind: The kind of the file.
        strict: Warnings also fail the check.
        profile: The name of the profile with severities and limits.
    """

    kind: Kind
    strict: bool = False
    profile: str = "default"


def validate_parts(
    parts: list[Part], options: ValidationOptions, limits: Limits, progress: Progress
) -> dict[str, Any]:
    """Validate an uploaded file; findings are part of the answer.

    Args:
        parts: ``file``, and for a run optionally ``qrels`` to compare it with.
        options: Kind, strictness and profile.
        limits: The maximum number of queries, and the maximum size of a document.
        progress: Notified of the progress; can raise an exception.

    Raises:
        ProblemError: If a part is missing or cannot be read.
    """
    chosen = find_profile(options.profile)
    progress("validating", 0, 1)
    with private_folder() as folder:
        report = chosen.judge(_validate(folder, parts, options.kind, chosen, limits))
        check_query_count(report.queries, limits.queries)
        document: dict[str, Any] = json.loads("".join(iter_json([report])))
        failing = {Severity.ERROR, Severity.WARNING} if options.strict else {Severity.ERROR}
        passed = not any(finding.severity in failing for finding in report.findings)
        answer: dict[str, Any] = folder.hide_paths({"passed": passed, **document})
        return answer


def _validate(
    folder: Folder, parts: list[Part], kind: Kind, profile: Profile, limits: Limits
) -> FileReport:
    part = parts_named(parts, "file")[0]
    if kind in ("topics", "testset"):
        is_named = kind == "testset" or part.form in ("json", "yaml")
        name = file_name(part) if is_named else part.name
        check_size(part, name, limits)
        path = folder.put(part, name)
        return TestSetChecker().check(path) if kind == "testset" else validate_topics(path)
    path = folder.put(part)
    if kind == "qrels":
        return validate_qrels(path)
    qrels = [folder.put(one) for one in parts if one.name == "qrels"]
    return validate_run(
        path,
        qrels=qrels[0] if qrels else None,
        max_depth=profile.max_depth,
        max_tag_length=profile.max_tag_length,
    )


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """Options of a scoring.

    Attributes:
        measures: The measures.
        missing: ``zero`` counts a query without results as 0, ``drop`` excludes it.
        per_query: Include the value of every query.
    """

    measures: list[Measure]
    missing: Missing = "zero"
    per_query: bool = False


def score_parts(
    parts: list[Part], options: ScoreOptions, limits: Limits, progress: Progress
) -> dict[str, Any]:
    """Score uploaded runs against uploaded qrels.

    Args:
        parts: ``qrels``, and one ``run`` or more.
        options: Measures and treatment of queries.
        limits: The maximum number of queries.
        progress: Notified of the progress; can raise an exception.

    Raises:
        ProblemError: If a part is missing or cannot be scored.
    """
    runs = parts_named(parts, "run")
    with private_folder() as folder:
        qrels_path = folder.put(parts_named(parts, "qrels")[0])
        names = ["run"] if len(runs) == 1 else [f"run-{n}" for n in range(1, len(runs) + 1)]
        paths = [folder.put(part, name) for part, name in zip(runs, names, strict=True)]
        qrels, loaded = open_files(
            qrels_path,
            paths,
            options.measures,
            progress=lambda _, done, total: progress("reading", done, total),
        )
        by_name = name_runs(loaded)
        check_query_count(len(qrels.query_ids), limits.queries)
        evaluation = score_runs(qrels, by_name, options.measures, options.missing, progress)
        for counts in evaluation.counts.values():
            check_query_count(counts.n_run, limits.queries)
        document = evaluation_document(qrels_path, by_name, evaluation, per_query=options.per_query)
        answer: dict[str, Any] = folder.hide_paths(document)
        return answer
