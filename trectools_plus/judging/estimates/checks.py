"""Reasons against an estimate: an order that was not followed, incomplete or biased labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trectools_plus.judging.estimates.report import RunEstimate
from trectools_plus.judging.labels import Label, LabelOrigin
from trectools_plus.judging.plan import PlanFolder, has_too_many_missing
from trectools_plus.judging.values import merge_labels
from trectools_plus.text import plural


def check_order(folder: PlanFolder, people: Sequence[Label]) -> str | None:
    """Return why the queries that people judged are not the first of the plan, or ``None``."""
    answered = merge_labels(people)
    open_query: dict[int, str] = {}  # by extension: only its new pairs are asked
    for query_id in folder.plan.queries:
        is_complete: dict[int, bool] = {}
        for doc_id in folder.judgeable[query_id]:
            extension = folder.extension_of[query_id, doc_id]
            is_answered = doc_id in answered.get(query_id, {})
            is_complete[extension] = is_complete.get(extension, True) and is_answered
        for extension, complete in is_complete.items():
            if not complete:
                open_query.setdefault(extension, query_id)
            elif extension in open_query:
                return (
                    "people did not follow the order of the plan: query "
                    f"{query_id} is complete, but {open_query[extension]}, which comes before it, "
                    "is not"
                )
    return None


def check_asked(folder: PlanFolder, labels: Sequence[Label]) -> str | None:
    """Return how many pairs the model was not asked about, or ``None``."""
    asked = {(label.query_id, label.doc_id) for label in labels}
    left = sum(
        (query_id, doc_id) not in asked
        for query_id, doc_ids in folder.judgeable.items()
        for doc_id in doc_ids
    )
    if not left:
        return None
    return f"the model was not asked about {left:,} of {plural(folder.plan.pooled, 'pair')}"


def describe_missing_intervals(estimates: Sequence[RunEstimate]) -> list[str]:
    """Return why a mean has no combined interval although people judged enough."""
    sentences = []
    for row in estimates:
        what = f"{row.measure} of {row.run}{f' minus {row.baseline}' if row.baseline else ''}"
        if row.estimates[0].people.low is None:
            sentences.append(f"{what} has no interval: all values of people are equal.")
        elif row.estimates[0].combined is None:
            sentences.append(f"{what} has no combined interval: its mean is not between 0 and 1.")
    return sentences


def origin_of(labels: Sequence[Label]) -> LabelOrigin:
    """Return what determined the answers of a model, which is the same for all of its labels."""
    origin = labels[0].origin
    return LabelOrigin(model=labels[0].annotator, prompt_sha256="") if origin is None else origin


def describe_doubts(
    folder: PlanFolder,
    people: Sequence[Label],
    complete: int,
    labels: Sequence[Label],
    all_labels: Sequence[Label],
) -> list[str]:
    """Return what readers must know before they believe the figures, one sentence each.

    Args:
        folder: The plan.
        people: The labels of people.
        complete: The number of queries that people judged completely.
        labels: The labels of the model that the estimate uses.
        all_labels: The labels of all models.
    """
    plan, origin, doubts = folder.plan, origin_of(labels), []
    if complete != plan.people:
        doubts.append(
            f"People judged {plural(complete, 'query', 'queries')}, and {plan.people} were "
            "planned: intervals do not hold if they stopped or went on because of the result."
        )
    missing = sum(label.grade is None for label in labels)
    if has_too_many_missing(missing, plan.pooled):
        doubts.append(
            f"The model gave no grade for {missing:,} of {plural(plan.pooled, 'pair')}; these are "
            "unjudged in its evaluation."
        )
    if _prompt_changed(people, labels, all_labels):
        doubts.append(
            "The prompt was changed after people had judged: a prompt that was chosen by their "
            "judgments makes the model look better than it is."
        )
    if named := _runs_that_name(folder, origin.model):
        doubts.append(
            f"The manifest of {', '.join(named)} names {origin.model}: the model judges results "
            "that it helped to make."
        )
    return doubts


def _prompt_changed(
    people: Sequence[Label], labels: Sequence[Label], all_labels: Sequence[Label]
) -> bool:
    """Return whether the model was asked with this prompt only after people had judged."""
    if not people:
        return False
    same_model = (label for label in all_labels if label.annotator == labels[0].annotator)
    prompts = {origin_of([label]).prompt_sha256 for label in same_model}
    started = min(label.time for label in labels)
    return len(prompts) > 1 and started > min(label.time for label in people)


def _runs_that_name(folder: PlanFolder, model: str) -> list[str]:
    """Return the runs in whose manifest the name of the model occurs."""
    name = Path(model).name.casefold()
    return [run.name for run in folder.plan.runs if name in folder.manifest_of(run).casefold()]
