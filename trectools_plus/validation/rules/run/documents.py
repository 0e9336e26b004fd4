"""Rules on repeated documents, and on too many results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trectools_plus.formats.columns.rows import RUN_FIELDS
from trectools_plus.text import plural, visible
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.registry import TREC_MAX_DEPTH, Hit, Places, RuleFix, fix_step, rule
from trectools_plus.validation.rules.file.shared import all_but_one, number_text, of_same_document
from trectools_plus.validation.rules.run.columns import may_hold_documents
from trectools_plus.validation.views.order import places_in_query
from trectools_plus.validation.views.runs import RunView


def _repeated_documents(run: RunView) -> Places:
    """Rows whose document occurred before in their query."""
    repeats = run.repeats
    if not len(repeats):
        return Places()
    row, first = int(repeats.row[0]), int(repeats.first[0])
    found = run.places(
        repeats.row,
        3,
        other=run.place(first),
        other_score=_score(run, first),
        score=_score(run, row),
    )
    n_queries = len(np.unique(run.blocks.query[repeats.row]))
    return replace(found, sums={"queries": n_queries, "copies": _count_copies(run)})


@rule(
    "R131",
    "duplicate-document",
    on="run",
    scope="query",
    severity="error",
    fix=RuleFix(
        "ask",
        "left out rows that are repeated as they are",
        effect="deletes rows; the remaining row decides the rank of a document",
        by_default=True,
    ),
    tables=True,
    checks="document twice in a query, judged or not",
    rationale="trec_eval stops, ir_measures and ranx keep the last score, and others count the "
    "document twice: a recall of 1.43 has been published.",
    example="run.txt:5: error R131: d01 is repeated in query 1 (line 1: score 9.5; here: 0.5). "
    "Keep one row per document, the one with the highest score.",
    remedy="Keep one row per document, the one with the highest score",
    collect=_repeated_documents,
)
def duplicate_document(run: RunView, found: Places) -> Hit | None:
    """A document occurs twice in a query."""
    if run.documents_in_column_2 or run.ids_are_unknown:
        return None
    systems = run.unclear_systems
    queries = f" in {plural(found.sums['queries'], 'query', 'queries')}"
    more = f" ({found.count:,} rows{queries})" if found.count > 1 else ""
    document, query = visible(str(found.doc_id)), visible(str(found.query_id))
    return found.hit(
        f"{document} is repeated in query {query} ({found['other']}: score "
        f"{found['other_score']}; here: {found['score']}){more}",
        remedy=None if systems is None else f"See R151: {systems.shown} may name systems",
        fix="no" if systems else "safe" if found.sums["copies"] == found.count else None,
        effect=f"deletes {found.count:,} of {plural(run.n_rows, 'row')}; the remaining row "
        "decides the rank of a document",
    )


def _count_copies(run: RunView) -> int:
    """Count the repeated rows that equal the first one in every field."""
    if run.columns is None:
        return 0
    rows, firsts = run.repeats.row, run.repeats.first
    # A row without a score may be the header of another file that was appended.
    equal = ~np.isnan(run.score[rows])
    for field in range(1, RUN_FIELDS + 1):
        pairs = zip(run.texts(field, rows), run.texts(field, firsts), strict=True)
        equal &= np.array([one == other for one, other in pairs])
    return int(np.count_nonzero(equal))


def _score(run: RunView, row: int) -> str:
    return visible(number_text(run, row, 5, run.score[row]))


@fix_step("R131", order=120)
def remove_repeats(draft: FileDraft, session: FixSession) -> FileDraft:
    """Remove identical rows or, if R131 was requested, all but one row of a document."""
    if "R131" in session.requested:
        draft = _keep_one(draft, session)
    repeats = draft.run.repeats
    if not len(repeats):
        return draft
    import polars as pl

    involved = np.union1d(repeats.row, repeats.first)
    # A row without a score may be the header of another file that was appended.
    involved = involved[~np.isnan(draft.run.score[involved])]
    table = draft.fields[involved].with_columns(row=pl.Series(involved))
    kept = table.unique(draft.fields.columns, keep="first", maintain_order=True)["row"].to_numpy()
    dropped = np.setdiff1d(involved, kept)
    if len(dropped) < len(repeats) and "R131" not in session.requested:
        session.notes.append(
            "R131: repeated documents with different rows are not fixed; "
            "--fix R131 keeps one row of each"
        )
    return draft.drop(session, "R131", dropped)


def _keep_one(draft: FileDraft, session: FixSession) -> FileDraft:
    """Keep one row of each document: the one with the highest score, the first or the last."""
    repeats, run = draft.run.repeats, draft.run
    if not len(repeats):
        return draft
    if may_hold_documents(run):
        session.skip(
            "R131", "column 3 may not contain the document ids; --fix R108 swaps columns 2 and 3"
        )
        return draft
    how, score = session.options.dedup, run.score
    if how == "best":
        is_nan = np.isnan(score[repeats.row]) | np.isnan(score[repeats.first])
        if is_nan.any():
            session.skip("R131", "the score of a document is not a number")
        repeats = repeats.filter(~of_same_document(repeats, is_nan))
    dropped = all_but_one(repeats, how, score)
    which = "best scored" if how == "best" else how
    return draft.drop(session, "R131", dropped, f"kept the {which} row of each document")


def _rows_beyond_limit(run: RunView) -> Places:
    """The first row beyond the limit of each query that exceeds it."""
    if run.max_depth is None or run.blocks.sizes.max(initial=0) <= run.max_depth:
        return Places()
    places = np.flatnonzero(places_in_query(run.grouped.query) == run.max_depth)
    return run.places(np.sort(run.grouped.rows(places)))


@rule(
    "R161",
    "depth",
    on="run",
    scope="query",
    severity="error",
    fix=RuleFix(
        "ask",
        "left out the results beyond the depth, by score",
        effect="deletes the results beyond the limit; figures at deeper cutoffs or without a "
        "cutoff change",
    ),
    blocks_scoring=False,
    tables=True,
    checks="more results for a query than --max-depth (100 by default)",
    rationale="Measures without a cutoff increase with depth, so runs of different depths are not "
    "comparable, and tracks reject runs that are too deep.",
    example="run.txt:101: error R161: query 303 has 1,000 results, but the limit is 100. If "
    "the task allows deeper runs, set --profile trec or --max-depth 1000.",
    remedy="If the task allows deeper runs, set --profile trec (1,000 results) or --max-depth",
    collect=_rows_beyond_limit,
)
def depth(run: RunView, found: Places) -> Hit | None:
    """A query has more results than allowed."""
    limit, sizes, query_ids = run.max_depth, run.blocks.sizes, run.query_ids
    assert limit is not None
    deep = np.flatnonzero(sizes > limit)
    deepest = int(sizes.max())
    profile = "--profile trec or " if deepest <= TREC_MAX_DEPTH else ""
    first = int(deep[0])
    of = f" ({len(deep):,} of {len(query_ids):,} queries are deeper)" if len(deep) > 1 else ""
    n_left = int(np.minimum(sizes, limit).sum())
    return found.hit(
        f"query {visible(query_ids[first])} has {int(sizes[first]):,} results, but the limit is "
        f"{limit:,}{of}",
        query_id=query_ids[first],
        doc_id=None,
        column=None,
        remedy=f"If the task allows deeper runs, set {profile}--max-depth {deepest}",
        effect=f"cuts {int(sizes.sum()):,} rows to {n_left:,}; AP@{deepest} and all other figures "
        f"beyond rank {limit:,} change",
    )


@fix_step("R161", order=140)
def cut_depth(draft: FileDraft, session: FixSession) -> FileDraft:
    """Remove results beyond the depth in the ranking by score (R161)."""
    run, depth = draft.run, session.max_depth
    if depth is None:
        return draft
    deep = np.flatnonzero(run.blocks.sizes > depth)
    if not len(deep):
        return draft
    unreadable = np.unique(run.blocks.query[np.isnan(run.score)])
    if np.isin(deep, unreadable).any():
        session.skip("R161", "some scores of a query are not numbers")
    order = run.order(32)
    beyond = order[places_in_query(run.blocks.query[order]) >= depth]
    dropped = beyond[np.isin(run.blocks.query[beyond], unreadable, invert=True)]
    return draft.drop(session, "R161", dropped, f"left out the results beyond {depth:,}, by score")
