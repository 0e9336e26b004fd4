"""A collection small enough to check by hand, and the same one as files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

DOCUMENTS = {
    "d1": "a red fox runs through the snow",
    "d2": "the lazy dog sleeps in the sun",
    "d3": "foxes and dogs are related animals",
    "d4": "snow falls in winter on the mountains",
    "d5": "the sun warms the mountains in summer",
    "d6": "a database stores rows in tables",
    "d7": "tables and chairs are furniture",
    "d8": "winter tyres grip on snow and ice",
}
TOPICS = {
    "q1": "fox in the snow",
    "q2": "sleeping dog",
    "q3": "mountains in winter",
    "q4": "furniture",
}
QRELS = {
    "q1": {"d1": 2, "d3": 1, "d2": 0},
    "q2": {"d2": 2, "d3": 1},
    "q3": {"d4": 2, "d5": 1, "d8": 1},
    "q4": {"d7": 1, "d6": 0},
}


@dataclass(frozen=True)
class SmallCollection:
    """Paths of the collection's files."""

    folder: Path
    corpus: str
    topics: str
    qrels: str

    @property
    def options(self):
        """The files as fields of a configuration."""
        return {"corpus": self.corpus, "topics": self.topics, "qrels": self.qrels}

    def write_run(self, name, rankings):
        """Write a run with falling scores and return its path."""
        path = self.folder / f"{name}.run"
        lines = [
            f"{query_id} Q0 {doc_id} {rank} {100 - rank} {name}\n"
            for query_id, doc_ids in rankings.items()
            for rank, doc_id in enumerate(doc_ids, 1)
        ]
        path.write_text("".join(lines), encoding="utf-8")
        return str(path)


@pytest.fixture(scope="module")
def given(module_bench):
    """A report on given runs, with failing queries and ties."""
    return module_bench.make("given", {"a": {n: n % 4 for n in range(60)}, "b": {8: 0}})


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    folder.mkdir()
    corpus, topics, qrels = (folder / name for name in ("corpus.jsonl", "topics.tsv", "qrels.txt"))
    corpus.write_text(
        "".join(
            json.dumps({"doc_id": doc_id, "text": text}) + "\n"
            for doc_id, text in DOCUMENTS.items()
        )
    )
    topics.write_text("".join(f"{query_id}\t{text}\n" for query_id, text in TOPICS.items()))
    qrels.write_text(
        "".join(
            f"{query_id} 0 {doc_id} {grade}\n"
            for query_id, grades in QRELS.items()
            for doc_id, grade in grades.items()
        )
    )
    return SmallCollection(folder, str(corpus), str(topics), str(qrels))
