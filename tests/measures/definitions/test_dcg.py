"""Cumulative gain against sums written out, nDCG and trec_eval 10."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus import evaluate
from trectools_plus.errors import UsageError
from trectools_plus.measures import explain, parse_measure

GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-2, 4), min_size=1)
RANKINGS = st.permutations("abcdefghxyz").flatmap(
    lambda docs: st.integers(1, 11).map(lambda n: docs[:n])
)


def evaluate_one(name: str, ranking: list[str], grades: dict[str, int]) -> float:
    run = {"q": {doc_id: -float(rank) for rank, doc_id in enumerate(ranking)}}
    # A ranking without judged documents is refused.
    qrels = {"q": {**grades, "other": 0}}
    run["q"]["other"] = -100.0
    return evaluate(qrels, {"run": run}, [name]).mean("run", name)


def sum_gains(ranking: list[str], grades: dict[str, int], k: int, *, exponential: bool) -> float:
    total = 0.0
    for rank, doc_id in enumerate(ranking[:k], 1):
        grade = max(grades.get(doc_id, 0), 0)
        total += (2**grade - 1 if exponential else grade) / math.log2(rank + 1)
    return total


@given(RANKINGS, GRADES, st.integers(1, 12))
def test_sums_of_discounted_gains(ranking: list[str], grades: dict[str, int], k: int) -> None:
    linear = evaluate_one(f"DCG@{k}", ranking, grades)
    exponential = evaluate_one(f"DCG(dcg='exp-log2')@{k}", ranking, grades)
    assert linear == pytest.approx(sum_gains(ranking, grades, k, exponential=False))
    assert exponential == pytest.approx(sum_gains(ranking, grades, k, exponential=True))
    whole = evaluate_one("DCG", ranking, grades)
    assert whole == pytest.approx(sum_gains(ranking, grades, 99, exponential=False))
    gains = [max(grades.get(doc_id, 0), 0) for doc_id in ranking]
    assert evaluate_one(f"CG@{k}", ranking, grades) == sum(gains[:k])
    assert evaluate_one("CG", ranking, grades) == sum(gains)


@given(RANKINGS, GRADES, st.integers(1, 12), st.sampled_from(["log2", "exp-log2"]))
def test_the_ratio_to_an_ideal_ranking_is_ndcg(
    ranking: list[str], grades: dict[str, int], k: int, gain: str
) -> None:
    positive = {doc_id: max(grade, 0) for doc_id, grade in grades.items()}
    ideal = sorted(grades, key=lambda doc_id: -positive[doc_id])
    best = evaluate_one(f"DCG(dcg='{gain}')@{k}", ideal, positive)
    value = evaluate_one(f"DCG(dcg='{gain}')@{k}", ranking, positive)
    qrels = [ir_measures.Qrel("q", doc_id, grade) for doc_id, grade in positive.items()]
    run = [ir_measures.ScoredDoc("q", doc_id, -rank) for rank, doc_id in enumerate(ranking)]
    measure = ir_measures.nDCG(dcg=gain) @ k
    if best and gain == "log2":
        expected = ir_measures.calc_aggregate([measure], qrels, run)[measure]
        assert value / best == pytest.approx(expected)
    assert value / (best or 1) == pytest.approx(
        evaluate_one(f"nDCG(dcg='{gain}')@{k}", ranking, positive)
    )


@pytest.mark.parametrize("cutoff", [None, 3, 10])
def test_the_call_in_the_definition_prints_the_figure(program: Any, cutoff: int | None) -> None:
    garden = Path(__file__).parents[3] / "fixtures"
    qrels, run = garden / "garden-trec" / "qrels.txt", garden / "runs" / "lexical.run"
    for name in ("DCG", "RBP(p=0.9)", "RBP"):
        measure = name if cutoff is None else f"{name}@{cutoff}"
        call = explain(measure).trec_eval_call
        assert call is not None
        flags = call.partition("#")[0].split()[1:-2]
        done = program(
            [
                "trectools-plus",
                "trec-eval",
                "--trec-eval-version",
                "10",
                *flags,
                str(qrels),
                str(run),
            ],
            garden,
        )
        assert done.code == 0, done.stderr
        figure = float(done.text.split()[-1])
        assert figure == pytest.approx(evaluate(str(qrels), str(run), [measure])[measure], abs=5e-5)
    assert explain("RBP(rel=1)").trec_eval_call is None


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("dcg@10", "DCG@10"),
        ("dcg", "DCG"),
        ("DCG.5", "DCG@5"),
        ("dcg_burges@7", "DCG(dcg='exp-log2')@7"),
        ("cg@3", "CG@3"),
    ],
)
def test_spellings(name: str, canonical: str) -> None:
    assert parse_measure(name).name == canonical


def test_a_gain_that_is_no_finite_number_is_refused() -> None:
    with pytest.raises(UsageError):
        evaluate_one("DCG(dcg='exp-log2')@10", ["a"], {"a": 5000})
    with pytest.raises(UsageError):
        parse_measure("DCG(dcg='log10')@10")


def test_hints_name_calls_that_work(program: Any) -> None:
    garden = Path(__file__).parents[3] / "fixtures"
    files = [str(garden / "garden-trec" / "qrels.txt"), str(garden / "runs" / "lexical.run")]
    for name in ("unj.10", "unj@5", "ideal_dcg", "ideal_dcg@10", "yaap", "rbp_resid"):
        with pytest.raises(UsageError) as caught:
            parse_measure(name)
        words = str(caught.value).split("`")[1].split()
        done = program([*words[:-2], *files], garden)
        assert done.code == 0, (name, done.stderr)
