"""Targets: typical values of a measure, and the level that a mean reaches.

A benchmark has targets only if it sets them: under ``targets:`` in ``benchmark.yaml``, or with
presets (:data:`PRESETS`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import ge, gt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from trectools_plus.choices import DEFAULT_MEASURES, TargetStatus
from trectools_plus.errors import UsageError
from trectools_plus.models import Model
from trectools_plus.retrieval.backends.embedded.modes import canonical_mode
from trectools_plus.retrieval.setting_types import Flag, Number

if TYPE_CHECKING:  # commands that only read a configuration start faster without reports
    from trectools_plus.benchmark.report import TargetResult, UpliftResult

_ROUNDING = 1e-12
"""Differences of means that are smaller are rounding errors."""


class Target(Model):
    """Levels of one measure, in its unit.

    A single number sets the level ``competitive``, the only level if lower is better.

    Attributes:
        baseline: Lower end of the typical range of a plain BM25 baseline; ``None`` if unknown.
        baseline_high: Upper end of that range; ``None`` if it is one value.
        competitive: A result of at least this is competitive ("good").
        strong: A result of at least this is strong; ``None`` if no such level is set.
        above: Only a result above a level reaches it.
        names: Names of the levels in texts: ``{"competitive": "good", "strong": "very good"}``.
        uplift: The range of meaningful differences from the mean of the baseline mode; ``None`` if
            unknown. A larger difference is meaningful too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    baseline: Number | None = Field(default=None, allow_inf_nan=False)
    baseline_high: Number | None = Field(default=None, allow_inf_nan=False)
    competitive: Number = Field(allow_inf_nan=False)
    strong: Number | None = Field(default=None, allow_inf_nan=False)
    above: Flag = False
    names: dict[TargetStatus, str] | None = None
    uplift: tuple[Number, Number] | None = None

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
        if self.uplift is not None and not 0 < self.uplift[0] <= self.uplift[1]:
            raise ValueError("expected an uplift of two ascending numbers above 0")
        return self

    @model_serializer(mode="wrap")
    def _without_unset(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out unset fields that earlier versions did not have, so that hashes are equal."""
        fields: dict[str, Any] = handler(self)
        return {
            name: value
            for name, value in fields.items()
            if value or name not in ("above", "names", "uplift")
        }


AD_HOC_TARGETS: Mapping[str, Target] = MappingProxyType(
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
"""Typical results of BM25 on ad hoc collections, and a competitive level above them."""


TREC_2025 = "trec-2025"
_BANDS = Target(
    competitive=0.5, strong=0.8, above=True, names={"competitive": "good", "strong": "very good"}
)

Targets = dict[str, Target | None]


def _trec_2025(measures: Iterable[str]) -> Targets:
    """Return the targets of ad hoc collections, with the meaningful uplift of MAP@100.

    The levels of nDCG@10 also apply to its variant with exponential gain.
    """
    ap, ndcg = AD_HOC_TARGETS["AP@100"], AD_HOC_TARGETS["nDCG@10"]
    further = {
        "nDCG(dcg='exp-log2')@10": ndcg,
        "AP@100": ap.model_copy(update={"uplift": (0.03, 0.05)}),
    }
    levels = {**AD_HOC_TARGETS, **further}
    return {name: levels[name] for name in measures if name in levels}


def _bands(measures: Iterable[str]) -> Targets:
    """Return the bands of nDCG, at any cutoff: above 0.8 very good, above 0.5 good."""
    return {name: _BANDS for name in measures if re.split("[(@]", name)[0] == "nDCG"}


PRESETS: Mapping[str, Callable[[Iterable[str]], Targets]] = MappingProxyType(
    {TREC_2025: _trec_2025, "bands": _bands}
)
"""Functions that return the targets of a preset for measures by canonical name."""

PRESET_MEASURES = MappingProxyType({TREC_2025: DEFAULT_MEASURES})
"""Default measures of a benchmark with a preset."""


def find_presets(names: Sequence[str], measures: Iterable[str]) -> Targets:
    """Return the targets of presets.

    Args:
        names: Names of :data:`PRESETS`; for the same measure, the last one counts.
        measures: The measures of the benchmark, by canonical name.

    Raises:
        UsageError: If there is no such preset.
    """
    measures = list(measures)
    found: Targets = {}
    for name in names:
        if name not in PRESETS:
            raise UsageError(
                f"unknown preset '{name}'",
                remedy=f"use {' or '.join(PRESETS)}, or a mapping of measures to their levels",
            )
        found |= PRESETS[name](measures)
    return found


def find_uplift_baseline(baselines: Sequence[str], modes: Sequence[str]) -> str | None:
    """Return the mode that uplifts are measured from.

    Args:
        baselines: The baselines of the configuration.
        modes: The scored modes.

    Returns:
        The first baseline; without one, the only mode or run that is called lexical or BM25 (in
        any case); ``None`` if there is none.
    """
    named = [mode for mode in baselines if mode in modes]
    if named:
        return named[0]
    lexical = [mode for mode in modes if canonical_mode(mode.casefold()) == "lexical"]
    return lexical[0] if len(lexical) == 1 else None


def judge_uplift(
    mean: float | None, baseline: tuple[str, float | None], range_: tuple[float, float]
) -> UpliftResult:
    """Return the difference from the baseline, and whether it is meaningful.

    Args:
        mean: The mode's mean; ``None`` if undefined.
        baseline: Name and mean of the baseline.
        range_: The target's range of meaningful differences.
    """
    from trectools_plus.benchmark.report import UpliftResult

    name, of_baseline = baseline
    low, high = range_
    difference = None if mean is None or of_baseline is None else mean - of_baseline
    return UpliftResult(
        baseline=name,
        difference=difference,
        low=low,
        high=high,
        meaningful=None if difference is None else difference >= low - _ROUNDING,
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
    from trectools_plus.benchmark.report import TargetResult

    worse, better = (low, high) if higher_is_better else (high, low)
    status = _status(mean, target, higher_is_better=higher_is_better)
    return TargetResult(
        **target.model_dump(exclude={"uplift"}),
        status=status,
        band=_name(status, target.names) if status and target.names else None,
        status_low=_status(worse, target, higher_is_better=higher_is_better),
        status_high=_status(better, target, higher_is_better=higher_is_better),
    )


def describe_status(target: TargetResult) -> str:
    """Describe the level of the mean, and the levels of its interval if they differ.

    Returns:
        ``competitive``, ``competitive (interval: baseline to strong)``, or ``undefined``.
    """
    if target.status is None:
        return "undefined"
    low, mean, high = (
        _name(status or target.status, target.names)
        for status in (target.status_low, target.status, target.status_high)
    )
    return mean if low == mean == high else f"{mean} (interval: {low} to {high})"


def _name(status: str, names: Mapping[Any, str] | None) -> str:
    """Return a status in words, with the names of the levels: ``below good``."""
    level = status.removeprefix("below_")
    named = (names or {}).get(level, level)
    return named if level == status else f"below {named}"


def _status(mean: float | None, target: Target, *, higher_is_better: bool) -> TargetStatus | None:
    if mean is None:
        return None
    if not higher_is_better:  # one level, see BenchmarkConfig
        return "competitive" if mean <= target.competitive else "below_competitive"
    reaches = gt if target.above else ge
    levels: tuple[TargetStatus, ...] = ("strong", "competitive", "baseline")
    for level in levels:
        least = getattr(target, level)
        if least is not None and reaches(mean, least):
            return level
    return "below_competitive" if target.baseline is None else "below_baseline"
