"""The review database: durable settings, and no other file taken for it."""

import os
import sqlite3
from contextlib import closing

import pytest

from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.judging.judgments import (
    begin_session,
    list_annotators,
)
from trectools_plus.judging.store import ReviewMaterial, ReviewQuery, open_store, read_store

MATERIAL = ReviewMaterial(
    "toy", ("a", "b"), 2, (ReviewQuery("q1", "text", {"a": ("d1", "d2"), "b": ("d2",)}),)
)
OTHER = ReviewMaterial("toy", ("a", "b"), 2, (ReviewQuery("q1", "text", {"a": ("d1",), "b": ()}),))


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "review.db", MATERIAL, 5)
    yield opened
    opened.close()


def test_each_transaction_is_synced_to_the_disk(store):
    assert store.rows("PRAGMA journal_mode") == [("wal",)]
    assert store.rows("PRAGMA synchronous") == [(2,)]  # FULL: the log is synced at each commit


@pytest.mark.skipif(os.name != "posix", reason="no permissions")
def test_only_the_owner_can_read_the_files(tmp_path):
    path = tmp_path / "review.db"

    def modes():
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


def test_what_was_begun_is_found_again(store, tmp_path):
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


def test_other_results_or_another_seed_are_refused(store, tmp_path):
    with pytest.raises(IncomparableError):
        open_store(tmp_path / "review.db", OTHER)
    with pytest.raises(UsageError):
        open_store(tmp_path / "review.db", MATERIAL, 6)


def test_other_files_are_refused_and_left_alone(tmp_path):
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


SETTING = "UPDATE about SET value = '{value}' WHERE name = '{name}'"
DAMAGES = [
    *(SETTING.format(name="format", value=earlier) for earlier in "12"),
    *(
        SETTING.format(name=name, value=value)
        for name in ("format", "modes", "depth", "seed")
        for value in ("{", "x' || char(0) || '")
    ),
    *(
        f"DELETE FROM about WHERE name = '{name}'"
        for name in ("format", "dataset", "modes", "depth", "seed", "fingerprint")
    ),
    "DROP TABLE about",
]
"""Other versions, and wrong or missing settings."""


def damage_database(path, damage):
    open_store(path, MATERIAL, 5).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_refused_and_not_changed(tmp_path, damage):
    path = tmp_path / "review.db"
    damage_database(path, damage)
    before = path.read_bytes()
    for opened in (lambda: open_store(path, MATERIAL, 5), lambda: read_store(path)):
        with pytest.raises(InputError):
            opened()
    assert path.read_bytes() == before


@pytest.mark.parametrize("table", ["annotator", "session", "judgment"])
def test_a_database_without_a_table_is_refused(tmp_path, table):
    damage_database(tmp_path / "review.db", f"DROP TABLE {table}")
    with pytest.raises(InputError):
        read_store(tmp_path / "review.db").rows(f"SELECT * FROM {table}")
