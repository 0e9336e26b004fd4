"""Targets: levels in order, status at and around each level."""

import json

import pytest

from trectools_plus.benchmark import BenchmarkConfig, load_config
from trectools_plus.benchmark.report import hash_config
from trectools_plus.benchmark.run.targets import (
    AD_HOC_TARGETS,
    Target,
    describe_status,
    find_uplift_baseline,
    judge_mean,
)
from trectools_plus.errors import UsageError


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
def test_status_is_the_highest_level_reached(mean, status):
    assert judge_mean(mean, AD_HOC_TARGETS["nDCG@10"]).status == status


def test_without_a_strong_level_competitive_is_the_highest():
    result = judge_mean(1.0, AD_HOC_TARGETS["RR@10"])
    assert (result.status, result.strong) == ("competitive", None)


def test_average_precision_is_competitive_three_points_above_the_baseline():
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
def test_levels_out_of_order_or_unknown_are_refused(levels):
    with pytest.raises(UsageError):
        Target(**levels)


def test_without_a_baseline_there_is_only_one_step():
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
def test_the_interval_is_judged_with_the_mean(low, mean, high, words):
    result = judge_mean(mean, AD_HOC_TARGETS["nDCG@10"], (low, high))
    assert describe_status(result) == words
    ends = judge_mean(low, AD_HOC_TARGETS["nDCG@10"]), judge_mean(high, AD_HOC_TARGETS["nDCG@10"])
    assert (result.status_low, result.status_high) == tuple(end.status for end in ends)


def of_preset(name, **values):
    return BenchmarkConfig(dataset="irds:x", targets=name, **values).targets


def test_the_preset_of_the_kpi_sheet():
    found = of_preset("trec-2025")
    assert found == AD_HOC_TARGETS
    named = ("nDCG(dcg='exp-log2')@10", "MAP@100", "P@5")
    found = of_preset("trec-2025", measures=named)
    assert set(found) == {"nDCG(dcg='exp-log2')@10", "AP@100"}
    assert found["nDCG(dcg='exp-log2')@10"] == AD_HOC_TARGETS["nDCG@10"]


@pytest.mark.parametrize("preset", ["bands", ["bands"]])
@pytest.mark.parametrize("measure", ["nDCG@10", "nDCG", "NDCG@5", "nDCG(dcg='exp-log2')@20"])
def test_bands_of_ndcg(preset, measure):
    """nDCG from 0.8 is very good (strong), from 0.5 good (competitive)."""
    config = BenchmarkConfig(dataset="irds:x", targets=preset, measures=(measure, "R@5"))
    (target,) = config.targets.values()
    bands = {0.8: "strong", 0.79: "competitive", 0.5: "competitive", 0.49: "below_competitive"}
    assert {mean: judge_mean(mean, target).status for mean in bands} == bands
    result = judge_mean(0.9, target, (0.6, 1.0))
    assert describe_status(result) == "strong (interval: competitive to strong)"


def test_the_last_preset_counts_and_unknown_ones_are_named():
    both = of_preset("trec-2025,bands")
    assert both["nDCG@10"] == of_preset("bands")["nDCG@10"]
    assert both["AP@100"] == of_preset("trec-2025")["AP@100"]
    with pytest.raises(UsageError, match=r"trec-2024.*targets.*trec-2025"):
        load_config(options={"dataset": "hpo", "targets": "trec-2024"})


def test_presets_in_a_file_and_targets_without_new_fields(tmp_path):
    path = tmp_path / "benchmark.yaml"
    path.write_text("dataset: irds:x\ntargets: trec-2025\n")
    manifest = load_config(path).as_manifest()
    again = BenchmarkConfig.model_validate(json.loads(json.dumps(manifest)))
    assert hash_config(again.as_manifest()) == hash_config(manifest)
    assert load_config(options={"dataset": "hpo"}).as_manifest()["targets"] == {}
    plain = manifest["targets"]["nDCG@10"]
    assert set(plain) == {"baseline", "baseline_high", "competitive", "strong"}
    result = judge_mean(0.5, AD_HOC_TARGETS["nDCG@10"]).model_dump(mode="json")
    assert set(result) == {*plain, "status", "status_low", "status_high"}


@pytest.mark.parametrize(
    ("mean", "meaningful"), [(0.2999999, False), (0.27 + 0.03, True), (0.31, True), (0.9, True)]
)
def test_an_uplift_in_the_range_or_above_is_meaningful(mean, meaningful):
    target = Target(competitive=0.3, uplift=(0.03, 0.05))
    uplift = judge_mean(mean, target, baseline=("bm25", 0.27)).uplift
    assert uplift.meaningful is meaningful
    assert uplift.difference == mean - 0.27
    assert judge_mean(mean, target).uplift is None


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
def test_the_baseline_of_an_uplift(baselines, modes, expected):
    assert find_uplift_baseline(baselines, modes) == expected


@pytest.mark.parametrize("uplift", [(0.05, 0.03), (0.0, 0.05), (0.03,), "much"])
def test_uplifts_that_are_refused(uplift):
    with pytest.raises(UsageError):
        Target(competitive=0.3, uplift=uplift)
