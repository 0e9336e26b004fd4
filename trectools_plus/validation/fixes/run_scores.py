"""Fixes of scores that tie: the order of a ranking is put into its scores."""

from __future__ import annotations

import numpy as np
import polars as pl

from trectools_plus.ranking import separate_ties
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.fixes.draft import Draft
from trectools_plus.validation.fixes.job import Job
from trectools_plus.validation.fixes.run_order import by_score
from trectools_plus.validation.order import Flags, Rows
from trectools_plus.validation.run_view import RunView


def separate_scores(draft: Draft, job: Job) -> Draft:
    """Rewrite tied scores in the order of the ranks, so that 32-bit floats tell them apart.

    R142 is about queries with a single score: there the scores are written from the ranks. For
    R141 and R143 scores are lowered, as little as possible, in the queries that have such ties.
    """
    run = draft.run
    if not {"R141", "R142", "R143"} & job.asked or not len(run.ties32):
        return draft
    queries, is_broken = run.scored.query[run.ties32], _ties_by_rule(run)
    unreadable = np.unique(run.blocks.query[~np.isfinite(run.score)])
    texts, order = draft.fields["c5"], by_score(run)
    for code, flags in is_broken.items():
        if code not in job.asked:
            continue
        chosen = np.setdiff1d(queries[flags], unreadable)
        if not len(chosen):
            continue
        rows = order[np.isin(run.blocks.query[order], chosen)]
        written = _from_ranks(run, rows) if code == "R142" else _separated(run, rows)
        # Older versions of polars set values at rising indices only.
        new = pl.DataFrame({"row": rows, "text": written}).drop_nulls("text").sort("row")
        texts = texts.clone().scatter(new["row"], new["text"])
        job.done(code, int(np.isin(queries[flags], chosen).sum()))
    return draft if texts.equals(draft.fields["c5"]) else draft.with_fields(c5=texts)


def _ties_by_rule(run: RunView) -> dict[str, Flags]:
    """For each rule, which of the ties in 32 bits it is about."""
    scored, places = run.scored, run.ties32
    equal = scored.score[places] == scored.score[places - 1]
    n_queries = run.blocks.query_ids.len()
    n_equal = np.bincount(scored.query[places][equal], minlength=n_queries)
    single = ((n_equal == run.blocks.sizes - 1) & (n_equal > 0))[scored.query[places]]
    beyond = ~equal
    if not beyond.any() and CATALOGUE["R143"].check(run) is not None:
        # They differ as written, in digits that even 64 bits do not hold.
        texts = run.texts(5)
        here, before = scored.rows(places), scored.rows(places - 1)
        beyond = (texts.gather(here) != texts.gather(before)).to_numpy() & ~single
    return {"R141": equal & ~single, "R142": single, "R143": beyond}


def _from_ranks(run: RunView, rows: Rows) -> pl.Series:
    """``n``, …, 2, 1 for the ``n`` rows of each query."""
    table = pl.DataFrame({"query": run.blocks.query[rows]})
    scores = table.select(pl.int_range(pl.len(), 0, -1).over("query"))
    return scores.to_series().cast(pl.String)


def _separated(run: RunView, rows: Rows) -> pl.Series:
    """Scores for the rows of some queries, in their order; null where a score may stay."""
    table = pl.DataFrame(
        {
            "query_id": run.blocks.query[rows],
            "doc_id": -np.arange(len(rows)),  # equal scores stay in this order
            "score": run.score[rows],
        }
    )
    apart = separate_ties(table).sort("doc_id", descending=True)["score"].cast(pl.Float32)
    with np.errstate(over="ignore", under="ignore"):
        before = pl.Series(run.score[rows].astype(np.float32))
    return apart.cast(pl.String).set(apart == before, None)
