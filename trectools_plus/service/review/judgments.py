"""Record and undo judgments, and read the current ones."""

from __future__ import annotations

import sqlite3
import unicodedata
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Literal

from trectools_plus.errors import UsageError
from trectools_plus.service.review.store import Store, utc_now

NONE_CHOSEN = ""
"""The choice of an annotator who would choose none of the columns."""

AnswerKind = Literal["result", "cannot_judge", "comment"]
"""The answers about a query that have a text: the id of the chosen result, a reason, a comment."""

_CURRENT_JUDGMENTS = """
    SELECT query_id, doc_id, grade, flagged, choice, kind, value FROM judgment WHERE id IN (
        SELECT max(id) FROM judgment
        WHERE undone_at IS NULL AND {where} GROUP BY query_id, doc_id, kind)
    ORDER BY id"""
_BY_ANNOTATOR = "final = 0 AND annotator = ?"
_BY_ADJUDICATORS = "final = 1"


@dataclass(frozen=True, slots=True)
class Annotator:
    """A person who judges.

    Attributes:
        number: The id in the database.
        name: The name as it was first entered.
        key: The normalised name, equal for all spellings that differ only in case or blanks.
        adjudicates: True in a session that decides disagreements; see
            :mod:`~trectools_plus.service.review.labels`.
    """

    number: int
    name: str
    key: str
    adjudicates: bool = False


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
    """The judgments of a query and its results by one annotator, or the adjudicators' decisions.

    Attributes:
        grades: Grades by document id, without documents that are not judged.
        choice: The chosen mode; :data:`NONE_CHOSEN` if the annotator would choose none of them,
            ``None`` if there is no answer yet.
        result: The id of the chosen result; ``None`` if there is none.
        cannot_judge: The reason why the query cannot be judged, empty if none was given; ``None``
            if it can be judged.
        comment: The comment, or ``None``.
    """

    grades: dict[str, Grade] = field(default_factory=dict)
    choice: str | None = None
    result: str | None = None
    cannot_judge: str | None = None
    comment: str | None = None

    @property
    def answer(self) -> str | None:
        """The chosen result; :data:`NONE_CHOSEN` for none of them; ``None`` without an answer."""
        if self.result is None and self.choice == NONE_CHOSEN:
            return NONE_CHOSEN
        return self.result

    @property
    def has_chosen(self) -> bool:
        """True if a result, a column or none of them was chosen."""
        return self.result is not None or self.choice is not None


def list_annotators(store: Store) -> list[Annotator]:
    """Return everyone who judges, in the order of their first sessions.

    People who only decide disagreements are omitted.
    """
    rows = store.rows(
        "SELECT id, name, key FROM annotator "
        "WHERE id IN (SELECT annotator FROM session WHERE adjudicates = 0) ORDER BY id"
    )
    return [Annotator(*row) for row in rows]


def find_annotator(store: Store, name: str) -> Annotator | None:
    """Return the annotator with a name, in any spelling.

    Raises:
        UsageError: If the name is invalid.
    """
    rows = store.rows("SELECT id, name, key FROM annotator WHERE key = ?", key_of(name))
    return Annotator(*rows[0]) if rows else None


def begin_session(
    store: Store, name: str, *, resume: bool, adjudicates: bool = False
) -> str | None:
    """Start a session of a new or a known annotator.

    Args:
        store: The database.
        name: The name of the annotator.
        resume: True if the name must be known, false if it must be new.
        adjudicates: True if the session decides disagreements.

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
        connection.execute(
            "INSERT INTO session (digest, annotator, started_at, adjudicates) VALUES (?, ?, ?, ?)",
            (_digest(secret), *found, now, int(adjudicates)),
        )
    return secret


def find_session_annotator(store: Store, secret: str) -> Annotator | None:
    """Return the annotator whose session has a secret; ``None`` if there is no such session."""
    rows = store.rows(
        "SELECT a.id, a.name, a.key, s.adjudicates FROM session s "
        "JOIN annotator a ON a.id = s.annotator WHERE s.digest = ?",
        _digest(secret),
    )
    if not rows:
        return None
    number, name, key, adjudicates = rows[0]
    return Annotator(number, name, key, bool(adjudicates))


def record_grade(
    store: Store, annotator: Annotator, query_id: str, doc_id: str, grade: Grade
) -> None:
    """Record a grade, synced to disk when this function returns.

    Recording the current grade again, for example after a lost response, changes nothing.
    """
    with store.writing() as connection:
        before = _current(connection, annotator, query_id).grades.get(doc_id, Grade())
        if before != grade:
            values = {"doc_id": doc_id, "grade": grade.grade, "flagged": int(grade.flagged)}
            _insert(connection, annotator, query_id, values)


def record_choice(store: Store, annotator: Annotator, query_id: str, choice: str | None) -> None:
    """Record the chosen mode; see :class:`QueryJudgments`."""
    with store.writing() as connection:
        if _current(connection, annotator, query_id).choice != choice:
            _insert(connection, annotator, query_id, {"choice": choice})


def record_answer(
    store: Store, annotator: Annotator, query_id: str, kind: AnswerKind, value: str | None
) -> None:
    """Record the chosen result, why the query cannot be judged, or a comment.

    Args:
        store: The database.
        annotator: The annotator.
        query_id: The query.
        kind: The attribute of :class:`QueryJudgments`.
        value: Its new value.
    """
    with store.writing() as connection:
        if getattr(_current(connection, annotator, query_id), kind) != value:
            _insert(connection, annotator, query_id, {"kind": kind, "value": value})


def undo_last(store: Store, annotator: Annotator) -> tuple[str, str | None, str] | None:
    """Undo the last judgment of an annotator, and restore the judgment that it replaced.

    Returns:
        Query, document and kind of the undone judgment: a grade has a document, a choice of a
        column has neither a document nor a kind, and other answers have their
        :data:`AnswerKind`. ``None`` if there is no judgment.
    """
    with store.writing() as connection:
        last = connection.execute(
            "SELECT id, query_id, doc_id, kind FROM judgment "
            "WHERE annotator = ? AND final = ? AND undone_at IS NULL ORDER BY id DESC LIMIT 1",
            (annotator.number, int(annotator.adjudicates)),
        ).fetchone()
        if last is None:
            return None
        number, query_id, doc_id, kind = last
        connection.execute("UPDATE judgment SET undone_at = ? WHERE id = ?", (utc_now(), number))
    return query_id, doc_id, kind


def read_query_judgments(store: Store, annotator: Annotator, query_id: str) -> QueryJudgments:
    """Return the current judgments of one query; all adjudicators share their decisions."""
    with store.reading() as connection:
        return _current(connection, annotator, query_id)


def read_all_judgments(store: Store, annotator: Annotator) -> dict[str, QueryJudgments]:
    """Return the current judgments by query, without queries that have none."""
    if annotator.adjudicates:
        return read_decisions(store)
    return _by_query(store.rows(_CURRENT_JUDGMENTS.format(where=_BY_ANNOTATOR), annotator.number))


def read_decisions(store: Store) -> dict[str, QueryJudgments]:
    """Return the current decisions of all adjudicators by query: the last of each counts."""
    return _by_query(store.rows(_CURRENT_JUDGMENTS.format(where=_BY_ADJUDICATORS)))


_Row = tuple[Any, ...]
"""Columns of a judgment: document, grade, flag, choice, kind and value."""


def _insert(
    connection: sqlite3.Connection, annotator: Annotator, query_id: str, values: dict[str, Any]
) -> None:
    row = {
        "annotator": annotator.number,
        "final": int(annotator.adjudicates),
        "query_id": query_id,
        "made_at": utc_now(),
        **values,
    }
    names = ", ".join(row)
    places = ", ".join("?" for _ in row)
    connection.execute(f"INSERT INTO judgment ({names}) VALUES ({places})", tuple(row.values()))


def _current(connection: sqlite3.Connection, annotator: Annotator, query_id: str) -> QueryJudgments:
    where = _BY_ADJUDICATORS if annotator.adjudicates else _BY_ANNOTATOR
    values = [query_id] if annotator.adjudicates else [annotator.number, query_id]
    statement = _CURRENT_JUDGMENTS.format(where=f"{where} AND query_id = ?")
    return _judged([row[1:] for row in connection.execute(statement, values)])


def _by_query(rows: list[_Row]) -> dict[str, QueryJudgments]:
    grouped: dict[str, list[_Row]] = {}
    for query_id, *row in rows:
        grouped.setdefault(query_id, []).append(tuple(row))
    return {query_id: _judged(found) for query_id, found in grouped.items()}


def _judged(rows: list[_Row]) -> QueryJudgments:
    """Combine the current rows of a query, in the order in which they were recorded."""
    grades: dict[str, Grade] = {}
    answers: dict[str, str | None] = {}
    for doc_id, grade, flagged, choice, kind, value in rows:
        if doc_id is not None:
            if grade is not None:
                grades[doc_id] = Grade(grade, bool(flagged))
            continue
        answers[kind or "choice"] = value if kind else choice
        # A result and "none of them" exclude each other: the later one counts.
        if kind == "result" and answers.get("choice") == NONE_CHOSEN:
            del answers["choice"]
        elif not kind and choice == NONE_CHOSEN:
            answers.pop("result", None)
    return QueryJudgments(grades, **answers)


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
