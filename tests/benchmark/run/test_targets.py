"""Targets: levels in order, status at and around each level."""

from __future__ import annotations

import pytest

from trectools_plus.benchmark.run.targets import (
    DEFAULT_TARGETS,
    Target,
    describe_status,
    judge_mean,
)
from trectools_plus.errors import UsageError
from trectools_plus.measures import DEFAULT_MEASURES


def test_every_default_measure_has_a_target() -> None:
    assert set(DEFAULT_TARGETS) == set(DEFAULT_MEASURES)


@pytest.mark.parametrize(
    ("mean", "status"),
    [
        (0.0, "below_baseline"),
        (0.2999999, "below_baseline"),
        (0.30, "baseline"),
        (0.3499999, "baseline"),
        (0.35, "competitive"),
        (0.40, "strong"),
        (1.0, "strong"),
        (None, None),
    ],
)
def test_status_is_the_highest_level_reached(mean: float | None, status: str | None) -> None:
    assert judge_mean(mean, DEFAULT_TARGETS["nDCG@10"]).status == status


def test_without_a_strong_level_competitive_is_the_highest() -> None:
    result = judge_mean(1.0, DEFAULT_TARGETS["RR@10"])
    assert (result.status, result.strong) == ("competitive", None)


def test_average_precision_is_competitive_three_points_above_the_baseline() -> None:
    target = DEFAULT_TARGETS["AP@100"]
    assert target.baseline_high is not None
    assert target.competitive == pytest.approx(target.baseline_high + 0.03)


@pytest.mark.parametrize(
    "levels",
    [
        {"baseline": 0.5, "competitive": 0.4},
        {"baseline": 0.1, "baseline_high": 0.5, "competitive": 0.4},
        {"baseline": 0.1, "competitive": 0.4, "strong": 0.3},
        {"baseline": float("nan"), "competitive": 0.4},
        {"baseline": 0.1},
        {"baseline": 0.1, "competitive": 0.4, "good": 0.5},
    ],
)
def test_levels_out_of_order_or_unknown_are_refused(levels: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Target(**levels)


def test_without_a_baseline_there_is_only_one_step() -> None:
    target = Target(competitive=0.5)
    assert judge_mean(0.4, target).status == "below_competitive"
    assert judge_mean(0.5, target).status == "competitive"
    assert judge_mean(0.4, target).baseline is None


@pytest.mark.parametrize(
    ("low", "mean", "high", "words"),
    [
        (None, 0.36, None, "competitive"),
        (0.35, 0.36, 0.399, "competitive"),
        (0.33, 0.36, 0.39, "competitive, but the interval reaches below it"),
        (0.36, 0.39, 0.41, "competitive; the interval reaches strong"),
        (0.29, 0.36, 0.41, "competitive; the interval reaches from below baseline to strong"),
        (0.25, 0.29, 0.31, "below baseline; the interval reaches baseline"),
        (0.41, 0.45, 0.48, "strong"),
        (0.20, 0.25, 0.29, "below baseline"),
        (None, None, None, "undefined"),
    ],
)
def test_the_interval_is_judged_with_the_mean(
    low: float | None, mean: float | None, high: float | None, words: str
) -> None:
    result = judge_mean(mean, DEFAULT_TARGETS["nDCG@10"], low, high)
    assert describe_status(result) == words


def test_the_ends_of_the_interval_have_levels_of_their_own() -> None:
    result = judge_mean(0.36, DEFAULT_TARGETS["nDCG@10"], 0.31, 0.42)
    assert (result.status_low, result.status, result.status_high) == (
        "baseline",
        "competitive",
        "strong",
    )
