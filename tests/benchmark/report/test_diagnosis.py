"""Each pattern is reported if it is present, and only then."""

import pytest

from trectools_plus.benchmark.diagnostics import diagnose
from trectools_plus.benchmark.report import (
    Diagnostics,
    MeasureDefinition,
    MeasureResult,
    ModeResult,
    RunFile,
)
from trectools_plus.benchmark.run.targets import AD_HOC_TARGETS, Target, judge_mean
from trectools_plus.statistics.comparison import ConfidenceInterval

GOOD = {
    "nDCG@10": 0.5,
    "AP@100": 0.4,
    "RR@10": 0.7,
    "R@50": 0.7,
    "R@100": 0.8,
    "HitRate@10": 0.9,
}
INTERVAL = ConfidenceInterval(low=0, high=1, level=0.95, method="percentile", resamples=10)
TARGETS = {**AD_HOC_TARGETS, "P@10": Target(baseline=0.2, competitive=0.4)}


def mode_of(means, n=50, judged=1.0):
    return ModeResult(
        label="Label",
        run=RunFile(
            path="x",
            sha256="0",
            queries=n,
            results=n,
            depth=1,
        ),
        measures={
            name: MeasureResult(
                mean=mean,
                median=mean,
                std=0.1,
                n=n,
                ci=INTERVAL,
                definition=MeasureDefinition(
                    formula="",
                    gain="",
                    cutoff=int(name.partition("@")[2]),
                    denominator="",
                    relevance_level=1,
                    ties="",
                    averaged_over="",
                    provider="",
                ),
                target=judge_mean(mean, TARGETS[name]),
            )
            for name, mean in means.items()
        },
        latency_ms=None,
        diagnostics=Diagnostics(
            findings=[],
            queries_without_relevant=[],
            missing_queries=[],
            judged={"Judged@10": judged},
            shallow_queries=[],
            status="complete",
        ),
    )


@pytest.mark.parametrize(
    ("changes", "signs"),
    [
        ({}, []),
        ({"R@50": 0.3, "R@100": 0.4}, ["low-recall"]),
        ({"RR@10": 0.2}, ["low-reciprocal-rank"]),
        (
            {"nDCG@10": 0.2, "RR@10": 0.3, "R@100": 0.2},
            ["low-recall", "low-reciprocal-rank", "low-ndcg"],
        ),
        # A shallow recall below its target says nothing while the deep one is fine.
        ({"R@50": 0.1}, []),
    ],
)
def test_patterns_of_one_mode(changes, signs):
    found = diagnose({"m": mode_of({**GOOD, **changes})}, pooled=True)
    assert [item.sign for item in found] == signs
    assert all(item.mode == "m" and item.observed and item.suggests for item in found)


def test_few_judgments_are_reported_once_and_few_queries_are_not():
    modes = {"a": mode_of(GOOD, n=9, judged=0.3), "b": mode_of(GOOD, n=9, judged=0.4)}
    found = diagnose(modes, pooled=True)
    assert [item.sign for item in found] == ["few-judged"]
    assert diagnose(modes, pooled=False) == []
