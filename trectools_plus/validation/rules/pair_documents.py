"""Rules on document ids across files: run against qrels."""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from trectools_plus.validation.matching import INVISIBLE
from trectools_plus.validation.pairs import JUDGED_CUTOFF, PairView
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.wording import listed, plural, visible

FEW_JUDGED = 0.2
"""Share of judged documents in the first 10 below which a run is hardly scored at all."""


@rule(
    "P105",
    "nothing-judged",
    on="pair",
    severity="error",
    fix="no",
    tables=True,
    checks="no retrieved document judged in any query; judged@10 below 0.2 is a warning",
    rationale="Unjudged documents count as not relevant, so the scores say nothing about the "
    "system: another collection, or ids in another form.",
    example="run.txt: error P105: 0 of 10 documents are judged (run: x1, x2, x3; qrels: d01, d02, "
    "d03). Is this run of the same collection?",
    remedy="Is this run of the same collection?",
)
def nothing_judged(pair: PairView) -> Hit | None:
    """The qrels do not know the documents of the run."""
    if pair.qrels is None or pair.at != "run" or not pair.shared_ids:
        return None
    n_rows = int(pair.in_shared_query.sum())
    n_judged = int(pair.judged.sum())
    if n_judged:
        share = pair.judged_at_cutoff()
        if share >= FEW_JUDGED:
            return None
        return Hit(
            f"{share:.1%} of the first {JUDGED_CUTOFF} documents are judged, the rest counts as "
            "not relevant",
            severity="warning",
            remedy="Judge more, or read Judged@10 beside every figure",
        )
    run_ids = pair.run.frame["doc_id"].gather(np.flatnonzero(pair.in_shared_query)[:3]).to_list()
    qrels_ids = pair.qrels.frame["doc_id"].head(3).to_list()
    cause = None
    if not pair.near_documents.is_empty():
        cause = "They differ by case, Unicode normal form or invisible characters: see P106"
    elif pair.document_affix is not None:
        side, affix, _ = pair.document_affix
        cause = f"Ids of the {side} have the {affix}: see P106"
    return Hit(
        f"0 of {plural(n_rows, 'document')} are judged (run: {listed(run_ids)}; "
        f"qrels: {listed(qrels_ids)})",
        count=n_rows,
        remedy=cause,
    )


@rule(
    "P106",
    "document-id-near-match",
    on="pair",
    severity="warning",
    fix="ask",
    tables=True,
    checks="unmatched ids that match after case, NFC, prefix, suffix; error if most do",
    rationale="Such a document is counted as unjudged, and its judgment as not retrieved.",
    example="run.txt:1: error P106: 10 of 10 ids match qrels only after lower-casing (D01, d01). "
    "Write the document ids alike in both files.",
    remedy="Write the document ids alike in both files",
)
def document_id_near_match(pair: PairView) -> Hit | None:
    """A document id of the run is spelled differently in the qrels."""
    if pair.qrels is None or pair.at != "run" or not pair.shared_ids:
        return None
    near = pair.near_documents
    if near.is_empty():
        return _affix(pair)
    first = near.row(0, named=True)
    ours, theirs = first["doc_id"], first["other"]
    n_rows = int(pair.in_shared_query.sum())
    match = "matches" if near.height == 1 else "match"
    return Hit(
        f"{near.height:,} of {n_rows:,} ids {match} qrels only after {_difference(ours, theirs)} "
        f"({visible(ours, marks=True)}, {visible(theirs, marks=True)})",
        pair.run.lines(near["row"].to_list()),
        near.height,
        query_id=pair.run.query_id(first["row"]),
        doc_id=ours,
        severity="error" if near.height > int(pair.judged.sum()) else None,
    )


def _difference(ours: str, theirs: str) -> str:
    if ours.lower() == theirs.lower():
        return "lower-casing"
    if unicodedata.normalize("NFC", ours) == unicodedata.normalize("NFC", theirs):
        return "Unicode normalisation (NFC)"
    if re.sub(INVISIBLE, "", ours) == re.sub(INVISIBLE, "", theirs):
        return "removing invisible characters"
    return "folding case, normal form and invisible characters"


def _affix(pair: PairView) -> Hit | None:
    if pair.document_affix is None:
        return None
    side, affix, rows = pair.document_affix
    run_id = pair.run.doc_id(int(rows[0])) if len(rows) else ""
    return Hit(
        f"ids of the {side} have the {affix}, those of the other file do not "
        f"(run: {visible(run_id)})",
        pair.run.lines(rows),
        len(rows),
        doc_id=run_id,
        severity="error",
    )
