"""Record and undo judgments, and read the current ones and the labels that follow from them.

A label is the merged judgment of the annotators. Judgments of a query that an annotator cannot
judge do not count.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Literal

import polars as pl

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels
from trectools_plus.judging.store import Store, utc_now

NONE_CHOSEN = ""
"""The choice of an annotator who would choose none of the columns."""

AnswerKind = Literal["choice", "result", "cannot_judge", "comment"]
"""The answers about a query: the chosen mode, the id of the chosen result, a reason, a comment."""

_CURRENT_JUDGMENTS = """
    SELECT query_id, doc_id, grade, flagged, choice, kind, value, missing FROM judgment
    WHERE id IN (
        SELECT max(id) FROM judgment
        WHERE undone_at IS NULL AND annotator = ? AND coalesce(? = query_id, TRUE)
        GROUP BY query_id, doc_id, kind)
    ORDER BY id"""


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
    """The judgments of a query and its results by one annotator.

    Attributes:
        grades: Grades by document id, without documents that are not judged.
        choice: The chosen mode; :data:`NONE_CHOSEN` if the annotator would choose none of them,
            ``None`` if there is no answer yet.
        result: The id of the chosen result; ``None`` if there is none.
        cannot_judge: The reason why the query cannot be judged, empty if none was given; ``None``
            if it can be judged.
        comment: The comment, or ``None``.
        missing: The reasons why documents cannot be judged, by document id; empty if none was
            given. They have no grade.
    """

    grades: dict[str, Grade] = field(default_factory=dict)
    choice: str | None = None
    result: str | None = None
    cannot_judge: str | None = None
    comment: str | None = None
    missing: dict[str, str] = field(default_factory=dict)

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
    """Return everyone who judges, in the order of their first sessions."""
    return [
        Annotator(*row) for row in store.rows("SELECT id, name, key FROM annotator ORDER BY id")
    ]


def find_annotator(store: Store, name: str) -> Annotator | None:
    """Return the annotator with a name, in any spelling.

    Raises:
        UsageError: If the name is invalid.
    """
    key = key_of(name)
    return next((annotator for annotator in list_annotators(store) if annotator.key == key), None)


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
    with store.writing() as connection:
        if (find_annotator(store, name) is not None) != resume:
            return None
        connection.execute(
            "INSERT OR IGNORE INTO annotator (key, name, started_at) VALUES (?, ?, ?)",
            (key_of(name), clean_name(name), now),
        )
        connection.execute(
            "INSERT INTO session (digest, annotator, started_at) "
            "SELECT ?, id, ? FROM annotator WHERE key = ?",
            (_digest(secret), now, key_of(name)),
        )
    return secret


def find_session_annotator(store: Store, secret: str) -> Annotator | None:
    """Return the annotator whose session has a secret; ``None`` if there is no such session."""
    rows = store.rows(
        "SELECT a.id, a.name, a.key FROM session s "
        "JOIN annotator a ON a.id = s.annotator WHERE s.digest = ?",
        _digest(secret),
    )
    return Annotator(*rows[0]) if rows else None


def record_grade(
    store: Store, annotator: Annotator, query_id: str, doc_id: str, grade: Grade
) -> None:
    """Record a grade, synced to disk when this function returns.

    Recording the current grade again, for example after a lost response, changes nothing.
    """

    def is_new(before: QueryJudgments) -> bool:
        return doc_id in before.missing or before.grades.get(doc_id, Grade()) != grade

    row = {"doc_id": doc_id, "grade": grade.grade, "flagged": int(grade.flagged)}
    _record(store, annotator, query_id, row, is_new)


def record_missing(
    store: Store, annotator: Annotator, query_id: str, doc_id: str, reason: str
) -> None:
    """Record that a document cannot be judged; the reason can be empty. A grade replaces this."""
    row = {"doc_id": doc_id, "missing": reason}
    _record(store, annotator, query_id, row, lambda before: before.missing.get(doc_id) != reason)


def record_labels(
    store: Store, annotator: Annotator, rows: Iterable[tuple[str, str, int | None]], reason: str
) -> None:
    """Record all judgments of a new annotator at once.

    Args:
        store: The database.
        annotator: The annotator.
        rows: Query, document, and grade; ``None`` for a document that cannot be judged.
        reason: Why such documents cannot be judged.
    """
    with store.writing() as connection:
        for query_id, doc_id, grade in rows:
            values = {"grade": grade} if grade is not None else {"missing": reason}
            _insert(connection, annotator, query_id, {"doc_id": doc_id, **values})


def record_answer(
    store: Store, annotator: Annotator, query_id: str, kind: AnswerKind, value: str | None
) -> None:
    """Record the chosen mode or result, why the query cannot be judged, or a comment.

    Args:
        store: The database.
        annotator: The annotator.
        query_id: The query.
        kind: The attribute of :class:`QueryJudgments`.
        value: Its new value.
    """
    row = {"choice": value} if kind == "choice" else {"kind": kind, "value": value}
    _record(store, annotator, query_id, row, lambda before: getattr(before, kind) != value)


def _record(
    store: Store,
    annotator: Annotator,
    query_id: str,
    row: dict[str, Any],
    is_new: Callable[[QueryJudgments], bool],
) -> None:
    with store.writing() as connection:
        if is_new(read_query_judgments(store, annotator, query_id)):
            _insert(connection, annotator, query_id, row)


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
            "WHERE annotator = ? AND undone_at IS NULL ORDER BY id DESC LIMIT 1",
            (annotator.number,),
        ).fetchone()
        if last is None:
            return None
        number, query_id, doc_id, kind = last
        connection.execute("UPDATE judgment SET undone_at = ? WHERE id = ?", (utc_now(), number))
    return query_id, doc_id, kind


def read_query_judgments(store: Store, annotator: Annotator, query_id: str) -> QueryJudgments:
    """Return the current judgments of one query."""
    return read_all_judgments(store, annotator, query_id).get(query_id, QueryJudgments())


def read_all_judgments(
    store: Store, annotator: Annotator, query_id: str | None = None
) -> dict[str, QueryJudgments]:
    """Return the current judgments of all queries, or of one, without queries that have none."""
    grouped: dict[str, list[list[Any]]] = {}
    for query, *row in store.rows(_CURRENT_JUDGMENTS, annotator.number, query_id):
        grouped.setdefault(query, []).append(row)
    return {query: _judged(rows) for query, rows in grouped.items()}


def read_queries_of_others(store: Store, annotator: Annotator) -> set[str]:
    """Return the queries that other annotators have begun to judge."""
    rows = store.rows(
        "SELECT DISTINCT query_id FROM judgment WHERE undone_at IS NULL AND annotator != ?",
        annotator.number,
    )
    return {query_id for (query_id,) in rows}


def _insert(
    connection: sqlite3.Connection, annotator: Annotator, query_id: str, values: dict[str, Any]
) -> None:
    row = {
        "annotator": annotator.number,
        "query_id": query_id,
        "made_at": utc_now(),
        **values,
    }
    names = ", ".join(row)
    places = ", ".join("?" for _ in row)
    connection.execute(f"INSERT INTO judgment ({names}) VALUES ({places})", tuple(row.values()))


def _judged(rows: list[list[Any]]) -> QueryJudgments:
    """Combine the current rows of a query, in the order in which they were recorded."""
    grades = {row[0]: Grade(row[1], bool(row[2])) for row in rows if row[1] is not None}
    missing = {row[0]: row[-1] for row in rows if row[-1] is not None}
    answers: dict[str, str | None] = {}
    for *_, choice, kind, value, _ in (row for row in rows if row[0] is None):
        answers[kind or "choice"] = value if kind else choice
        # A result and "none of them" exclude each other: the later one counts.
        if kind == "result" and answers.get("choice") == NONE_CHOSEN:
            del answers["choice"]
        elif not kind and choice == NONE_CHOSEN:
            answers.pop("result", None)
    return QueryJudgments(grades, missing=missing, **answers)


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
    is_visible = all(unicodedata.category(character)[0] != "C" for character in name)
    if not 0 < len(name) <= MAX_NAME_LENGTH or not is_visible:
        raise UsageError(f"expected a name of 1 to {MAX_NAME_LENGTH} visible characters")
    return name


def key_of(name: str) -> str:
    """Return the normalised name: ``anna`` for "anna" and "Anna"."""
    folded = unicodedata.normalize("NFKC", clean_name(name)).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


MERGE_RULE = "the median of the annotators' grades; of two in the middle, the lower"

Judged = Mapping[str, QueryJudgments]
"""The judgments of one annotator by query."""


def read_counted(store: Store, annotator: Annotator) -> dict[str, QueryJudgments]:
    """Return the judgments of an annotator, without queries that the annotator cannot judge."""
    judged = read_all_judgments(store, annotator)
    return {
        query_id: judgments
        for query_id, judgments in judged.items()
        if judgments.cannot_judge is None
    }


def read_shown(store: Store) -> dict[str, dict[str, set[str]]]:
    """Return the shown documents by query and mode."""
    shown: dict[str, dict[str, set[str]]] = {}
    for query_id, mode, doc_id in store.rows("SELECT query_id, mode, doc_id FROM shown"):
        shown.setdefault(query_id, {}).setdefault(mode, set()).add(doc_id)
    return shown


def grades_of(store: Store, annotator: Annotator) -> Qrels:
    """Return the grades of one annotator, sorted by query and document; can be empty."""
    return _qrels(
        (query_id, "0", doc_id, grade.grade)
        for query_id, judgments in read_counted(store, annotator).items()
        for doc_id, grade in judgments.grades.items()
    )


def chosen_by(judged: Judged, shown: Mapping[str, Mapping[str, set[str]]]) -> Qrels:
    """Return the results that one annotator chose as qrels.

    Args:
        judged: The judgments of the annotator.
        shown: The shown documents by query and mode.

    Returns:
        Relevance 1 for the chosen result, and 0 for all other shown results of the same query;
        queries without an answer are omitted. Sorted by query and document.
    """
    return _qrels(
        (query_id, "0", doc_id, int(doc_id == judgments.answer))
        for query_id, judgments in judged.items()
        if judgments.answer is not None
        for doc_id in set().union(*shown[query_id].values())
    )


def merge_grades(all_grades: Iterable[Qrels]) -> Qrels:
    """Return one grade per query and document: the median, the lower one of two middle grades.

    Args:
        all_grades: The grades of each annotator.

    Returns:
        All graded pairs, sorted by query and document.
    """
    frame = pl.concat([pl.DataFrame(schema=QRELS_SCHEMA), *(grades.frame for grades in all_grades)])
    middle = pl.col("relevance").sort().get((pl.len() - 1) // 2)
    merged = frame.group_by("query_id", "doc_id").agg(middle)
    return Qrels(merged.sort("query_id", "doc_id"))


def middle_grade(grades: Sequence[int]) -> int | None:
    """Return the grade of one document that :func:`merge_grades` returns; ``None`` without any."""
    return sorted(grades)[(len(grades) - 1) // 2] if grades else None


def choices_of(judged: Judged) -> dict[str, str]:
    """Return the chosen mode by query; :data:`NONE_CHOSEN` for none of them."""
    return {
        name: judgments.choice for name, judgments in judged.items() if judgments.choice is not None
    }


def _qrels(rows: Iterable[tuple[str, str, str, int | None]]) -> Qrels:
    frame = pl.DataFrame([*rows], schema=QRELS_SCHEMA, orient="row")
    return Qrels(frame.sort("query_id", "doc_id"))


def export_qrels(store: Store, annotator: str | None = None, *, choices: bool = False) -> Qrels:
    """Return the judgments as qrels.

    Args:
        store: The judgments.
        annotator: The annotator; ``None`` for the labels of all, merged by :func:`merge_grades`.
        choices: True for the chosen results instead of the grades: relevance 1 for a result that
            more than half of the annotators of the query chose, 0 for the other shown results.

    Raises:
        UsageError: If the annotator is unknown.
        CheckFailedError: If there are no judgments yet.
    """
    people = list_annotators(store)
    if annotator is not None:
        known = ", ".join(person.name for person in people) or "none so far"
        people = [person for person in people if person.key == key_of(annotator)]
        if not people:
            raise UsageError(
                f"unknown annotator '{annotator}'",
                where="--annotator",
                remedy=f"known annotators: {known}",
            )
    shown = read_shown(store)
    qrels = merge_grades(
        chosen_by(read_counted(store, person), shown) if choices else grades_of(store, person)
        for person in people
    )
    if qrels.frame.is_empty():
        raise CheckFailedError(f"there are no {'chosen results' if choices else 'grades'} yet")
    return qrels
