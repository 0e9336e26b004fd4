"""Targets: typical values of a measure, and the level that a mean reaches.

A benchmark has targets only if it sets them: under ``targets:`` in ``benchmark.yaml``, or with
presets (:data:`PRESETS`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator

from trectools_plus.choices import TargetStatus
from trectools_plus.errors import UsageError
from trectools_plus.models import WithoutUnset
from trectools_plus.retrieval.backends.modes import canonical_mode
from trectools_plus.retrieval.setting_types import Number
from trectools_plus.statistics.arrays import EQUAL

if TYPE_CHECKING:  # commands that only read a configuration start faster without reports
    from trectools_plus.benchmark.report.model import TargetResult


class Target(WithoutUnset):
    """Levels of one measure, in its unit.

    A single number sets the level ``competitive``, the only level if lower is better.

    Attributes:
        baseline: Lower end of the typical range of a plain BM25 baseline; ``None`` if unknown.
        baseline_high: Upper end of that range; ``None`` if it is one value.
        competitive: A result of at least this is competitive ("good").
        strong: A result of at least this is strong; ``None`` if no such level is set.
        uplift: The range of meaningful differences from the mean of the baseline mode; ``None`` if
            unknown. A larger difference is meaningful too.
    """

    _optional: ClassVar = {"uplift": None}
    model_config = ConfigDict(extra="forbid", frozen=True)

    baseline: Number | None = Field(default=None, allow_inf_nan=False)
    baseline_high: Number | None = Field(default=None, allow_inf_nan=False)
    competitive: Number = Field(allow_inf_nan=False)
    strong: Number | None = Field(default=None, allow_inf_nan=False)
    uplift: tuple[Number, Number] | None = None

    @model_validator(mode="before")
    @classmethod
    def _bare_number(cls, value: Any) -> Any:
        return {"competitive": value} if isinstance(value, str | int | float) else value

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        levels = [self.baseline, self.baseline_high, self.competitive, self.strong]
        known = [level for level in levels if level is not None]
        if known != sorted(known):
            shown = " ".join(f"{level:g}" for level in known)
            raise ValueError(
                f"expected baseline <= baseline_high <= competitive <= strong but got {shown}"
            )
        if self.uplift is not None and not 0 < self.uplift[0] <= self.uplift[1]:
            raise ValueError("expected an uplift of two ascending numbers above 0")
        return self


AD_HOC_TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "nDCG@10": Target(baseline=0.30, baseline_high=0.32, competitive=0.35, strong=0.40),
        # competitive: the baseline's upper end + 0.03
        "AP@100": Target(baseline=0.25, baseline_high=0.27, competitive=0.30, uplift=(0.03, 0.05)),
        "RR@10": Target(baseline=0.45, competitive=0.55),
        "R@50": Target(baseline=0.55, baseline_high=0.60, competitive=0.62),
        "R@100": Target(baseline=0.60, baseline_high=0.65, competitive=0.70),
        "HitRate@10": Target(baseline=0.70, baseline_high=0.75, competitive=0.80),
    }
)
"""Typical results of BM25 on ad hoc collections, and a competitive level above them."""
PRESETS: Mapping[str, Mapping[str, Target]] = MappingProxyType(
    {
        "trec-2025": {**AD_HOC_TARGETS, "nDCG(dcg='exp-log2')@10": AD_HOC_TARGETS["nDCG@10"]},
        "bands": {"nDCG": Target(competitive=0.5, strong=0.8)},
    }
)
"""The targets of each preset, by canonical measure, or by its name for all parameters."""


def find_presets(names: Sequence[str], measures: Iterable[str]) -> dict[str, Target | None]:
    """Return the targets of presets.

    Args:
        names: Names of :data:`PRESETS`; for the same measure, the last one counts.
        measures: The measures of the benchmark, by canonical name.

    Raises:
        UsageError: If there is no such preset.
    """
    if unknown := [name for name in names if name not in PRESETS]:
        raise UsageError(
            f"unknown preset '{unknown[0]}'",
            remedy=f"use {' or '.join(PRESETS)}, or a mapping of measures to their levels",
        )
    return {
        measure: target
        for measure in measures
        for name in names
        for key in (measure, measure.partition("@")[0].partition("(")[0])
        if (target := PRESETS[name].get(key)) is not None
    }


def judge_mean(
    mean: float | None,
    target: Target,
    ends: tuple[float | None, float | None] = (None, None),
    *,
    higher_is_better: bool = True,
    baseline: tuple[str, float | None] | None = None,
) -> TargetResult:
    """Return the target with the highest levels that the mean and its interval reach.

    Args:
        mean: The unrounded mean; ``None`` if undefined.
        target: The levels.
        ends: The ends of the mean's interval; ``None`` if undefined.
        higher_is_better: The measure's direction. If it is false, the upper end of the interval is
            the worse one, so ``status_low`` is its level.
        baseline: Name and mean of the mode from which the uplift is measured.
    """
    from trectools_plus.benchmark.report.model import TargetResult, UpliftResult

    worse, better = ends if higher_is_better else ends[::-1]
    status, low, high = (
        _status(value, target, higher_is_better=higher_is_better) for value in (mean, worse, better)
    )
    uplift = None
    if target.uplift is not None and baseline is not None and mean is not None:
        (name, base), (least, most) = baseline, target.uplift
        if base is not None:
            difference = mean - base
            is_meaningful = difference >= least - EQUAL
            uplift = UpliftResult(
                baseline=name, difference=difference, low=least, high=most, meaningful=is_meaningful
            )
    levels = target.model_dump(exclude={"uplift"})
    return TargetResult(**levels, status=status, status_low=low, status_high=high, uplift=uplift)


def find_uplift_baseline(baselines: Sequence[str], modes: Sequence[str]) -> str | None:
    """Return the mode that uplifts are measured from.

    It is the first baseline; without one, the only mode that is called lexical or BM25.
    """
    named = [mode for mode in baselines if mode in modes]
    lexical = [mode for mode in modes if canonical_mode(mode.casefold()) == "lexical"]
    return named[0] if named else lexical[0] if len(lexical) == 1 else None


def describe_status(target: TargetResult) -> str:
    """Describe the level of the mean, and the levels of its interval if they differ.

    Returns:
        ``competitive``, ``competitive (interval: baseline to strong)``, or ``undefined``.
    """
    if target.status is None:
        return "undefined"
    low, mean, high = (
        (status or target.status).replace("_", " ")
        for status in (target.status_low, target.status, target.status_high)
    )
    return mean if low == mean == high else f"{mean} (interval: {low} to {high})"


def _status(mean: float | None, target: Target, *, higher_is_better: bool) -> TargetStatus | None:
    if mean is None:
        return None
    if not higher_is_better:
        return "competitive" if mean <= target.competitive else "below_competitive"
    levels: tuple[TargetStatus, ...] = ("strong", "competitive", "baseline")
    for level in levels:
        least = getattr(target, level)
        if least is not None and mean >= least:
            return level
    return "below_competitive" if target.baseline is None else "below_baseline"
