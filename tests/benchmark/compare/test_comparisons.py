"""``compare``: from runs, files and evaluations, to one result with comparisons and means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trectools_plus import compare, evaluate, load_qrels, load_run
from trectools_plus.benchmark import Comparisons
from trectools_plus.benchmark.compare.compare import compare_evaluation
from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.validation import FindingsError

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
QRELS = FIXTURES / "garden-trec" / "qrels.txt"
LEXICAL, VECTOR = FIXTURES / "runs" / "lexical.run", FIXTURES / "runs" / "vector.run"
MEASURES = ["nDCG@10", "AP"]
FAST = {"resamples": 200, "seed": 1}


@pytest.fixture(name="expected", scope="module")
def make_expected() -> list[Any]:
    runs = {"bm25": load_run(LEXICAL), "dense": load_run(VECTOR)}
    return compare_evaluation(evaluate(load_qrels(QRELS), runs, MEASURES), "bm25", **FAST)


@pytest.mark.parametrize(
    "runs",
    [
        {"bm25": LEXICAL, "dense": str(VECTOR)},
        {"bm25": load_run(LEXICAL), "dense": VECTOR},
    ],
)
def test_runs_and_paths_are_compared_alike(runs: Any, expected: list[Any]) -> None:
    found = compare(QRELS, runs, MEASURES, baseline="bm25", **FAST)
    assert list(found) == expected
    assert compare(load_qrels(QRELS), runs, MEASURES, baseline="bm25", **FAST)[:] == tuple(expected)


def test_an_evaluation_is_compared_with_its_means(expected: list[Any]) -> None:
    runs = {"bm25": load_run(LEXICAL), "dense": load_run(VECTOR)}
    evaluation = evaluate(load_qrels(QRELS), runs, MEASURES)
    found = compare(evaluation, baseline="bm25", **FAST)
    assert isinstance(found, Comparisons)
    assert (len(found), found[0], list(found)) == (2, expected[0], expected)
    assert found.systems == ["bm25", "dense"]
    assert found.means == {
        name: {measure: evaluation.mean(name, measure) for measure in MEASURES} for name in runs
    }
    assert found.find("bm25", "dense", "AP") is found[1]
    with pytest.raises(UsageError, match="the pairs are dense − bm25"):
        found.find("dense", "bm25", "AP")
    assert repr(found) == "<Comparisons of bm25, dense on nDCG@10, AP: 2 entries>"


def test_runs_in_a_list_have_the_names_of_their_tags() -> None:
    found = compare(QRELS, [LEXICAL, load_run(VECTOR)], ["AP"], **FAST)
    assert found.systems == [load_run(LEXICAL).name, load_run(VECTOR).name]
    assert len(found) == 1
    assert len(compare(QRELS, LEXICAL, ["AP"], **FAST)) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (5, {"a": LEXICAL}),
            "expected qrels but got int — give .*, or a Qrels; or give an Evaluation",
        ),
        ((QRELS, {"a": {"q1": ["d1"]}}), "expected a number as score but got list"),
        ((QRELS, 5), "expected a run but got int — give a dictionary"),
        ((QRELS, []), "no run is given"),
        ((QRELS,), "no run is given"),
    ],
)
def test_another_type_is_refused_in_one_line(arguments: Any, message: str) -> None:
    with pytest.raises(TrectoolsPlusError, match=message) as caught:
        compare(*arguments)
    assert len(str(caught.value).splitlines()) == 1


def test_an_evaluation_with_runs_is_refused() -> None:
    evaluation = evaluate(load_qrels(QRELS), load_run(LEXICAL), ["AP"])
    for arguments in ((load_run(VECTOR),), ((), ["P@5"])):
        with pytest.raises(UsageError, match="already has runs and measures"):
            compare(evaluation, *arguments)


def test_a_file_with_an_error_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.run"
    broken.write_text("q1 Q0 d1 1 nan x\n")
    with pytest.raises(FindingsError, match="NaN"):
        compare(QRELS, {"a": LEXICAL, "b": broken}, **FAST)
