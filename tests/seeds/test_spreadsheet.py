"""Manual testing of a ranking: positions, hits, bands, the best variant, the result one chooses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

QRELS = "q1 0 a 1\nq1 0 b 1\nq1 0 c 1\nq2 0 d 2\n"
ROWS = [("q1", "a"), ("q1", "x"), ("q1", "b"), ("q1", "y"), ("q1", "c"), ("q2", "z"), ("q2", "d")]


def run_file() -> str:
    ranks: dict[str, int] = {}
    lines = []
    for query_id, doc_id in ROWS:
        rank = ranks[query_id] = ranks.get(query_id, 0) + 1
        lines.append(f"{query_id} Q0 {doc_id} {rank} {10 - rank} mine\n")
    return "".join(lines)


@pytest.fixture
def sheet(desk: Any) -> Any:
    desk.write("qrels.txt", QRELS)
    desk.write("mine.run", run_file())
    return desk


def test_positions_of_relevant_results(sheet: Any) -> None:
    """Ranks of q1 are 1, 3 and 5, that of q2 is 2."""
    document = sheet.json(
        "trectools-plus eval qrels.txt mine.run -m average_position,min_position,inTop3 "
        "--per-query --format json"
    )
    (run,) = document["runs"]
    means = {name: measure["mean"] for name, measure in run["measures"].items()}
    assert means["average_position"] == (3 + 2) / 2
    assert means["min_position"] == (1 + 2) / 2
    assert means["inTop3"] == pytest.approx((2 / 3 + 1) / 2, abs=1e-12)
    assert "2/3" in sheet.run("trectools-plus eval qrels.txt mine.run -m inTop3 --per-query").text


def test_hit_and_reciprocal_rank_and_ndcg(sheet: Any) -> None:
    document = sheet.json(
        "trectools-plus eval qrels.txt mine.run -m HitRate@1,MRR,nDCG@10 --format json"
    )
    means = {name: m["mean"] for name, m in document["runs"][0]["measures"].items()}
    assert means["HitRate@1"] == 0.5
    assert means["MRR"] == 0.75
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    first = (1 + 1 / math.log2(4) + 1 / math.log2(6)) / ideal
    assert means["nDCG@10"] == pytest.approx((first + 1 / math.log2(3)) / 2, abs=1e-12)


def test_undefined_positions_are_not_zero(sheet: Any) -> None:
    sheet.write("none.run", "q1 Q0 a 1 1.0 none\nq2 Q0 z 1 1.0 none\n")
    document = sheet.json("trectools-plus eval qrels.txt none.run -m MeanRank --format json")
    measure = document["runs"][0]["measures"]["MeanRank"]
    assert (measure["mean"], measure["n"]) == (1.0, 1)


def test_bands(desk: Any, garden_runs: str) -> None:
    desk.run(f"benchmark run {garden_runs} -m nDCG@10 --targets bands --output-dir out")
    measures = desk.read("out/BenchmarkReport.json")["modes"]["hybrid"]["measures"]
    assert measures["nDCG@10"]["target"]["status"]


def test_best_variant_overall(desk: Any, garden_runs: str) -> None:
    desk.run(f"benchmark run {garden_runs} --output-dir out")
    report = desk.read("out/BenchmarkReport.json")
    best = report["best_overall"]
    means = {
        mode: values["measures"][report["primary_measure"]]["mean"]
        for mode, values in report["modes"].items()
    }
    assert best["mode"] == max(means, key=lambda mode: means[mode])
    assert isinstance(best["settled"], bool)


def test_own_choice(desk: Any) -> None:
    """The review page stores which result a person would choose."""
    inputs = Path(__file__).resolve().parents[1] / "contract/inputs/review/review.db"
    desk.write("unused", "")
    (desk.folder / "review.db").write_bytes(inputs.read_bytes())
    document = desk.json("trectools-plus review show review.db --format json")
    assert any("chosen" in key or "choose" in key or "choice" in key for key in keys_of(document))


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for entry in value.values() for key in keys_of(entry)}
    if isinstance(value, list):
        return {key for entry in value for key in keys_of(entry)}
    return set()
