"""The file that judgments are kept in: SQLite, every one on the disk before it is confirmed.

Nothing is overwritten: a judgment is a row, what counts is the last one that was not undone. The
file also holds what was shown, so it says by itself what came of the review.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any

from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.service.review.material import ReviewMaterial

FORMAT = "1"
DATABASE_NAME = "review.db"
"""Where judgments are kept by default: in the report's folder."""
BUSY_SECONDS = 10.0
_TABLES = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE shown (
        query_id TEXT NOT NULL, mode TEXT NOT NULL, rank INTEGER NOT NULL, doc_id TEXT NOT NULL,
        PRIMARY KEY (query_id, mode, rank)) WITHOUT ROWID""",
    """CREATE TABLE annotator (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
        started_at TEXT NOT NULL)""",
    """CREATE TABLE session (
        digest TEXT PRIMARY KEY, annotator INTEGER NOT NULL REFERENCES annotator (id),
        started_at TEXT NOT NULL) WITHOUT ROWID""",
    # A row with a doc_id judges that result; one without says which mode one would choose: its
    # name, '' for none of them, NULL for no answer any more.
    """CREATE TABLE judgment (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        annotator INTEGER NOT NULL REFERENCES annotator (id),
        query_id TEXT NOT NULL, doc_id TEXT,
        grade INTEGER CHECK (grade BETWEEN 0 AND 3),
        flagged INTEGER NOT NULL DEFAULT 0 CHECK (flagged = 0 OR (flagged = 1 AND grade IS 0)),
        choice TEXT CHECK (choice IS NULL OR doc_id IS NULL),
        made_at TEXT NOT NULL, undone_at TEXT)""",
    "CREATE INDEX by_target ON judgment (annotator, query_id, doc_id)",
)


@dataclass(frozen=True, slots=True)
class Study:
    """What a file of judgments is about.

    Attributes:
        dataset: The dataset's name.
        modes: The modes that are compared.
        depth: How many results of each were shown.
        seed: Of the order of queries and columns.
        fingerprint: Of what was shown.
    """

    dataset: str
    modes: tuple[str, ...]
    depth: int
    seed: int
    fingerprint: str


class Store:
    """A file of judgments that is open.

    One connection, used by one thread at a time.

    Args:
        connection: To the file.
        path: The file, for messages.

    Attributes:
        study: What it is about.

    Raises:
        InputError: If it is no file of judgments.
    """

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self._lock = RLock()
        self._path = path
        self.study = _read_study(connection, path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone."""
        with self._lock:
            yield self._connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, on the disk when the block is left; nothing is kept if it raises."""
        with self._lock, _transaction(self._connection):
            yield self._connection

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self.reading() as connection:
            return connection.execute(query, values).fetchall()

    def close(self) -> None:
        """Close the file; what is in its log moves into it."""
        with self._lock:
            self._connection.close()


def open_store(path: str | Path, material: ReviewMaterial, seed: int | None = None) -> Store:
    """Open the judgments of this material, or begin a new file.

    Args:
        path: The file.
        material: What is shown.
        seed: Of the order; drawn at random for a new file if ``None``.

    Raises:
        InputError: If it cannot be opened, or is another kind of file.
        IncomparableError: If it holds judgments of other results.
        UsageError: If it was begun with another seed.
    """
    connection = _connect(str(path), f"file:{_quoted(path)}?mode=rwc", str(path))
    try:
        with _refusing(str(path)):
            if not _is_new(connection):
                _read_study(connection, str(path))  # before anything of it is changed
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            with _transaction(connection):
                if _is_new(connection):
                    _begin(connection, material, seed)
        store = Store(connection, str(path))
        _check_study(store.study, material, seed, str(path))
    except BaseException:
        connection.close()
        raise
    return store


def read_store(path: str | Path) -> Store:
    """Open a file of judgments to read it; a server may write to it at the same time.

    Args:
        path: The file; or the report's folder, where it is called ``review.db``.

    Raises:
        InputError: If it is missing, cannot be read, or is another kind of file.
    """
    if Path(path).is_dir():
        path = Path(path) / DATABASE_NAME
    if not Path(path).is_file():
        raise InputError(
            "no such file", where=str(path), remedy="name the file that the review page wrote"
        )
    connection = _connect(str(path), f"file:{_quoted(path)}?mode=ro", str(path))
    try:
        with _refusing(str(path)):
            return Store(connection, str(path))
    except BaseException:
        connection.close()
        raise


def utc_now() -> str:
    """The time in UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _quoted(path: str | Path) -> str:
    from urllib.parse import quote

    return quote(str(Path(path).absolute()))


def _connect(path: str, address: str, shown: str) -> sqlite3.Connection:
    if not Path(path).absolute().parent.is_dir():
        raise InputError("no such folder", where=shown, remedy="create it first")
    with _refusing(shown):
        return sqlite3.connect(
            address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    """What SQLite refuses, in our words."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(
            f"the file of judgments cannot be opened: {error}",
            where=path,
            remedy="name a new file, or one that the review page wrote",
        ) from error


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _is_new(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _begin(connection: sqlite3.Connection, material: ReviewMaterial, seed: int | None) -> None:
    for statement in _TABLES:
        connection.execute(statement)
    about = {
        "format": FORMAT,
        "dataset": material.dataset,
        "modes": json.dumps(material.modes),
        "depth": str(material.depth),
        "seed": str(secrets.randbits(62) if seed is None else seed),
        "fingerprint": material.fingerprint,
        "started_at": utc_now(),
    }
    connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
    connection.executemany(
        "INSERT INTO shown VALUES (?, ?, ?, ?)",
        (
            (query.query_id, mode, rank, doc_id)
            for query in material.queries
            for mode, found in query.results.items()
            for rank, doc_id in enumerate(found, 1)
        ),
    )


def _read_study(connection: sqlite3.Connection, path: str) -> Study:
    try:
        about = dict(connection.execute("SELECT name, value FROM about"))
    except sqlite3.Error as error:
        raise InputError("is no file of judgments", where=path) from error
    if about.get("format") != FORMAT:
        raise InputError("is no file of judgments of this version", where=path)
    modes = tuple(json.loads(about["modes"]))
    return Study(
        about["dataset"], modes, int(about["depth"]), int(about["seed"]), about["fingerprint"]
    )


def _check_study(study: Study, material: ReviewMaterial, seed: int | None, path: str) -> None:
    if study.fingerprint != material.fingerprint:
        raise IncomparableError(
            f"the file holds judgments of other results ({study.dataset}, depth {study.depth}, "
            f"{', '.join(study.modes)})",
            where=path,
            remedy="name another file with --database, or give the same report, modes and depth",
        )
    if seed is not None and seed != study.seed:
        raise UsageError(
            "the file was begun with another seed",
            where=path,
            remedy="leave --seed out, or name another file with --database",
        )
