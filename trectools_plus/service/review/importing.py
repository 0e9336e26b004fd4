"""Judgments that people made elsewhere, for the review database of a plan."""

from __future__ import annotations

from collections.abc import Mapping
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
from trectools_plus.judging.review.store import DATABASE_NAME
from trectools_plus.service.review.material import open_plan


class ImportedJudgments(NamedTuple):
    """The numbers of imported judgments.

    Attributes:
        queries: The number of queries of the plan that the qrels judge.
        graded: The number of pooled documents with a grade.
        missing: The number of pooled documents of these queries that the qrels do not judge.
        open: The number of queries with more than a tenth of such documents, about which people are
            asked.
    """

    queries: int
    graded: int
    missing: int
    open: int


def import_judgments(folder: PlanFolder, qrels: Qrels, annotator: str) -> ImportedJudgments:
    """Add the grades of qrels to the review database of a plan, as those of an annotator.

    Negative grades count as 0. A pooled document that the qrels do not judge is one that the
    annotator cannot judge, unless these are more than a tenth of the pool of a query: then people
    are asked about them.

    Args:
        folder: The plan.
        qrels: Grades of people, up to 3.
        annotator: The name of the annotator, who may have judged before.

    Raises:
        UsageError: If a grade is above 3, or differs from one that the annotator gave before.
        CheckFailedError: If the qrels judge no query of the plan.
        InputError: If the database cannot be opened.
    """
    grades, where = qrels.to_dict(), qrels.path or "qrels"
    judged = [query_id for query_id in folder.plan.queries if query_id in grades]
    if not judged:
        raise CheckFailedError(
            "the qrels judge no query of the plan",
            where=where,
            remedy=f"the plan has queries such as {', '.join(folder.plan.queries[:3])}",
        )
    rows: list[tuple[str, str, int | None]] = []
    missing = still_open = 0
    for query_id in judged:
        given, pool = grades[query_id], folder.pool[query_id]
        absent = len(pool) - sum(doc_id in given for doc_id in folder.judgeable[query_id])
        is_open = has_too_many_missing(absent, len(pool))
        missing += absent
        still_open += is_open
        rows += [
            (query_id, doc_id, given.get(doc_id))
            for doc_id in folder.judgeable[query_id]
            if doc_id in given or not is_open
        ]
    with closing(open_plan(folder, folder.path / DATABASE_NAME)[1]) as store:
        is_known = find_annotator(store, annotator) is not None
        secret = begin_session(store, annotator, resume=is_known)
        person = find_session_annotator(store, secret or "")
        assert person is not None
        added = _find_new(rows, read_all_judgments(store, person), where)
        record_labels(store, person, added, f"not judged in {where}")
    graded = sum(grade is not None for _, _, grade in added)
    return ImportedJudgments(len(judged), graded, missing, still_open)


def _find_new(
    rows: list[tuple[str, str, int | None]], before: Mapping[str, QueryJudgments], where: str
) -> list[tuple[str, str, int | None]]:
    """Return the judgments that the annotator has not made before, with grades from 0 to 3."""
    added = []
    for query_id, doc_id, given in rows:
        known = before.get(query_id, QueryJudgments())
        old = known.grades.get(doc_id)
        grade = None if given is None else max(0, given)
        if grade is not None and (grade > MAX_GRADE or (old and old.grade != grade)):
            raise UsageError(
                f"grade {grade} is above {MAX_GRADE}, or differs from one that was given before",
                where=f"{where}, query {query_id}, document {doc_id}",
                remedy=f"use grades from 0 to {MAX_GRADE}, or another name with --annotator",
            )
        if old is None and (grade is not None or doc_id not in known.missing):
            added.append((query_id, doc_id, grade))
    return added
