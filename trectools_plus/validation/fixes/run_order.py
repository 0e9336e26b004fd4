"""Fixes of the order of a run: ranks and rows.

Ranks are numbered by score as it is written, in 64 bits. Documents of equal score keep the order
of their ranks, for that may be all that is known of it; where the ranks do not tell, document ids
descend, as trec_eval has them. The ranking that trec_eval sees is in the scores alone, so ranks
and the order of rows can be mended without changing it.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.fixes.draft import Draft
from trectools_plus.validation.fixes.job import Job
from trectools_plus.validation.mendable import RANK_RULES, why_not_ordered
from trectools_plus.validation.order import Ordered, Rows
from trectools_plus.validation.run_view import RunView


def order_rows(draft: Draft, job: Job) -> Draft:
    """Number the ranks (R120, R122–R125), sort and group the rows (R126–R128)."""
    run = draft.run
    broken = {code: CATALOGUE[code].check(run) for code in (*RANK_RULES, "R126", "R127")}
    counts = {code: hit.count for code, hit in broken.items() if hit is not None}
    unsorted = "R128" in job.asked and CATALOGUE["R128"].check(run) is not None
    if not unsorted and not counts:
        return draft
    why = why_not_ordered(run, draft.strays)
    if why is not None:
        for code in (*counts, *(["R128"] if unsorted else [])):
            job.skip(code, why)
        return draft
    ranks_too = bool(set(RANK_RULES) & set(counts))
    if ranks_too and CATALOGUE["R121"].check(run) is not None:
        why = "scores rise with rank (R121), so it is not known which of them is right"
        job.notes.append(f"ranks not numbered: {why}")
        ranks_too = False
        counts = {code: count for code, count in counts.items() if code not in RANK_RULES}
    if ranks_too:
        order = by_score(run)
    else:
        ordered = run.ranked if "R126" in counts else run.grouped
        order = ordered.rows(np.arange(run.n_rows))
    if unsorted:
        order, n_moved = _queries_in_order(run, order)
        job.done("R128", n_moved)
    for code, count in counts.items():
        job.done(code, count)
    fields = draft.fields[order]
    if ranks_too:
        fields = fields.with_columns(c4=_positions(run.blocks.query[order]).cast(pl.String))
    elif np.array_equal(order, np.arange(len(order))):
        return draft
    return draft.rewritten(fields, order)


def by_score(run: RunView) -> Rows:
    """Rows by query and falling score, then rising rank, then falling document id."""
    scored = run.scored
    order: Rows = scored.rows(np.arange(run.n_rows))
    told = (scored.score[1:] != scored.score[:-1]) | (scored.rank[1:] > scored.rank[:-1])
    untold = np.flatnonzero(~told & scored.same_query) + 1
    if not len(untold):
        return order
    places: Rows = np.flatnonzero(np.isin(scored.query, scored.query[untold]))
    return _by_document(run, scored, order, places)


def _by_document(run: RunView, scored: Ordered, order: Rows, places: Rows) -> Rows:
    """The order, with some of its places sorted by document id where nothing else tells."""
    table = pl.DataFrame(
        {
            "query": scored.query[places],
            "score": scored.score[places] + 0.0,  # -0.0 is 0.0
            "rank": pl.Series(scored.rank[places]).fill_nan(None),
            "doc_id": run.frame["doc_id"].gather(order[places]),
            "row": order[places],
        }
    ).with_columns(place=pl.col("query").rle_id())
    keys = ["place", "score", "rank", "doc_id", "row"]
    table = table.sort(keys, descending=[False, True, False, True, False], nulls_last=True)
    order = order.copy()
    order[places] = table["row"].to_numpy()
    return order


def _positions(query: Rows | np.ndarray[tuple[int], np.dtype[np.uint32]]) -> pl.Series:
    """1, 2, 3, … within each stretch of one query."""
    heads = np.concatenate([[True], query[1:] != query[:-1]])
    places = np.arange(len(query))
    return pl.Series(places - np.maximum.accumulate(np.where(heads, places, 0)) + 1)


def _queries_in_order(run: RunView, order: Rows) -> tuple[Rows, int]:
    """The order with queries ascending: as numbers if all are, else as texts."""
    ids = run.blocks.query_ids
    key = ids.cast(pl.Int64, strict=False) if ids.str.contains(r"^[0-9]{1,18}$").all() else ids
    by_id = pl.DataFrame({"id": key, "text": ids}).with_row_index("query").sort("id", "text")
    place = np.empty(ids.len(), np.int64)
    place[by_id["query"].to_numpy()] = np.arange(ids.len())
    n_moved = int((place != np.arange(ids.len())).sum())
    sorted_order: Rows = order[np.argsort(place[run.blocks.query[order]], kind="stable")]
    return sorted_order, n_moved
