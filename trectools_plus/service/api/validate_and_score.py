"""``POST /v1/validate`` and ``POST /v1/score``: what the commands of the same names do."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from trectools_plus.benchmark.report import FindingRecord
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import Missing
from trectools_plus.progress import Progress
from trectools_plus.service.api.evaluation import refuse_many
from trectools_plus.service.api.settings import Limits
from trectools_plus.service.api.uploads import (
    Folder,
    Part,
    file_name,
    named,
    refuse_large,
    stored,
)
from trectools_plus.validation.findings import FileReport, Severity
from trectools_plus.validation.profiles import find_profile

Kind = Literal["run", "qrels", "topics", "testset"]


class FindingModel(FindingRecord):
    """One problem of a file."""

    lines: list[int]
    """The first few lines where it is."""


class FileModel(BaseModel):
    """What was found in one file."""

    path: str
    kind: str
    rows: int
    queries: int
    findings: list[FindingModel]


class ValidationAnswer(BaseModel):
    """What ``… validate --format json`` prints, and whether the check is passed."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    passed: bool
    """Whether there is no error (with ``strict``: and no warning)."""
    files: list[FileModel]
    """The file that was asked about."""
    summary: dict[str, int]
    """Number of errors, warnings and infos."""


class ScoredRun(BaseModel):
    """The figures of one run."""

    name: str
    path: str | None
    sha256: str | None
    counts: dict[str, int]
    measures: dict[str, dict[str, Any]]


class ScoreAnswer(BaseModel):
    """What ``eval --format json`` prints."""

    qrels: dict[str, Any]
    missing: Literal["zero", "drop"]
    notes: list[str]
    runs: list[ScoredRun]
    definitions: dict[str, dict[str, Any]]


def validate_parts(
    parts: list[Part],
    kind: Kind,
    *,
    strict: bool,
    profile: str,
    limits: Limits,
    progress: Progress,
) -> dict[str, Any]:
    """Check an upload; what is wrong with it is the answer and no error.

    Args:
        parts: ``file``, and for a run perhaps the ``qrels`` to compare it with.
        kind: What the file is.
        strict: Whether warnings fail the check too.
        profile: Severities and limits.
        limits: How many queries there may be, and how much a document may hold.
        progress: Told of the work; may raise.

    Raises:
        ProblemError: If a part is missing, or cannot be read at all.
    """
    from trectools_plus.validation.rendering.json import iter_json

    chosen = find_profile(profile)
    progress("validating", 0, 1)
    with stored() as folder:
        report = chosen.judge(_check(folder, parts, kind, profile, limits))
        refuse_many(report.queries, limits.queries)
        document: dict[str, Any] = json.loads("".join(iter_json([report])))
        failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
        passed = not any(finding.severity in failing for finding in report.findings)
        answer: dict[str, Any] = folder.hidden({"passed": passed, **document})
        return answer


def _check(
    folder: Folder, parts: list[Part], kind: Kind, profile: str, limits: Limits
) -> FileReport:
    from trectools_plus.testsets.validation import TestSetChecker
    from trectools_plus.validation.engine import validate_qrels, validate_run
    from trectools_plus.validation.topics.engine import validate_topics

    part = named(parts, "file")[0]
    if kind in ("topics", "testset"):
        is_named = kind == "testset" or part.form in ("json", "yaml")
        name = file_name(part) if is_named else part.name
        refuse_large(part, name, limits)
        path = folder.put(part, name)
        return TestSetChecker().check(path) if kind == "testset" else validate_topics(path)
    path = folder.put(part)
    if kind == "qrels":
        return validate_qrels(path)
    others = [folder.put(one) for one in parts if one.name == "qrels"]
    bounds = find_profile(profile)
    return validate_run(
        path,
        qrels=others[0] if others else None,
        max_depth=bounds.max_depth,
        max_tag_length=bounds.max_tag_length,
    )


def score_parts(
    parts: list[Part],
    measures: list[Measure],
    *,
    missing: Missing,
    per_query: bool,
    limits: Limits,
    progress: Progress,
) -> dict[str, Any]:
    """Score uploaded runs against uploaded qrels.

    Args:
        parts: ``qrels``, and one ``run`` or more.
        measures: What to compute.
        missing: Whether a query without results counts 0 or is left out.
        per_query: Whether to answer with the value of every query.
        limits: How many queries there may be.
        progress: Told of the work; may raise.

    Raises:
        ProblemError: If a part is missing or cannot be scored.
    """
    from trectools_plus.measures.evaluation import score_runs
    from trectools_plus.measures.scoring.files import name_runs, open_files
    from trectools_plus.reporting.results.evaluation import evaluation_document

    runs = named(parts, "run")
    with stored() as folder:
        qrels_path = folder.put(named(parts, "qrels")[0])
        names = ["run"] if len(runs) == 1 else [f"run-{n}" for n in range(1, len(runs) + 1)]
        paths = [folder.put(part, name) for part, name in zip(runs, names, strict=True)]
        qrels, loaded = open_files(
            qrels_path,
            paths,
            measures,
            progress=lambda _, done, total: progress("reading", done, total),
        )
        by_name = name_runs(loaded)
        refuse_many(len(qrels.query_ids), limits.queries)
        evaluation = score_runs(qrels, by_name, measures, missing, progress)
        for counts in evaluation.counts.values():
            refuse_many(counts.n_run, limits.queries)
        document = evaluation_document(qrels_path, by_name, evaluation, per_query=per_query)
        answer: dict[str, Any] = folder.hidden(document)
        return answer
