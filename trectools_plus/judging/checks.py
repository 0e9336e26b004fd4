"""What makes an estimate wrong: an order that was not followed, incomplete labels, changed files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.judging.labels import LABELS_FILE, Label, read_labels
from trectools_plus.judging.plan import JudgmentPlan, PlanFolder
from trectools_plus.judging.values import PeopleGrades
from trectools_plus.text import plural

MOST_MISSING = 0.1
"""A model without a grade for more than this share of the pool is named in a warning."""


def check_order(plan: JudgmentPlan, people: PeopleGrades) -> str | None:
    """Return why the complete queries are not those that come first, or ``None``."""
    done = set(people.complete) | set(people.left_out)
    for place, query_id in enumerate(plan.queries):
        if query_id not in done:
            later = [one for one in plan.queries[place:] if one in people.complete]
            if later:
                return (
                    f"people did not follow the order of the plan: query {later[0]} is complete, "
                    f"but {query_id}, which comes before it, is not"
                )
            return None
    return None


def check_asked(folder: PlanFolder, labels: Sequence[Label]) -> str | None:
    """Return how many pairs the model was not asked about, or ``None``."""
    asked = {(label.query_id, label.doc_id) for label in labels}
    left = sum(
        (one.query_id, one.doc_id) not in asked for rows in folder.pool.values() for one in rows
    )
    if not left:
        return None
    return (
        f"the model has not judged {left:,} of {plural(folder.plan.pooled, 'pair')}: continue with "
        "judge label --resume"
    )


def describe_doubts(folder: PlanFolder, people: PeopleGrades, labels: Sequence[Label]) -> list[str]:
    """Return what readers must know before they believe the figures, one sentence each.

    Args:
        folder: The plan.
        people: What people judged.
        labels: The labels of the model that the estimate uses.
    """
    plan, doubts = folder.plan, []
    if len(people.complete) != plan.people:
        doubts.append(
            f"People judged {plural(len(people.complete), 'query', 'queries')}, and {plan.people} "
            "were planned: intervals do not hold if they stopped or went on because of the result."
        )
    missing = sum(label.grade is None for label in labels)
    if missing > MOST_MISSING * plan.pooled:
        doubts.append(
            f"The model gave no grade for {missing:,} of {plural(plan.pooled, 'pair')}; these are "
            "unjudged in its evaluation."
        )
    if _prompt_changed(folder, people, labels):
        doubts.append(
            "The prompt was changed after people had judged: a prompt that was chosen by their "
            "judgments makes the model look better than it is."
        )
    origin = labels[0].origin
    named = [] if origin is None else _runs_that_name(folder, origin.model)
    if origin is not None and named:
        doubts.append(
            f"The manifest of {', '.join(named)} names {origin.model}: the model judges results "
            "that it helped to make."
        )
    return doubts


def verify_plan(folder: PlanFolder, report: str | None) -> tuple[list[str], list[str]]:
    """Check a plan, its judgments, and the report that was made from them.

    Args:
        folder: The plan.
        report: The content of ``JudgmentReport.json``, if there is one.

    Returns:
        Problems, for which there is no combined interval, and warnings.

    Raises:
        CheckFailedError: If no model or too few people have judged.
    """
    from trectools_plus.judging.estimate import estimate

    problems = []
    for part in ("pool", "topics", "documents", "runs"):
        try:
            getattr(folder, part)
        except TrectoolsPlusError as error:
            problems.append(str(error))
    if problems:
        return problems, []
    stored = {} if report is None else json.loads(report)
    made = estimate(
        folder,
        measures=stored.get("measures"),
        runs=stored.get("runs"),
        model=stored.get("model", {}).get("model"),
        confidence=stored.get("confidence", 0.95),
        seed=stored.get("seed", 42),
    )
    if made.refusal is not None:
        problems.append(f"no combined interval: {made.refusal}")
    problems += [
        f"query {one.query_id} does not count: {one.reason}" for one in made.counts.left_out
    ]
    if stored:
        problems += _compare(stored, made.model_dump(mode="json"))
    return problems, made.warnings


def _compare(stored: dict[str, object], made: dict[str, object]) -> list[str]:
    """Return how a stored report differs from the one that its plan gives now."""
    if stored.get("labels_sha256") != made["labels_sha256"]:
        return ["JudgmentReport.json: the judgments have changed since it was made"]
    if stored.get("version") != made["version"]:
        made = {**made, "version": stored.get("version")}
    return [
        f"JudgmentReport.json: {key} differs from what the judgments give"
        for key in made
        if stored.get(key) != made[key]
    ]


def _prompt_changed(folder: PlanFolder, people: PeopleGrades, labels: Sequence[Label]) -> bool:
    if not people.labels or labels[0].origin is None:
        return False
    first_of_people = min(label.time for label in people.labels)
    started = min(label.time for label in labels)
    prompts = {
        label.origin.prompt_sha256
        for label in read_labels(folder.path / LABELS_FILE)
        if label.annotator == labels[0].annotator and label.origin is not None
    }
    return len(prompts) > 1 and started > first_of_people


def _runs_that_name(folder: PlanFolder, model: str) -> list[str]:
    """Return the runs in whose manifest the name of the model occurs."""
    name = Path(model).name.casefold()
    found = []
    for run in folder.plan.runs:
        manifest = folder.path / f"{run.path}.manifest.json"
        if manifest.exists() and name in manifest.read_text(encoding="utf-8").casefold():
            found.append(run.name)
    return found
