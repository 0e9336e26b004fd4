"""Judgments as qrels: those of one annotator, or of all of them merged."""

from __future__ import annotations

import polars as pl

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels
from trectools_plus.service.review.judgments import (
    Annotator,
    find_annotator,
    list_annotators,
    read_all_judged,
)
from trectools_plus.service.review.store import Store

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
