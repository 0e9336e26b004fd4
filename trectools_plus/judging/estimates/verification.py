"""Verify a plan of judgments, and the report that was made from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from trectools_plus.display import Displayed
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.judging.estimates.estimate import estimate
from trectools_plus.judging.estimates.report import REPORT_FILE
from trectools_plus.judging.plan import PlanFolder


@dataclass(frozen=True, slots=True, repr=False)
class PlanCheck(Displayed):
    """The result of a verification of a plan.

    Attributes:
        problems: Why a combined interval is refused, or what of the report does not hold.
        warnings: What readers must know before they believe the figures.
        figures: The number of intervals that were compared.
    """

    problems: list[str]
    warnings: list[str]
    figures: int = 0


def verify_plan(folder: PlanFolder) -> PlanCheck:
    """Check the files of a plan, its judgments, and its report if there is one.

    Args:
        folder: The plan.

    Returns:
        Problems and warnings; without problems, the combined intervals can be believed.

    Raises:
        CheckFailedError: If no model, or too few people have judged.
        InputError: If the report cannot be read.
    """
    problems = []
    for part in ("pool", "topics", "documents", "runs"):
        try:
            getattr(folder, part)
        except TrectoolsPlusError as error:
            problems.append(str(error))
    if problems:
        return PlanCheck(problems, [])
    file = folder.path / REPORT_FILE
    stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    options = {key: stored[key] for key in ("measures", "runs", "confidence", "seed") if stored}
    model = stored["model"]["model"] if stored else None
    made = estimate(folder, model=model, **options)
    if made.refusal is not None:
        problems.append(f"no combined interval: {made.refusal}")
    problems += [
        f"query {one.query_id} does not count: {one.reason}" for one in made.counts.left_out
    ]
    if stored:
        problems += _compare(stored, made.model_dump(mode="json"))
    figures = sum(3 * len(one.estimates) for one in made.estimates) if stored else 0
    return PlanCheck(problems, made.warnings, figures)


def _compare(stored: dict[str, Any], made: dict[str, Any]) -> list[str]:
    """Return how a stored report differs from the one that its plan gives now."""
    if stored.get("labels_sha256") != made["labels_sha256"]:
        return [f"{REPORT_FILE}: the judgments have changed since it was made"]
    return [
        f"{REPORT_FILE}: {key} differs from what the judgments give"
        for key, value in made.items()
        if key != "version" and stored.get(key) != value
    ]
