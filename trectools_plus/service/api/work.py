"""Do the work of a request, in a worker process."""

from __future__ import annotations

from typing import Any

from trectools_plus.measures.evaluation import DEFAULT_MEASURES as SCORE_MEASURES
from trectools_plus.progress import Progress
from trectools_plus.service.api.evaluation import (
    DEFAULT_MEASURES,
    choose_measures,
    choose_mode,
    evaluate_test_set,
)
from trectools_plus.service.api.models import (
    EvaluateParameters,
    ScoreParameters,
    ValidateParameters,
)
from trectools_plus.service.api.search import Search
from trectools_plus.service.api.settings import ServiceSettings
from trectools_plus.service.api.snapshots import Snapshot
from trectools_plus.service.api.validate_and_score import score_parts, validate_parts
from trectools_plus.service.jobs.task import Task


def perform(
    task: Task, search: Search, settings: ServiceSettings, progress: Progress
) -> tuple[dict[str, Any], Snapshot | None]:
    """Do a task.

    Args:
        task: The task.
        search: The documents; open if the task needs them.
        settings: The settings of the service.
        progress: Called with the progress; can raise an exception to stop.

    Returns:
        The body of the response, and the figures of an evaluation.

    Raises:
        ProblemError: If the uploads are invalid.
    """
    parts, limits = list(task.parts), settings.limits
    if task.kind == "validate":
        chosen = ValidateParameters(**task.parameters)
        return validate_parts(parts, chosen, limits, progress), None
    if task.kind == "score":
        given = ScoreParameters(**task.parameters)
        measures = choose_measures(given.measures, SCORE_MEASURES)
        return score_parts(parts, measures, given, limits, progress), None
    asked = EvaluateParameters(**task.parameters)
    mode = choose_mode(asked.components, settings)
    measures = choose_measures(asked.measures, DEFAULT_MEASURES)
    part = parts[0] if parts else None
    found = evaluate_test_set(part, mode, measures, search, settings, progress)
    return found.answer, found.snapshot
