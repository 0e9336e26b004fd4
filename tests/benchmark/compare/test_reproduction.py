"""Reproductions and replications: every figure against repro_eval, on random and real runs."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trectools_plus.benchmark.compare.reproduction import (
    Reproduction,
    compare_reproduction,
    state_reproduction,
)
from trectools_plus.errors import IncomparableError, UsageError

with warnings.catch_warnings():
    # repro_eval imports SciPy's functions from a namespace that will be removed.
    warnings.simplefilter("ignore", DeprecationWarning)
    import ir_measures
    from repro_eval.Evaluator import RpdEvaluator, RplEvaluator

MEASURES = ["nDCG@10", "AP", "P@10", "RR"]
NAMES = ("orig_b", "orig_a", "rep_b", "rep_a")
"""Baseline and improved run of the original and of the reproduction, as in repro_eval."""


def write_qrels(path: Path, seed: int, queries: list[str]) -> str:
    draws = np.random.default_rng(seed)
    lines = []
    for query in queries:
        grades = draws.choice([0, 0, 1, 2], 30)
        grades[0] = 1
        lines += [f"{query} 0 d{place:02} {grade}\n" for place, grade in enumerate(grades)]
    path.write_text("".join(lines))
    return str(path)


def write_run(path: Path, seed: int, queries: list[str], quality: float) -> str:
    """Write a run of 20 documents per query; the first documents of the qrels are more likely."""
    draws = np.random.default_rng(seed)
    lines = []
    for query in queries:
        scores = draws.random(50) + quality * np.linspace(1, 0, 50)
        for rank, place in enumerate(np.argsort(-scores)[:20], 1):
            lines.append(f"{query} Q0 d{place:02} {rank} {30 - rank} {path.stem}\n")
    path.write_text("".join(lines))
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two experiments on the same queries, and a third one (``new_…``) on other queries."""
    folder = tmp_path_factory.mktemp("reproduction")
    queries = [f"q{number:02}" for number in range(25)]
    others = [f"r{number:02}" for number in range(18)]
    found = {
        "qrels": write_qrels(folder / "qrels.txt", 1, queries),
        "new_qrels": write_qrels(folder / "new_qrels.txt", 2, others),
    }
    for seed, (name, quality) in enumerate(zip(NAMES, (0.1, 0.5, 0.15, 0.4), strict=True), 3):
        found[name] = write_run(folder / f"{name}.run", seed, queries, quality)
    found["new_b"] = write_run(folder / "new_b.run", 8, others, 0.1)
    found["new_a"] = write_run(folder / "new_a.run", 9, others, 0.6)
    return found


@pytest.fixture(scope="module")
def reproduced(files: dict[str, str]) -> Reproduction:
    return compare_reproduction(
        files["orig_a"],
        files["rep_a"],
        qrels=files["qrels"],
        measures=MEASURES,
        baseline=(files["orig_b"], files["rep_b"]),
    )


def evaluator(kind: Any, files: dict[str, str], names: tuple[str, ...]) -> Any:
    """Evaluate with repro_eval; the names are those of ``NAMES``, in their order."""
    roles = (f"run_{role[-1]}_{role[:-2]}_path" for role in NAMES)
    paths = dict(zip(roles, (files.get(name) for name in names), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        made = kind(qrels_orig_path=files["qrels"], qrels_rpl_path=files.get("new_qrels"), **paths)
    made.measures = [ir_measures.parse_measure(name) for name in MEASURES]
    made.evaluate()
    return made


def check_against_repro_eval(found: Reproduction, reference: Any) -> None:
    baseline, improved = found.modes
    assert (baseline.is_baseline, improved.is_baseline) == (True, False)
    er, dri = reference.er(), reference.dri()
    for mode, role in ((baseline, "baseline"), (improved, "advanced")):
        tests = reference.ttest()[role]
        for one in mode.scores:
            assert one.p_value == pytest.approx(tests[one.measure], abs=1e-12)
            if mode is improved:
                assert one.effect_ratio == pytest.approx(er[one.measure])
                assert one.delta_relative_improvement == pytest.approx(dri[one.measure])
            else:
                assert one.effect_ratio is one.delta_relative_improvement is None
        if found.replication:
            continue
        rankings = mode.rankings
        assert rankings is not None
        assert rankings.rbo_truncated == pytest.approx(reference.rbo()[role])
        assert rankings.tau == pytest.approx(reference.ktu()[role])
        errors = reference.rmse()[role]
        assert {one.measure: one.rmse for one in mode.scores} == pytest.approx(errors)


def test_a_reproduction_equals_repro_eval(files: Any, reproduced: Reproduction) -> None:
    check_against_repro_eval(reproduced, evaluator(RpdEvaluator, files, NAMES))
    assert reproduced.baseline == "orig_b (A) and rep_b (B)"
    assert reproduced.queries == (25, 25)
    assert reproduced.similarity is not None
    assert reproduced.similarity.modes == ["A: orig_b", "A: orig_a", "B: rep_b", "B: rep_a"]
    overlap = reproduced.modes[1].rankings
    assert overlap is not None
    assert overlap.rbo == reproduced.similarity.rbo[1][3]
    assert (overlap.n, overlap.n_tau) == (25, 25)


def test_a_replication_equals_repro_eval(files: dict[str, str]) -> None:
    found = compare_reproduction(
        files["orig_a"],
        files["new_a"],
        qrels=(files["qrels"], files["new_qrels"]),
        measures=MEASURES,
        baseline=(files["orig_b"], files["new_b"]),
        replication=True,
    )
    names = ("orig_b", "orig_a", "new_b", "new_a")
    check_against_repro_eval(found, evaluator(RplEvaluator, files, names))
    assert found.queries == (25, 18)
    assert found.similarity is None
    assert all(mode.rankings is None for mode in found.modes)
    assert all(one.rmse is None for mode in found.modes for one in mode.scores)
    ratio = found.modes[1].scores[0].effect_ratio
    assert state_reproduction(found).endswith(f"is {ratio:.2f} times that in A.")


def test_real_runs_equal_repro_eval(shared_data: Path, tmp_path: Path) -> None:
    """Two runs of Robust 2003 with ties, on fifteen topics."""
    files = {}
    for name in ("input.aplrob03a", "input.oce03noXbmD", "qrels.txt"):
        with gzip.open(shared_data / "robust03" / f"{name}.gz", "rt") as stream:
            lines = stream.readlines()
        kept = sorted({line.split()[0] for line in lines})[:15]
        files[name] = str(tmp_path / name)
        Path(files[name]).write_text("".join(line for line in lines if line.split()[0] in kept))
    original, reproduction, qrels = files.values()
    reference = evaluator(
        RpdEvaluator,
        {"qrels": qrels, "orig_b": original, "rep_b": reproduction},
        ("orig_b", "none", "rep_b", "none"),
    )
    found = compare_reproduction(original, reproduction, qrels=qrels, measures=MEASURES)
    (mode,) = found.modes
    assert mode.rankings is not None
    assert mode.rankings.n == 15
    assert mode.rankings.rbo_truncated == pytest.approx(reference.rbo()["baseline"])
    errors, tests = reference.rmse()["baseline"], reference.ttest()["baseline"]
    for one in mode.scores:
        assert one.rmse == pytest.approx(errors[one.measure])
        assert one.p_value == pytest.approx(tests[one.measure])


def test_an_exact_reproduction(files: dict[str, str]) -> None:
    found = compare_reproduction(files["orig_a"], files["orig_a"], qrels=files["qrels"])
    (mode,) = found.modes
    assert mode.label == "orig_a"
    assert mode.rankings is not None
    assert mode.rankings.rbo == pytest.approx(1.0)
    assert [(one.rmse, one.p_value) for one in mode.scores] == [(0.0, 1.0)] * 6
    assert state_reproduction(found) == (
        "B reproduces orig_a of A exactly: the rankings are equal over 25 queries."
    )
    assert "no baseline" in found.notes[-1]


def test_text_forms_are_short(reproduced: Reproduction) -> None:
    sentence = state_reproduction(reproduced)
    assert sentence.startswith("B has 0.")
    assert "times that in" in sentence
    assert sentence in repr(reproduced)
    assert len(repr(reproduced)) < 2_000
    assert reproduced._repr_html_().count("<tr>") == 3


def test_dictionaries_and_several_runs(files: dict[str, str]) -> None:
    """Runs are matched by name; those of only one side are named."""
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
    one = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 1.0}}
    other = {"q1": {"b": 2.0, "a": 1.0}}
    found = compare_reproduction(
        {"x": one, "base": other, "y": one}, {"base": other, "x": one}, qrels=qrels, baseline="base"
    )
    assert [(mode.label, mode.is_baseline) for mode in found.modes] == [
        ("base", True),
        ("x", False),
    ]
    assert found.names == ("A", "B")
    assert found.notes[0] == "Only in A: y."
    # Query 2 has one result in both, and no results in "base".
    assert found.modes[1].rankings is not None
    assert (found.modes[1].rankings.n, found.modes[1].rankings.n_tau) == (2, 1)
    assert found.modes[1].scores[0].effect_ratio == 1.0


def test_reports_and_runs(module_bench: Any) -> None:
    """A report against a report, and against a run file that has the name of a mode."""
    ranks: dict[str, dict[int, int]] = {"bm25": {1: 3, 2: 4}, "mine": {1: 2}}
    again = {"bm25": {1: 3, 2: 4}, "mine": {1: 5, 3: 2}}
    first = module_bench.make("original", ranks, baseline="bm25")
    second = module_bench.make("again", again, baseline="bm25")
    found = compare_reproduction(first, second)
    assert [mode.modes for mode in found.modes] == [("bm25", "bm25"), ("mine", "mine")]
    baseline, mine = found.modes
    assert baseline.is_baseline
    assert found.baseline == "bm25"
    gains = [
        np.mean([1 / one.get(q, 1) - 1 / bm25.get(q, 1) for q in range(60)])
        for one, bm25 in ((ranks["mine"], ranks["bm25"]), (again["mine"], again["bm25"]))
    ]
    scores = {one.measure: one for one in mine.scores}
    assert scores["RR@10"].effect_ratio == pytest.approx(gains[1] / gains[0])
    assert scores["R@10"].effect_ratio is None  # all are 1
    assert any("effect ratio" in note for note in found.notes)
    run = compare_reproduction(first, second / "runs" / "mine.run", measures=["RR@10"])
    assert [mode.modes for mode in run.modes] == [("mine", "mine")]
    assert run.modes[0].scores[0].rmse == scores["RR@10"].rmse
    assert run.baseline is None
    as_json = compare_reproduction(first / "BenchmarkReport.json", second, measures=["RR@10"])
    assert as_json.modes[1].scores[0].effect_ratio == scores["RR@10"].effect_ratio


def test_other_judgments_need_replication(module_bench: Any, files: dict[str, str]) -> None:
    first = module_bench.make("grade1", {"a": {}})
    second = module_bench.make("grade2", {"a": {}}, grade=2)
    with pytest.raises(IncomparableError, match=r"different qrels.*--replication"):
        compare_reproduction(first, second)
    assert compare_reproduction(first, second, replication=True).modes[0].scores[0].mean_b == 1.0
    with pytest.raises(IncomparableError, match="different judgments"):
        compare_reproduction(
            files["orig_a"], files["new_a"], qrels=(files["qrels"], files["new_qrels"])
        )


def test_wrong_arguments(files: dict[str, str], module_bench: Any) -> None:
    with pytest.raises(UsageError, match="runs need judgments"):
        compare_reproduction(files["orig_a"], files["rep_a"])
    with pytest.raises(UsageError, match=r"'nothing' .*\(orig_a\)"):
        compare_reproduction(
            files["orig_a"], files["rep_a"], qrels=files["qrels"], baseline="nothing"
        )
    runs = {"a": {"q1": {"d": 1.0}}, "b": {"q1": {"d": 1.0}}}
    with pytest.raises(IncomparableError, match=r"b and c —"):
        compare_reproduction(runs, {"c": runs["a"]}, qrels={"q1": {"d": 1}})
    report = module_bench.make("alone", {"a": {}})
    with pytest.raises(UsageError, match="both are reports"):
        compare_reproduction(report, report, qrels=files["qrels"])
    with pytest.raises(IncomparableError, match="all are sums"):
        compare_reproduction(
            files["orig_a"], files["rep_a"], qrels=files["qrels"], measures=["NumRet"]
        )
