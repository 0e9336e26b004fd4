"""``POST /v1/validate`` and ``POST /v1/score``: validate and score uploaded files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from trectools_plus.errors import UsageError
from trectools_plus.formats.run_names import name_runs
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import DEFAULT_MEASURES, Averaging, score_runs
from trectools_plus.measures.parser import parse_measures, split_names
from trectools_plus.measures.scoring.scored_files import open_files
from trectools_plus.reporting.results.evaluation import evaluation_document
from trectools_plus.service.api.parameters import ScoreParameters, ValidateParameters
from trectools_plus.service.api.settings import Limits
from trectools_plus.service.api.uploads import Upload, check_size
from trectools_plus.service.problems import ProblemError
from trectools_plus.testsets.validation import validate_test_sets
from trectools_plus.validation.engine import Choices, Profile, validate_qrels, validate_run
from trectools_plus.validation.findings import FileReport, as_document
from trectools_plus.validation.topics import validate_topics

_NEEDS_FILES = re.compile(r":|ontology|annotations", re.IGNORECASE)


def choose_measures(
    text: str | None, default: tuple[str, ...], *, always: bool = False
) -> list[Measure]:
    """Parse the names of measures.

    Args:
        text: Names, separated by commas; ``None`` selects the default.
        default: The names of the default measures.
        always: True to add the default measures to those of the text.

    Raises:
        ProblemError: 422 if a measure loads a module or reads a file.
        UsageError: If a measure is unknown.
    """
    if text is not None and _NEEDS_FILES.search(text):
        raise ProblemError(
            422,
            "unknown-measure",
            "the service does not compute measures from modules, ontologies or annotations",
            "use measures by name, for example nDCG@10,RR",
        )
    names = split_names(text) if text is not None else []
    try:
        return parse_measures([*names, *(default if always or not names else ())])
    except (RecursionError, MemoryError, SyntaxError, ValueError) as error:
        raise UsageError("the name of a measure is malformed") from error


def check_query_count(queries: int, limit: int) -> None:
    """Check the number of queries.

    Raises:
        ProblemError: 413 if it exceeds the limit.
    """
    if queries > limit:
        raise ProblemError(
            413,
            "too-many-queries",
            f"{queries:,} queries exceed the limit of {limit:,}",
            "send fewer queries, or restart the service with a larger --max-queries",
        )


def validate_uploads(
    uploads: Sequence[Upload], parameters: ValidateParameters, limits: Limits
) -> dict[str, Any]:
    """Validate an uploaded file; findings are part of the answer.

    Args:
        uploads: ``file``, and for a run optionally ``qrels`` to check it against.
        parameters: Kind, strictness and profile.
        limits: The maximum number of queries, and the maximum size of a document.

    Raises:
        ProblemError: If a limit is exceeded.
    """
    choices = Choices.of(parameters.profile, strict=parameters.strict)
    parts = {part.name: part for part in uploads}
    report = choices.apply(_validate(parts, parameters, choices.profile, limits))
    check_query_count(report.queries, limits.queries)
    return {"passed": not choices.fails(report), **as_document([report])}


def _validate(
    parts: dict[str, Upload], parameters: ValidateParameters, profile: Profile, limits: Limits
) -> FileReport:
    part, kind = parts["file"], parameters.kind
    path = part.path
    if kind in ("topics", "testset"):
        if kind == "testset" or part.suffix:
            path = part.as_document()
        check_size(path, limits)
        return next(validate_test_sets(path)) if kind == "testset" else validate_topics(path)
    if kind == "qrels":
        return validate_qrels(path)
    return validate_run(
        path,
        qrels=parts["qrels"].path if "qrels" in parts else None,
        max_depth=profile.max_depth,
        max_tag_length=profile.max_tag_length,
    )


def score_uploads(
    uploads: Sequence[Upload], parameters: ScoreParameters, limits: Limits
) -> dict[str, Any]:
    """Score uploaded runs against uploaded qrels.

    Args:
        uploads: ``qrels``, and one ``run`` or more.
        parameters: The measures, the treatment of queries in means, and whether to include
            per-query values.
        limits: The maximum number of queries.

    Raises:
        ProblemError: If a limit is exceeded.
        TrectoolsPlusError: If an upload cannot be scored.
    """
    measures = choose_measures(parameters.measures, DEFAULT_MEASURES)
    runs = [part for part in uploads if part.name == "run"]
    paths = [str(part.path) for part in runs]
    qrels_path = next(str(part.path) for part in uploads if part.name == "qrels")
    opened = open_files(qrels_path, paths, measures, strict_input=parameters.strict_input)
    by_name = name_runs(opened.runs, files=[part.file for part in runs])
    check_query_count(len(opened.qrels.query_ids), limits.queries)
    averaging = Averaging(parameters.missing, parameters.no_relevant)
    evaluation = score_runs(opened.qrels, by_name, measures, averaging, notes=opened.notes)
    return evaluation_document(qrels_path, by_name, evaluation, per_query=parameters.per_query)
