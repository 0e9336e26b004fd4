"""The functions for databases in docs/backends.md, with real databases."""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trectools_plus.formats.collection import load_collection
from trectools_plus.formats.trec_files import read_run
from trectools_plus.retrieval.index.encoder import TextEncoder

pytestmark = pytest.mark.slow("starts servers")

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "backends.md").read_text("utf-8")
COLLECTION = load_collection(ROOT / "fixtures" / "garden-trec")
TOPICS = ROOT / "fixtures" / "garden-trec" / "topics.tsv"
OPERATORS = ("garden", "AND", "OR", "NOT", "NEAR(", "(", ")", '"', "*", "^", "+", "-", "title:")
QRELS = ROOT / "fixtures" / "garden-trec" / "qrels.txt"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the modules of the page."""
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        name = re.match(r"# (my_(?:sqlite|postgres)\.py)", block)
        if name:
            (tmp_path / name[1]).write_text(block)
    return tmp_path


@pytest.fixture
def sqlite(folder: Path) -> sqlite3.Connection:
    """The documents in a table of FTS5."""
    statement = re.search(r"CREATE VIRTUAL TABLE .*", PAGE)
    assert statement is not None
    database = sqlite3.connect(folder / "articles.db")
    try:
        database.execute(statement[0])
    except sqlite3.OperationalError as error:
        pytest.skip(f"this SQLite has no FTS5: {error}")
    assert COLLECTION.corpus is not None
    rows = [(one.doc_id, one.title, one.text) for one in COLLECTION.corpus]
    database.executemany("INSERT INTO articles VALUES (?, ?, ?)", rows)
    database.commit()
    return database


def fetch(folder: Path, module: str, **variables: str) -> dict[str, dict[str, float]]:
    """Fetch a run with a command, and read it."""
    words = ["runs", "fetch", "--topics", TOPICS, "--retriever", f"mine={module}:search"]
    code = "from trectools_plus.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words), "--output-dir", "runs", "--depth", "20"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return read_run(folder / "runs" / "mine.run").to_dict()


def bm25_of(query: str) -> dict[str, float]:
    """Scores of documents by the formula in SQLite's documentation (k1 = 1.2, b = 0.75)."""
    assert COLLECTION.corpus is not None

    def words(text: str) -> list[str]:
        return re.findall(r"[^\W_]+", text.lower())

    texts = {one.doc_id: words(f"{one.title} {one.text}") for one in COLLECTION.corpus}
    average = sum(map(len, texts.values())) / len(texts)
    scores: dict[str, float] = {}
    for word in words(query):
        having = sum(word in text for text in texts.values())
        idf = max(math.log((len(texts) - having + 0.5) / (having + 0.5)), 1e-6)
        for doc_id, text in texts.items():
            count = text.count(word)
            norm = count + 1.2 * (1 - 0.75 + 0.75 * len(text) / average)
            if count:
                scores[doc_id] = scores.get(doc_id, 0.0) + idf * count * 2.2 / norm
    return scores


def test_sqlite_ranks_by_bm25(folder: Path, sqlite: sqlite3.Connection) -> None:
    run = fetch(folder, "my_sqlite")
    compared = 0
    for query_id, text in zip(*COLLECTION.topics.frame.select("query_id", "text"), strict=True):
        expected = bm25_of(text)
        best = sorted(expected.values(), reverse=True)[:20]
        found = run.get(query_id, {})
        assert sorted(found.values(), reverse=True) == pytest.approx(best, rel=1e-4)
        for doc_id, score in found.items():
            assert score == pytest.approx(expected[doc_id], rel=1e-4)
            compared += 1
    assert compared > 20


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from(OPERATORS)).map(" ".join),
    )
)
def test_no_text_is_a_query_language(sqlite: sqlite3.Connection, text: str) -> None:
    names: dict[str, Any] = {}
    exec(Path("my_sqlite.py").read_text(), names)
    try:
        found = names["search"](text, 5)
    finally:
        names["database"].close()
    assert len(found) <= 5
    assert all(score > 0 for _, score in found)


@pytest.fixture
def postgres(folder: Path, require_module: Any) -> Iterator[dict[str, str]]:
    """The environment of a PostgreSQL with pgvector, and the documents in a table."""
    if sys.version_info >= (3, 13):
        pytest.skip("pgserver has no wheels for this version of Python")
    pgserver, psycopg = require_module("pgserver"), require_module("psycopg")

    server = pgserver.get_server(folder / "postgres", cleanup_mode="stop")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as database:
            database.execute("CREATE EXTENSION vector")
            statement = re.search(r"CREATE TABLE articles.*", PAGE)
            assert statement is not None
            assert COLLECTION.corpus is not None
            database.execute(statement[0])
            embed = TextEncoder().embed_queries
            for one in COLLECTION.corpus:
                (vector,) = embed([f"{one.title} {one.text}"])
                row = (one.doc_id, str(vector.tolist()))
                database.execute("INSERT INTO articles VALUES (%s, %s)", row)
        host = re.search(r"host=(.*)", server.get_uri())
        assert host is not None
        yield {"PGHOST": host[1], "PGUSER": "postgres", "PGDATABASE": "postgres"}
    finally:
        server.cleanup()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("index", ["", "hnsw", "ivfflat"])
def test_pgvector_ranks_by_cosine(folder: Path, postgres: dict[str, str], index: str) -> None:
    import psycopg

    if index:
        with psycopg.connect(autocommit=True, **lower_names(postgres)) as database:
            options = " WITH (lists = 1)" if index == "ivfflat" else ""
            database.execute(
                f"CREATE INDEX ON articles USING {index} (embedding vector_cosine_ops){options}"
            )
    run = fetch(folder, "my_postgres", **postgres)
    assert COLLECTION.corpus is not None
    embed = TextEncoder().embed_queries
    ids = [one.doc_id for one in COLLECTION.corpus]
    documents = np.vstack([embed([f"{one.title} {one.text}"])[0] for one in COLLECTION.corpus])
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    for query_id, text in zip(*COLLECTION.topics.frame.select("query_id", "text"), strict=True):
        (vector,) = embed([text])
        cosines = dict(zip(ids, documents @ (vector / np.linalg.norm(vector)), strict=True))
        best = sorted(cosines.values(), reverse=True)[:20]
        assert sorted(run[query_id].values(), reverse=True) == pytest.approx(best, abs=1e-5)
        for doc_id, score in run[query_id].items():
            assert score == pytest.approx(cosines[doc_id], abs=1e-5)


def lower_names(variables: dict[str, str]) -> dict[str, str]:
    """Return arguments of psycopg for variables of libpq."""
    names = {"PGHOST": "host", "PGUSER": "user", "PGDATABASE": "dbname"}
    return {names[name]: value for name, value in variables.items()}


def test_a_benchmark_compares_databases_as_modes(folder: Path, sqlite: sqlite3.Connection) -> None:
    command = ["benchmark", "run", "--topics", str(TOPICS), "--qrels", str(QRELS), "--format"]
    command += ["json", "--retriever", "one=my_sqlite:search", "--retriever"]
    command += ["two=my_sqlite:search", "--output-dir", "report"]
    code = "from trectools_plus.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    modes = json.loads(done.stdout)["modes"]
    means = [mode["measures"]["nDCG@10"]["mean"] for mode in modes.values()]
    assert means[0] == means[1] > 0.2
