"""The review database: durable settings, and no other file taken for it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.service.review.judgments import begin_session, list_annotators
from trectools_plus.service.review.material import ReviewMaterial, ReviewQuery, load_material
from trectools_plus.service.review.store import Store, open_store, read_store

MATERIAL = ReviewMaterial(
    "toy", ("a", "b"), 2, (ReviewQuery("q1", "text", {"a": ("d1", "d2"), "b": ("d2",)}),)
)
OTHER = ReviewMaterial("toy", ("a", "b"), 2, (ReviewQuery("q1", "text", {"a": ("d1",), "b": ()}),))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "review.db", MATERIAL, 5)
    yield opened
    opened.close()


def test_each_transaction_is_synced_to_the_disk(store: Store) -> None:
    assert store.rows("PRAGMA journal_mode") == [("wal",)]
    assert store.rows("PRAGMA synchronous") == [(2,)]  # FULL: the log is synced at each commit


@pytest.mark.skipif(os.name != "posix", reason="no permissions")
def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    path = tmp_path / "review.db"

    def modes() -> dict[str, int]:
        return {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}

    private = dict.fromkeys(("review.db", "review.db-wal", "review.db-shm"), 0o600)
    store = open_store(path, MATERIAL)
    begin_session(store, "Anna", resume=False)
    assert modes() == private
    for opened in (lambda: open_store(path, MATERIAL), lambda: read_store(path)):
        for one in tmp_path.iterdir():  # as earlier versions left them
            one.chmod(0o644)
        opened().close()
        assert modes() == private
    store.close()
    path.chmod(0o644)
    open_store(path, MATERIAL).close()
    assert modes() == {"review.db": 0o600}


@pytest.mark.skipif(os.name != "posix", reason="no permissions")
def test_the_mode_of_other_files_stays(tmp_path: Path) -> None:
    path = tmp_path / "mine.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
    path.chmod(0o644)
    for opened in (lambda: open_store(path, MATERIAL), lambda: read_store(path)):
        with pytest.raises(InputError):
            opened()
        assert path.stat().st_mode & 0o777 == 0o644


def test_what_was_begun_is_found_again(store: Store, tmp_path: Path) -> None:
    begin_session(store, "Anna", resume=False)
    again = open_store(tmp_path / "review.db", MATERIAL)
    assert again.study == store.study
    assert [one.name for one in list_annotators(again)] == ["Anna"]
    again.close()
    reader = read_store(tmp_path / "review.db")
    assert reader.study.seed == 5
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        begin_session(reader, "Ben", resume=False)
    reader.close()


def test_without_a_seed_orders_differ_from_file_to_file(tmp_path: Path) -> None:
    stores = [open_store(tmp_path / f"{n}.db", MATERIAL) for n in range(4)]
    assert len({store.study.seed for store in stores}) == 4
    for store in stores:
        store.close()


def test_other_results_or_another_seed_are_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(IncomparableError, match="other results"):
        open_store(tmp_path / "review.db", OTHER)
    with pytest.raises(UsageError, match="another seed"):
        open_store(tmp_path / "review.db", MATERIAL, 6)


def test_other_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("no database " * 100)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE x (y)")
    connection.close()
    for path in (text, foreign):
        before = path.read_bytes()
        for opened in (lambda path: open_store(path, MATERIAL), read_store):
            with pytest.raises(InputError):
                opened(path)
        assert path.read_bytes() == before
    for path in (tmp_path / "missing.db", tmp_path, tmp_path / "no/such/folder.db"):
        with pytest.raises(InputError):
            read_store(path)
    with pytest.raises(InputError):
        open_store(tmp_path / "no/such/folder.db", MATERIAL)


def test_the_schema_keeps_what_makes_no_sense_out(store: Store) -> None:
    begin_session(store, "Anna", resume=False)
    insert = "INSERT INTO judgment (annotator, query_id, doc_id, grade, flagged, choice, made_at) "
    for row in ("1,'q1','d1',4,0,NULL,''", "1,'q1','d1',2,1,NULL,''", "1,'q1','d1',2,0,'a',''",
                "9,'q1','d1',2,0,NULL,''"):  # fmt: skip
        with pytest.raises(sqlite3.IntegrityError), store.writing() as connection:
            connection.execute(f"{insert} VALUES ({row})")
    assert store.rows("SELECT count(*) FROM judgment") == [(0,)]


def test_material_has_texts_where_the_dataset_can_be_read(report: Path) -> None:
    material = load_material(report)
    assert material.modes == ("lexical", "vector", "hybrid")
    assert material.notes == ()
    (query,) = (query for query in material.queries if query.query_id == "2")
    assert query.text == "protect young plants from slugs"
    assert material.documents["g03"].title == "Slugs and snails"
    assert len(query.results["lexical"]) <= 10


def test_material_has_ids_where_the_dataset_changed(report: Path, tmp_path: Path) -> None:
    path = report / "BenchmarkReport.json"
    document = json.loads(path.read_text())
    garden = shutil.copytree(document["manifest"]["config"]["dataset"], tmp_path / "garden")
    document["manifest"]["config"]["dataset"] = str(garden)
    path.write_text(json.dumps(document))
    assert load_material(report).documents
    corpus = garden / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("Slugs", "Snails"))
    for words in ("have changed", "cannot be read"):
        material = load_material(report)
        assert material.documents == {}
        assert material.queries[0].text is None
        assert words in material.notes[0]
        corpus.unlink(missing_ok=True)


def test_given_runs_have_texts_of_queries_and_ids_of_documents(bench: Any) -> None:
    report = bench.make("given", {"one": {}, "two": {0: 3}}, queries=3)
    material = load_material(report)
    assert material.queries[0].results["two"][2] == "good"
    assert material.documents == {}
    assert "no corpus" in material.notes[0]


def test_modes_and_depth_out_of_range_are_refused(report: Path) -> None:
    assert load_material(report, ["hybrid", "lexical"], 3).modes == ("lexical", "hybrid")
    for modes, depth in ((["lexical"], 3), (["lexical", "none"], 3), (None, 0), (None, 101)):
        with pytest.raises(UsageError):
            load_material(report, modes, depth)


def test_results_are_in_the_order_in_which_they_are_scored(report: Path) -> None:
    material = load_material(report, depth=4)
    for mode in material.modes:
        rows = [line.split() for line in (report / f"runs/{mode}.run").read_text().splitlines()]
        for query in material.queries:
            scored = [(float(row[4]), row[2]) for row in rows if row[0] == query.query_id]
            expected = [doc_id for _, doc_id in sorted(scored, reverse=True)][:4]
            assert list(query.results[mode]) == expected
