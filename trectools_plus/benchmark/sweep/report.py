"""``SweepReport.json``: the variants of a sweep, and the best of them."""

from __future__ import annotations

from pydantic import Field

from trectools_plus.benchmark.report.parts import ConfiguredConditions
from trectools_plus.models import ReportModel
from trectools_plus.statistics.comparison import ConfidenceInterval

SCHEMA_VERSION = "1.0"


class Advantage(ReportModel):
    """The mean difference of a variant from the baseline, query by query."""

    difference: float
    """The variant's mean minus the baseline's."""
    ci: ConfidenceInterval | None
    """As in a comparison of two modes; the variants are the family."""
    p_adjusted: float | None
    """Adjusted for the number of variants."""
    significant: bool
    """Whether the difference is significant."""


class ScoredVariant(ReportModel):
    """A variant and its mean."""

    name: str
    """Its settings as they were written, or the name of its run."""
    settings: dict[str, str]
    """Values of the varied settings."""
    mean: float
    """The mean of the primary measure on all queries."""
    ci: ConfidenceInterval | None
    """The usual interval of this mean, without correction for the choice; that of the winner is of
    the corrected mean."""
    advantage: Advantage | None = None
    """The difference from the baseline; null without one, and for the baseline."""


class SweepVariant(ScoredVariant):
    """One variant."""

    chosen: float
    """The share of the resamples in which it is the best variant."""
    measures: dict[str, float | None]
    """The means of all measures."""


class SweepWinner(ScoredVariant):
    """The best variant on all queries."""

    corrected_mean: float | None
    """The estimated mean on new queries of the variant that this sweep chooses: that of bootstrap
    bias corrected selection. Null with a single query."""
    optimism: float | None
    """The extent to which the mean looks better than the corrected mean."""
    corrected_advantage: float | None = None
    """The estimated difference from the baseline on new queries of the variant that this sweep
    chooses; null without a baseline, and if the baseline is the best."""
    corrected_advantage_ci: ConfidenceInterval | None = None
    """Its interval."""


class SweepReport(ConfiguredConditions):
    """A sweep."""

    platform: str = ""
    """Operating system and architecture."""
    schema_version: str = SCHEMA_VERSION
    """The version of this format."""
    measure: str
    """The primary measure, by which the winner was chosen."""
    higher_is_better: bool
    """Whether a high mean is good."""
    n_queries: int
    """Number of queries in the means."""
    winner: SweepWinner
    """The best variant."""
    variants: list[SweepVariant]
    """All variants, the best first."""
    baseline: str | None = None
    """The variant, run or mode that the variants are compared with."""
    baseline_mean: float | None = None
    """Its mean of the primary measure."""
    judged: dict[str, float] = Field(default_factory=dict)
    """The mean share of judged documents among the first ten of each scored run; empty if no
    document is judged as not relevant."""
    notes: list[str] = Field(default_factory=list)
    """Notes on the data."""
