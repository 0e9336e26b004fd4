"""``JudgmentReport.json``: what can be said of runs from judgments of people and of a model.

The result is also said in one sentence. Doubts about it are another order, incomplete or biased
labels, and earlier estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any

from pydantic import Field

from trectools_plus.errors import InputError
from trectools_plus.formats.files.atomic import AppendedFile
from trectools_plus.judging.combined import WORTHWHILE
from trectools_plus.judging.labels import Label, LabelOrigin, read_rows
from trectools_plus.judging.plan import PlanFolder, has_too_many_missing
from trectools_plus.judging.values import merge_labels
from trectools_plus.models import ReportModel
from trectools_plus.text import plural

SCHEMA_VERSION = "1.0"
REPORT_FILE = "JudgmentReport.json"


class ShownInterval(ReportModel):
    """A mean and its interval."""

    mean: float
    """The mean over queries."""
    low: float | None
    """The lower end of the interval; null if all values of people are equal."""
    high: float | None
    """The upper end."""


class PopulationEstimate(ReportModel):
    """A mean over queries like these, of which these are a sample."""

    population: str = "like these"
    """The queries that the mean is about."""
    people: ShownInterval
    """From the queries that people judged."""
    model: ShownInterval
    """From the model's judgments of all queries. The interval covers the choice of queries, but not
    the model's error."""
    combined: ShownInterval | None
    """From both; null if it cannot be given: see ``refusal`` and ``warnings``."""
    weight: float | None
    """The weight of the model, 0 (ignored) to 1."""
    effective: float | None
    """The number of queries that people alone would need for the width of ``combined``, at most
    all."""


class RunEstimate(ReportModel):
    """The mean of a measure for a run, or its mean difference between two runs."""

    measure: str
    """The measure."""
    run: str
    """The run; the one that ``baseline`` is subtracted from."""
    baseline: str | None = None
    """The run that is subtracted; null for the mean of ``run``."""
    correlation: float | None
    """Between the values of people and those of the model, over the queries of people; null if all
    values of one are equal."""
    estimates: list[PopulationEstimate]
    """One mean, over queries like these. The intervals of differences, of people and combined, are
    simultaneous for the k pairs of runs on a measure: each has the level 1 - (1 - confidence) / k.
    """


class LeftOutQuery(ReportModel):
    """A query that people could not judge."""

    query_id: str
    """The query."""
    reason: str
    """Why it does not count."""


class JudgmentCounts(ReportModel):
    """Numbers of queries and judgments."""

    queries: int
    """Queries of the plan, which the model judged, without those in ``left_out``."""
    planned: int
    """Queries that people were to judge."""
    people: int
    """Queries that people judged completely."""
    left_out: list[LeftOutQuery]
    """Queries that people began or skipped, and that do not count."""
    pairs: int
    """Pairs of query and document in the pool."""
    missing_people: int
    """Pairs of the complete queries that people could not judge; unjudged in their evaluation."""
    missing_model: int
    """Answers of the model without a grade; their pairs are unjudged in its evaluation."""


class Look(ReportModel):
    """An estimate of a plan."""

    created_at: str
    """The time of its last judgment, in UTC."""
    people: int
    """Queries that people had judged completely."""
    measures: list[str]
    """The measures."""
    runs: list[str]
    """The runs."""
    confidence: float
    """The level of its intervals."""
    labels_sha256: dict[str, str]
    """SHA-256 of the judgments by ``people`` and ``model``."""


class JudgmentReport(ReportModel):
    """An estimate from judgments of people and of a model."""

    schema_version: str = SCHEMA_VERSION
    """The version of this format."""
    version: str
    """The version of trectools-plus."""
    created_at: str
    """The time of the last judgment, in UTC: estimating again gives the same bytes."""
    result: str
    """The result in a sentence."""
    model: LabelOrigin
    """The model, and what determines its answers."""
    plan_sha256: str
    """SHA-256 of ``plan.json``."""
    labels_sha256: dict[str, str]
    """SHA-256 of the judgments by ``people`` and ``model`` that the report rests on."""
    measures: list[str]
    """The measures."""
    relevant: int = 1
    """The lowest relevant grade of measures whose names do not state one."""
    runs: list[str]
    """The runs."""
    confidence: float
    """The level of the intervals of means, and of all those of differences together."""
    seed: int
    """The seed of the draws for the intervals of agreement."""
    counts: JudgmentCounts
    """Numbers of queries and judgments."""
    agreement: dict[str, Any] | None
    """The agreement of people and the model: pairs, kappas, alpha, and grades of both, with
    intervals; null if they graded no document in common."""
    refusal: str | None
    """Why there is no combined interval; null if there is one."""
    estimates: list[RunEstimate]
    """Means of all runs, then differences of all pairs, by measure."""
    warnings: list[str] = Field(default_factory=list)
    """Doubts that readers must know before they believe the figures."""
    earlier: list[Look] = Field(default_factory=list)
    """The estimates of the plan that were made before."""

    @property
    def is_complete(self) -> bool:
        """True if every mean and difference has a combined interval."""
        return all(
            estimate.combined is not None for row in self.estimates for estimate in row.estimates
        )

    @property
    def look(self) -> Look:
        """The entry in the list of estimates of the plan."""
        fields = {name: getattr(self, name) for name in Look.model_fields if name != "people"}
        return Look(people=self.counts.people, **fields)


def state_result(report: JudgmentReport) -> str:
    """Say what holds for queries like these, and what the model added."""
    of_measure = [row for row in report.estimates if row.measure == report.measures[0]]
    row = next((row for row in of_measure if row.baseline is not None), of_measure[0])
    means, counts = row.estimates[0], report.counts
    by_people = f"{plural(counts.people, 'query', 'queries')} judged by people"
    if means.combined is None:
        reason = report.refusal or "see the warnings"
        return (
            f"{_state(row, means.people)}, from {by_people} alone. "
            f"There is no combined interval: {reason}."
        )
    worth = "which added nothing"
    if means.effective is not None and means.effective >= WORTHWHILE * counts.people:
        worth = f"worth {means.effective:.0f} queries of people"
    return (
        f"{_state(row, means.combined)}, from {by_people} and {counts.queries:,} by "
        f"{report.model.model}, {worth}; people alone: {show_interval(means.people, row.baseline)};"
        f" the model alone says {show_mean(means.model, row.baseline)} and must not be quoted."
    )


def _state(row: RunEstimate, interval: ShownInterval) -> str:
    shown = f"{show_mean(interval, row.baseline)} {show_interval(interval, row.baseline)}"
    if row.baseline is None:
        return f"{row.run} has {row.measure} {shown}"
    if interval.low is not None and (interval.low > 0.0 or (interval.high or 0.0) < 0.0):
        return f"{row.run} is better than {row.baseline} on {row.measure} by {shown}"
    return f"{row.run} and {row.baseline} cannot be told apart on {row.measure}: difference {shown}"


def show_mean(interval: ShownInterval, baseline: str | None) -> str:
    """Show a mean, or a difference with its sign."""
    return f"{interval.mean:{'' if baseline is None else '+'}.4f}"


def show_interval(interval: ShownInterval, baseline: str | None) -> str:
    """Show the ends of an interval of a mean or a difference."""
    if interval.low is None:
        return "(no interval)"
    sign = "" if baseline is None else "+"
    return f"[{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"


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
