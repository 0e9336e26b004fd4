"""The Bayesian comparison in reports, and in comparisons of reports."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trectools_plus import compare
from trectools_plus.benchmark import compare_reports, load_report, verify_report
from trectools_plus.benchmark.report.verdict import state_probability
from trectools_plus.errors import UsageError
from trectools_plus.reporting import (
    contrast_document,
    print_contrast,
    print_report,
    render_contrast_markdown,
    render_markdown,
)
from trectools_plus.statistics import bayesian_comparison
from trectools_plus.statistics.comparison import BayesianComparison

RANKS = {
    "a": dict.fromkeys(range(0, 60, 4), 3),
    "b": {**dict.fromkeys(range(0, 60, 5), 2), **dict.fromkeys(range(7), 0)},
    "c": dict.fromkeys(range(40), 5),
}
MEASURES = ["RR@10", "R@10", "MinRank"]


@pytest.fixture(name="plain", scope="module")
def make_plain(module_bench: Any) -> Path:
    folder: Path = module_bench.make("plain", RANKS, measures=MEASURES)
    return folder


@pytest.fixture(name="folder", scope="module")
def make_folder(module_bench: Any) -> Path:
    folder: Path = module_bench.make("rope", RANKS, measures=MEASURES, rope=0.02)
    return folder


def test_each_comparison_has_the_probabilities_of_its_values(folder: Path) -> None:
    report = load_report(folder / "BenchmarkReport.json")
    table = pl.read_parquet(folder / "per_query.parquet")
    assert len(report.comparisons) == 9
    for entry in report.comparisons:
        contrast, baseline = (
            table.filter(run=mode, measure=entry.measure).sort("query_id")["value"]
            for mode in (entry.contrast, entry.baseline)
        )
        both = pl.DataFrame({"contrast": contrast, "baseline": baseline}).drop_nulls()
        sign = -1 if entry.measure == "MinRank" else 1
        expected = bayesian_comparison(
            sign * both["contrast"].to_numpy(), sign * both["baseline"].to_numpy(), rope=0.02
        )
        assert expected is not None
        assert entry.bayes is not None
        assert entry.bayes.rope == 0.02
        for name in ("better", "equivalent", "worse"):
            assert getattr(entry.bayes, name) == pytest.approx(getattr(expected, name), abs=1e-12)


def test_nothing_else_changes(folder: Path, plain: Path) -> None:
    with_rope, without = (
        json.loads((one / "BenchmarkReport.json").read_text("utf-8")) for one in (folder, plain)
    )
    assert with_rope["manifest"]["config"]["rope"] == 0.02
    # The hash of a configuration without a region is that of earlier versions.
    assert "rope" not in without["manifest"]["config"]
    for entry in with_rope["comparisons"]:
        del entry["bayes"]
    for part in ("comparisons", "best_mode_significant", "groups"):
        assert with_rope[part] == without[part]


def test_the_verdict_states_the_probability_of_the_best_mode(folder: Path, plain: Path) -> None:
    report = load_report(folder / "BenchmarkReport.json")
    verdict = report.verdict
    assert verdict is not None
    assert (verdict.best, verdict.second) == ("a", "b")
    entry = report.find_comparison("a", "b", "RR@10")
    assert entry is not None
    assert entry.bayes is not None
    assert entry.bayes.worse > 0.5
    assert verdict.probability == (
        f"The probability that a is better than b on RR@10 by more than 0.02 is "
        f"{entry.bayes.worse:.2f} (practically equivalent: {entry.bayes.equivalent:.2f}, worse by "
        f"more than 0.02: {entry.bayes.better:.2f})."
    )
    stream = io.StringIO()
    print_report(report, stream)
    lines = stream.getvalue().split("\n\n")[0]
    assert f"{verdict.text} {verdict.probability}" in " ".join(lines.split())
    paragraphs = render_markdown(report).split("\n\n")
    assert paragraphs[1:3] == [verdict.text, verdict.probability]
    page = (folder / "BenchmarkReport.html").read_text("utf-8")
    assert f'data-f="t">{verdict.probability}</p>' in page
    assert "The probability" not in (plain / "BenchmarkReport.html").read_text("utf-8")
    without = load_report(plain / "BenchmarkReport.json").verdict
    assert without is not None
    assert without.probability is None
    assert "probability" not in without.model_dump()


def test_an_edited_probability_is_found(folder: Path, tmp_path: Path) -> None:
    assert not verify_report(folder).problems
    copy = shutil.copytree(folder, tmp_path / "copy")
    path = copy / "BenchmarkReport.json"
    document = json.loads(path.read_text("utf-8"))
    document["comparisons"][0]["bayes"]["better"] = 0.5
    path.write_text(json.dumps(document), "utf-8")
    problems = " ".join(verify_report(copy).problems)
    assert "better" in problems


def test_the_function_compare_has_the_same_probabilities(folder: Path) -> None:
    runs = {mode: str(folder / "runs" / f"{mode}.run") for mode in RANKS}
    found = compare(str(folder / "qrels.txt"), runs, ["RR@10"], rope=0.02)
    reported = [
        one
        for one in load_report(folder / "BenchmarkReport.json").comparisons
        if one.measure == "RR@10"
    ]
    assert [one.bayes for one in found] == [one.bayes for one in reported]
    assert compare(str(folder / "qrels.txt"), runs, ["RR@10"])[0].bayes is None
    with pytest.raises(UsageError, match="at least 0 but got -1"):
        compare(str(folder / "qrels.txt"), runs, ["RR@10"], rope=-1)


def test_two_reports(bench: Any, folder: Path, plain: Path) -> None:
    other = bench.make("other", {"a": RANKS["c"]}, measures=["RR@10"])
    assert compare_reports(plain, other).modes[0].comparisons[0].bayes is None
    contrast = compare_reports(plain, other, rope=0.02)
    entry = contrast.modes[0].comparisons[0]
    assert entry.bayes is not None
    assert compare_reports(folder, other).modes[0].comparisons[0].bayes == entry.bayes
    values = [
        pl.read_parquet(one / "per_query.parquet")
        .filter(run="a", measure="RR@10")
        .sort("query_id")["value"]
        .to_numpy()
        for one in (other, plain)
    ]
    expected = bayesian_comparison(*values, rope=0.02)
    assert expected is not None
    assert entry.bayes.worse == pytest.approx(expected.worse)
    assert entry.bayes.worse > 0.99
    sentence = state_probability(entry.bayes, "B", "A", "RR@10")
    stream = io.StringIO()
    print_contrast(contrast, stream)
    assert sentence in " ".join(stream.getvalue().split())
    assert "a: The probability" in render_contrast_markdown(contrast)
    document = contrast_document(contrast)["modes"][0]["measures"]["RR@10"]["comparison"]
    assert document["bayes"] == entry.bayes.model_dump()
    plain_document = contrast_document(compare_reports(plain, other))
    assert "bayes" not in plain_document["modes"][0]["measures"]["RR@10"]["comparison"]
    with pytest.raises(UsageError, match="region of practical"):
        compare_reports(plain, other, rope=-0.1)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            (0.871, 0.119, 0.01, 0.01),
            "The probability that Hybrid is better than Lexical-Only on nDCG@10 by more than 0.01 "
            "is 0.87 (practically equivalent: 0.12, worse by more than 0.01: 0.01).",
        ),
        ((0.996, 0.0, 0.004, 0.0), "better than Lexical-Only on nDCG@10 is above 0.99."),
        ((0.004, 0.0, 0.996, 0.0), "is below 0.01."),
        ((1.0, 0.0, 0.0, 0.01), "is 1.00 (practically equivalent: 0.00, worse"),
    ],
)
def test_the_probability_in_words(values: tuple[float, ...], words: str) -> None:
    better, equivalent, worse, rope = values
    bayes = BayesianComparison(better=better, equivalent=equivalent, worse=worse, rope=rope)
    assert words in state_probability(bayes, "Hybrid", "Lexical-Only", "nDCG@10")


def test_an_invalid_region_of_a_benchmark_is_refused(bench: Any) -> None:
    for rope in (-0.01, float("nan"), float("inf"), "x"):
        with pytest.raises(UsageError, match="rope"):
            bench.make(f"rope {rope}", {"a": {}}, rope=rope)


def test_one_query_has_no_probability(bench: Any) -> None:
    folder = bench.make("one", {"a": {}, "b": {0: 2}}, queries=1, rope=0.01)
    found = load_report(folder / "BenchmarkReport.json").comparisons
    assert [one.bayes for one in found] == [None, None]
