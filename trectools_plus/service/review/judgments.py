"""Record and undo judgments, and read the current ones."""

from __future__ import annotations

import sqlite3
import unicodedata
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any

import polars as pl

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels
from trectools_plus.service.review.store import Store, utc_now

NONE_CHOSEN = ""
"""The choice of an annotator who would choose none of the columns."""

_CURRENT_JUDGMENTS = """
    SELECT query_id, doc_id, grade, flagged, choice FROM judgment WHERE id IN (
        SELECT max(id) FROM judgment
        WHERE annotator = ? AND undone_at IS NULL {where} GROUP BY query_id, doc_id)"""


@dataclass(frozen=True, slots=True)
class Annotator:
    """A person who judges.

    Attributes:
        number: The id in the database.
        name: The name as it was first entered.
        key: The normalised name, equal for all spellings that differ only in case or blanks.
    """

    number: int
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Grade:
    """The judgment of a result.

    Attributes:
        grade: 0 to 3; ``None`` for not judged.
        flagged: True if the document should not be a result at all; then the grade is 0.
    """

    grade: int | None = None
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class QueryJudgments:
    """The judgments of a query's results by one annotator.

    Attributes:
        grades: Grades by document id, without documents that are not judged.
        choice: The chosen mode; :data:`NONE_CHOSEN` if the annotator would choose none of them,
            ``None`` if there is no answer yet.
    """

    grades: dict[str, Grade] = field(default_factory=dict)
    choice: str | None = None


def list_annotators(store: Store) -> list[Annotator]:
    """Return all annotators, in the order of their first sessions."""
    rows = store.rows("SELECT id, name, key FROM annotator ORDER BY id")
    return [Annotator(*row) for row in rows]


def find_annotator(store: Store, name: str) -> Annotator | None:
    """Return the annotator with a name, in any spelling.

    Raises:
        UsageError: If the name is invalid.
    """
    rows = store.rows("SELECT id, name, key FROM annotator WHERE key = ?", key_of(name))
    return Annotator(*rows[0]) if rows else None


def begin_session(store: Store, name: str, *, resume: bool) -> str | None:
    """Start a session of a new or a known annotator.

    Args:
        store: The database.
        name: The name of the annotator.
        resume: True if the name must be known, false if it must be new.

    Returns:
        The secret of the session, which identifies the annotator; ``None`` if the name is new and
        ``resume`` is true, or known and ``resume`` is false.

    Raises:
        UsageError: If the name is invalid.
    """
    secret, now = token_urlsafe(24), utc_now()
    clean, key = clean_name(name), key_of(name)
    with store.writing() as connection:
        found = connection.execute("SELECT id FROM annotator WHERE key = ?", (key,)).fetchone()
        if (found is not None) != resume:
            return None
        if found is None:
            added = connection.execute(
                "INSERT INTO annotator (key, name, started_at) VALUES (?, ?, ?)", (key, clean, now)
            )
            found = (added.lastrowid,)
        connection.execute("INSERT INTO session VALUES (?, ?, ?)", (_digest(secret), *found, now))
    return secret


def find_session_annotator(store: Store, secret: str) -> Annotator | None:
    """Return the annotator whose session has a secret; ``None`` if there is no such session."""
    rows = store.rows(
        "SELECT a.id, a.name, a.key FROM session s JOIN annotator a ON a.id = s.annotator "
        "WHERE s.digest = ?",
        _digest(secret),
    )
    return Annotator(*rows[0]) if rows else None


def record_grade(
    store: Store, annotator: Annotator, query_id: str, doc_id: str, grade: Grade
) -> None:
    """Record a grade, synced to disk when this function returns.

    Recording the current grade again, for example after a lost response, changes nothing.
    """
    with store.writing() as connection:
        before = _current(connection, annotator, query_id).grades.get(doc_id, Grade())
        if before != grade:
            connection.execute(
                "INSERT INTO judgment (annotator, query_id, doc_id, grade, flagged, made_at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (annotator.number, query_id, doc_id, grade.grade, int(grade.flagged), utc_now()),
            )


def record_choice(store: Store, annotator: Annotator, query_id: str, choice: str | None) -> None:
    """Record the chosen mode; see :class:`QueryJudgments`."""
    with store.writing() as connection:
        if _current(connection, annotator, query_id).choice != choice:
            connection.execute(
                "INSERT INTO judgment (annotator, query_id, choice, made_at) VALUES (?, ?, ?, ?)",
                (annotator.number, query_id, choice, utc_now()),
            )


def undo_last(store: Store, annotator: Annotator) -> tuple[str, str | None] | None:
    """Undo the last judgment of an annotator, and restore the judgment that it replaced.

    Returns:
        Query and document of the undone judgment (a choice has the document ``None``); ``None`` if
        there is no judgment.
    """
    with store.writing() as connection:
        last = connection.execute(
            "SELECT id, query_id, doc_id FROM judgment "
            "WHERE annotator = ? AND undone_at IS NULL ORDER BY id DESC LIMIT 1",
            (annotator.number,),
        ).fetchone()
        if last is None:
            return None
        number, query_id, doc_id = last
        connection.execute("UPDATE judgment SET undone_at = ? WHERE id = ?", (utc_now(), number))
    return query_id, doc_id


def read_query_judgments(store: Store, annotator: Annotator, query_id: str) -> QueryJudgments:
    """Return the current judgments of one query."""
    with store.reading() as connection:
        return _current(connection, annotator, query_id)


def read_all_judgments(store: Store, annotator: Annotator) -> dict[str, QueryJudgments]:
    """Return the current judgments by query, without queries that have none."""
    by_query: dict[str, list[_Row]] = {}
    for query_id, *row in store.rows(_CURRENT_JUDGMENTS.format(where=""), annotator.number):
        by_query.setdefault(query_id, []).append(tuple(row))
    return {query_id: _judged(rows) for query_id, rows in by_query.items()}


_Row = tuple[Any, ...]
"""Columns of a judgment: document, grade, flag and choice."""


def _current(connection: sqlite3.Connection, annotator: Annotator, query_id: str) -> QueryJudgments:
    statement = _CURRENT_JUDGMENTS.format(where="AND query_id = ?")
    rows = connection.execute(statement, (annotator.number, query_id)).fetchall()
    return _judged([row[1:] for row in rows])


def _judged(rows: list[_Row]) -> QueryJudgments:
    grades = {
        doc_id: Grade(grade, bool(flagged))
        for doc_id, grade, flagged, _ in rows
        if doc_id is not None and grade is not None
    }
    choice = next((choice for doc_id, _, _, choice in rows if doc_id is None), None)
    return QueryJudgments(grades, choice)


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


MAX_NAME_LENGTH = 64
"""Maximum number of characters of a name."""


def clean_name(text: str) -> str:
    """Return a name in Unicode form NFC with single spaces between its words.

    Raises:
        UsageError: If it is empty, longer than 64 characters, or contains control characters or
            other invisible characters.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name or len(name) > MAX_NAME_LENGTH:
        raise UsageError(f"expected a name of 1 to {MAX_NAME_LENGTH} characters")
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise UsageError("the name contains an invisible character")
    return name


def key_of(name: str) -> str:
    """Return the normalised name: ``anna`` for "anna" and "Anna"."""
    folded = unicodedata.normalize("NFKC", clean_name(name)).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


MERGE_RULE = "the median of the annotators' grades; of two in the middle, the lower"


def grades_of(store: Store, annotator: Annotator) -> Qrels:
    """Return the grades of one annotator, sorted by query and document; can be empty."""
    rows = [
        (query_id, "0", doc_id, one.grade)
        for query_id, judged in read_all_judgments(store, annotator).items()
        for doc_id, one in judged.grades.items()
    ]
    frame = pl.DataFrame(rows, schema=QRELS_SCHEMA, orient="row")
    return Qrels(frame.sort("query_id", "doc_id"))


def merge_grades(all_grades: list[Qrels]) -> Qrels:
    """Return one grade per query and document: the median, the lower one of two middle grades.

    Args:
        all_grades: The grades of each annotator.

    Returns:
        All graded pairs, sorted by query and document.
    """
    frame = pl.concat([pl.DataFrame(schema=QRELS_SCHEMA), *(one.frame for one in all_grades)])
    middle = pl.col("relevance").sort().get((pl.len() - 1) // 2)
    merged = frame.group_by("query_id", "doc_id").agg(middle)
    return Qrels(merged.sort("query_id", "doc_id"))


def export_qrels(store: Store, annotator: str | None = None) -> Qrels:
    """Return the judgments as qrels.

    Args:
        store: The judgments.
        annotator: The annotator; ``None`` for all, merged by :func:`merge_grades`.

    Raises:
        UsageError: If the annotator is unknown.
        CheckFailedError: If there are no grades yet.
    """
    if annotator is None:
        qrels = merge_grades([grades_of(store, one) for one in list_annotators(store)])
    else:
        found = find_annotator(store, annotator)
        if found is None:
            names = ", ".join(one.name for one in list_annotators(store)) or "none so far"
            raise UsageError(
                f"unknown annotator '{annotator}'",
                where="--annotator",
                remedy=f"known annotators: {names}",
            )
        qrels = grades_of(store, found)
    if qrels.frame.is_empty():
        raise CheckFailedError("there are no grades yet")
    return qrels
