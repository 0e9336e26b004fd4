"""``POST /v1/validate`` and ``POST /v1/score``: validate and score uploaded files."""

from __future__ import annotations

import json
from typing import Any

from trectools_plus.formats.run_names import name_runs_of_files
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import Averaging, score_runs
from trectools_plus.measures.scoring.scored_files import open_files
from trectools_plus.reporting.results.evaluation import evaluation_document
from trectools_plus.service.api.evaluation import check_query_count
from trectools_plus.service.api.models import FileKind, ScoreParameters, ValidateParameters
from trectools_plus.service.api.settings import Limits
from trectools_plus.service.api.uploads import (
    Folder,
    Upload,
    check_size,
    file_name,
    private_folder,
    uploads_named,
)
from trectools_plus.testsets.validation import TestSetChecker
from trectools_plus.validation.engine import validate_qrels, validate_run
from trectools_plus.validation.findings import FileReport, Severity
from trectools_plus.validation.rendering.json import iter_json
from trectools_plus.validation.settings import Profile, find_profile
from trectools_plus.validation.topics.engine import validate_topics


def validate_uploads(
    parts: list[Upload], parameters: ValidateParameters, limits: Limits
) -> dict[str, Any]:
    """Validate an uploaded file; findings are part of the answer.

    Args:
        parts: ``file``, and for a run optionally ``qrels`` to check it against.
        parameters: FileKind, strictness and profile.
        limits: The maximum number of queries, and the maximum size of a document.

    Raises:
        ProblemError: If a part is missing or cannot be read.
    """
    chosen = find_profile(parameters.profile)
    with private_folder() as folder:
        report = chosen.apply(_validate(folder, parts, parameters.kind, chosen, limits))
        check_query_count(report.queries, limits.queries)
        document: dict[str, Any] = json.loads("".join(iter_json([report])))
        failing = {Severity.ERROR, Severity.WARNING} if parameters.strict else {Severity.ERROR}
        passed = not any(finding.severity in failing for finding in report.findings)
        answer: dict[str, Any] = folder.hide_paths({"passed": passed, **document})
        return answer


def _validate(
    folder: Folder, parts: list[Upload], kind: FileKind, profile: Profile, limits: Limits
) -> FileReport:
    part = uploads_named(parts, "file")[0]
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


def score_uploads(
    parts: list[Upload],
    measures: list[Measure],
    parameters: ScoreParameters,
    limits: Limits,
) -> dict[str, Any]:
    """Score uploaded runs against uploaded qrels.

    Args:
        parts: ``qrels``, and one ``run`` or more.
        measures: The measures.
        parameters: The treatment of queries in means, and whether to include per-query values.
        limits: The maximum number of queries.

    Raises:
        ProblemError: If a part is missing or cannot be scored.
    """
    runs = uploads_named(parts, "run")
    with private_folder() as folder:
        qrels_path = folder.put(uploads_named(parts, "qrels")[0])
        names = ["run"] if len(runs) == 1 else [f"run-{n}" for n in range(1, len(runs) + 1)]
        paths = [folder.put(part, name) for part, name in zip(runs, names, strict=True)]
        opened = open_files(
            qrels_path,
            paths,
            measures,
            strict_input=parameters.strict_input,
        )
        by_name = name_runs_of_files(opened.runs, paths, files=[part.file for part in runs])
        check_query_count(len(opened.qrels.query_ids), limits.queries)
        evaluation = score_runs(
            opened.qrels,
            by_name,
            measures,
            Averaging(parameters.missing, parameters.no_relevant),
            notes=opened.notes,
        )
        for counts in evaluation.counts.values():
            check_query_count(counts.n_run, limits.queries)
        document = evaluation_document(
            qrels_path, by_name, evaluation, per_query=parameters.per_query
        )
        answer: dict[str, Any] = folder.hide_paths(document)
        return answer
