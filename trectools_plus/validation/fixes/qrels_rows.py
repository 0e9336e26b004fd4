"""Fixes of qrels: grades, repeated judgments, the order of rows."""

from __future__ import annotations

import numpy as np
import polars as pl

from trectools_plus.formats.numerals import INTEGER, INTEGRAL
from trectools_plus.validation.fixes.draft import Draft
from trectools_plus.validation.fixes.job import Job
from trectools_plus.validation.order import Rows
from trectools_plus.validation.rules.qrels_columns import grades_in_column_2


def swap_grades(draft: Draft, job: Job) -> Draft:
    """Swap columns 2 and 4 where the grades are in column 2 (Q135)."""
    if "Q135" not in job.asked or not grades_in_column_2(draft.qrels):
        return draft
    job.done("Q135", draft.qrels.n_rows)
    fields = draft.fields
    return draft.with_fields(c2=fields["c4"], c4=fields["c2"])


def write_whole_grades(draft: Draft, job: Job) -> Draft:
    """Write ``2`` for ``2.0`` (Q111); other fractions stay."""
    if not np.isnan(draft.qrels.grade).any():
        return draft
    grades = draft.fields["c4"]
    integral = grades.str.contains(INTEGRAL) & ~grades.str.contains(INTEGER)
    if integral.any():
        job.done("Q111", int(integral.sum()))
        whole = grades.str.replace(r"\.0*$", "")
        draft = draft.with_fields(c4=whole.zip_with(integral, grades))
    return draft


def merge_subtopics(draft: Draft, job: Job) -> Draft:
    """Keep one subtopic, or the highest grade that a document has for any (Q143)."""
    group = _groups(draft).filter("several")
    if group.is_empty():
        return draft
    if "Q143" not in job.asked:
        job.notes.append(
            "Q143: judgments that differ in column 2 are left, it may hold subtopics; "
            "the fix Q143 keeps one of them"
        )
        return draft
    subtopic = job.options.subtopic
    if subtopic is not None:
        rows = np.flatnonzero((draft.fields["c2"] != subtopic).to_numpy())
        job.done("Q143", len(rows), f"kept the judgments of subtopic {subtopic}")
        return draft.without_rows(rows)
    rows = _all_but_one(group, "max")
    job.done("Q143", len(rows), "merged the subtopics, the highest grade of each document stays")
    merged = draft.without_rows(rows)
    return merged.with_fields(c2=pl.repeat("0", merged.qrels.n_rows, eager=True))


def merge_judgments(draft: Draft, job: Job) -> Draft:
    """Keep one judgment of each document: repeats that agree (Q141), or one of several (Q142)."""
    group = _groups(draft).filter(~pl.col("several"))
    agreeing = group.filter(~pl.col("conflict") & (pl.col("row") > pl.col("first")))
    rows: Rows = agreeing["row"].to_numpy()
    if len(rows):
        job.done("Q141", len(rows))
    conflicting = group.filter("conflict")
    if "Q142" in job.asked and conflicting.height:
        how = job.options.on_conflict
        dropped = _all_but_one(conflicting, how)
        which = {"max": "highest", "min": "lowest", "last": "last"}[how]
        job.done("Q142", len(dropped), f"kept the {which} grade of documents judged twice")
        rows = np.concatenate([rows, dropped])
    return draft.without_rows(rows) if len(rows) else draft


def _groups(draft: Draft) -> pl.DataFrame:
    """All judgments of documents that have several for a query, if their grades can be read.

    Returns:
        ``row``; ``first``, the first row of the same document; ``grade``; ``conflict``, whether
        the grades differ; ``several``, whether column 2 does.
    """
    qrels = draft.qrels
    again = qrels.repeats.select("row", "first").cast(pl.Int64)
    heads = again.select(row="first", first="first").unique()
    group = pl.concat([heads, again]).sort("row")
    rows = group["row"].to_numpy()
    grade = pl.Series(qrels.grade[rows])
    iteration = draft.fields["c2"].gather(rows) if len(rows) else pl.Series([], dtype=pl.String)
    group = group.with_columns(grade=grade, iteration=iteration)
    group = group.filter(~pl.col("grade").is_nan().any().over("first"))
    return group.with_columns(
        conflict=pl.col("grade").n_unique().over("first") > 1,
        several=pl.col("iteration").n_unique().over("first") > 1,
    )


def _all_but_one(group: pl.DataFrame, how: str) -> Rows:
    """Rows to drop so that one of each document stays: that of the highest, lowest, last grade."""
    ordered = group.sort("row", descending=how == "last")
    if how != "last":
        ordered = ordered.sort("grade", descending=how == "max", maintain_order=True)
    kept = ordered.unique("first", keep="first", maintain_order=True)
    rows: Rows = group.join(kept, on="row", how="anti")["row"].to_numpy()
    return rows


def drop_negative_queries(draft: Draft, job: Job) -> Draft:
    """Drop queries that have negative grades only (Q132)."""
    if "Q132" not in job.asked:
        return draft
    qrels = draft.qrels
    rows = np.flatnonzero((qrels.highest < 0)[qrels.blocks.query])
    if not len(rows):
        return draft
    job.done("Q132", int((qrels.highest < 0).sum()))
    return draft.without_rows(rows)


def group_queries(draft: Draft, job: Job) -> Draft:
    """Put the rows of each query in one place, in the order of their first ones (Q151)."""
    blocks = draft.qrels.blocks
    if not blocks.interleaved:
        return draft
    if draft.strays.height:
        job.skip("Q151", "some rows cannot be read, and their places would be lost")
        return draft
    job.done("Q151", len(blocks.returns))
    return draft.with_rows(np.argsort(blocks.query, kind="stable"))
