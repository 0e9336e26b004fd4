"""Judgments that people made elsewhere, for the review database of a plan."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import Qrels
from trectools_plus.judging.labels import MAX_GRADE
from trectools_plus.judging.plan import PlanFolder
from trectools_plus.judging.review.judgments import (
    begin_session,
    find_session_annotator,
    record_labels,
)
from trectools_plus.judging.review.store import DATABASE_NAME, open_store
from trectools_plus.service.review.material import load_plan_material


class ImportedJudgments(NamedTuple):
    """The numbers of imported judgments.

    Attributes:
        queries: The number of queries of the plan that the qrels judge.
        graded: The number of pooled documents with a grade.
        missing: The number of pooled documents of these queries that the qrels do not judge.
        ignored: The number of judgments of other queries and documents.
    """

    queries: int
    graded: int
    missing: int
    ignored: int


def import_judgments(folder: PlanFolder, qrels: Qrels, annotator: str) -> ImportedJudgments:
    """Add the grades of qrels to the review database of a plan, as those of a new annotator.

    Negative grades count as 0. A pooled document that the qrels do not judge is one that the
    annotator cannot judge.

    Args:
        folder: The plan.
        qrels: Grades of people, up to 3.
        annotator: The name of the annotator.

    Raises:
        UsageError: If a grade is above 3, or there is an annotator of this name.
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
    rows: list[tuple[str, str, int | None]] = []
    for query_id in judged:
        for doc_id in folder.judgeable[query_id]:
            grade = grades[query_id].get(doc_id)
            if grade is not None and grade > MAX_GRADE:
                raise UsageError(
                    f"grade {grade} of query {query_id} and document {doc_id} is above {MAX_GRADE}",
                    where=where,
                    remedy=f"change the grades to a scale from 0 to {MAX_GRADE}",
                )
            rows.append((query_id, doc_id, None if grade is None else max(0, grade)))
    with closing(open_store(folder.path / DATABASE_NAME, load_plan_material(folder))) as store:
        secret = begin_session(store, annotator, resume=False)
        person = None if secret is None else find_session_annotator(store, secret)
        if person is None:
            raise UsageError(
                f"{annotator} has judged the plan already",
                where=str(folder.path),
                remedy="use another name with --annotator",
            )
        record_labels(store, person, rows, f"not judged in {where}")
    graded = sum(grade is not None for _, _, grade in rows)
    return ImportedJudgments(
        len(judged), graded, len(rows) - graded, sum(map(len, grades.values())) - graded
    )
