"""``JudgmentReport.json``: what can be said of runs from judgments of people and of a model.

The result is also said in one sentence.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from trectools_plus.judging.estimates.combined import WORTHWHILE
from trectools_plus.judging.labels import LabelOrigin
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
        return all(one.combined is not None for row in self.estimates for one in row.estimates)

    @property
    def look(self) -> Look:
        """The entry in the list of estimates of the plan."""
        fields = {name: getattr(self, name) for name in Look.model_fields if name != "people"}
        return Look(people=self.counts.people, **fields)


def state_result(report: JudgmentReport) -> str:
    """Say what holds for queries like these, and what the model added."""
    of_measure = [row for row in report.estimates if row.measure == report.measures[0]]
    row = next((row for row in of_measure if row.baseline is not None), of_measure[0])
    found, counts = row.estimates[0], report.counts
    by_people = f"{plural(counts.people, 'query', 'queries')} judged by people"
    if found.combined is None:
        reason = report.refusal or "see the warnings"
        return (
            f"{_state(row, found.people)}, from {by_people} alone. "
            f"There is no combined interval: {reason}."
        )
    worth = "which added nothing"
    if found.effective is not None and found.effective >= WORTHWHILE * counts.people:
        worth = f"worth {found.effective:.0f} queries of people"
    return (
        f"{_state(row, found.combined)}, from {by_people} and {counts.queries:,} by "
        f"{report.model.model}, {worth}; people alone: {show_interval(found.people, row.baseline)};"
        f" the model alone says {show_mean(found.model, row.baseline)} and must not be quoted."
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
