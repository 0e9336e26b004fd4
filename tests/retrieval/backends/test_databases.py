"""The functions for databases in docs/backends.md, with real databases."""

from __future__ import annotations

import math
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trectools_plus.benchmark.run.dataset import load_collection
from trectools_plus.validation.loading import load_run

pytestmark = pytest.mark.slow("starts servers")

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "backends.md").read_text("utf-8")
COLLECTION = load_collection(ROOT / "fixtures" / "garden-trec")
TOPICS = ROOT / "fixtures" / "garden-trec" / "topics.tsv"
OPERATORS = ("garden", "AND", "OR", "NOT", "NEAR(", "(", ")", '"', "*", "^", "+", "-", "title:")


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
    return load_run(folder / "runs" / "mine.run").to_dict()


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
