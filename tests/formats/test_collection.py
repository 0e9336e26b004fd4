"""Collections by name and by folder."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace

import pytest

from trectools_plus.benchmark.run.dataset import load_collection
from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.collection import Collection

CORPUS = '{"_id": "d1", "title": "T", "text": "a"}\n{"_id": "d2", "text": "b"}\n'
QUERIES = '{"_id": "1", "text": "q"}\n'
BEIR_QRELS = "query-id\tcorpus-id\tscore\n1\td1\t2\n"


def fill(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


def assert_loaded(collection: Collection) -> None:
    assert collection.corpus.to_dict() == {"d1": "T a", "d2": "b"}
    assert collection.topics.to_dict() == {"1": "q"}
    assert collection.qrels.to_dict() == {"1": {"d1": 2}}


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("split", ["test", "dev"])
def test_beir_layout(tmp_path: Path, suffix: str, split: str) -> None:
    files = {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES, f"qrels/{split}.tsv": BEIR_QRELS}
    folder = fill(tmp_path / "mine", {name + suffix: text for name, text in files.items()})
    collection = load_collection(str(folder))
    assert collection.name == "mine"
    assert_loaded(collection)


def test_beir_layout_prefers_test(tmp_path: Path) -> None:
    other = BEIR_QRELS.replace("d1", "d2")
    files = {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES, "qrels/test.tsv": BEIR_QRELS}
    assert_loaded(load_collection(fill(tmp_path, {**files, "qrels/dev.tsv": other})))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_trec_layout(tmp_path: Path, suffix: str) -> None:
    files = {"corpus.jsonl": CORPUS, "topics.tsv": "1\tq\n", "qrels.txt": "1 0 d1 2\n"}
    assert_loaded(
        load_collection(fill(tmp_path, {name + suffix: text for name, text in files.items()}))
    )


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({}, "found none"),
        ({"corpus.jsonl": CORPUS, "topics.tsv": "1\tq\n"}, "found corpus.jsonl, topics.tsv "),
        ({"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES}, "found corpus.jsonl, queries.jsonl "),
        ({"queries.jsonl": QUERIES, "topics.tsv": "1\tq\n"}, "found queries.jsonl, topics.tsv"),
        ({"corpus.jsonl": CORPUS, "corpus.jsonl.gz": CORPUS}, "both corpus.jsonl and corpus.jsonl"),
    ],
)
def test_an_incomplete_folder_says_what_is_missing(
    tmp_path: Path, files: dict[str, str], what: str
) -> None:
    with pytest.raises(InputError, match=what):
        load_collection(fill(tmp_path, files))


def test_a_malformed_part_is_an_error(tmp_path: Path) -> None:
    files = {"corpus.jsonl": "{}\n", "topics.tsv": "1\tq\n", "qrels.txt": "1 0 d1 2\n"}
    with pytest.raises(FormatError, match=r"corpus\.jsonl:1"):
        load_collection(fill(tmp_path, files))


def test_cranfield(ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    collection = load_collection("irds:cranfield")
    assert collection.name == "irds:cranfield"
    assert set(collection.qrels.frame["relevance"]) == {-1, 1, 2, 3, 4}
    import ir_datasets

    dataset = ir_datasets.load("cranfield")
    theirs = {doc.doc_id: f"{doc.title} {doc.text}".strip() for doc in dataset.docs_iter()}
    assert collection.corpus.to_dict() == theirs
    assert collection.topics.to_dict() == {q.query_id: q.text for q in dataset.queries_iter()}
    assert sum(map(len, collection.qrels.to_dict().values())) == len(list(dataset.qrels_iter()))


def test_a_missing_or_failing_part_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("All download sources failed", [1, 2])

    dataset = SimpleNamespace(has_queries=lambda: True, queries_iter=fail)
    monkeypatch.setattr("ir_datasets.load", lambda _: dataset)
    with pytest.raises(InputError):
        load_collection("irds:x")
    dataset.has_queries = lambda: False
    with pytest.raises(InputError):
        load_collection("irds:x")
