"""Parts of a report about modes: figures, differences, components."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from trectools_plus.benchmark.report.parts import (
    FindingRecord,
    MeasureResult,
    ModeStatus,
    ResultStatus,
    RunInfo,
    UnscoredStatus,
)
from trectools_plus.models import ReportModel, WithoutUnset
from trectools_plus.retrieval.fetch.outcome import Latency
from trectools_plus.statistics.comparison import ConfidenceInterval, without_interval_of_one


class Diagnostics(WithoutUnset):
    """Gaps and findings that limit the trust in a mode's figures."""

    _optional: ClassVar = {"cut_short": None}

    findings: list[FindingRecord]
    """Findings about its run file."""
    queries_without_relevant: list[str]
    """Judged queries without a relevant document."""
    missing_queries: list[str]
    """Queries of the means for which the mode returned nothing."""
    judged: dict[str, float | None]
    """Mean share of judged documents among the first results, by measure name."""
    shallow_queries: list[str]
    """Queries with some results, but fewer than the deepest cutoff and the number of documents."""
    cut_short: list[str] | None = None
    """Queries for which the mode returned fewer documents than requested although it found more
    results. Omitted if there are none."""
    status: ModeStatus
    """``incomplete`` if a query has no results or was cut short, a given run file has shallow
    queries, or the mode was fetched to a smaller depth than a measure's cutoff."""
    notes: list[str] = Field(default_factory=list)
    """The reasons why it is incomplete, and remarks on its results."""


class ModeResult(ReportModel):
    """Everything about one mode (or one given run)."""

    label: str
    """The name in tables."""
    status: ResultStatus = "ok"
    """``empty`` if nothing was found for any query; every measure is then 0 or undefined.
    Modes that are ``failed``, ``unavailable`` or incomplete are in the report's ``unscored``."""
    run: RunInfo
    """The run file that was scored."""
    measures: dict[str, MeasureResult]
    """By the measures' names as requested; ``definition.name`` is the canonical name."""
    latency_ms: Latency | None
    """Null for given run files."""
    diagnostics: Diagnostics
    """Gaps and findings that limit the trust in the figures."""


class UnscoredMode(ReportModel):
    """A mode without figures, because it did not answer every query."""

    label: str
    """The name in tables."""
    status: UnscoredStatus
    """``incomplete``: some queries have no answer; ``failed``: no query has; ``unavailable``: no
    query has, because the backend was not reached or did not answer in time."""
    reason: str
    """A description of the failures."""
    queries: int
    """Number of queries."""
    failed_queries: dict[str, str]
    """Queries without an answer, each with the reason."""


class StratumResult(ReportModel):
    """One measure of one mode over the queries of one stratum."""

    mean: float | None
    n: int
    """Number of queries of the stratum for which the measure is defined."""
    ci: ConfidenceInterval | None
    """Interval of the mean; null as for the whole set of queries."""

    _without_interval_of_one = without_interval_of_one


class ComponentMeasure(ReportModel):
    """A component's contribution to one measure: the fusion of all minus the fusion without it."""

    mean: float | None
    """With all components: the mode's own mean."""
    mean_without: float | None
    """Without this one."""
    n: int
    """Number of queries for which both are defined."""
    difference: float | None
    """Mean over these queries; if it is above 0, the component raises the measure."""
    ci: ConfidenceInterval | None
    """Interval of the mean difference, as in a comparison of two modes."""
    p_adjusted: float | None
    """The p-value of the paired differences, adjusted for the family."""
    correction: str
    """The adjustment."""
    family: str = ""
    """A description of the comparisons that the adjustment counts; empty in reports of schema
    version 1.0, which adjust for the components alone."""
    significant: bool
    """As in a comparison of two modes."""
    borderline: bool = False
    """As in a comparison of two modes."""

    _without_interval_of_one = without_interval_of_one


class ComponentResult(ReportModel):
    """The contribution of one ranking to a mode that merges several.

    There is none if the fusion without the ranking equals another mode: the comparison of the two
    modes has this result.
    """

    mode: str
    """The mode that merges."""
    component: str
    """The ranking that was left out; a mode's name."""
    run: RunInfo
    """The mode's run without it."""
    measures: dict[str, ComponentMeasure]
    """By measure."""
