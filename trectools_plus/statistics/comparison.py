"""The result of a comparison of two systems, as in reports; its test, correction and family.

Commands that only show a report need nothing else of comparisons, so this module computes nothing:
see ``scores.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import model_validator

from trectools_plus.errors import UsageError
from trectools_plus.models import ReportModel, WithoutUnset
from trectools_plus.text import join_names, plural

DEFAULT_TEST = "t_test"
DEFAULT_CORRECTION = "holm"
TESTS = ("t_test", "paired_bootstrap", "randomisation", "wilcoxon")
CORRECTIONS = ("holm", "bh", "none")
REPLACEMENTS = {
    "max_t": "holm",
    "tukey_hsd": "holm",
    "bonferroni": "holm",
    "benjamini_hochberg": "bh",
    "sign_test": "wilcoxon",
}
"""Tests and corrections of earlier versions, and what to use instead."""

FEW = 10
"""With fewer values that differ from the most common one, or fewer differences other than 0, an
interval gets a note, and ``auto`` uses Wilson's interval for values of 0 and 1."""


def alpha_of(level: float) -> float:
    """Return the significance level for a confidence level: 0.05 for 0.95."""
    return round(1.0 - level, 12)


def fewest_changes(alpha: float) -> int:
    """Return the smallest number of differences, all of one sign, that a sign test finds."""
    changes = 1
    while 2.0 ** (1 - changes) > alpha:
        changes += 1
    return changes


TEST_ALIASES = {"ttest": "t_test", "t-test": "t_test", "paired_t_test": "t_test"}
"""Other spellings of tests."""


def check_method(test: str, correction: str = DEFAULT_CORRECTION) -> None:
    """Check the names of a test and a correction.

    Raises:
        UsageError: If one is unknown, or of an earlier version.
    """
    for kind, name, names in (("test", test, TESTS), ("correction", correction, CORRECTIONS)):
        if name not in names:
            remedy = f"use {REPLACEMENTS.get(name, ', '.join(names))}"
            state = "removed" if name in REPLACEMENTS else "unknown"
            raise UsageError(f"{state} {kind} '{name}'", remedy=remedy)


def describe_family(
    pairs: int, modes: int, baselines: Sequence[str] = (), noun: str = "mode"
) -> str:
    """Describe a family: ``19 comparisons with s00 on one measure``.

    Without baselines: ``3 comparisons on one measure: every pair of 3 modes``.

    Args:
        pairs: The number of comparisons.
        modes: The number of modes.
        baselines: Their labels.
        noun: The word for what is compared: ``run`` or ``mode``.
    """
    counted = plural(pairs, "comparison")
    if baselines:
        return f"{counted} with {join_names(baselines, 'baselines', _NAMED)} on one measure"
    return f"{counted} on one measure: every pair of {modes} {noun}s"


_NAMED = 3
"""With more baselines than this, a family has only their number."""


class ConfidenceInterval(WithoutUnset):
    """An interval for a mean or a mean difference, of at least two queries."""

    _optional: ClassVar = {"note": None}

    low: float | None
    """Lower end."""
    high: float | None
    """Upper end."""
    level: float
    """Confidence level, between 0 and 1."""
    method: str
    """The method of this interval, for example ``BCa bootstrap`` or ``Wilson``."""
    resamples: int
    """Bootstrap resamples drawn, the same ones for every measure and mode; 0 if the method draws
    none."""
    note: str | None = None
    """The reason why the interval may be too narrow, for example too few different values. Omitted
    if there is none."""


def ends_of(ci: ConfidenceInterval | None) -> tuple[float | None, float | None]:
    """Return the ends of an interval; ``None`` without an interval."""
    return (None, None) if ci is None else (ci.low, ci.high)


def _negated(value: float | None) -> float | None:
    return None if value is None else 0.0 - value


def _drop_interval_of_one(data: Any) -> Any:
    """Read figures over fewer than two queries without an interval.

    Reports of schema version 1.0 have one there, whose ends are the only value.
    """
    if not isinstance(data, dict) or not isinstance(data.get("n"), int) or data["n"] > 1:
        return data
    target = data.get("target")
    if isinstance(target, dict):
        data = {**data, "target": {**target, "status_low": None, "status_high": None}}
    return {**data, "ci": None}


without_interval_of_one = model_validator(mode="before")(_drop_interval_of_one)
"""A validator for each part of the report with ``n`` and ``ci``."""


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


class Comparison(WithoutUnset):
    """A paired difference of two modes on one measure, over the queries where both are defined."""

    _optional: ClassVar = dict.fromkeys((*TESTS, "reason"))

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
    """The t-interval of the difference. With the correction ``holm`` its level is that at which
    Holm tests this difference, so with the t-test it excludes 0 exactly if ``significant`` is
    true. Null without an interval: see ``reason``."""
    t_test: StudentResult | None = None
    """Student's paired t-test. Only the test that decides is in the report."""
    paired_bootstrap: TestResult | None = None
    """The studentised bootstrap test (in reports of schema version 1.0, not studentised)."""
    randomisation: TestResult | None = None
    """The randomisation test: signs are flipped at random."""
    wilcoxon: WilcoxonResult | None = None
    """Wilcoxon's signed-rank test."""
    test: str = "randomisation"
    """The test that decides: ``t_test``, ``paired_bootstrap``, ``randomisation`` or ``wilcoxon``;
    others in reports of earlier versions."""
    p_adjusted: float | None = None
    """Its p-value, adjusted for the family; null for fewer than two queries. It is 1 if
    ``reason`` is ``few_changed``."""
    correction: str = "holm"
    """The adjustment: ``holm``, ``bh`` or ``none``; others in reports of earlier versions."""
    family: str = ""
    """A description of the comparisons that the adjustment counts."""
    significant: bool
    """True if ``p_adjusted`` is at most 1 - the configured confidence."""
    reason: str | None = None
    """The reason why there is no interval: ``few_queries`` (fewer than two), ``few_changed`` (fewer
    queries differ than a sign test needs for the level, 6 at 0.05) or ``equal`` (all differences
    are the same number other than 0). Omitted with an interval."""
    effect_size: float | None
    """Cohen's d_z: mean difference divided by the standard deviation (ddof = 1) of the
    differences."""
    detectable_difference: float | None = None
    """The smallest true difference that the test and the correction detect with a probability of at
    least 80%, for as many queries and comparisons with the same standard deviation. Null without a
    formula (``wilcoxon``), for too few queries, and if all differences are equal. In reports of
    versions before 0.2, that of one uncorrected t-test."""
    wins: int
    """Number of queries where the contrast is better."""
    ties: int
    """Number of queries where both are equal (to 1e-12)."""
    losses: int
    """Number of queries where the baseline is better."""

    _without_interval_of_one = without_interval_of_one

    def turned(self) -> Comparison:
        """Return the same comparison as baseline minus contrast."""
        ci, student = self.ci, self.t_test
        low, high = ends_of(ci)
        opposite = {
            "baseline": self.contrast,
            "contrast": self.baseline,
            "difference": _negated(self.difference),
            "ci": ci and ci.model_copy(update={"low": _negated(high), "high": _negated(low)}),
            "t_test": student and student.model_copy(update={"t": _negated(student.t)}),
            "effect_size": _negated(self.effect_size),
            "wins": self.losses,
            "losses": self.wins,
        }
        return self.model_copy(update=opposite)

    @property
    def changed(self) -> int:
        """The number of queries that differ."""
        return self.wins + self.losses

    @property
    def p(self) -> float | None:
        """The p-value that ``p_adjusted`` adjusts: that of the deciding test.

        ``None`` for fewer than two queries, and for some tests of earlier versions.
        """
        name = "paired_bootstrap" if self.test == "max_t" else self.test
        result: TestResult | None = getattr(self, name, None)
        return None if result is None else result.p

    @property
    def has_own_level(self) -> bool:
        """True if the interval has the level at which the difference is tested."""
        # In reports of earlier versions, Holm's decisions had unadjusted bootstrap intervals.
        resampled = self.ci is not None and self.ci.resamples > 0
        return self.correction in ("none", "max_t") or (self.correction == "holm" and not resampled)
