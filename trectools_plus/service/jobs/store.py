"""Background jobs on disk, in SQLite, so that they survive a restart of the service."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from trectools_plus.errors import InputError, UsageError
from trectools_plus.service.api.models import JobStatus
from trectools_plus.service.api.uploads import Upload
from trectools_plus.service.jobs.processes import Task, TaskKind
from trectools_plus.service.problems import is_disk_full

FILE_NAME = "jobs.sqlite"
_VERSION = 2
_ROW_BYTES = 1024
"""The size to count for a job in addition to its uploads and its result."""
_PROBE_BYTES = 65_536
"""The size to write, to find out if the disk is still full."""
_SCHEMA = f"""
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, kind TEXT NOT NULL,
    parameters TEXT NOT NULL, documents TEXT NOT NULL, created_at TEXT NOT NULL,
    finished_at TEXT, finished REAL, state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    progress TEXT, problem TEXT, result BLOB, fetched INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL
);
CREATE TABLE parts (
    job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, number INTEGER NOT NULL,
    name TEXT NOT NULL, form TEXT, data BLOB NOT NULL, file TEXT, PRIMARY KEY (job, number)
);
PRAGMA user_version = {_VERSION};
"""
_UPGRADE = f"""
ALTER TABLE parts ADD COLUMN file TEXT;
PRAGMA user_version = {_VERSION};
"""
"""From version 1, which had no names of files."""
_LOG = logging.getLogger("trectools_plus.service")


class StoredJob(NamedTuple):
    """A job, without its uploads and its result."""

    status: JobStatus
    kind: TaskKind
    parameters: dict[str, Any]
    documents: str
    attempts: int


_COLUMNS = (
    "id, kind, state, created_at, finished_at, progress, problem, parameters, documents, attempts"
)


class JobStore:
    """The jobs of a service.

    Args:
        folder: The folder of the database; ``None`` for a database in memory.

    Raises:
        InputError: If the folder cannot be written.
        UsageError: If another service uses it.
    """

    def __init__(self, folder: Path | None) -> None:
        self._lock = threading.Lock()
        self._is_full = False
        self._folder_lock = None if folder is None else _lock_folder(folder)
        path = ":memory:" if folder is None else str(folder / FILE_NAME)
        try:
            self._database = _open(path)
        except (sqlite3.Error, OSError) as error:
            self._unlock()
            raise InputError(
                f"cannot store jobs: {error}", where=path, remedy="name another --state-dir"
            ) from error
        except BaseException:
            self._unlock()
            raise

    def add(self, job_id: str, task: Task, documents: str, created_at: str) -> None:
        """Store a queued job and its uploads."""
        size = _ROW_BYTES + sum(len(upload.data) for upload in task.uploads)
        about = job_id, task.kind, json.dumps(task.parameters), documents, created_at, size
        uploads = [
            (job_id, n, one.name, one.form, one.data, one.file)
            for n, one in enumerate(task.uploads)
        ]
        with self._transaction() as database:
            database.execute(
                "INSERT INTO jobs (id, kind, parameters, documents, created_at, size, state)"
                " VALUES (?, ?, ?, ?, ?, ?, 'queued')",
                about,
            )
            database.executemany("INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?)", uploads)

    def start(self, job_id: str, attempt: int) -> None:
        """Record that an attempt begins, before the work does."""
        self._execute(
            "UPDATE jobs SET state = 'running', attempts = ? WHERE id = ?", attempt, job_id
        )

    def interrupt(self, job_id: str) -> None:
        """Record that the service stops; the attempt does not count."""
        self._execute(
            "UPDATE jobs SET state = 'queued', attempts = MAX(attempts - 1, 0)"
            " WHERE id = ? AND state = 'running'",
            job_id,
        )

    def finish(self, status: JobStatus, result: bytes | None) -> None:
        """Store the end of a job, and remove its uploads."""
        about = status.model_dump(mode="json")
        values = {
            "state": status.state,
            "finished_at": status.finished_at,
            "finished": time.time(),
            "progress": json.dumps(about["progress"]),
            "problem": json.dumps(about["problem"]),
            "result": result,
            "size": _ROW_BYTES + len(result or b""),
            "fetched": status.state == "cancelled",
        }
        changes = ", ".join(f"{name} = ?" for name in values)
        with self._transaction() as database:
            database.execute(
                f"UPDATE jobs SET {changes} WHERE id = ?", (*values.values(), status.job_id)
            )
            database.execute("DELETE FROM parts WHERE job = ?", (status.job_id,))

    def jobs(self) -> list[StoredJob]:
        """Return all jobs, oldest first."""
        rows = self._query(f"SELECT {_COLUMNS} FROM jobs ORDER BY number")
        return [_job_of(row) for row in rows]

    def uploads(self, job_id: str) -> tuple[Upload, ...]:
        """Return the uploads of a job."""
        query = "SELECT name, data, form, file FROM parts WHERE job = ? ORDER BY number"
        return tuple(Upload(*row) for row in self._query(query, job_id))

    def fetch(self, job_id: str) -> bytes | None:
        """Return the result of a job, and record that a client has fetched it."""
        rows = self._query("SELECT result FROM jobs WHERE id = ?", job_id)
        try:
            self._execute("UPDATE jobs SET fetched = 1 WHERE id = ? AND finished > 0", job_id)
        except sqlite3.OperationalError as error:
            if not is_disk_full(error):
                raise
        return rows[0][0] if rows else None

    def check_space(self) -> None:
        """Check that the database can grow, if it last could not.

        Raises:
            sqlite3.OperationalError: If the disk is full.
        """
        if self._is_full:
            self._execute("DROP TABLE IF EXISTS probe")
            self._execute(f"CREATE TABLE probe AS SELECT zeroblob({_PROBE_BYTES})")
            self._execute("DROP TABLE probe")

    def size(self) -> int:
        """Return the bytes of jobs that cannot be dropped yet."""
        ((size,),) = self._query("SELECT TOTAL(size) FROM jobs WHERE fetched = 0")
        return int(size)

    def drop_old(self, seconds: float, most: int, most_bytes: int) -> list[str]:
        """Drop expired jobs, and fetched ones that are too many or too large, oldest first.

        Args:
            seconds: The time for which finished jobs are stored.
            most: The number of fetched jobs to store.
            most_bytes: The total size of fetched jobs; the latest is always stored.

        Returns:
            The ids of the dropped jobs.
        """
        query = (
            "SELECT id, finished, fetched, size FROM jobs WHERE finished > 0 ORDER BY number DESC"
        )
        dropped = []
        with self._transaction() as database:
            n_newer = size = 0
            for job_id, finished, fetched, one in database.execute(query).fetchall():
                if finished < time.time() - seconds:
                    dropped.append(job_id)
                elif fetched:
                    size += one
                    if n_newer >= most or (n_newer and size > most_bytes):
                        dropped.append(job_id)
                    n_newer += 1
            database.executemany("DELETE FROM jobs WHERE id = ?", [(one,) for one in dropped])
        return dropped

    def close(self) -> None:
        """Close the database, for another service to open it."""
        with self._lock:
            self._database.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._folder_lock is not None:
            self._folder_lock.release()

    def _execute(self, statement: str, *values: Any) -> None:
        with self._transaction() as database:
            database.execute(statement, values)

    def _query(self, query: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                with self._database:
                    yield self._database
            except sqlite3.OperationalError as error:
                self._is_full = self._is_full or is_disk_full(error)
                raise
            self._is_full = False


def open_default_store(base: Path) -> Path:
    """Return the folder for the jobs of a service that names none.

    It is ``1`` in ``base``, or the next number if another service uses that.

    Raises:
        InputError: If it cannot be written.
    """
    for number in count(1):
        folder = base / str(number)
        try:
            _lock_folder(folder).release()
        except UsageError:
            continue
        return folder
    raise AssertionError


def _lock_folder(folder: Path) -> Any:
    from filelock import FileLock, Timeout

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(folder / "lock")
        lock.acquire(timeout=0)
    except Timeout:
        raise UsageError(
            "another service stores its jobs in this folder",
            where=str(folder),
            remedy="give each service its own --state-dir",
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot store jobs: {error.strerror or error}",
            where=str(folder),
            remedy="name a folder that can be written: --state-dir DIR",
        ) from error
    return lock


def _open(path: str) -> sqlite3.Connection:
    """Open the database; set a damaged one aside, and begin a new one."""
    try:
        return _connect(path)
    except sqlite3.DatabaseError as error:
        if path == ":memory:" or isinstance(error, sqlite3.OperationalError):
            raise
        aside = Path(f"{path}.damaged")
        reason = " ".join(str(error).split())[:200]
        _LOG.warning("the jobs in %s cannot be read (%s); they are now in %s", path, reason, aside)
        Path(path).replace(aside)
        for ending in ("-wal", "-shm"):
            Path(path + ending).unlink(missing_ok=True)
        return _connect(path)


def _connect(path: str) -> sqlite3.Connection:
    if path != ":memory:":
        Path(path).touch(mode=0o600)  # uploads can be private
    database = sqlite3.connect(path, check_same_thread=False)
    try:
        _prepare(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, path: str) -> None:
    database.execute("PRAGMA auto_vacuum = FULL")  # dropped results do not occupy the disk
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA journal_size_limit = 1048576")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA foreign_keys = ON")
    with closing(database.execute("PRAGMA user_version")) as found:
        (version,) = found.fetchone()
    if version > _VERSION:
        raise UsageError(
            "the jobs were stored by a newer version of trectools-plus",
            where=path,
            remedy="use that version, or name another --state-dir",
        )
    if version == 0:
        database.executescript(_SCHEMA)
    if version == 1:
        database.executescript(_UPGRADE)
    with closing(database.execute("PRAGMA quick_check")) as found:
        (state,) = found.fetchone()
    if state != "ok":
        raise sqlite3.DatabaseError(state)
    try:
        for row in database.execute(f"SELECT {_COLUMNS} FROM jobs"):
            _job_of(row)
    except (ValueError, TypeError, sqlite3.OperationalError) as error:
        raise sqlite3.DatabaseError(str(error)) from error


def _job_of(row: Any) -> StoredJob:
    job_id, kind, state, created_at, finished_at, progress, problem, parameters, *rest = row
    status = JobStatus(
        job_id=job_id,
        kind=kind,
        state=state,
        created_at=created_at,
        finished_at=finished_at,
        progress=json.loads(progress or "null"),
        result=None,
        problem=json.loads(problem or "null"),
    )
    return StoredJob(status, kind, json.loads(parameters), *rest)
