"""A paired difference as the report holds it, with its tests."""

from __future__ import annotations

from trectools_plus.benchmark.report_parts import (
    ConfidenceInterval,
    ReportModel,
    without_interval_of_one,
)


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
