"""Record and undo judgments, and read the current ones and the labels that follow from them.

A label is the decision of an adjudicator if there is one, and otherwise the merged judgment of the
annotators. Judgments of a query that an annotator cannot judge do not count.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Literal

import polars as pl

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels
from trectools_plus.judging.review.store import Store, utc_now

NONE_CHOSEN = ""
"""The choice of an annotator who would choose none of the columns."""

AnswerKind = Literal["result", "cannot_judge", "comment"]
"""The answers about a query that have a text: the id of the chosen result, a reason, a comment."""

_CURRENT_JUDGMENTS = """
    SELECT query_id, doc_id, grade, flagged, choice, kind, value, missing FROM judgment
    WHERE id IN (
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
        adjudicates: True in a session that decides disagreements.
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
        before = _current(connection, annotator, query_id)
        if before.grades.get(doc_id, Grade()) != grade or doc_id in before.missing:
            values = {"doc_id": doc_id, "grade": grade.grade, "flagged": int(grade.flagged)}
            _insert(connection, annotator, query_id, values)


def record_missing(
    store: Store, annotator: Annotator, query_id: str, doc_id: str, reason: str
) -> None:
    """Record that a document cannot be judged; the reason can be empty. A grade replaces this."""
    with store.writing() as connection:
        if _current(connection, annotator, query_id).missing.get(doc_id) != reason:
            _insert(connection, annotator, query_id, {"doc_id": doc_id, "missing": reason})


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


def read_queries_of_others(store: Store, annotator: Annotator) -> set[str]:
    """Return the queries that other annotators have begun to judge."""
    rows = store.rows(
        "SELECT DISTINCT query_id FROM judgment "
        "WHERE undone_at IS NULL AND final = 0 AND annotator != ?",
        annotator.number,
    )
    return {query_id for (query_id,) in rows}


def read_decisions(store: Store) -> dict[str, QueryJudgments]:
    """Return the current decisions of all adjudicators by query: the last of each counts."""
    return _by_query(store.rows(_CURRENT_JUDGMENTS.format(where=_BY_ADJUDICATORS)))


_Row = tuple[Any, ...]
"""Columns of a judgment: document, grade, flag, choice, kind, value, and why it is missing."""


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
    missing: dict[str, str] = {}
    answers: dict[str, str | None] = {}
    for doc_id, grade, flagged, choice, kind, value, reason in rows:
        if doc_id is not None:
            if grade is not None:
                grades[doc_id] = Grade(grade, bool(flagged))
            elif reason is not None:
                missing[doc_id] = reason
            continue
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

Judged = Mapping[str, QueryJudgments]
"""The judgments of one annotator by query."""


def read_counted(store: Store, annotator: Annotator) -> dict[str, QueryJudgments]:
    """Return the judgments of an annotator, without queries that the annotator cannot judge."""
    judged = read_all_judgments(store, annotator)
    return {query_id: one for query_id, one in judged.items() if one.cannot_judge is None}


def read_shown(store: Store) -> dict[str, dict[str, set[str]]]:
    """Return the shown documents by query and mode."""
    shown: dict[str, dict[str, set[str]]] = {}
    for query_id, mode, doc_id in store.rows("SELECT query_id, mode, doc_id FROM shown"):
        shown.setdefault(query_id, {}).setdefault(mode, set()).add(doc_id)
    return shown


def grades_of(store: Store, annotator: Annotator) -> Qrels:
    """Return the grades of one annotator, sorted by query and document; can be empty."""
    return _grades(read_counted(store, annotator))


def _grades(judged: Judged) -> Qrels:
    rows = [
        (query_id, "0", doc_id, grade.grade)
        for query_id, one in judged.items()
        for doc_id, grade in one.grades.items()
    ]
    return _qrels(rows)


def chosen_by(judged: Judged, shown: Mapping[str, Mapping[str, set[str]]]) -> Qrels:
    """Return the results that one annotator chose as qrels.

    Args:
        judged: The judgments of the annotator.
        shown: The shown documents by query and mode.

    Returns:
        Relevance 1 for the chosen result, and 0 for all other shown results of the same query;
        queries without an answer are omitted. Sorted by query and document.
    """
    rows = [
        (query_id, "0", doc_id, int(doc_id == one.answer))
        for query_id, one in judged.items()
        if one.answer is not None
        for doc_id in set().union(*shown[query_id].values())
    ]
    return _qrels(rows)


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


def middle_grade(grades: Sequence[int]) -> int | None:
    """Return the grade of one document that :func:`merge_grades` returns; ``None`` without any."""
    return sorted(grades)[(len(grades) - 1) // 2] if grades else None


def final_grades(store: Store) -> Qrels:
    """Return the merged grades with the adjudicators' decisions."""
    merged = merge_grades([grades_of(store, one) for one in list_annotators(store)])
    decisions = read_decisions(store)
    return _replace(merged, _grades(decisions), decisions)


def final_results(store: Store) -> Qrels:
    """Return the chosen results with the adjudicators' decisions.

    Returns:
        Relevance 1 for a result that more than half of the annotators of the query chose, and 0
        for the other shown results.
    """
    shown, decisions = read_shown(store), read_decisions(store)
    chosen = [chosen_by(read_counted(store, one), shown) for one in list_annotators(store)]
    return _replace(merge_grades(chosen), chosen_by(decisions, shown), decisions)


def final_choices(store: Store) -> list[dict[str, str]]:
    """Return the chosen modes by query, of each annotator and, last, of the adjudicators.

    A query that adjudicators decided has their answer only.
    """
    decisions = read_decisions(store)
    decided = choices_of(decisions)
    settled = decided.keys() | _unusable(decisions)
    return [
        *(
            {
                query_id: mode
                for query_id, mode in choices_of(read_counted(store, one)).items()
                if query_id not in settled
            }
            for one in list_annotators(store)
        ),
        {name: mode for name, mode in decided.items() if name not in _unusable(decisions)},
    ]


def choices_of(judged: Judged) -> dict[str, str]:
    """Return the chosen mode by query; :data:`NONE_CHOSEN` for none of them."""
    return {name: one.choice for name, one in judged.items() if one.choice is not None}


def _replace(merged: Qrels, decided: Qrels, decisions: Judged) -> Qrels:
    """Replace labels by decisions, and omit the queries that adjudicators cannot judge."""
    rest = merged.frame.join(decided.frame, on=["query_id", "doc_id"], how="anti")
    frame = pl.concat([rest, decided.frame.select(rest.columns)])
    kept = frame.filter(~pl.col("query_id").is_in(sorted(_unusable(decisions))))
    return Qrels(kept.sort("query_id", "doc_id"))


def _unusable(decisions: Judged) -> set[str]:
    return {name for name, one in decisions.items() if one.cannot_judge is not None}


def _qrels(rows: Sequence[tuple[str, str, str, int | None]]) -> Qrels:
    frame = pl.DataFrame(rows, schema=QRELS_SCHEMA, orient="row")
    return Qrels(frame.sort("query_id", "doc_id"))


def export_qrels(store: Store, annotator: str | None = None, *, choices: bool = False) -> Qrels:
    """Return the judgments as qrels.

    Args:
        store: The judgments.
        annotator: The annotator, before adjudication; ``None`` for the labels of all: merged by
            :func:`merge_grades`, with the adjudicators' decisions.
        choices: True for the chosen results, with relevance 0 or 1, instead of the grades.

    Raises:
        UsageError: If the annotator is unknown.
        CheckFailedError: If there are no judgments yet.
    """
    if annotator is None:
        qrels = final_results(store) if choices else final_grades(store)
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
        if choices:
            qrels = chosen_by(read_counted(store, found), read_shown(store))
    if qrels.frame.is_empty():
        raise CheckFailedError(f"there are no {'chosen results' if choices else 'grades'} yet")
    return qrels
