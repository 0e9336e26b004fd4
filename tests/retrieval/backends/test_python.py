"""Functions, classes and plug-ins as retrievers."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from harness.tables import cases_of
from ir_measures import ScoredDoc

from trectools_plus import evaluate
from trectools_plus.errors import CheckFailedError, InputError, UsageError
from trectools_plus.formats.collection import Collection
from trectools_plus.formats.tables import Corpus, Qrels, Run, Topics
from trectools_plus.retrieval.backends.python import PythonBackend, read_results
from trectools_plus.retrieval.fetch import FetchRequest
from trectools_plus.retrieval.run_files import fetch_to_dir
from trectools_plus.retrieval.source import Collapse, FetchOptions, Ranking
from trectools_plus.validation.loading import load_run

TOPICS = Topics.from_dict({"q1": "heart", "q2": "lung"})
QRELS = Qrels.from_dict({"q1": {"d1": 1}, "q2": {"d2": 2}})
TESTS = Collection("toy", None, TOPICS, QRELS)
HITS = {"hits": {"hits": [{"_id": "d2", "_score": 2}]}}


def fetch(retriever: Any, folder: Path, **options: Any) -> dict[str, dict[str, float]]:
    backend = PythonBackend({"mine": retriever})
    options = {"corpus": None, "topics": TOPICS, **options}
    corpus, topics = options.pop("corpus"), options.pop("topics")
    asked = FetchOptions(**options)
    request = FetchRequest(corpus, topics, ["mine"], asked, backend=backend)
    return load_run(fetch_to_dir(request, folder)["mine"].path).to_dict()


@pytest.mark.parametrize(
    ("found", "ids", "scores"),
    [
        *cases_of(__file__, "results"),
        ((d for d in ("d2", "d1")), ["d2", "d1"], None),
        ([7, np.int64(3)], ["7", "3"], None),
        ([("d2", 2), ["d1", np.float32(1)]], ["d2", "d1"], [2.0, 1.0]),
        (Ranking(["d2"], np.array([2], dtype=np.float32)), ["d2"], [2.0]),
        ([SimpleNamespace(docid="d2", score=2.0, lucene_docid=5)], ["d2"], [2.0]),
        ([ScoredDoc("q1", "d2", 2.0)], ["d2"], [2.0]),
        (pl.DataFrame({"doc_id": ["d2", "d1"], "score": [2, 1]}), ["d2", "d1"], [2.0, 1.0]),
        (
            pd.DataFrame(
                {"qid": [1, 1], "docid": [5, 6], "docno": ["d2", "d1"], "score": [2, 1.5]}
            ),
            ["d2", "d1"],
            [2.0, 1.5],
        ),
        (pd.DataFrame({"docno": [], "score": []}), [], None),
        (pd.Series([0.5, 2], ["d1", "d2"]), ["d2", "d1"], [2.0, 0.5]),
        # LangChain: documents with ids in their metadata, with and without scores.
        ([SimpleNamespace(id=None, page_content="x", metadata={"doc_id": "d2"})], ["d2"], None),
        ([(SimpleNamespace(id="u", metadata={"doc_id": "d2"}), 0.5)], ["d2"], [0.5]),
        ([(SimpleNamespace(id="u", metadata={"source": "x"}), 0.5)], ["u"], [0.5]),
        # LlamaIndex: nodes with scores.
        ([SimpleNamespace(score=0.5, node=SimpleNamespace(node_id="d2"))], ["d2"], [0.5]),
        # Haystack, Elasticsearch, Chroma and FAISS.
        ({"documents": [SimpleNamespace(id="d2", score=1.5, meta={})]}, ["d2"], [1.5]),
        (
            SimpleNamespace(body={"timed_out": False, "_shards": {"failed": 0}, **HITS}),
            ["d2"],
            [2.0],
        ),
        ((np.array([[0.1, 0.4, 9]]), np.array([[7, 3, -1]])), ["7", "3"], None),
        ((np.array([[7, 3]]), np.array([[2.5, 0.5]])), ["7", "3"], [2.5, 0.5]),  # bm25s
        ((np.array([[{"id": "d2"}]]), np.array([[2.5]])), ["d2"], [2.5]),
    ],
)
def test_what_a_function_may_return(found: Any, ids: list[str], scores: list[float] | None) -> None:
    assert read_results(found) == (ids, scores)


@pytest.mark.parametrize(
    "found",
    [
        *(None, "d1", b"d1", 3, [None], [("d1",)], [("d1", "1.0")], ["d1", ("d2", 1)], [True]),
        (np.array([[0.1, 0.4]]), np.array([[7.0, 3.0]])),
        *({"d1", "d2"}, [("d1", None)], np.array([["d1", "0.5"]]), [1.5]),
        *([{"title": "x"}], [{"doc_id": "d1", "score": "high"}]),
        *([{"doc_id": "d1", "score": 1}, {"doc_id": "d2"}], [{"doc_id": None}], {"d1": [1, 2]}),
        pl.LazyFrame({"docno": ["d2", "d1"]}),
        *(pl.DataFrame({"a": ["d1"]}), pl.DataFrame({"doc_id": [1.5]}), pd.Series(["x"], ["d1"])),
    ],
)
def test_what_a_function_may_not_return(found: Any) -> None:
    with pytest.raises(TypeError, match="expected"):
        read_results(found)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"timed_out": True, **HITS}, "timed_out"),
        ({"_shards": {"total": 5, "successful": 3, "failed": 2}, **HITS}, "_shards.failed"),
        (SimpleNamespace(body={"timed_out": True, **HITS}), "timed_out"),
        ({"error": "busy", "documents": []}, "error"),
        ({"ids": [["d2"], ["d1"]]}, "2 entries"),
        ({"ids": [["d2"]], "distances": [[0.1], [0.2]]}, "2 entries"),
        ((np.array([[0.1], [0.4]]), np.array([[7], [3]])), "2 entries"),
    ],
)
def test_an_answer_with_an_error_or_of_two_queries(
    answer: Any, reason: str, tmp_path: Path
) -> None:
    def searches(text: str, depth: int) -> Any:
        return answer if text == "lung" else ["d1"]

    with pytest.raises(CheckFailedError, match=f"1 of 2 .*q2: .*{reason}"):
        fetch(searches, tmp_path)


def test_an_index_that_fails_is_not_called_a_wrong_name(tmp_path: Path) -> None:
    class Full:
        def index(self, corpus: Any) -> None:
            raise ValueError("no room")

        def search(self, queries: Any, depth: int) -> Any:
            return [[]]

    corpus = Corpus.from_dict({"d1": "heart"})
    with pytest.raises(UsageError, match="ValueError"):
        fetch(Full(), tmp_path, corpus=corpus)


def test_ids_alone_keep_their_order(tmp_path: Path) -> None:
    run = fetch(lambda text, depth: ["z", "a", "m"], tmp_path)
    assert list(run["q1"]) == ["z", "a", "m"]
    assert list(run["q1"].values()) == pytest.approx([1, 1 / 2, 1 / 3])


def test_a_class_that_indexes_the_documents(tmp_path: Path) -> None:
    class Overlap:
        def index(self, corpus: Corpus) -> None:
            self.texts = corpus.to_dict()

        def search(self, queries: list[str], depth: int) -> list[list[str]]:
            return [[doc for doc, text in self.texts.items() if query in text] for query in queries]

    corpus = Corpus.from_dict({"d1": "the heart", "d2": "a lung", "d3": "heart and lung"})
    run = fetch(Overlap, tmp_path, corpus=corpus)
    assert {query: set(found) for query, found in run.items()} == {
        "q1": {"d1", "d3"},
        "q2": {"d2", "d3"},
    }
    with pytest.raises(UsageError):
        fetch(Overlap, tmp_path / "none")


def broken(text: str, depth: int) -> list[str]:
    if text == "lung":
        raise KeyError("no such\nindex")
    return ["d1"]


def test_an_error_of_the_function_is_one_line(tmp_path: Path) -> None:
    reason = r"mine is incomplete: 1 of 2 .*q2: [\w.]*test_python:broken: KeyError: 'no"
    with pytest.raises(CheckFailedError, match=reason):
        fetch(broken, tmp_path)
    assert list(load_run(tmp_path / "mine.run").to_dict()) == ["q1"]


def test_a_function_that_always_fails_is_not_called_for_ever(tmp_path: Path) -> None:
    calls = []

    def fails(text: str, depth: int) -> list[str]:
        calls.append(text)
        raise SystemExit("bye")

    topics = Topics.from_dict({f"q{number}": "text" for number in range(100)})
    with pytest.raises(InputError, match=r"100.*100.*SystemExit"):
        fetch(fails, tmp_path, topics=topics)
    assert len(calls) == 10  # five queries, twice each


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no.such.module:f", "ModuleNotFoundError: No module named 'no'"),
        ("json:nothing", "AttributeError"),
        (
            "json:__version__",
            "expected a function, or .* with a method search, but got: str",
        ),
        ("zipfile:ZipFile", "TypeError: .* a class must need no arguments"),
        ("nosuchplugin", "no installed package registers a retriever 'nosuchplugin'"),
    ],
)
def test_names_that_lead_nowhere(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fetch(name, tmp_path)


def test_a_plug_in_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site"
    metadata = package / "my_search-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-search\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[trectools_plus.retrievers]\nmy-search = my_search_plugin:search\n"
    )
    (package / "my_search_plugin.py").write_text("def search(text, depth): return {'d1': 1.5}\n")
    monkeypatch.syspath_prepend(package)
    importlib.invalidate_caches()
    assert fetch("my-search", tmp_path / "out") == {"q1": {"d1": 1.5}, "q2": {"d1": 1.5}}


@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_evaluate_scores_a_function_that_finds_nothing(missing: Any) -> None:
    evaluation = evaluate(lambda text, depth: [], TESTS, ["RR@10", "nDCG@10"], missing=missing)
    (name,) = evaluation.run_names
    counted = 2 if missing == "zero" else 0
    assert [evaluation.n(name, measure) for measure in ("RR@10", "nDCG@10")] == [counted] * 2
    if missing == "zero":
        assert evaluation.mean(name, "RR@10") == evaluation.mean(name, "nDCG@10") == 0


def test_evaluate_searches_to_the_depth_and_collapses() -> None:
    depths = []

    def search(text: str, depth: int) -> list[tuple[str, float]]:
        depths.append(depth)
        return [("d9#1", 9.0), ("d9#2", 8.0), ("d1#1", 7.0), ("d2#1", 6.0)][:depth]

    evaluation = evaluate(search, TESTS, ["RR@10"], depth=3, collapse=Collapse(separator="#"))
    assert evaluation.values("search", "RR@10").tolist() == [1 / 2, 1 / 3]
    assert depths == [3, 6, 3, 6]


@pytest.mark.parametrize(
    ("first", "second", "options", "error"),
    [
        (broken, TOPICS, {}, UsageError),
        (broken, TESTS, {}, CheckFailedError),
        (3, TESTS, {}, UsageError),
        (QRELS, Run.from_dict({"q1": {"d1": 1.0}}), {"depth": 3}, UsageError),
    ],
)
def test_evaluate_refuses_what_is_no_test_set_or_fails(
    first: Any, second: Any, options: dict[str, int], error: type[Exception]
) -> None:
    with pytest.raises(error):
        evaluate(first, second, **options)
