"""Judgments that people made elsewhere, for the review database of a plan."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import Qrels
from trectools_plus.judging.labels import MAX_GRADE
from trectools_plus.judging.plan import PlanFolder, has_too_many_missing
from trectools_plus.judging.review.judgments import (
    QueryJudgments,
    begin_session,
    find_annotator,
    find_session_annotator,
    read_all_judgments,
    record_labels,
)
from trectools_plus.judging.review.shown import load_plan_material
from trectools_plus.judging.review.store import DATABASE_NAME, open_store


class ImportedJudgments(NamedTuple):
    """The numbers of imported judgments.

    Attributes:
        queries: The number of queries of the plan that the qrels judge.
        graded: The number of pooled documents with a grade.
        missing: The number of pooled documents of these queries that the qrels do not judge.
        ignored: The number of judgments of other queries and documents.
        open: The number of queries with more than a tenth of such documents, about which people are
            asked.
    """

    queries: int
    graded: int
    missing: int
    ignored: int
    open: int


def import_judgments(
    folder: PlanFolder, qrels: Qrels, annotator: str, *, leave_out: bool = False
) -> ImportedJudgments:
    """Add the grades of qrels to the review database of a plan, as those of an annotator.

    Negative grades count as 0. A pooled document that the qrels do not judge is one that the
    annotator cannot judge, unless these are more than a tenth of the pool of a query: then people
    are asked about them.

    Args:
        folder: The plan.
        qrels: Grades of people, up to 3.
        annotator: The name of the annotator, who may have judged before.
        leave_out: Whether queries with too many such documents are left out, instead of being
            asked.

    Raises:
        UsageError: If a grade is above 3, or differs from one that the annotator gave before.
        CheckFailedError: If the qrels judge no query of the plan.
        InputError: If the database cannot be opened.
    """
    grades = qrels.to_dict()
    judged = [query_id for query_id in folder.plan.queries if query_id in grades]
    where = qrels.path or "qrels"
    if not judged:
        raise CheckFailedError(
            "the qrels judge no query of the plan",
            where=where,
            remedy=f"the plan has queries such as {', '.join(folder.plan.queries[:3])}",
        )
    graded: dict[tuple[str, str], int] = {}
    blank: list[tuple[str, str]] = []
    blanks = still_open = 0
    for query_id in judged:
        pool = folder.judgeable[query_id]
        lacking = [doc_id for doc_id in pool if doc_id not in grades[query_id]]
        for doc_id in pool:
            if (grade := grades[query_id].get(doc_id)) is not None:
                graded[query_id, doc_id] = _checked_grade(grade, f"{query_id}, {doc_id}", where)
        absent = len(lacking) + len(folder.pool[query_id]) - len(pool)
        is_open = not leave_out and has_too_many_missing(absent, len(folder.pool[query_id]))
        blanks += len(lacking)
        still_open += is_open
        blank += [] if is_open else [(query_id, doc_id) for doc_id in lacking]
    database = folder.path / DATABASE_NAME
    seed = None if database.exists() else folder.plan.seed
    with closing(open_store(database, load_plan_material(folder), seed)) as store:
        secret = begin_session(
            store, annotator, resume=find_annotator(store, annotator) is not None
        )
        person = None if secret is None else find_session_annotator(store, secret)
        assert person is not None
        before = read_all_judgments(store, person)
        rows: list[tuple[str, str, int | None]] = []
        for (query_id, doc_id), grade in graded.items():
            old = before.get(query_id, QueryJudgments()).grades.get(doc_id)
            if old is None:
                rows.append((query_id, doc_id, grade))
            elif old.grade != grade:
                raise UsageError(
                    f"{annotator} gave grade {old.grade} before, not {grade}",
                    where=f"{where}, query {query_id}, document {doc_id}",
                    remedy="use another name with --annotator",
                )
        added = len(rows)
        for query_id, doc_id in blank:
            known = before.get(query_id, QueryJudgments())
            if doc_id not in known.grades and doc_id not in known.missing:
                rows.append((query_id, doc_id, None))
        record_labels(store, person, rows, f"not judged in {where}")
    ignored = sum(map(len, grades.values())) - len(graded)
    return ImportedJudgments(len(judged), added, blanks, ignored, still_open)


def _checked_grade(grade: int, pair: str, where: str) -> int:
    if grade > MAX_GRADE:
        raise UsageError(
            f"grade {grade} of {pair} is above {MAX_GRADE}",
            where=where,
            remedy=f"change the grades to a scale from 0 to {MAX_GRADE}",
        )
    return max(0, grade)
