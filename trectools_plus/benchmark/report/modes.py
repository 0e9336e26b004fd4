"""Parts of a report about modes: figures, differences, components."""

from __future__ import annotations

from pydantic import Field

from trectools_plus.benchmark.report.parts import (
    ConfidenceInterval,
    FindingRecord,
    MeasureResult,
    ModeStatus,
    ReportModel,
    ResultStatus,
    RunInfo,
    UnscoredStatus,
    WithoutUnset,
    without_interval_of_one,
)
from trectools_plus.retrieval.fetch.outcome import Latency


class TestResult(ReportModel):
    """A test of the null hypothesis that there is no difference."""

    __test__ = False

    p: float
    """Two-sided p-value, in (0, 1]; not adjusted."""


class StudentResult(TestResult):
    """The paired t-test."""

    t: float | None
    """Student's t with n - 1 degrees of freedom; null if it is infinite, because all differences
    are the same number other than 0."""


class WilcoxonResult(TestResult):
    """The signed-rank test."""

    w: float
    """The smaller of the two sums of ranks."""


class BayesianResult(ReportModel):
    """Probabilities about the true mean difference; their sum is 1."""

    better: float
    """The contrast is better than the baseline by more than ``rope``."""
    equivalent: float
    """The difference is at most ``rope``."""
    worse: float
    """The contrast is worse than the baseline by more than ``rope``."""
    rope: float
    """Half the width of the region of practical equivalence, in the unit of the measure."""


class Comparison(WithoutUnset):
    """A paired difference of two modes on one measure, over the queries where both are defined."""

    _optional = ("bayes",)

    baseline: str
    """The mode that is subtracted."""
    contrast: str
    """The mode it is subtracted from."""
    measure: str
    """The measure's name as requested."""
    n: int
    """Number of compared queries."""
    difference: float | None
    """Mean of contrast minus baseline."""
    ci: ConfidenceInterval | None
    """Interval of the difference. With the correction ``max_t`` it is simultaneous for the family,
    and excludes 0 exactly if ``significant`` is true; with others it is not adjusted. Null for
    too few queries, and if all differences are equal."""
    paired_bootstrap: TestResult | None = None
    """The studentised bootstrap test (in reports of schema version 1.0, not studentised); null if
    nothing is defined, as for the other tests."""
    t_test: StudentResult | None = None
    """Student's paired t-test."""
    wilcoxon: WilcoxonResult | None = None
    """Wilcoxon's signed-rank test."""
    randomisation: TestResult | None = None
    """The randomisation test: signs are flipped at random."""
    sign_test: TestResult | None = None
    """The sign test: wins against losses."""
    test: str = "randomisation"
    """The test whose p-values are adjusted; ``tukey_hsd`` and ``max_t`` are tests of the whole
    family."""
    p_adjusted: float | None = None
    """Its p-value, adjusted for the family; null if nothing is defined."""
    correction: str = "holm"
    """The adjustment: ``max_t`` (the studentised bootstrap with single-step max-t), ``holm``,
    ``bonferroni``, ``benjamini_hochberg`` or ``tukey_hsd``."""
    family: str = ""
    """A description of the comparisons that the adjustment counts."""
    significant: bool
    """True if ``p_adjusted`` is at most 1 - the configured confidence, and not ``borderline``."""
    borderline: bool = False
    """True if the 99% Monte Carlo interval of ``p_adjusted`` contains the level, even with the
    greatest number of resamples: another seed could give the other decision. The difference then
    counts as not significant."""
    bayes: BayesianResult | None = None
    """The Bayesian comparison; not adjusted. Omitted if no region of practical equivalence is set,
    and for fewer than two queries."""
    effect_size: float | None
    """Cohen's d_z: mean difference divided by the standard deviation (ddof = 1) of the
    differences."""
    detectable_difference: float | None = None
    """The smallest true difference that the test and the correction detect with a probability of
    80% (``max_t``) or at least 80% (others), for as many queries and comparisons with the same
    standard deviation. Null without a formula (``wilcoxon``, ``sign_test``, ``tukey_hsd``), for too
    few queries, and if all differences are equal. In reports of versions before 0.2, that of one
    uncorrected t-test."""
    wins: int
    """Number of queries where the contrast is better."""
    ties: int
    """Number of queries where both are equal (to 1e-12)."""
    losses: int
    """Number of queries where the baseline is better."""

    _without_interval_of_one = without_interval_of_one

    @property
    def p(self) -> float | None:
        """The p-value that ``p_adjusted`` adjusts: that of the deciding test.

        ``None`` without defined differences, and for ``tukey_hsd``, which has only adjusted
        p-values.
        """
        name = "paired_bootstrap" if self.test == "max_t" else self.test
        found: TestResult | None = getattr(self, name, None)
        return None if found is None else found.p


class Diagnostics(WithoutUnset):
    """Gaps and findings that limit the trust in a mode's figures."""

    _optional = ("cut_short",)

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
