"""Fixes that drop rows of a run: repeated documents, results beyond the depth."""

from __future__ import annotations

import numpy as np
import polars as pl

from trectools_plus.ranking import rank_documents
from trectools_plus.validation.fixes.draft import Draft
from trectools_plus.validation.fixes.job import Job
from trectools_plus.validation.fixes.run_fields import may_hold_documents
from trectools_plus.validation.order import Rows


def drop_repeats(draft: Draft, job: Job) -> Draft:
    """Drop rows that are repeated as they are or, if asked, all but one of a document (R131)."""
    if "R131" in job.asked:
        draft = _keep_one(draft, job)
    repeats = draft.run.repeats
    if repeats.is_empty():
        return draft
    involved = np.unique(repeats.select("row", "first").to_numpy())
    # A row without a score may be the header of a file that was joined to this one.
    involved = involved[~np.isnan(draft.run.score[involved])]
    table = draft.fields[involved].with_columns(row=pl.Series(involved))
    kept = table.unique(draft.fields.columns, keep="first", maintain_order=True)["row"].to_numpy()
    dropped = np.setdiff1d(involved, kept)
    if len(dropped) < repeats.height and "R131" not in job.asked:
        job.notes.append(
            "R131: repeated documents whose rows differ are left; the fix keeps one row of each"
        )
    if not len(dropped):
        return draft
    job.done("R131", len(dropped))
    return draft.without_rows(dropped)


def _keep_one(draft: Draft, job: Job) -> Draft:
    """Keep one row of each document: the best scored, the first or the last."""
    repeats, run = draft.run.repeats, draft.run
    if repeats.is_empty():
        return draft
    if may_hold_documents(run):
        job.skip("R131", "column 3 holds no document ids; --fix R108 swaps columns 2 and 3")
        return draft
    heads = repeats.select(row="first", first="first").unique()
    group = pl.concat([repeats.select("row", "first"), heads])
    group = group.with_columns(score=pl.Series(run.score[group["row"].to_numpy()]))
    how = job.options.dedup
    if how == "best":
        readable = ~pl.col("score").is_nan().any().over("first")
        comparable = group.filter(readable)
        if comparable.height < group.height:
            job.skip("R131", "a document has a score that is no number")
        group = comparable.sort(["score", "row"], descending=[True, False])
    else:
        group = group.sort("row", descending=how == "last")
    kept = group.unique("first", keep="first", maintain_order=True)
    dropped = group.join(kept, on="row", how="anti")["row"].to_numpy()
    if not len(dropped):
        return draft
    which = "best scored" if how == "best" else how
    job.done("R131", len(dropped), f"kept the {which} row of each document")
    return draft.without_rows(dropped)


def cut_depth(draft: Draft, job: Job) -> Draft:
    """Drop what stands beyond the depth in the ranking that evaluation sees (R161)."""
    run, depth = draft.run, job.max_depth
    if "R161" not in job.asked or depth is None:
        return draft
    deep = np.flatnonzero(run.blocks.sizes > depth)
    if not len(deep):
        return draft
    unreadable = np.unique(run.blocks.query[np.isnan(run.score)])
    if np.isin(deep, unreadable).any():
        job.skip("R161", "a query has scores that are no numbers")
        deep = np.setdiff1d(deep, unreadable)
    rows: Rows = np.flatnonzero(np.isin(run.blocks.query, deep))
    table = pl.DataFrame(
        {
            "query_id": run.blocks.query[rows],
            "doc_id": run.frame["doc_id"].gather(rows),
            "score": run.score[rows],
            "row": rows,
        }
    )
    dropped = rank_documents(table).filter(pl.col("rank") > depth)["row"].to_numpy()
    if not len(dropped):
        return draft
    job.done("R161", len(dropped), f"left out the results beyond {depth:,}, by score")
    return draft.without_rows(dropped)
