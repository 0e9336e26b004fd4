"""Rules on document ids across files: run against qrels."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.clean.words import Ids, Rows
from trectools_plus.text import listed, plural, visible
from trectools_plus.validation.findings import UNJUDGED
from trectools_plus.validation.id_matching import INVISIBLE, normal_form
from trectools_plus.validation.limits import JUDGED_CUTOFF, MIN_JUDGED, N_SHOWN_IDS
from trectools_plus.validation.places import Places
from trectools_plus.validation.registry import Hit, RuleFix, fix_step, rule
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.validation.draft import Draft, Job


@rule(
    "P105",
    "nothing-judged",
    on="pair",
    scope="pair",
    severity="error",
    fix="no",
    tables=True,
    scored_if="a document id of the run occurs in the qrels, for any query: the run then scores 0",
    checks="no retrieved document is judged in any query; Judged@10 below 0.2 is a warning",
    rationale="Unjudged documents count as not relevant, so the scores do not measure the system. "
    "The run is from another collection, or its ids have another form.",
    example="run.txt: error P105: 0 of 10 documents are judged (run: x1, x2, x3; qrels: d01, d02, "
    "d03). Check that the run is from the same collection as the qrels.",
    remedy="Check that the run is from the same collection as the qrels",
    drop_in="permissive",
    notes={"error": UNJUDGED},
)
def nothing_judged(pair: PairView) -> Hit | None:
    """No document of the run is judged, or few are."""
    if pair.qrels is None or not pair.shared_ids:
        return None
    n_rows = int(pair.in_shared_query.sum())
    n_judged = int(pair.judged.sum())
    if n_judged and pair.report_on == "qrels":
        return None  # a small share of judged documents is not an error of the qrels
    if n_judged:
        return few_judged(pair.judged_at_cutoff())
    run_ids = pair.run.doc_ids.texts(np.flatnonzero(pair.in_shared_query)[:N_SHOWN_IDS])
    qrels_ids = pair.qrels.doc_ids.texts(slice(N_SHOWN_IDS))
    of_run = f" of {pair.run.name}" if pair.report_on == "qrels" else ""
    cause = None
    if len(pair.near_documents[0]):
        cause = "They differ in case, Unicode normal form or invisible characters: see P106"
    elif pair.document_affix is not None:
        affix = pair.document_affix
        cause = f"Ids of the {affix.side} have the {affix}: see P106"
    hit = none_judged(
        n_rows, run_ids, qrels_ids, of_run=of_run, blocks_scoring=not pair.has_common_documents
    )
    return replace(hit, remedy=cause)


def none_judged(
    n_documents: int,
    run_ids: list[str],
    qrels_ids: list[str],
    *,
    of_run: str = "",
    blocks_scoring: bool,
) -> Hit:
    """Return the hit of P105 if no document of a judged query is judged.

    Args:
        n_documents: The number of documents of judged queries.
        run_ids: The first few of them.
        qrels_ids: The first few documents of the qrels.
        of_run: The name of the run, where findings are on the qrels.
        blocks_scoring: Whether the files have no document id in common.
    """
    return Hit(
        f"0 of {plural(n_documents, 'document')}{of_run} are judged (run: {listed(run_ids)}; "
        f"qrels: {listed(qrels_ids)})",
        count=n_documents,
        blocks_scoring=blocks_scoring,
    )


def few_judged(share: float) -> Hit | None:
    """Return the hit of P105 for a low share of judged documents in the first 10, from 0 to 1."""
    if share >= MIN_JUDGED:
        return None
    return Hit(
        f"{share:.1%} of the first {JUDGED_CUTOFF} documents are judged; the rest count as "
        "not relevant",
        severity="warning",
        remedy="Judge more documents, or report Judged@10 with every figure",
    )


@rule(
    "P106",
    "document-id-near-match",
    on="pair",
    scope="pair",
    severity="warning",
    fix=RuleFix("ask", "wrote document ids as the qrels do"),
    tables=True,
    checks="document ids that match judged ids only without differences in case, Unicode normal "
    "form, prefix or suffix; error if most do",
    rationale="Such a document counts as unjudged, and its judgment as not retrieved.",
    example="run.txt:1: error P106: 10 of 10 ids match qrels only after lower-casing (D01, d01). "
    "Write the document ids identically in both files.",
    remedy="Write the document ids identically in both files",
    may_be_error=True,
    drop_in="scores",
)
def document_id_near_match(pair: PairView) -> Hit | None:
    """A document id of the run is spelled differently in the qrels."""
    if pair.qrels is None or not pair.shared_ids:
        return None
    rows, judgments = pair.near_documents
    if not len(rows):
        return _affix(pair)
    is_most = len(rows) > int(pair.judged.sum())
    if pair.report_on == "qrels":
        # A few different ids are reported on the run, where they can be fixed.
        return _near_judgments(pair) if is_most else None
    ours, theirs = pair.run.doc_id(rows[0]), pair.qrels.doc_id(judgments[0])
    n_rows = int(pair.in_shared_query.sum())
    match = "matches" if len(rows) == 1 else "match"
    return Hit(
        f"{len(rows):,} of {n_rows:,} ids {match} qrels only after {_difference(ours, theirs)} "
        f"({visible(ours, marks=True)}, {visible(theirs, marks=True)})",
        pair.run.lines(rows),
        len(rows),
        query_id=pair.run.query_id(rows[0]),
        doc_id=ours,
        severity="error" if is_most else None,
    )


def _difference(ours: str, theirs: str) -> str:
    if ours.lower() == theirs.lower():
        return "lower-casing"
    if normal_form(ours) == normal_form(theirs):
        return "Unicode normalisation (NFC)"
    if re.sub(INVISIBLE, "", ours) == re.sub(INVISIBLE, "", theirs):
        return "removing invisible characters"
    return "folding case, normal form and invisible characters"


def _affix(pair: PairView) -> Hit | None:
    if pair.document_affix is None:
        return None
    affix, rows = pair.document_affix, pair.document_affix.rows
    run_id = pair.run.doc_id(int(rows[0])) if len(rows) else ""
    at_run = pair.report_on == "run"
    return Hit(
        f"ids of the {affix.side} have the {affix}, but those of the other file do not "
        f"(run: {visible(run_id)})",
        pair.run.lines(rows) if at_run else (),
        len(rows),
        doc_id=run_id,
        severity="error",
        fix=None if at_run else "no",
    )


def _near_judgments(pair: PairView) -> Hit | None:
    """Report judgments whose document id the run spells differently."""
    assert pair.qrels is not None
    rows, judgments = pair.near_documents
    found, of_run = np.unique(judgments, return_index=True)
    ours, theirs = pair.run.doc_id(rows[of_run[0]]), pair.qrels.doc_id(found[0])
    match = "matches" if len(found) == 1 else "match"
    return Hit(
        f"{len(found):,} of {plural(pair.qrels.n_rows, 'judged id')} {match} "
        f"{pair.run.name} only after {_difference(ours, theirs)} "
        f"({visible(theirs, marks=True)}, {visible(ours, marks=True)})",
        pair.qrels.lines(found),
        len(found),
        query_id=pair.qrels.query_id(found[0]),
        doc_id=theirs,
        severity="error",
        fix="no",  # only the ids of runs can be fixed
    )


@fix_step("P106", order=100)
def map_document_ids(draft: Draft, job: Job) -> Draft:
    """Write document ids of a run as the qrels spell them (P106)."""
    if "P106" not in job.requested or not draft.view.n_rows:
        return draft
    if not isinstance(job.other, QrelsView):
        job.skip("P106", "it needs the qrels; add --qrels FILE")
        return draft
    pair = draft.pair_with(job.other)
    ids = draft.run.doc_ids.series()
    rows, judgments = pair.near_documents
    if len(rows):
        written = ids.clone().scatter(rows, job.other.doc_ids.take(judgments).series())
    else:
        written = _without_affix(pair)
    changed = int((written != ids).sum())
    if not changed:
        return draft
    job.done("P106", changed)
    return draft.with_fields(c3=written)


def _without_affix(pair: PairView) -> pl.Series:
    """Return the run's document ids with the affix of the qrels, or without its own."""
    ids, found = pair.run.doc_ids.series(), pair.document_affix
    if found is None:
        return ids
    kind, text = found.affix
    if found.side == "qrels":
        return text + ids if kind == "prefix" else ids + text
    bare = ids.str.strip_prefix(text) if kind == "prefix" else ids.str.strip_suffix(text)
    return ids.zip_with(bare == "", bare)


@rule(
    "P109",
    "document-not-in-collection",
    on="pair",
    scope="pair",
    severity="error",
    fix="no",
    tables=True,
    blocks_scoring=False,
    checks="document id not in the given list, or not matching --docid-pattern",
    rationale="Such a document can never be judged. Its id may be that of a passage, of an older "
    "version of the collection, or a row number.",
    example="run.txt:4: error P109: d10 is not in the collection. Use the ids of the collection.",
    remedy="Use the ids of the collection",
)
def document_not_in_collection(pair: PairView) -> Hit | None:
    """A retrieved document does not exist."""
    if pair.collection is None or pair.report_on != "run":
        return None
    rows = np.flatnonzero(pair.collection.lacks(pair.run.doc_ids.series()))
    if len(rows) == 0:
        return None
    doc_id = pair.run.doc_id(rows[0])
    of = f" ({len(rows):,} of {plural(pair.run.n_rows, 'row')})" if len(rows) > 1 else ""
    return Hit(
        f"{visible(doc_id, marks=True)} is not in the collection{of}",
        pair.run.lines(rows),
        len(rows),
        pair.run.column(rows[0], 3),
        pair.run.query_id(rows[0]),
        doc_id,
        total=pair.run.n_rows,
    )


def _results_that_are_the_query(pair: PairView) -> Places:
    """Rows whose document id is the query id."""
    rows = _retrieving_themselves(pair.run)
    return pair.run.places(rows, 3)


@rule(
    "P110",
    "self-retrieval",
    on="pair",
    scope="pair",
    severity="info",
    fix=RuleFix(
        "ask",
        "left out documents that are the query itself",
        effect="deletes the results that are the query itself; the results below them move up",
    ),
    tables=True,
    checks="document id equals query id (BEIR removes these rows)",
    rationale="In ArguAna, Quora and similar collections the queries are documents, and each "
    "query retrieves itself first. BEIR removes such rows; other tools count them.",
    example="run.txt:1: info P110: query 1 retrieves document 1. Remove such rows if the queries "
    "are documents.",
    remedy="Remove such rows if the queries are documents",
    collect=_results_that_are_the_query,
)
def self_retrieval(pair: PairView, found: Places) -> Hit | None:
    """A query retrieves a document with the id of the query."""
    if pair.report_on != "run":
        return None
    query_id = visible(str(found.query_id))
    more = f" ({found.count:,} such rows)" if found.count > 1 else ""
    return found.hit(
        f"query {query_id} retrieves document {query_id}{more}",
        effect=f"deletes {plural(found.count, 'result')}; the results below them move up",
    )


def _retrieving_themselves(run: RunView) -> Rows:
    """Return the rows whose document id is the query id."""
    query_ids = Ids.of_texts(run.query_ids).take(run.blocks.query.astype(np.int64))
    return np.flatnonzero(run.doc_ids.equal(query_ids))


@fix_step("P110", order=110)
def remove_self_retrieval(draft: Draft, job: Job) -> Draft:
    """Remove rows whose document id is the query id (P110)."""
    if "P110" not in job.requested:
        return draft
    rows = _retrieving_themselves(draft.run)
    if not len(rows):
        return draft
    job.done("P110", len(rows))
    return draft.without_rows(rows)
