"""Metrics of tests: validation and scoring of runs, refusals, comparison, notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trectools_plus import compare, evaluate

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
RUN = {"q1": {"d1": 0.9, "d2": 0.5}, "q2": {"d1": 0.7, "d3": 0.6}}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("duplicate-document", "R131"),
        ("empty", "F101"),
        ("five-columns", "R101"),
        ("qrels-as-run", "R104"),
        ("rank-twice", "R122"),
        ("score-comma", "R110"),
        ("score-nan", "R111"),
        ("scores-reversed", "R121"),
        ("seven-columns", "R102"),
    ],
)
def test_faulty_runs(desk: Any, name: str, code: str) -> None:
    path = FIXTURES / f"runs-faulty/{name}.run"
    (file,) = desk.json(f"runs validate {path} --format json", code=1)["files"]
    assert code in {finding["code"] for finding in file["findings"]}


def test_coverage(desk: Any) -> None:
    run = FIXTURES / "runs/missing-query.run"
    qrels = FIXTURES / "garden-trec/qrels.txt"
    done = desk.program(f"runs validate {run} --qrels {qrels} --format json", desk.folder)
    assert "P103" in done.text


@pytest.mark.parametrize(
    "names",
    [["nDCG@10", "map", "mrr@10"], ["ndcg@10", "recall@5", "precision@5", "mrr", "hit@10"]],
)
def test_dictionaries(names: list[str]) -> None:
    evaluation = evaluate(QRELS, RUN, names)
    for name in names:
        assert 0 < evaluation.mean(name) <= 1


def test_frames_and_paths(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        [(q, d, s) for q, docs in RUN.items() for d, s in docs.items()],
        columns=["qid", "docno", "score"],
    )
    assert evaluate(QRELS, frame, ["AP"]).mean("AP") == 0.75
    path = tmp_path / "a.run"
    path.write_text("q1 Q0 d1 1 0.9 a\nq2 Q0 d1 1 0.7 a\nq2 Q0 d3 2 0.6 a\n", "utf-8")
    assert evaluate(QRELS, path, ["AP"]).mean("AP") == 0.75


def test_comparison_in_python() -> None:
    report = compare(QRELS, {"bm25": RUN, "dpr": RUN}, ["ndcg@10", "AP", "MRR@10"], baseline="bm25")
    assert len(list(report)) == 3
    assert len(report.to_pandas()) >= 2
    assert "\\begin{" in report.to_latex(caption="Results", label="tab:main", decimals=3)
    assert str(report)
    assert report._repr_html_()


def test_a_query_without_results_counts_zero(desk: Any) -> None:
    desk.write("qrels.txt", "q1 0 a 1\nq2 0 b 1\n")
    desk.write("one.run", "q1 Q0 a 1 1.0 t\n")
    zero = desk.json("trectools-plus eval qrels.txt one.run -m AP --format json")
    drop = desk.json("trectools-plus eval qrels.txt one.run -m AP --missing drop --format json")
    assert zero["runs"][0]["measures"]["AP"]["mean"] == 0.5
    assert drop["runs"][0]["measures"]["AP"]["mean"] == 1.0
    assert zero["runs"][0]["counts"]["n_missing"] == 1


def test_ids_without_overlap_are_refused(desk: Any) -> None:
    desk.write("qrels.txt", "q1 0 a 1\n")
    desk.write("other.run", "x1 Q0 b 1 1.0 t\n")
    desk.run("trectools-plus eval qrels.txt other.run", code=1)


def test_fusion_keeps_everything(desk: Any) -> None:
    rows = {
        name: "".join(f"1 Q0 {name}{n} {n} {1000 - n} {name}\n" for n in range(1, 151))
        for name in "ab"
    }
    for name, text in rows.items():
        desk.write(f"{name}.run", text)
    desk.run("runs fuse a.run b.run --method rrf --output fused.run")
    assert len((desk.folder / "fused.run").read_text("utf-8").splitlines()) == 300
