"""Targets: typical values of a measure, and the level that a mean reaches.

The defaults describe ad hoc collections with BM25 as the baseline. They are a rule of thumb, not
a property of your collection: set your own under ``targets:`` in ``benchmark.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from pydantic import ConfigDict, Field, model_validator

from trectools_plus.benchmark.report import TargetResult, TargetStatus
from trectools_plus.models import Model
from trectools_plus.retrieval.setting_types import Number


class Target(Model):
    """Levels of one measure, in its unit.

    A single number sets the level ``competitive``, the only level if lower is better.

    Attributes:
        baseline: Lower end of the typical range of a plain BM25 baseline; ``None`` if unknown.
        baseline_high: Upper end of that range; ``None`` if it is one value.
        competitive: A result of at least this is competitive ("good").
        strong: A result of at least this is strong; ``None`` if no such level is set.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    baseline: Number | None = Field(default=None, allow_inf_nan=False)
    baseline_high: Number | None = Field(default=None, allow_inf_nan=False)
    competitive: Number = Field(allow_inf_nan=False)
    strong: Number | None = Field(default=None, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _bare_number(cls, value: Any) -> Any:
        return {"competitive": value} if isinstance(value, str | int | float) else value

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        levels = [self.baseline, self.baseline_high, self.competitive, self.strong]
        given = [level for level in levels if level is not None]
        if given != sorted(given):
            shown = " ".join(f"{level:g}" for level in given)
            raise ValueError(
                f"expected baseline <= baseline_high <= competitive <= strong but got {shown}"
            )
        return self


DEFAULT_TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "nDCG@10": Target(baseline=0.30, baseline_high=0.32, competitive=0.35, strong=0.40),
        # competitive: the baseline's upper end + 0.03
        "AP@100": Target(baseline=0.25, baseline_high=0.27, competitive=0.30),
        "RR@10": Target(baseline=0.45, competitive=0.55),
        "R@50": Target(baseline=0.55, baseline_high=0.60, competitive=0.62),
        "R@100": Target(baseline=0.60, baseline_high=0.65, competitive=0.70),
        "HitRate@10": Target(baseline=0.70, baseline_high=0.75, competitive=0.80),
    }
)


def judge_mean(
    mean: float | None,
    target: Target,
    low: float | None = None,
    high: float | None = None,
    *,
    higher_is_better: bool = True,
) -> TargetResult:
    """Return the target with the highest levels that the mean and its interval reach.

    Args:
        mean: The unrounded mean; ``None`` if undefined.
        target: The levels.
        low: Lower end of the mean's interval; ``None`` if undefined.
        high: Upper end.
        higher_is_better: The measure's direction. If it is false, the upper end of the interval is
            the worse one, so ``status_low`` is its level.
    """
    worse, better = (low, high) if higher_is_better else (high, low)
    return TargetResult(
        **target.model_dump(),
        status=_status(mean, target, higher_is_better=higher_is_better),
        status_low=_status(worse, target, higher_is_better=higher_is_better),
        status_high=_status(better, target, higher_is_better=higher_is_better),
    )


def describe_status(target: TargetResult) -> str:
    """Describe the level of the mean, and the levels of its interval if they differ.

    Returns:
        ``competitive``, ``competitive, but the interval reaches below it``, ``baseline; the
        interval reaches competitive``, ``competitive; the interval reaches from baseline to
        strong``, or ``undefined``.
    """
    if target.status is None:
        return "undefined"
    low, mean, high = (
        (status or target.status).replace("_", " ")
        for status in (target.status_low, target.status, target.status_high)
    )
    if low != mean != high:
        return f"{mean}; the interval reaches from {low} to {high}"
    if low != mean:
        return f"{mean}, but the interval reaches below it"
    return mean if high == mean else f"{mean}; the interval reaches {high}"


def _status(mean: float | None, target: Target, *, higher_is_better: bool) -> TargetStatus | None:
    if mean is None:
        return None
    if not higher_is_better:  # one level, see BenchmarkConfig
        return "competitive" if mean <= target.competitive else "below_competitive"
    if target.strong is not None and mean >= target.strong:
        return "strong"
    if mean >= target.competitive:
        return "competitive"
    if target.baseline is None:
        return "below_competitive"
    return "baseline" if mean >= target.baseline else "below_baseline"
