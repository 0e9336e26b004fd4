"""Fixes of ids that are spelled otherwise in the other file (P104, P106), and of P110."""

from __future__ import annotations

import numpy as np
import polars as pl

from trectools_plus.validation.fixes.draft import Draft
from trectools_plus.validation.fixes.job import Job
from trectools_plus.validation.matching import common_affix
from trectools_plus.validation.pairs import PairView
from trectools_plus.validation.qrels_view import QrelsView
from trectools_plus.validation.run_view import RunView


def map_query_ids(draft: Draft, job: Job) -> Draft:
    """Write query ids as the other file spells them (P104)."""
    if "P104" not in job.asked or not draft.view.n_rows:
        return draft
    if job.other is None:
        job.skip("P104", "it needs the other file, --qrels FILE")
        return draft
    pair = _pair(draft.view, job.other)
    pairs = [(ours, theirs) for ours, (theirs, _) in pair.near_queries.items()]
    if pair.at == "qrels":
        # A judged query that the run has too is well spelled; the run is to be mended.
        pairs = [(theirs, ours) for ours, theirs in pairs if theirs not in pair.shared_ids]
    if not pairs:
        return draft
    to_theirs = dict(pairs)
    if len(to_theirs) < len(pairs):
        job.skip("P104", "an id of this file would become several")
        return draft
    keys = draft.view.frame.select("query_id", "doc_id")
    ids = keys["query_id"].replace(list(to_theirs), list(to_theirs.values()))
    if keys.with_columns(ids).n_unique() < keys.n_unique():
        job.skip("P104", "several queries would become one, and a document would be in it twice")
        return draft
    job.done("P104", len(to_theirs))
    return draft.with_fields(c1=ids)


def map_document_ids(draft: Draft, job: Job) -> Draft:
    """Write document ids of a run as the qrels spell them (P106)."""
    if "P106" not in job.asked or not draft.view.n_rows:
        return draft
    if not isinstance(job.other, QrelsView):
        job.skip("P106", "it needs the qrels, --qrels FILE")
        return draft
    pair = _pair(draft.run, job.other)
    ids = draft.run.frame["doc_id"]
    near = pair.near_documents.sort("row")
    written = (
        ids.clone().scatter(near["row"], near["other"]) if near.height else _without_affix(pair)
    )
    changed = int((written != ids).sum())
    if not changed:
        return draft
    job.done("P106", changed)
    return draft.with_fields(c3=written)


def _without_affix(pair: PairView) -> pl.Series:
    """The run's document ids without the prefix or suffix that the qrels lack, or with theirs."""
    assert pair.qrels is not None
    ids = pair.run.frame["doc_id"]
    if pair.document_affix is None:
        return ids
    rows = np.flatnonzero(pair.in_shared_query)
    ours = ids.gather(rows).unique(maintain_order=True)
    theirs = pair.qrels.frame["doc_id"].unique(maintain_order=True)
    found = common_affix(ours, theirs)
    if found is not None:
        kind, text = found
        bare = ids.str.strip_prefix(text) if kind == "prefix" else ids.str.strip_suffix(text)
        return ids.zip_with(bare == "", bare)
    found = common_affix(theirs, ours)
    if found is None:
        return ids
    return found[1] + ids if found[0] == "prefix" else ids + found[1]


def drop_self(draft: Draft, job: Job) -> Draft:
    """Drop documents whose id is the query's own (P110)."""
    if "P110" not in job.asked:
        return draft
    frame = draft.run.frame
    rows = np.flatnonzero((frame["doc_id"] == frame["query_id"]).to_numpy())
    if not len(rows):
        return draft
    job.done("P110", len(rows))
    return draft.without_rows(rows)


def _pair(view: RunView | QrelsView, other: RunView | QrelsView) -> PairView:
    if isinstance(view, RunView):
        assert isinstance(other, QrelsView)
        return PairView(view, other)
    assert isinstance(other, RunView)
    return PairView(other, view, at="qrels")
