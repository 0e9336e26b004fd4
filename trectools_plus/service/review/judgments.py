"""Writing judgments down, taking them back, and reading what counts."""

from __future__ import annotations

import sqlite3
import unicodedata
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe

import polars as pl

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels
from trectools_plus.service.review.store import Store, utc_now

NO_CHOICE = ""
"""The choice of someone who would choose none of the columns."""

_CURRENT = """
    SELECT query_id, doc_id, grade, flagged, choice FROM judgment WHERE id IN (
        SELECT max(id) FROM judgment
        WHERE annotator = ? AND undone_at IS NULL {where} GROUP BY query_id, doc_id)"""


@dataclass(frozen=True, slots=True)
class Annotator:
    """Someone who judges.

    Attributes:
        number: In the file.
        name: As first written.
        key: What all spellings of the name have in common.
    """

    number: int
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Grade:
    """What someone thinks of a result.

    Attributes:
        grade: 0 to 3; ``None`` for not judged.
        flagged: Whether it should not have been found at all; its grade is 0 then.
    """

    grade: int | None = None
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """What someone thinks of a query's results.

    Attributes:
        grades: By document; those that are not judged are not in it.
        choice: The mode one would choose, :data:`NO_CHOICE` for none of them, ``None`` for no
            answer.
    """

    grades: dict[str, Grade] = field(default_factory=dict)
    choice: str | None = None


def list_annotators(store: Store) -> list[Annotator]:
    """Everyone who has begun, in the order in which they did."""
    rows = store.rows("SELECT id, name, key FROM annotator ORDER BY id")
    return [Annotator(*row) for row in rows]


def find_annotator(store: Store, name: str) -> Annotator | None:
    """The annotator of this name, however it is spelled.

    Raises:
        UsageError: If it cannot be a name.
    """
    rows = store.rows("SELECT id, name, key FROM annotator WHERE key = ?", key_of(name))
    return Annotator(*rows[0]) if rows else None


def begin_session(store: Store, name: str, *, resume: bool) -> str | None:
    """Let someone begin, or go on where the name is there already.

    Args:
        store: The file.
        name: Who it is.
        resume: Whether to go on with judgments that are there under this name.

    Returns:
        A secret that stands for the annotator from now on; ``None`` if the name is there and
        ``resume`` was not said, or it is not there although it was.

    Raises:
        UsageError: If it cannot be a name.
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


def annotator_of(store: Store, secret: str) -> Annotator | None:
    """Whom a secret of :func:`begin_session` stands for."""
    rows = store.rows(
        "SELECT a.id, a.name, a.key FROM session s JOIN annotator a ON a.id = s.annotator "
        "WHERE s.digest = ?",
        _digest(secret),
    )
    return Annotator(*rows[0]) if rows else None


def record_grade(
    store: Store, annotator: Annotator, query_id: str, doc_id: str, grade: Grade
) -> None:
    """Write down a grade; it is on the disk when this returns.

    The same grade a second time, as after a lost answer, changes nothing.
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
    """Write down which mode one would choose; see :class:`Judged`."""
    with store.writing() as connection:
        if _current(connection, annotator, query_id).choice != choice:
            connection.execute(
                "INSERT INTO judgment (annotator, query_id, choice, made_at) VALUES (?, ?, ?, ?)",
                (annotator.number, query_id, choice, utc_now()),
            )


def undo_last(store: Store, annotator: Annotator) -> tuple[str, str | None] | None:
    """Take back an annotator's last judgment; what counted before counts again.

    Returns:
        Its query and document (``None`` for a choice), or ``None`` if there is nothing left.
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


def read_judged(store: Store, annotator: Annotator, query_id: str) -> Judged:
    """What counts for one query."""
    with store.reading() as connection:
        return _current(connection, annotator, query_id)


def read_all_judged(store: Store, annotator: Annotator) -> dict[str, Judged]:
    """What counts, by query; queries without any judgment are not in it."""
    rows = store.rows(_CURRENT.format(where=""), annotator.number)
    by_query: dict[str, list[tuple[str | None, int | None, int, str | None]]] = {}
    for query_id, *rest in rows:
        by_query.setdefault(query_id, []).append((rest[0], rest[1], rest[2], rest[3]))
    return {query_id: _judged(found) for query_id, found in by_query.items()}


def _current(connection: sqlite3.Connection, annotator: Annotator, query_id: str) -> Judged:
    statement = _CURRENT.format(where="AND query_id = ?")
    rows = connection.execute(statement, (annotator.number, query_id)).fetchall()
    return _judged([row[1:] for row in rows])


def _judged(rows: list[tuple[str | None, int | None, int, str | None]]) -> Judged:
    grades = {
        doc_id: Grade(grade, bool(flagged))
        for doc_id, grade, flagged, _ in rows
        if doc_id is not None and grade is not None
    }
    choice = next((choice for doc_id, _, _, choice in rows if doc_id is None), None)
    return Judged(grades, choice)


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


LONGEST_NAME = 64


def clean_name(text: str) -> str:
    """A name as it is shown: composed characters, single blanks.

    Raises:
        UsageError: If nothing is left, it is longer than 64 characters, or holds characters that
            are not seen.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name or len(name) > LONGEST_NAME:
        raise UsageError(f"expected a name of 1 to {LONGEST_NAME} characters")
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise UsageError("the name holds a character that cannot be seen")
    return name


def key_of(name: str) -> str:
    """What two spellings of one name have in common: "anna" and "Anna" are one person."""
    folded = unicodedata.normalize("NFKC", clean_name(name)).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


MERGE_RULE = "the median of the annotators' grades; of two in the middle, the lower"


def grades_of(store: Store, annotator: Annotator) -> Qrels:
    """What one annotator has graded, sorted by query and document; may be empty."""
    rows = [
        (query_id, "0", doc_id, one.grade)
        for query_id, judged in read_all_judged(store, annotator).items()
        for doc_id, one in judged.grades.items()
    ]
    frame = pl.DataFrame(rows, schema=QRELS_SCHEMA, orient="row")
    return Qrels(frame.sort("query_id", "doc_id"))


def merge_grades(all_grades: list[Qrels]) -> Qrels:
    """One grade per query and document: the median; of two in the middle, the lower.

    Args:
        all_grades: Of each annotator.

    Returns:
        Every pair that anyone has graded, sorted by query and document.
    """
    frame = pl.concat([pl.DataFrame(schema=QRELS_SCHEMA), *(one.frame for one in all_grades)])
    middle = pl.col("relevance").sort().get((pl.len() - 1) // 2)
    merged = frame.group_by("query_id", "doc_id").agg(middle)
    return Qrels(merged.sort("query_id", "doc_id"))


def export_qrels(store: Store, annotator: str | None = None) -> Qrels:
    """The judgments as qrels.

    Args:
        store: The judgments.
        annotator: Whose; ``None`` for everyone's, merged as :func:`merge_grades` does.

    Raises:
        UsageError: If nobody of this name has judged.
        CheckFailedError: If nothing was graded yet.
    """
    if annotator is None:
        qrels = merge_grades([grades_of(store, one) for one in list_annotators(store)])
    else:
        found = find_annotator(store, annotator)
        if found is None:
            names = ", ".join(one.name for one in list_annotators(store)) or "nobody"
            raise UsageError(
                f"no annotator '{annotator}'",
                where="--annotator",
                remedy=f"these have begun: {names}",
            )
        qrels = grades_of(store, found)
    if qrels.frame.is_empty():
        raise CheckFailedError("nothing was graded yet")
    return qrels
