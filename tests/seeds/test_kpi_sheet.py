"""The KPI sheet of a TREC track: measures, targets, one report for each mode."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval

GARDEN = Path(__file__).resolve().parents[2] / "fixtures/garden-trec"
RUN = Path(__file__).resolve().parents[2] / "fixtures/runs/hybrid.run"
NAMES = "nDCG@10,MAP@100,MRR@10,Recall@50,Recall@100,HitRate@10"


def qrels() -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for line in (GARDEN / "qrels.txt").read_text("utf-8").splitlines():
        query_id, _, doc_id, grade = line.split()
        judged.setdefault(query_id, {})[doc_id] = int(grade)
    return judged


def results() -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for line in RUN.read_text("utf-8").splitlines():
        query_id, _, doc_id, _, score, _ = line.split()
        scores.setdefault(query_id, {})[doc_id] = float(score)
    return scores


def ranking(scores: Mapping[str, float]) -> list[str]:
    by_id = sorted(scores, reverse=True)
    return sorted(by_id, key=lambda doc_id: -scores[doc_id])


def expected() -> dict[str, float]:
    """Compute the sheet with pytrec_eval, and reciprocal ranks and hits by hand."""
    judged, run = qrels(), results()
    measures = {"ndcg_cut.10", "map_cut.100", "recall.50,100"}
    scored = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)
    names = {
        "nDCG@10": "ndcg_cut_10",
        "MAP@100": "map_cut_100",
        "Recall@50": "recall_50",
        "Recall@100": "recall_100",
    }
    sheet = {
        name: math.fsum(scored.get(query_id, {}).get(key, 0.0) for query_id in judged) / len(judged)
        for name, key in names.items()
    }
    first = []
    for query_id, grades in judged.items():
        ranks = [
            rank
            for rank, doc_id in enumerate(ranking(run.get(query_id, {}))[:10], 1)
            if grades.get(doc_id, 0) > 0
        ]
        first.append(ranks[0] if ranks else 0)
    sheet["MRR@10"] = math.fsum(1 / rank for rank in first if rank) / len(judged)
    sheet["HitRate@10"] = sum(map(bool, first)) / len(judged)
    return sheet


def test_a_report_labels_each_measure_with_the_name_that_was_requested(
    desk: Any, garden_runs: str
) -> None:
    desk.run(f"benchmark run {garden_runs} --measures {NAMES} --output-dir out")
    report = desk.read("out/BenchmarkReport.json")
    for mode in ("lexical", "vector", "hybrid"):
        assert list(report["modes"][mode]["measures"]) == NAMES.split(",")
    shown = {name: m["mean"] for name, m in report["modes"]["hybrid"]["measures"].items()}
    assert shown == pytest.approx(expected(), abs=1e-12)
    assert "AP@100" in str(report["modes"]["hybrid"]["measures"]["MAP@100"]["definition"])


def test_files_of_a_benchmark(desk: Any) -> None:
    desk.run(
        f"benchmark run --dataset {GARDEN} --modes lexical,vector,hybrid --plots --output-dir out"
    )
    names = {
        str(path.relative_to(desk.folder / "out"))
        for path in (desk.folder / "out").rglob("*")
        if path.is_file()
    }
    modes = ("lexical", "vector", "hybrid")
    assert {"BenchmarkReport.json", "BenchmarkComparison.md", "per_query.parquet"} <= names
    assert {f"runs/{mode}.run" for mode in modes} <= names
    assert {f"reports/{mode}.json" for mode in modes} <= names
    assert any(name.startswith("visualizations/") and name.endswith(".png") for name in names)
    table = (desk.folder / "out/BenchmarkComparison.md").read_text("utf-8")
    header = next(line for line in table.splitlines() if line.startswith("| Metric |"))
    assert header.endswith("| Best Mode |")


def test_targets(desk: Any, garden_runs: str) -> None:
    desk.run(f"benchmark run {garden_runs} -m {NAMES} --targets trec-2025 --output-dir out")
    measures = desk.read("out/BenchmarkReport.json")["modes"]["hybrid"]["measures"]
    target = measures["MAP@100"]["target"]
    assert target["baseline"] < target["competitive"]
    assert target["status"]


def test_gain_of_two_to_the_grade(desk: Any) -> None:
    """Compute nDCG@10 with the gain 2^rel - 1 by hand."""
    judged, run = qrels(), results()
    values = []
    for query_id, grades in judged.items():
        gains = [2 ** max(grades.get(d, 0), 0) - 1 for d in ranking(run.get(query_id, {}))[:10]]
        ideal = sorted((2 ** max(grade, 0) - 1 for grade in grades.values()), reverse=True)[:10]
        dcg, best = (
            math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(one, 1))
            for one in (gains, ideal)
        )
        values.append(dcg / best if best else 0.0)
    name = "nDCG(dcg='exp-log2')@10"
    document = desk.json(f'trectools-plus eval {GARDEN}/qrels.txt {RUN} -m "{name}" --format json')
    (measure,) = document["runs"][0]["measures"].values()
    assert measure["mean"] == pytest.approx(math.fsum(values) / len(values), abs=1e-12)
    assert "exp-log2" in desk.run("trectools-plus explain nDCG@10").text


@pytest.mark.parametrize(
    ("alias", "canonical"),
    [
        ("ndcg_cut_10", "nDCG@10"),
        ("map_cut.100", "AP@100"),
        ("recip_rank", "RR"),
        ("recall.50", "R@50"),
        ("success.10", "Success@10"),
        ("MAP@100", "AP@100"),
        ("mrr@10", "RR@10"),
        ("Recall@50", "R@50"),
        ("precision@5", "P@5"),
        ("HR@10", "HitRate@10"),
        ("hit@10", "HitRate@10"),
        ("map", "AP"),
    ],
)
def test_names_of_measures(desk: Any, alias: str, canonical: str) -> None:
    document = desk.json(
        f"trectools-plus eval {GARDEN}/qrels.txt {RUN} -m {alias} -m {canonical} --format json"
    )
    means = {measure["mean"] for measure in document["runs"][0]["measures"].values()}
    assert len(means) == 1


def test_depth_of_a_submission_is_limited_to_100(desk: Any) -> None:
    rows = [f"1 Q0 d{rank} {rank} {1000 - rank} mine\n" for rank in range(1, 121)]
    desk.write("deep.run", "".join(rows))
    (file,) = desk.json("runs validate deep.run --format json", code=1)["files"]
    assert "R161" in {finding["code"] for finding in file["findings"]}
    desk.run("runs validate deep.run --max-depth 1000")
    desk.run("runs validate deep.run --profile trec")


def test_trec_eval_keeps_the_first_of_repeated_cutoffs(desk: Any) -> None:
    done = desk.run(f"trectools-plus trec-eval -m recall.50 -m recall.100 {GARDEN}/qrels.txt {RUN}")
    assert [line.split()[0] for line in done.text.splitlines()] == ["recall_50"]
    assert "recall.50,100" in done.stderr
