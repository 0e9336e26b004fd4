"""The parts of a report about modes: figures, differences, components."""

from __future__ import annotations

from pydantic import Field

from trectools_plus.benchmark.report.parts import (
    ArmStatus,
    ConfidenceInterval,
    FindingRecord,
    MeasureResult,
    ModeStatus,
    ReportModel,
    RunInfo,
    UnscoredStatus,
    without_interval_of_one,
)
from trectools_plus.retrieval.latency import Latency


class TestResult(ReportModel):
    """A test of the null hypothesis that there is no difference."""

    __test__ = False

    p: float
    """Two-sided p-value, in (0, 1]; not adjusted."""


class StudentResult(TestResult):
    """The paired t-test."""

    t: float | None
    """Student's t with n - 1 degrees of freedom; null where it is infinite: all differences are
    the same number other than 0."""


class WilcoxonResult(TestResult):
    """The signed-rank test."""

    w: float
    """The smaller of the two sums of ranks."""


class Comparison(ReportModel):
    """A paired difference of two modes on one measure, over the queries where both are defined."""

    baseline: str
    """The mode subtracted."""
    contrast: str
    """The mode it is subtracted from."""
    measure: str
    """Canonical measure name."""
    n: int
    """Queries compared."""
    difference: float | None
    """Mean of contrast minus baseline."""
    ci: ConfidenceInterval | None
    """Bootstrap interval of the difference, from the resamples of the means; not adjusted. Null for
    fewer than two queries."""
    paired_bootstrap: TestResult | None = None
    """Resampled differences, shifted to mean zero; null where nothing is defined, like the other
    tests."""
    t_test: StudentResult | None = None
    """Student's paired t-test."""
    wilcoxon: WilcoxonResult | None = None
    """Wilcoxon's signed-rank test."""
    randomisation: TestResult | None = None
    """Signs flipped at random."""
    sign_test: TestResult | None = None
    """Wins against losses."""
    test: str = "randomisation"
    """The test whose p-values are adjusted; ``tukey_hsd`` is one for all pairs together."""
    p_adjusted: float | None = None
    """Its p-value, adjusted for the family; null where nothing is defined."""
    correction: str = "holm"
    """How: ``holm``, ``bonferroni``, ``benjamini_hochberg`` or ``tukey_hsd``."""
    family: str = ""
    """Which comparisons the adjustment counts, in words."""
    significant: bool
    """Whether ``p_adjusted`` is at most 1 - the configured confidence."""
    effect_size: float | None
    """Cohen's d_z: mean difference by the standard deviation (ddof = 1) of the differences."""
    detectable_difference: float | None = None
    """The smallest true difference that a two-sided t-test at this level would find 80% of times,
    over so many queries that differ as much as these; null for fewer than two, or where all differ
    alike."""
    wins: int
    """Queries where the contrast is better."""
    ties: int
    """Queries where both are equal (to 1e-12)."""
    losses: int
    """Queries where the baseline is better."""

    _without_interval_of_one = without_interval_of_one


class Diagnostics(ReportModel):
    """What to know before believing a mode's figures."""

    findings: list[FindingRecord]
    """Findings about its run file."""
    queries_without_relevant: list[str]
    """Judged queries without a relevant document: left out of every mean."""
    missing_queries: list[str]
    """Queries with a relevant document for which the mode returned nothing."""
    judged: dict[str, float | None]
    """Mean share of judged documents in the first results, by measure name."""
    shallow_queries: list[str]
    """Queries with some results, yet fewer than the deepest cutoff or the collection has."""
    status: ModeStatus
    """``incomplete`` when a query has no results, a given run file has shallow queries, or the mode
    was fetched less deep than a measure looks."""
    notes: list[str] = Field(default_factory=list)
    """In plain words: why it is incomplete, and what else to know of its results."""


class ModeResult(ReportModel):
    """Everything about one mode (or one given run)."""

    label: str
    """Its name in tables."""
    status: ArmStatus = "ok"
    """``empty`` when nothing was found for any query; every measure is then 0 or undefined.
    Modes that are ``failed``, ``unavailable`` or incomplete are in the report's ``unscored``."""
    run: RunInfo
    """The run file that was scored."""
    measures: dict[str, MeasureResult]
    """By canonical measure name."""
    latency_ms: Latency | None
    """Null for given run files."""
    diagnostics: Diagnostics
    """What to know before believing the figures."""


class UnscoredMode(ReportModel):
    """A mode that answered some queries not or none, and so has no figures."""

    label: str
    """Its name in tables."""
    status: UnscoredStatus
    """``incomplete``: some queries have no answer; ``failed``: none has; ``unavailable``: none has,
    for what searches was not reached or did not answer in time."""
    reason: str
    """In words."""
    queries: int
    """How many were to be asked."""
    failed_queries: dict[str, str]
    """Those without an answer, each with the reason."""


class StratumResult(ReportModel):
    """One measure of one mode over the queries of one stratum."""

    mean: float | None
    n: int
    """Queries averaged over: those of the stratum for which the measure is defined."""
    ci: ConfidenceInterval | None
    """Bootstrap interval of the mean; null for fewer than two queries."""

    _without_interval_of_one = without_interval_of_one


class ComponentMeasure(ReportModel):
    """What a component adds to one measure: the fusion of all minus the fusion without it."""

    mean: float | None
    """With all components: the mode's own mean."""
    mean_without: float | None
    """Without this one."""
    n: int
    """Queries on which both are defined."""
    difference: float | None
    """Mean over these queries; above 0, the component raises the measure."""
    ci: ConfidenceInterval | None
    """Bootstrap interval of the mean difference; null for fewer than two queries."""
    p_adjusted: float | None
    """Of the test of the paired differences, adjusted for the same family: where the fusion without
    the component is one of the modes, it is that pair's."""
    correction: str
    """How it was adjusted."""
    family: str = ""
    """Which comparisons the adjustment counts, in words; empty in a report of schema version 1.0,
    which adjusts for the components alone."""
    significant: bool
    """Whether ``p_adjusted`` is at most 1 - the configured confidence."""

    _without_interval_of_one = without_interval_of_one


class ComponentResult(ReportModel):
    """What one ranking contributes to a mode that merges several."""

    mode: str
    """The mode that merges."""
    component: str
    """The ranking that was left out; a mode's name."""
    same_as: str | None = None
    """The mode that the fusion without it equals on every query and measure; null where none."""
    run: RunInfo
    """The mode's run without it."""
    measures: dict[str, ComponentMeasure]
    """By measure."""
