"""Reasons against an estimate: another order, incomplete or biased labels, earlier estimates."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress

from trectools_plus.errors import InputError
from trectools_plus.formats.files.atomic import AppendedFile
from trectools_plus.judging.estimates.report import JudgmentReport, Look, RunEstimate
from trectools_plus.judging.labels import Label, read_rows
from trectools_plus.judging.plan import PlanFolder, has_too_many_missing
from trectools_plus.judging.values import merge_labels
from trectools_plus.text import plural

LOOKS_FILE = "estimates.jsonl"


def check_order(folder: PlanFolder, people: Sequence[Label]) -> str | None:
    """Return why the queries that people judged are not the first of the plan, or ``None``."""
    answered = merge_labels(people)
    unfinished: dict[int, str] = {}  # by extension: only its new pairs are asked
    for query_id in folder.plan.queries:
        extensions = {
            doc_id: folder.extension_of[query_id, doc_id] for doc_id in folder.judgeable[query_id]
        }
        missing = extensions.keys() - answered.get(query_id, {}).keys()
        incomplete = {extensions[doc_id] for doc_id in missing}
        for extension in {*extensions.values()} - incomplete:
            if extension in unfinished:
                return (
                    f"people did not follow the order of the plan: query {query_id} is complete, "
                    f"but {unfinished[extension]}, which comes before it, is not"
                )
        unfinished = dict.fromkeys(incomplete, query_id) | unfinished
    return None


def check_asked(folder: PlanFolder, labels: Sequence[Label]) -> str | None:
    """Return how many pairs the model was not asked about, or ``None``."""
    pairs = {(query_id, doc_id) for query_id, pool in folder.judgeable.items() for doc_id in pool}
    left = len(pairs - {label.pair for label in labels})
    asked = f"the model was not asked about {left:,} of {plural(folder.plan.pooled, 'pair')}"
    return asked if left else None


def describe_missing_intervals(estimates: Sequence[RunEstimate]) -> list[str]:
    """Return why a mean has no combined interval although people judged enough."""
    return [
        f"{row.measure} of {row.run}{f' minus {row.baseline}' if row.baseline else ''} has no "
        "combined interval: all values of people are equal, or its mean is not between 0 and 1."
        for row in estimates
        if row.estimates[0].combined is None
    ]


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
    plan, model = folder.plan, labels[0].annotator
    missing = sum(label.grade is None for label in labels)
    prompts = {label.judge.prompt_sha256 for label in all_labels if label.annotator == model}
    started = min(label.time for label in labels)
    is_late = started > min((label.time for label in people), default=started)
    doubts = {
        f"People judged {plural(complete, 'query', 'queries')}, and {plan.people} were planned: "
        "intervals do not hold if they stopped or went on because of the result.": (
            complete != plan.people
        ),
        f"The model gave no grade for {missing:,} of {plural(plan.pooled, 'pair')}; these are "
        "unjudged in its evaluation.": has_too_many_missing(missing, plan.pooled),
        "The prompt was changed after people had judged: a prompt that was chosen by their "
        "judgments makes the model look better than it is.": is_late and len(prompts) > 1,
    }
    return [doubt for doubt, applies in doubts.items() if applies]


def list_earlier(folder: PlanFolder, look: Look) -> list[Look]:
    """Return the estimates of a plan, and of those that it extends, that were made before one.

    Making it again is no further one.

    Raises:
        FormatError: If a line is not an estimate.
        InputError: If the file is a link out of the folder.
    """
    looks = list(read_rows(folder.path / LOOKS_FILE, Look, "an estimate"))
    return looks[: looks.index(look)] if look in looks else looks


def record_estimate(folder: PlanFolder, report: JudgmentReport) -> None:
    """Add an estimate to the list of its plan, if the folder can be written.

    Raises:
        InputError: If the list is a link out of the folder.
    """
    path, look = folder.path / LOOKS_FILE, report.look
    if look not in read_rows(path, Look, "an estimate"):
        with suppress(InputError), closing(AppendedFile(path, "list of estimates", "it")) as file:
            file.append(f"{look.model_dump_json()}\n".encode())


def describe_earlier(earlier: Sequence[Look]) -> list[str]:
    """Return a warning that names the earlier estimates."""
    shown = "; ".join(
        f"{', '.join(look.measures)} of {', '.join(look.runs)} from "
        f"{plural(look.people, 'query', 'queries')} of people"
        for look in earlier
    )
    warning = (
        f"This is estimate {len(earlier) + 1} from the judgments of this plan; before: {shown}. "
        "Intervals do not hold if an earlier estimate decided what people judged, or what is shown."
    )
    return [warning] if earlier else []
