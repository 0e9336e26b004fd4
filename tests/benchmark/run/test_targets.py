"""Targets: levels in order, status at and around each level."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.benchmark.report import load_report
from trectools_plus.benchmark.report.model import hash_config
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.benchmark.run.runner import run_benchmark
from trectools_plus.benchmark.run.targets import (
    AD_HOC_TARGETS,
    Target,
    describe_status,
    find_uplift_baseline,
    judge_mean,
    judge_uplift,
)
from trectools_plus.errors import UsageError
from trectools_plus.measures import DEFAULT_MEASURES
from trectools_plus.reporting.verification.verify import verify_report


def test_every_default_measure_has_a_target() -> None:
    assert set(AD_HOC_TARGETS) == set(DEFAULT_MEASURES)


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
    assert judge_mean(mean, AD_HOC_TARGETS["nDCG@10"]).status == status


def test_without_a_strong_level_competitive_is_the_highest() -> None:
    result = judge_mean(1.0, AD_HOC_TARGETS["RR@10"])
    assert (result.status, result.strong) == ("competitive", None)


def test_average_precision_is_competitive_three_points_above_the_baseline() -> None:
    target = AD_HOC_TARGETS["AP@100"]
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
        (0.33, 0.36, 0.39, "competitive (interval: baseline to competitive)"),
        (0.36, 0.39, 0.41, "competitive (interval: competitive to strong)"),
        (0.29, 0.36, 0.41, "competitive (interval: below baseline to strong)"),
        (0.25, 0.29, 0.31, "below baseline (interval: below baseline to baseline)"),
        (0.41, 0.45, 0.48, "strong"),
        (0.20, 0.25, 0.29, "below baseline"),
        (None, None, None, "undefined"),
    ],
)
def test_the_interval_is_judged_with_the_mean(
    low: float | None, mean: float | None, high: float | None, words: str
) -> None:
    result = judge_mean(mean, AD_HOC_TARGETS["nDCG@10"], low, high)
    assert describe_status(result) == words


def test_the_ends_of_the_interval_have_levels_of_their_own() -> None:
    result = judge_mean(0.36, AD_HOC_TARGETS["nDCG@10"], 0.31, 0.42)
    assert (result.status_low, result.status, result.status_high) == (
        "baseline",
        "competitive",
        "strong",
    )


def of_preset(name: Any, **values: Any) -> dict[str, Target | None]:
    return BenchmarkConfig(dataset="irds:x", targets=name, **values).all_targets


def test_the_preset_of_the_kpi_sheet() -> None:
    """The default targets, with the meaningful uplift of MAP@100."""
    found = of_preset("trec-2025")
    assert found == {
        **AD_HOC_TARGETS,
        "AP@100": AD_HOC_TARGETS["AP@100"].model_copy(update={"uplift": (0.03, 0.05)}),
    }
    named = ("nDCG(dcg='exp-log2')@10", "MAP@100", "P@5")
    found = of_preset("trec-2025", measures=named)
    assert set(found) == {"nDCG(dcg='exp-log2')@10", "AP@100"}
    assert found["nDCG(dcg='exp-log2')@10"] == AD_HOC_TARGETS["nDCG@10"]
    assert BenchmarkConfig(dataset="hpo", targets="trec-2025").measures == DEFAULT_MEASURES


@pytest.mark.parametrize("preset", ["bands", ["bands"]])
@pytest.mark.parametrize("measure", ["nDCG@10", "nDCG", "NDCG@5", "nDCG(dcg='exp-log2')@20"])
def test_bands_of_ndcg(preset: Any, measure: str) -> None:
    """nDCG above 0.8 is very good, above 0.5 good."""
    config = BenchmarkConfig(dataset="irds:x", targets=preset, measures=(measure, "R@5"))
    (target,) = config.all_targets.values()
    bands = {0.81: "very good", 0.8: "good", 0.51: "good", 0.5: "below good", 0.0: "below good"}
    assert {mean: judge_mean(mean, target).band for mean in bands} == bands
    assert judge_mean(None, target).band is None
    result = judge_mean(0.9, target, 0.6, 1.0)
    assert describe_status(result) == "very good (interval: good to very good)"
    assert result.model_dump(mode="json")["names"] == {"competitive": "good", "strong": "very good"}


def test_the_last_preset_counts_and_unknown_ones_are_named() -> None:
    both = of_preset("trec-2025,bands")
    assert both["nDCG@10"] == of_preset("bands")["nDCG@10"]
    assert both["AP@100"] == of_preset("trec-2025")["AP@100"]
    with pytest.raises(UsageError, match=r"trec-2024.*targets.*trec-2025"):
        load_config(options={"dataset": "hpo", "targets": "trec-2024"})


def test_presets_in_a_file_and_targets_without_new_fields(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.yaml"
    path.write_text("dataset: hpo\ntargets: trec-2025\n")
    manifest = load_config(path).as_manifest()
    assert manifest["targets"]["AP@100"]["uplift"] == [0.03, 0.05]
    again = BenchmarkConfig.model_validate(json.loads(json.dumps(manifest)))
    assert hash_config(again.as_manifest()) == hash_config(manifest)
    assert load_config(options={"dataset": "hpo"}).as_manifest()["targets"] == {}
    plain = manifest["targets"]["nDCG@10"]
    assert set(plain) == {"baseline", "baseline_high", "competitive", "strong"}
    result = judge_mean(0.5, AD_HOC_TARGETS["nDCG@10"]).model_dump(mode="json")
    assert set(result) == {*plain, "status", "status_low", "status_high"}


@pytest.mark.parametrize(
    ("mean", "meaningful"),
    [(0.2999999, False), (0.27 + 0.03, True), (0.31, True), (0.9, True), (None, None)],
)
def test_an_uplift_in_the_range_or_above_is_meaningful(
    mean: float | None, meaningful: bool | None
) -> None:
    assert judge_uplift(mean, ("bm25", 0.27), (0.03, 0.05)).meaningful is meaningful
    assert judge_uplift(mean, ("bm25", None), (0.03, 0.05)).meaningful is None


@pytest.mark.parametrize(
    ("baselines", "modes", "expected"),
    [
        ((), ["lexical", "vector"], "lexical"),
        ((), ["mine", "BM25"], "BM25"),
        (("vector",), ["lexical", "vector"], "vector"),
        ((), ["a", "b"], None),
        ((), ["BM25", "lexical"], None),
    ],
)
def test_the_baseline_of_an_uplift(
    baselines: tuple[str, ...], modes: list[str], expected: str | None
) -> None:
    assert find_uplift_baseline(baselines, modes) == expected


@pytest.mark.parametrize("uplift", [(0.05, 0.03), (0.0, 0.05), (0.03,), "much"])
def test_uplifts_that_are_refused(uplift: Any) -> None:
    with pytest.raises(UsageError):
        Target(competitive=0.3, uplift=uplift)


def test_a_report_with_uplifts_and_bands_is_verified(small: Any, tmp_path: Path) -> None:
    from trectools_plus.reporting.files import write_reports

    best = {"q1": ["d1", "d3"], "q2": ["d2", "d3"], "q3": ["d4", "d5", "d8"], "q4": ["d7"]}
    worse = {**best, "q1": ["d2", "d1", "d3"]}
    runs = {"bm25": worse, "mine": best}
    config = BenchmarkConfig(
        qrels=small.qrels,
        runs={name: small.write_run(name, rankings) for name, rankings in runs.items()},
        targets="trec-2025,bands",
        resamples=200,
        output_dir=tmp_path / "out",
    )
    files = write_reports(run_benchmark(config), plots=False)
    report = load_report(files["json"])
    means = {name: mode.measures["AP@100"].mean or 0 for name, mode in report.modes.items()}
    assert report.modes["bm25"].measures["AP@100"].target.uplift is None  # type: ignore[union-attr]
    uplift = report.modes["mine"].measures["AP@100"].target.uplift  # type: ignore[union-attr]
    assert uplift is not None
    assert (uplift.baseline, uplift.low, uplift.high) == ("bm25", 0.03, 0.05)
    assert uplift.difference == means["mine"] - means["bm25"]
    assert uplift.meaningful
    assert not verify_report(files["json"]).problems
    document = json.loads(files["json"].read_text())
    document["modes"]["mine"]["measures"]["AP@100"]["target"]["uplift"]["difference"] += 0.1
    files["json"].write_text(json.dumps(document))
    assert any("uplift" in problem for problem in verify_report(files["json"]).problems)
