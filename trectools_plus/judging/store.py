"""The review database in SQLite, synced to disk before a judgment is confirmed.

Only its owner can read it, because it contains names, judgments and comments.

Judgments are never overwritten: each is a row, and the last row that has not been undone is
current. The database also contains the shown results, so the summary needs no other file.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any
from urllib.parse import quote

from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.formats.files.guards import find_inside
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.judging.plan import PlanFolder

MAX_TEXT_LENGTH = 20_000
"""Maximum number of characters of a document to show."""
POOL = ""
"""The mode of pooled documents, which does not say which run found them."""


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """Title and text of a document.

    Attributes:
        title: The title; empty if there is none.
        text: The text, at most :data:`MAX_TEXT_LENGTH` characters.
    """

    title: str = ""
    text: str = ""

    @classmethod
    def of(cls, title: str, text: str) -> ShownDocument:
        """Return a document, with at most :data:`MAX_TEXT_LENGTH` characters of its text."""
        return cls(title.strip(), text[:MAX_TEXT_LENGTH].strip())


@dataclass(frozen=True, slots=True)
class ReviewQuery:
    """A query with the results of each mode.

    Attributes:
        query_id: The id.
        text: The text; ``None`` if it is not available.
        results: The ids of the first documents by mode, best first; in a plan, the pooled documents
            of all runs under :data:`POOL`, in the order of their ids.
        lacking: The number of pooled documents that nobody can see.
    """

    query_id: str
    text: str | None
    results: Mapping[str, tuple[str, ...]]
    lacking: int = 0


@dataclass(frozen=True, slots=True)
class ReviewMaterial:
    """The contents of the review page.

    Attributes:
        dataset: The name of the dataset.
        modes: The modes to compare, in the report's order.
        depth: The number of results of each mode.
        queries: The queries with results, in the order of the runs.
        documents: Title and text of the documents, if available.
        notes: Notes on the results, one sentence each.
        planned: The number of queries that people are to judge in the order of ``queries``, if the
            results are the pool of a plan; ``None`` for the results of a report.
    """

    dataset: str
    modes: tuple[str, ...]
    depth: int
    queries: tuple[ReviewQuery, ...]
    documents: Mapping[str, ShownDocument] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    planned: int | None = None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of modes, queries and results, which identifies the judged results."""
        shown = sorted([query.query_id, dict(query.results)] for query in self.queries)
        return sha256_text(json.dumps([self.modes, shown], sort_keys=True))


def load_plan_material(folder: PlanFolder) -> ReviewMaterial:
    """Return the pooled documents of a plan, without runs and ranks."""
    plan = folder.plan
    queries = tuple(
        ReviewQuery(
            query_id,
            folder.topics[query_id],
            {POOL: tuple(folder.judgeable[query_id])},
            len(folder.pool[query_id]) - len(folder.judgeable[query_id]),
        )
        for query_id in plan.queries
    )
    documents = {
        doc_id: ShownDocument.of(document.title, document.text)
        for doc_id, document in folder.documents.items()
    }
    name = Path(plan.corpus.path).name or "dataset"
    return ReviewMaterial(name, (POOL,), plan.depth, queries, documents, planned=plan.people)


FORMAT = "3"
DATABASE_NAME = "review.db"
"""The default name of the file, in the report's folder."""
BUSY_SECONDS = 10.0
"""Time to wait for the lock of another connection."""
_OTHER_FILE = "name a new file, or a file that the review page created"
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
        started_at TEXT NOT NULL, adjudicates INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID""",
    # A row with a doc_id judges that result, or says why it cannot be judged (missing, '' for no
    # reason). A row without doc_id and kind is a
    # choice: the name of the mode, '' for none of them, NULL for a removed answer. A row with a
    # kind is an answer about the query: the id of the chosen result, the reason why the query
    # cannot be judged ('' for no reason), or a comment; NULL for a removed answer.
    """CREATE TABLE judgment (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        annotator INTEGER NOT NULL REFERENCES annotator (id),
        query_id TEXT NOT NULL, doc_id TEXT,
        grade INTEGER CHECK (grade BETWEEN 0 AND 3),
        flagged INTEGER NOT NULL DEFAULT 0 CHECK (flagged = 0 OR (flagged = 1 AND grade IS 0)),
        choice TEXT CHECK (choice IS NULL OR doc_id IS NULL),
        made_at TEXT NOT NULL, undone_at TEXT,
        kind TEXT NOT NULL DEFAULT ''
            CHECK (kind IN ('', 'result', 'cannot_judge', 'comment')),
        value TEXT
            CHECK (kind = '' AND value IS NULL
                OR kind != '' AND doc_id IS NULL AND choice IS NULL),
        final INTEGER NOT NULL DEFAULT 0,
        missing TEXT CHECK (missing IS NULL OR (doc_id IS NOT NULL AND grade IS NULL)))""",
    "CREATE INDEX by_target ON judgment (annotator, query_id, doc_id)",
)


@dataclass(frozen=True, slots=True)
class Study:
    """The reviewed results, as the review database records them.

    Attributes:
        dataset: The name of the dataset.
        modes: The compared modes.
        depth: The number of results of each mode.
        seed: The seed of the order of queries and columns.
        fingerprint: Hash of the shown results.
    """

    dataset: str
    modes: tuple[str, ...]
    depth: int
    seed: int
    fingerprint: str


class Store:
    """An open review database with one connection, which one thread uses at a time.

    Args:
        connection: The connection to the database.
        path: The file, for messages.

    Attributes:
        study: The reviewed results.

    Raises:
        InputError: If it is not a review database.
    """

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self._path = path
        self._lock = RLock()
        self.study = _read_study(connection, path)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction: synced to disk after the block, and rolled back on an exception."""
        with self._lock, _transaction(self._connection):
            yield self._connection

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a query.

        Raises:
            InputError: If the database lacks a table or column.
        """
        with self._lock, _translated_errors(self._path):
            return self._connection.execute(query, values).fetchall()

    def close(self) -> None:
        """Close the database; SQLite then moves its write-ahead log into the file."""
        with self._lock:
            self._connection.close()


def open_store(path: str | Path, material: ReviewMaterial, seed: int | None = None) -> Store:
    """Open the review database for some results, or create it.

    Args:
        path: The file.
        material: The shown results.
        seed: The seed of the order of queries and columns. ``None`` means that of the database, or
            a random one if the database is new.

    Raises:
        InputError: If the file cannot be opened, or is not a review database.
        IncomparableError: If it contains judgments of other results.
        UsageError: If it was created with another seed.
    """
    with suppress(OSError):  # the connection reports why it cannot be created
        Path(path).touch(mode=0o600, exist_ok=False)
    with _opening(str(path), "rwc") as connection:
        if not _is_new(connection):  # before changing the file
            _check_study(_read_study(connection, str(path)), material, seed, str(path))
        _make_private(path)
        for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {setting}")
        with _transaction(connection):
            if _is_new(connection):
                _create(connection, material, seed)
        store = Store(connection, str(path))
        _check_study(store.study, material, seed, str(path))
        return store


def read_store(path: str | Path) -> Store:
    """Open a review database for reading, even while a server writes to it.

    Args:
        path: The file, or the report's folder with ``review.db``.

    Raises:
        InputError: If the file is missing, cannot be read, or is not a review database.
    """
    file = Path(path) / DATABASE_NAME if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise InputError(
            "no such file", where=str(file), remedy="name a file that the review page created"
        )
    with _opening(str(file), "ro") as connection:
        store = Store(connection, str(file))
        _make_private(file)
        return store


def copy_store(old: Path, new: Path, material: ReviewMaterial, seed: int) -> None:
    """Create a database for some results with all people and judgments of another.

    Args:
        old: The database with judgments of a part of the results.
        new: The new file.
        material: The shown results.
        seed: The seed of the order of queries and columns.

    Raises:
        InputError: If a database cannot be read or written.
    """
    with closing(read_store(old)) as source:
        tables = {
            name: source.rows(f"SELECT * FROM {name}")
            for name in ("annotator", "session", "judgment")
        }
    with (
        _translated_errors(str(old)),
        closing(open_store(new, material, seed)) as store,
        store.writing() as connection,
    ):
        for name, rows in tables.items():
            if rows:
                places = ", ".join("?" for _ in rows[0])
                connection.executemany(f"INSERT INTO {name} VALUES ({places})", rows)


def utc_now() -> str:
    """Return the current time in UTC in ISO 8601 format, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@contextmanager
def _opening(path: str, mode: str) -> Iterator[sqlite3.Connection]:
    """Open a database, and close it after an error."""
    absolute = Path(path).absolute()
    if not absolute.parent.is_dir():
        raise InputError("no such folder", where=path, remedy="create it first")
    for ending in ("", "-wal", "-shm", "-journal"):  # SQLite follows links
        find_inside(Path(f"{absolute}{ending}"), absolute.parent)
    with _translated_errors(path), ExitStack() as stack:
        connection = sqlite3.connect(
            f"file:{quote(str(absolute))}?mode={mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        stack.callback(connection.close)
        yield connection
        stack.pop_all()


def _make_private(path: str | Path) -> None:
    """Let only the owner read the database and the files that SQLite keeps beside it.

    SQLite creates further ones with the mode of the database.
    """
    for ending in ("", "-wal", "-shm"):
        with suppress(OSError):  # no such file, or that of another user
            Path(f"{path}{ending}").chmod(0o600)


@contextmanager
def _translated_errors(path: str) -> Iterator[None]:
    """Convert errors of SQLite to :class:`InputError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(
            f"the review database cannot be opened: {error}",
            where=path,
            remedy=_OTHER_FILE,
        ) from error


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back
        yield


def _is_new(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _create(connection: sqlite3.Connection, material: ReviewMaterial, seed: int | None) -> None:
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
            for mode, doc_ids in query.results.items()
            for rank, doc_id in enumerate(doc_ids, 1)
        ),
    )


def _read_study(connection: sqlite3.Connection, path: str) -> Study:
    try:
        about = dict(connection.execute("SELECT name, value FROM about"))
    except sqlite3.Error as error:
        raise InputError("not a review database", where=path, remedy=_OTHER_FILE) from error
    if about.get("format") != FORMAT:
        raise InputError(
            "the review database was written by another version",
            where=path,
            remedy=f"export its judgments with that version, or {_OTHER_FILE}",
        )
    try:
        return Study(
            dataset=about["dataset"],
            modes=tuple(map(str, json.loads(about["modes"]))),
            depth=int(about["depth"]),
            seed=int(about["seed"]),
            fingerprint=about["fingerprint"],
        )
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise InputError(
            "the review database is damaged", where=path, remedy=_OTHER_FILE
        ) from error


def _check_study(study: Study, material: ReviewMaterial, seed: int | None, path: str) -> None:
    if study.fingerprint != material.fingerprint:
        raise IncomparableError(
            f"the review database contains judgments of other results ({study.dataset}, "
            f"depth {study.depth}, {', '.join(study.modes)})",
            where=path,
            remedy="name another file with --database, or give the same report, modes and depth",
        )
    if seed is not None and seed != study.seed:
        raise UsageError(
            "the review database was created with another seed",
            where=path,
            remedy="omit --seed, or name another file with --database",
        )
