"""Rules on document ids across files: run against qrels."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from trectools_plus.formats.columns.ids import Ids, Rows
from trectools_plus.text import listed, plural, visible
from trectools_plus.validation.findings import UNJUDGED
from trectools_plus.validation.fixes.session import FileDraft, FixSession
from trectools_plus.validation.id_matching import INVISIBLE, normal_form
from trectools_plus.validation.registry import (
    JUDGED_CUTOFF,
    MIN_JUDGED,
    Hit,
    Kinds,
    Places,
    RuleFix,
    fix_step,
    rule,
)
from trectools_plus.validation.views.pairs import N_SHOWN_IDS, JudgedCounts, PairView
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    import polars as pl


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
    collect=attrgetter("judged_counts"),
)
def nothing_judged(pair: PairView, found: JudgedCounts) -> Hit | None:
    """No document of the run is judged, or few are."""
    if pair.qrels is None or not pair.shared_ids:
        return None
    if found.n_judged:
        # A small share of judged documents is not an error of the qrels.
        return None if pair.report_on == "qrels" else _few_judged(found)
    qrels_ids = pair.qrels.doc_ids.texts(slice(N_SHOWN_IDS))
    of_run = f" of {pair.run.name}" if pair.report_on == "qrels" else ""
    cause = None
    if found.n_other_spellings:
        cause = "They differ in case, Unicode normal form or invisible characters: see P106"
    elif pair.document_affix is not None:
        affix = pair.document_affix
        cause = f"Ids of the {affix.side} have the {affix}: see P106"
    return Hit(
        f"0 of {plural(found.n_documents, 'document')}{of_run} are judged "
        f"(run: {listed(found.unjudged)}; qrels: {listed(qrels_ids)})",
        count=found.n_documents,
        remedy=cause,
        blocks_scoring=not found.has_common_documents,
    )


def _few_judged(found: JudgedCounts) -> Hit | None:
    """Return the hit for a low share of judged documents in the first 10."""
    share = found.n_judged_shown / found.n_shown
    if share >= MIN_JUDGED:
        return None
    return Hit(
        f"{share:.1%} of the first {JUDGED_CUTOFF} documents are judged; the rest count as "
        "not relevant",
        severity="warning",
        remedy="Judge more documents, or report Judged@10 with every figure",
    )


def other_spellings(run: RunView, rows: Rows, theirs: str, counts: JudgedCounts) -> Kinds:
    """Return the places of P106.

    Args:
        run: The run.
        rows: Its unjudged rows whose document is judged in another spelling.
        theirs: The first of these documents as the qrels spell it.
        counts: Counts of all documents.
    """
    documents = Places(counts.n_documents, sums={"judged": counts.n_judged})
    return Kinds.of(documents=documents, near=run.places(rows, theirs=theirs))


def _near_documents(pair: PairView) -> Kinds:
    """Unjudged documents that are judged in another spelling."""
    if pair.qrels is None:
        return Kinds.of()
    rows, judgments = pair.near_documents
    theirs = pair.qrels.doc_id(judgments[0]) if len(rows) else ""
    return other_spellings(pair.run, rows, theirs, pair.judged_counts)


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
    collect=_near_documents,
)
def document_id_near_match(pair: PairView, found: Kinds) -> Hit | None:
    """A document id of the run is spelled differently in the qrels."""
    if pair.qrels is None or not pair.shared_ids:
        return None
    documents, near = found["documents"], found["near"]
    if not near.count:
        return _affix(pair)
    is_most = near.count > documents.sums["judged"]
    if pair.report_on == "qrels":
        # A few different ids are reported on the run, where they can be fixed.
        return _near_judgments(pair) if is_most else None
    ours, theirs = str(near.doc_id), str(near["theirs"])
    match = "matches" if near.count == 1 else "match"
    return near.hit(
        f"{near.count:,} of {documents.count:,} ids {match} qrels only after "
        f"{_difference(ours, theirs)} ({visible(ours, marks=True)}, {visible(theirs, marks=True)})",
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
def map_document_ids(draft: FileDraft, session: FixSession) -> FileDraft:
    """Write document ids of a run as the qrels spell them (P106)."""
    if not draft.view.n_rows:
        return draft
    if not isinstance(session.other, QrelsView):
        session.skip("P106", "it needs the qrels; add --qrels FILE")
        return draft
    pair = draft.pair_with(session.other)
    ids = draft.run.doc_ids.series()
    rows, judgments = pair.near_documents
    if len(rows):
        written = ids.clone().scatter(rows, session.other.doc_ids.take(judgments).series())
    else:
        written = _without_affix(pair)
    return draft.write(session, "P106", "c3", written)


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


def _unknown_documents(pair: PairView) -> Places:
    """Rows whose document is not in the collection."""
    if pair.collection is None:
        return Places()
    rows = np.flatnonzero(pair.collection.lacks(pair.run.doc_ids.series()))
    return pair.run.places(rows, 3)


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
    collect=_unknown_documents,
)
def document_not_in_collection(pair: PairView, found: Places) -> Hit | None:
    """A retrieved document does not exist."""
    if pair.report_on != "run":
        return None
    n_rows = pair.run.n_rows
    of = f" ({found.count:,} of {plural(n_rows, 'row')})" if found.count > 1 else ""
    doc_id = visible(str(found.doc_id), marks=True)
    return found.hit(f"{doc_id} is not in the collection{of}", total=n_rows)


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
    collect=lambda pair: pair.run.places(_retrieving_themselves(pair.run), 3),
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
def remove_self_retrieval(draft: FileDraft, session: FixSession) -> FileDraft:
    """Remove rows whose document id is the query id (P110)."""
    return draft.drop(session, "P110", _retrieving_themselves(draft.run))
