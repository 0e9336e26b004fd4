"""Labels of people, from the database of the review page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from trectools_plus.formats.files.guards import find_inside
from trectools_plus.judging.labels import Label
from trectools_plus.judging.review.judgments import read_shown
from trectools_plus.judging.review.store import DATABASE_NAME, Store, read_store

_CURRENT = """
    SELECT a.name, j.query_id, j.doc_id, j.grade, coalesce(j.missing, j.value), j.made_at
    FROM judgment j JOIN annotator a ON a.id = j.annotator WHERE j.id IN (
        SELECT max(id) FROM judgment
        WHERE undone_at IS NULL AND (doc_id IS NOT NULL OR kind = 'cannot_judge')
        GROUP BY annotator, query_id, doc_id)
    ORDER BY j.id"""


def read_people(folder: Path) -> list[Label]:
    """Read the current answers of people for each pooled document.

    A document that a person cannot judge has a label without a grade, and so have all documents of
    a query that the person cannot judge.

    Args:
        folder: The folder of a plan. People may be judging at the same time.

    Returns:
        One label for each person and document, in the order in which they were made; empty if
        nobody has judged yet.

    Raises:
        InputError: If the database cannot be read.
    """
    if find_inside(folder / DATABASE_NAME, folder) is None:
        return []
    with closing(read_store(folder)) as store:
        return list(_iter_labels(store))


def _iter_labels(store: Store) -> Iterator[Label]:
    rows, shown = store.rows(_CURRENT), read_shown(store)
    unusable = {
        (name, query_id)
        for name, query_id, doc_id, _, reason, _ in rows
        if doc_id is None and reason is not None
    }
    for name, query_id, doc_id, grade, reason, made_at in rows:
        is_of_query = doc_id is None
        if is_of_query != ((name, query_id) in unusable) or (grade is None and reason is None):
            continue
        shown_ids = sorted(set().union(*shown[query_id].values())) if is_of_query else [doc_id]
        for shown_id in shown_ids:
            yield Label(
                query_id=query_id,
                doc_id=shown_id,
                grade=grade,
                annotator=name,
                kind="person",
                time=made_at,
                reason=reason,
            )
